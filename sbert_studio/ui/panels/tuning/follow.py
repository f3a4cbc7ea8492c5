"""A run as the page follows it: events come in by a cursor, the value of a panel and of two curves goes out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ....evaluation.report import describe_confusions, describe_metric, describe_run, verdict
from ....losses import loss_title
from ....training.events import format_rate
from ...views import Value, placeholder, to_json, to_sentence
from .heard import NOT_JUDGED, NOTHING_SAID, Judged, Said

if TYPE_CHECKING:
    from ....runs.run import Run
    from ....services.results import RunView

_MOST_POINTS = 1200
_SMOOTHING = 0.9
_POINTS = ("step", "pinned")  # what the curves of a training's own are drawn from
_LOADING = "loading the rows and the model"
_UNJUDGED = (
    "no row was held out, so nobody knows whether the model got better: give more rows, or a file of your own to judge by, and train again"
)
_MINUS = re.compile(r"-(?=\d)")
_WORDS = {
    "queued": "Waiting for its turn",
    "running": "Training",
    "finished": "Finished",
    "stopped": "Stopped; there is no model yet",
    "failed": "Failed",
    "asks": "Stopped to ask you something",
    "interrupted": "Interrupted; it can go on from its last checkpoint",
}
_STOPPED_WITH_MODEL = "Stopped; what it has learned is kept"
_METHODS = {"full": "all weights", "lora": "LoRA"}
NO_RUN = "Nothing is training yet. Choose data, then press Start training; the loss and the scores are drawn here as they come."


@dataclass(frozen=True)
class Follow:
    """What the page knows of a run it follows.

    Attributes:
        run_id: the run; empty for none.
        cursor: the number of the last event seen.
        losses: (step, value) points, thinned out where there are many.
        last: the last ``step`` event.
        judged: the scores along the way; said: what the run told in words.
        dev_rows: rows held out; -1 until the run has said.
        part: which of several trainings goes on, such as "part 2 of 4: seed 13"; the losses are its own, once it has one.
        turned: it has none yet: the losses are those of the one before.
        ended: (title, before, after) of the trainings that are done.
        untuned: what the untuned model said of what is pinned, the body of a ``pinned`` event; seen: the last one of them.
        lines: (step, similarities) of the training that goes on.
        status: the status last shown, so that a change is noticed.
    """

    run_id: str = ""
    cursor: int = 0
    losses: tuple[tuple[int, float], ...] = ()
    last: Mapping[str, Any] | None = None
    judged: Judged = NOT_JUDGED
    said: Said = NOTHING_SAID
    dev_rows: int = -1
    part: str = ""
    turned: bool = False
    ended: tuple[tuple[str, float, float], ...] = ()
    untuned: Mapping[str, Any] | None = None
    seen: Mapping[str, Any] | None = None
    lines: tuple[tuple[int, tuple[float, ...]], ...] = ()
    status: str = ""

    def __hash__(self) -> int:
        """What is known follows from the run and how far it was read; Gradio tells by this whether a ``gr.State`` has changed."""
        return hash((self.run_id, self.cursor, self.status))

    def absorb(self, events: Iterable[tuple[int, Mapping[str, Any]]]) -> Follow:
        """This and the events after the cursor."""
        losses, judged, said = list(self.losses), self.judged, self.said
        cursor, last, dev_rows, part, ended = self.cursor, self.last, self.dev_rows, self.part, list(self.ended)
        untuned, pinned, lines, turned = self.untuned, self.seen, list(self.lines), self.turned
        for number, event in events:
            cursor, kind = max(cursor, number), event.get("type")
            if turned and kind in _POINTS:
                losses, lines, turned = [], [], False
            judged, said = judged.and_then(event, part), said.and_then(event)
            if kind == "step":
                last = event
                if event.get("loss") is not None:
                    losses.append((int(event["step"]), float(event["loss"])))
            elif kind == "started":
                dev_rows = int(event["dev_rows"])
                losses = [point for point in losses if point[0] <= int(event.get("step") or 0)]
            elif kind == "pinned":
                # The first one of all is of the model before anything was learned; a second stage begins with another.
                untuned, pinned = untuned or (event if not event["step"] else None), event
                if not event.get("kept"):
                    lines = [point for point in lines if point[0] < int(event["step"])]
                    lines.append((int(event["step"]), tuple(event["similarities"])))
            elif kind == "part":
                part = f"part {event['number']} of {event['of']}: {event['title']}"
                turned = True
            elif kind == "partended" and event.get("after"):
                # A resumed run tells again of the trainings that were done before.
                ended = [one for one in ended if one[0] != event["title"]]
                ended.append((str(event["title"]), float(event["before"]["score"]), float(event["after"]["score"])))
        while len(losses) > _MOST_POINTS:
            losses = losses[::2]
        return replace(
            self, cursor=cursor, losses=tuple(losses), judged=judged, said=said, last=last, dev_rows=dev_rows,
            part=part, turned=turned, ended=tuple(ended), untuned=untuned, seen=pinned, lines=tuple(lines),
        )  # fmt: skip

    def panel(self, seen: RunView, origin: str = "") -> Value:
        """The value of a ``run`` view.

        Args:
            origin: what the model is called that the run started from, where that is not its id.
        """
        run = seen.run
        last = self.last or {}
        rate = run.pairs_per_second or float(last.get("pairs_per_second") or 0)
        live = run.status in ("queued", "running")
        phase = (self.said.phase or ("" if last or self.part else _LOADING)) if run.status == "running" and not seen.stopping else ""
        left = last.get("seconds_left")
        message = " ".join(to_sentence(part) for part in (run.message, run.hint) if part)
        if seen.stopping:
            message = "Stopping… It ends after the step it is in; what was done so far is kept."
        elif run.status == "queued" and seen.waiting:
            message = f"{seen.waiting} run{'s' if seen.waiting > 1 else ''} before it."
        elif seen.kept_until:
            message += f" It is kept here until {day(seen.kept_until)}: download what you want to keep."
        message = to_sentence(message.strip()) or to_sentence(self.said.last)
        if run.model_path is not None and run.status in ("finished", "stopped") and not run.dev_rows and "score" not in run.after:
            message = f"{to_sentence(_UNJUDGED)} {message}".strip()
        value: Value = {
            "title": run.name,
            "theirs": [run.name, *([origin] if origin not in ("", run.model) else [])],
            "subtitle": " · ".join(
                (_status_in_words(run), loss_title(run.objective), method_in_words(run.method), f"from {origin or run.model}")
            ),
            "status": run.status,
            "live": live,
            "step": max(run.step, int(last.get("run_step") or last.get("step") or 0)),
            "steps": int(last.get("run_steps") or 0) or run.steps or int(last.get("steps") or 0),
            "loss": last.get("loss"),
            "rate": format_rate(rate) if rate else "",
            "left": None if phase and left is not None and left < 1 else left,
            "seconds": run.seconds,
            "stopping": seen.stopping,
            "message": message,
            "part": self.part if live else "",
            "phase": to_sentence(phase),
            "parts": [{"title": title, "before": before, "after": after} for title, before, after in self.ended],
            "scores": None if live else before_after(run),
        }
        return to_json(value)  # type: ignore[no-any-return]

    def curves(self) -> Value:
        """The value of a ``curves`` view: loss, the same smoothed, and the scores on the held-out rows."""
        steps = [step for step, _ in self.losses]
        losses = [loss for _, loss in self.losses]
        coming = "judged after each part of an epoch" if self.status in ("", "queued", "running") else "not judged along the way"
        return {
            "loss": {"x": steps, "y": losses},
            "smooth": {"x": steps, "y": smoothed(losses)},
            "dev": {
                "x": [step for step, _ in self.judged.points],
                "y": [score for _, score in self.judged.points],
                "name": describe_metric(self.judged.metric),
                "part": self.judged.part,
                "empty": "no rows are held out" if self.dev_rows == 0 else coming,
            },
        }


def _status_in_words(run: Run) -> str:
    if run.status == "stopped" and run.model_path is not None:
        return _STOPPED_WITH_MODEL
    return _WORDS.get(run.status, run.status)


def method_in_words(method: str) -> str:
    """What is trained, as a person would say it."""
    return _METHODS.get(method, method)


def day(moment: str) -> str:
    """``2026-12-05T…`` as a person would say it: 5 December 2026."""
    when = datetime.fromisoformat(moment)
    return f"{when.day} {when:%B %Y}"


def before_after(run: Run) -> Value | None:
    """The run's main score of the untuned and of the tuned model; ``None`` where it has none."""
    before, after = run.before.get("score"), run.after.get("score")
    if before is None or after is None:
        return None
    metric = describe_metric(str(run.after.get("metric", "score")))
    metric = f"{metric} on {run.dev_rows:,} held-out rows" if run.dev_rows else f"{metric} on held-out rows"
    if "sd" in run.after:
        metric = f"{metric}, mean of {len(run.after['each'])} (± {run.after['sd']:.4f})"
    said = [to_sentence(_MINUS.sub("−", words)) for words in describe_run(run.before, run.after)]
    return {
        "metric": metric,
        "before": float(before),
        "after": float(after),
        "intervals": [run.before.get("interval") or None, run.after.get("interval") or None],
        "verdict": verdict(run.after),
        "said": said[0],
        "more": " ".join(said[1:]),
        "confused": [to_sentence(words) for words in describe_confusions(run.after)],
    }


def smoothed(values: list[float]) -> list[float]:
    """An exponential mean, without the bias towards its start."""
    mean, weight, out = 0.0, 0.0, []
    for value in values:
        mean = _SMOOTHING * mean + (1 - _SMOOTHING) * value
        weight = _SMOOTHING * weight + (1 - _SMOOTHING)
        out.append(mean / weight)
    return out


def no_run() -> Value:
    """The panel before there is any run."""
    return placeholder(NO_RUN)
