"""A training run as displayed in the Fine-tune and Models tabs: its events, panel, curves and scores; use and download of its model."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..evaluation.changes import change_of, describe_change, format_score
from ..evaluation.report import describe_confusions, describe_metric, describe_run, verdict
from ..i18n import Message, _, capitalize, join, ngettext, to_sentence
from ..losses import loss_title
from ..progress import progress_share
from ..serialization import to_plain
from ..services.training_plan import describe_row_reports
from ..training.events import format_rate
from .sessions.language import notify_info
from .state import ModelChoice
from .views import Value, placeholder, props

if TYPE_CHECKING:
    from ..runs.run import Run
    from ..services.results import RunView
    from .page import Page

Event = Mapping[str, Any]
LIVE = ("queued", "running")
NO_RUN = placeholder("Nothing is training yet. The loss and the scores will appear here.")
_MAX_POINTS = 1200
_SMOOTHING = 0.9
_MAX_NOTES = 4
_POINT_EVENTS = ("step", "pinned")  # events with points of the training curves
_PROGRESS_EVENTS = ("started", "step", "evaluated", "phase", "part", "partended", "finished", "stopped", "asks", "failed")
_LOADING = "loading the rows and the model"
_STOPPING = "Stopping… The run ends after the current step; progress is saved."
_NOT_EVALUATED = (
    "no rows were held out, so it is unknown whether the model improved: add more rows, or choose your own validation file, and train again"
)
_MINUS = re.compile(r"(?<!\w)-(?=\d)")
_STATUS = {
    "queued": "Waiting for its turn",
    "running": "Training",
    "finished": "Finished",
    "stopped": "Stopped; there is no model yet",
    "failed": "Failed",
    "asks": "Stopped: your answer is needed",
    "interrupted": "Interrupted; it can resume from its last checkpoint",
}
_STOPPED_WITH_MODEL = "Stopped; the model trained so far is saved"
_METHODS = {"full": "all weights", "lora": "LoRA"}


@dataclass(frozen=True)
class Messages:
    """Messages reported by a run."""

    notes: tuple[str, ...] = ()  # latest last
    passing: str = ""  # message that applies only until the run continues
    phase: str = ""  # current activity without training steps

    @property
    def last(self) -> str:
        return self.passing or (self.notes[-1] if self.notes else "")

    def add(self, event: Event) -> Messages:
        kind = event.get("type")
        if kind == "notice":
            words: str = event["message"]  # not str(): a message keeps its template
            return replace(self, passing=words) if event.get("passing") else replace(self, notes=(*self.notes, words)[-_MAX_NOTES:])
        return replace(self, passing="", phase=event["title"] if kind == "phase" else "") if kind in _PROGRESS_EVENTS else self


@dataclass(frozen=True)
class DevScores:
    """Scores on the held-out rows; with several members, those of the last one that was evaluated, which may not be the current one."""

    metric: str = ""  # name of the score
    points: tuple[tuple[int, float], ...] = ()
    part: str = ""  # the member, such as "part 2 of 4: fold 2"; empty if there is only one

    def add(self, event: Event, part: str) -> DevScores:
        score, scores = event.get("score"), event.get("scores")
        if event.get("type") != "evaluated" or not isinstance(score, int | float):
            return self
        if part and isinstance(scores, Mapping) and scores.get("by_fold"):
            return self  # the score of all folds together is not a point of one fold's curve
        step = _whole(event["step"])
        # A resumed run evaluates the step from which it resumes again.
        earlier = tuple(point for point in self.points if point[0] != step) if self.part == part else ()
        return DevScores(str(event["metric"]), (*earlier, (step, float(score))), part)


@dataclass(frozen=True)
class FollowedRun:
    """State of a run followed by the page, accumulated from its events."""

    run_id: str = ""  # empty for none
    cursor: int = 0  # number of the last event read
    losses: tuple[tuple[int, float], ...] = ()  # (step, loss), thinned out if there are many
    last: Event | None = None  # the last ``step`` event
    dev: DevScores = DevScores()
    messages: Messages = Messages()
    dev_rows: int = -1  # number of held-out rows; -1 until the run reports it
    part: str = ""  # current one of several members, such as "part 2 of 4: seed 13"
    is_new_part: bool = False  # the member has no points yet; those stored belong to the previous one
    ended: tuple[tuple[str, float, float], ...] = ()  # (title, score before, score after) of the members that have ended
    untuned: Event | None = None  # base model, current model: the first and the last ``pinned`` event
    pinned: Event | None = None
    lines: tuple[tuple[int, tuple[float, ...]], ...] = ()  # (step, similarities of the pinned pairs) of the current member
    status: str = ""  # last displayed status

    def __hash__(self) -> int:
        """Return a hash by which Gradio detects changes of a ``gr.State``; everything else follows from these three values."""
        return hash((self.run_id, self.cursor, self.status))

    def absorb(self, events: Iterable[tuple[int, Event]]) -> FollowedRun:
        followed, losses = self, list(self.losses)
        for number, event in events:
            _add_loss(losses, event, followed.is_new_part)
            followed = followed._after(number, event)
        while len(losses) > _MAX_POINTS:
            losses = losses[::2]
        return replace(followed, losses=tuple(losses))

    def _after(self, number: int, event: Event) -> FollowedRun:
        kind = event.get("type")
        lines = () if self.is_new_part and kind in _POINT_EVENTS else self.lines
        changes: dict[str, object] = {"cursor": max(self.cursor, number), "lines": lines}
        changes |= {"dev": self.dev.add(event, self.part), "messages": self.messages.add(event)}
        if kind in _POINT_EVENTS:
            changes["is_new_part"] = False
        if kind == "step":
            changes["last"] = event
        elif kind == "started":
            changes["dev_rows"] = _whole(event["dev_rows"])
        elif kind == "pinned":
            step, similarities = _whole(event["step"]), event["similarities"]
            # The very first one comes from the base model; a second stage starts with another model.
            changes |= {"untuned": self.untuned or (None if step else event), "pinned": event}
            if not event.get("kept") and isinstance(similarities, Iterable):
                changes["lines"] = (*(point for point in lines if point[0] < step), (step, tuple(similarities)))
        elif kind == "part":
            changes |= {
                "part": _("part {number} of {of}: {title}", number=event["number"], of=event["of"], title=event["title"]),
                "is_new_part": True,
            }
        elif kind == "partended" and isinstance(after := event.get("after"), Mapping) and isinstance(before := event["before"], Mapping):
            # A resumed run reports earlier members again.
            earlier = tuple(one for one in self.ended if one[0] != event["title"])
            changes["ended"] = (*earlier, (event["title"], float(before["score"]), float(after["score"])))
        return replace(self, **changes)  # type: ignore[arg-type]

    def panel(self, view: RunView, origin: str = "") -> Value:
        """Return the value of a ``run`` view. ``origin``: name of the base model, if it differs from its id."""
        run, last = view.run, self.last or {}
        rate = run.pairs_per_second or float(str(last.get("pairs_per_second") or 0))
        live = run.status in LIVE
        phase = (self.messages.phase or ("" if last or self.part else _LOADING)) if run.status == "running" and not view.stopping else ""
        left = last.get("seconds_left")
        step = max(run.step, _whole(last.get("run_step") or last.get("step") or 0))
        steps = _whole(last.get("run_steps") or 0) or run.steps or _whole(last.get("steps") or 0)
        value: Value = {
            "title": run.name,
            "theirs": [run.name, *([origin] if origin not in ("", run.model) else [])],
            "subtitle": join(
                " · ",
                (_describe_status(run), loss_title(run.loss), describe_method(run.method), _("from {origin}", origin=origin or run.model)),
            ),
            "status": run.status,
            "live": live,
            "step": step,
            "steps": steps,
            "share": 1.0 if run.status == "finished" else progress_share(step, steps) or 0.0,
            "loss": last.get("loss"),
            "rate": format_rate(rate) if rate else "",
            "left": None if phase and isinstance(left, int | float) and left < 1 else left,
            "seconds": run.seconds,
            "stopping": view.stopping,
            "message": self._message(view),
            "part": capitalize(self.part) if live else "",
            "phase": to_sentence(phase),
            "parts": [_part_view(*part) for part in self.ended],
            "scores": None if live else scores_view(run),
        }
        return to_plain(value)  # type: ignore[no-any-return]

    def _message(self, view: RunView) -> str:
        run = view.run
        if view.stopping:
            parts = [_STOPPING]
        elif run.status == "queued" and view.waiting:
            parts = [ngettext("{n} run ahead in the queue.", "{n} runs ahead in the queue.", view.waiting)]
        else:
            parts = [to_sentence(part) for part in (run.message, run.hint) if part]
            if view.kept_until:
                day = _describe_day(view.kept_until)
                parts.append(_("This run is deleted after {day}: download what you want to keep.", day=day))
        parts = parts or [to_sentence(self.messages.last)] * bool(self.messages.last)
        if run.model_path is not None and run.status in ("finished", "stopped") and not run.dev_rows and "score" not in run.after:
            parts = [to_sentence(_NOT_EVALUATED), *parts]
        return join(" ", parts) if parts else ""

    def curves(self) -> Value:
        """Return the value of a ``curves`` view: the loss, also smoothed, and the scores on the held-out rows."""
        steps = [step for step, _ in self.losses]
        losses = [loss for _, loss in self.losses]
        pending = "evaluated after each part of an epoch" if self.status in ("", *LIVE) else "not evaluated during training"
        return {
            "loss": {"x": steps, "y": losses},
            "smooth": {"x": steps, "y": smooth(losses)},
            "dev": {
                "x": [step for step, _ in self.dev.points],
                "y": [score for _, score in self.dev.points],
                "name": describe_metric(self.dev.metric),
                "part": self.dev.part,
                "empty": "no rows are held out" if self.dev_rows == 0 else pending,
            },
        }


@dataclass(frozen=True)
class RunSnapshot:
    followed: FollowedRun
    run: Value  # value of a ``run`` view
    curves: Value | None  # value of a ``curves`` view
    record: Run | None  # ``None`` without a run
    has_changed: bool  # whether there were new events or another status


def read_run(page: Page, followed: FollowedRun) -> RunSnapshot:
    if not followed.run_id:
        return RunSnapshot(followed, NO_RUN, None, None, False)
    seen = page.studio.fine_tune.get_run(followed.run_id, followed.cursor)
    run = seen.run
    now = replace(followed.absorb(seen.events), status=run.status)
    # A run without a model has not used any rows yet: they are rows to train on.
    has_begun = bool(run.step) and run.model_path is not None
    rows = [] if run.active else list(describe_row_reports(page.studio.fine_tune.get_row_reports(run.id), has_begun=has_begun))
    panel = now.panel(seen, base_model_title(page, run)) | {"rows": rows}
    return RunSnapshot(now, panel, to_plain(now.curves()), run, bool(seen.events) or run.status != followed.status)


def base_model_title(page: Page, run: Run) -> str:
    """Return the name of a run's base model: that of another run of the same visitor, or the model's id."""
    names = {one.id: one.name for one in page.studio.fine_tune.list_runs(run.owner)} if run.model.startswith("run-") else {}
    return names.get(run.model, run.model)


def write_run_zip(page: Page, chosen: str) -> Path:
    run = page.studio.fine_tune.get_run(chosen).run
    return page.studio.fine_tune.export(chosen, page.downloads.path(f"{run.name}.zip")).path


def use_model(page: Page, chosen: str, owner: object) -> ModelChoice:
    """Select a model in the header, and notify the visitor.

    Raises:
        StudioError: the model requires pairs, or was deleted.
    """
    choices = page.model_choices(owner)
    title = next((title for title, name in choices if name == chosen), None)
    if title is None and chosen in page.model_titles(owner, "pairs"):
        raise StudioError(
            "this model scores pairs, so it cannot embed single texts", "choose it in the Search tab, to re-rank hits, or in Evaluate"
        )
    if title is None:
        raise StudioError("this model no longer exists", "choose another one")
    notify_info(_("{title} is now used in every tab.", title=html.escape(title)), title="Model selected")
    return ModelChoice(props(choices=choices, value=chosen), chosen)


def scores_view(run: Run) -> Value | None:
    before, after = run.before.get("score"), run.after.get("score")
    if before is None or after is None:
        return None
    metric = describe_metric(str(run.after.get("metric", "score")))
    metric = (
        _("{metric} on {dev_rows} held-out rows", metric=metric, dev_rows=f"{run.dev_rows:,}")
        if run.dev_rows
        else _("{metric} on held-out rows", metric=metric)
    )
    if "sd" in run.after:
        metric = _("{metric}, mean of {each} (± {sd})", metric=metric, each=len(run.after["each"]), sd=format_score(run.after["sd"]))
    first, *more = [to_sentence(_with_minus_signs(words)) for words in describe_run(run.before, run.after)]
    return {
        "metric": metric,
        "before": float(before),
        "after": float(after),
        "intervals": [run.before.get("interval") or None, run.after.get("interval") or None],
        "change": gain_view(run),
        "verdict": verdict(run.after),
        "said": first,
        "more": join(" ", more),
        "confused": [to_sentence(words) for words in describe_confusions(run.after)],
    }


def gain_view(run: Run) -> Value | None:
    """Return the scores before and after training, the gain and its verdict as texts; ``None`` if they were not measured."""
    change = change_of(run.before, run.after)
    if change is None:
        return None
    is_untuned = run.after.get("strength") == 0
    words = "base model kept" if is_untuned else change.verdict
    return {"before": change.before, "after": change.after, "gain": _with_minus_signs(change.gain), "verdict": words}


def _with_minus_signs(words: str) -> str:
    return words.map_values(_with_minus_signs) if isinstance(words, Message) else _MINUS.sub("−", words)


def describe_method(method: str) -> str:
    return _METHODS.get(method, method)


def smooth(values: list[float]) -> list[float]:
    """Return the exponential moving average, corrected for the bias toward its start."""
    mean, weight, averages = 0.0, 0.0, []
    for value in values:
        mean = _SMOOTHING * mean + (1 - _SMOOTHING) * value
        weight = _SMOOTHING * weight + (1 - _SMOOTHING)
        averages.append(mean / weight)
    return averages


def _add_loss(losses: list[tuple[int, float]], event: Event, is_new_part: bool) -> None:
    kind = event.get("type")
    if is_new_part and kind in _POINT_EVENTS:
        losses.clear()
    if kind == "step" and event.get("loss") is not None:
        losses.append((_whole(event["step"]), float(str(event["loss"]))))
    elif kind == "started":  # a resumed run repeats the steps after its checkpoint
        start = _whole(event.get("step") or 0)
        losses[:] = [point for point in losses if point[0] <= start]


def _part_view(title: str, before: float, after: float) -> Value:
    change = describe_change(before, after)
    return {"title": title, "before": change.before, "after": change.after}


def _describe_status(run: Run) -> str:
    if run.status == "stopped" and run.model_path is not None:
        return _STOPPED_WITH_MODEL
    return _STATUS.get(run.status, run.status)


def _describe_day(moment: str) -> str:
    when = datetime.fromisoformat(moment)
    return _("{day} {month} {year}", day=when.day, month=f"{when:%B}", year=when.year)


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) else int(str(value))
