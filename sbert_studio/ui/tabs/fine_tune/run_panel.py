"""The followed run: its panel, which the page's timer updates, its actions, and the list of the visitor's runs."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....errors import StudioError
from ....evaluation.report import describe_metric
from ....i18n import _, join, ngettext
from ....progress import progress_share
from ....runs.files import RunFiles
from ....serialization import to_plain
from ....services.labels import format_label
from ....services.run_setup import strength_marks
from ...run_view import LIVE, FollowedRun, gain_view, read_run, use_model
from ...sessions.language import notify_info
from ...state import SIMILARITY, ModelChoice, TextPair
from ...views import UNCHANGED, Unchanged, Update, Value, props, questions_view

if TYPE_CHECKING:
    from ....data.schema.roles import Roles
    from ....runs.run import Action, Run
    from ....services import Studio
    from ....services.results import RunView
    from ....training.events import TrackedExamples
    from ...page import Page
    from ...panel import Selection

_MAX_LISTED = 20
_HELD_OUT_CHOSE = "Each strength is scored on the rows used to select among them; the gain above comes from other rows."
_CHOSEN_BY_HAND = (
    "Each strength is scored on these rows: if you select a strength by these scores, its gain on these rows is no longer unbiased."
)
_MISTAKES = {
    "labelled_texts": "The nearest text has another category.",
    "scored_pairs": "“the model”: the score in your file with the same rank as the pair in the model's order of similarity.",
    "labelled_pairs": "“the model”: the label in your file with the same rank as the pair in the model's order of similarity.",
    "triplets": "The negative is closer than the positive.",
    "positive_pairs": "Another text is closer than the matching text.",
}

_LEAST_SHOWN, _MOST_SHOWN = 10, 50  # suspicious labels
_CHECKED_BY = {
    "folds": "Each label was compared with the prediction of a fine-tuned model that had not been trained on the row.",
    "frozen": "Each label was compared with a prediction from the base model's vectors and the other rows' labels.",
}


@dataclass(frozen=True)
class RunPanelView:
    followed: FollowedRun
    run: Value
    curves: Value | None
    stop: Update  # visibility of the buttons: stop, resume, use, compare, save, push
    resume: Update
    use: Update
    compare: Update
    save: Update
    push: Update
    alarm: Value | None  # question of a run that an alarm has stopped
    strength: Value | None
    pinned: Value | None  # scores of the example pairs
    mistakes: Value | None
    labels: Value | None  # suspicious labels
    timer: Update


@dataclass(frozen=True)
class TickView:
    view: RunPanelView
    ended: str | Unchanged = UNCHANGED


@dataclass(frozen=True)
class SelectedRun:
    chosen: str  # its id
    owner: Value | Unchanged = UNCHANGED  # stored in the browser, so that a reload follows it


@dataclass(frozen=True)
class AnsweredRun:
    view: RunPanelView
    selected: SelectedRun


@dataclass(frozen=True)
class ChangedRun:
    view: RunPanelView
    runs_version: int


@dataclass(frozen=True)
class RunList:
    runs: Value | Unchanged | None = UNCHANGED
    listed: Value | Unchanged | None = UNCHANGED
    timer: Update | Unchanged = UNCHANGED
    chosen: str | Unchanged = UNCHANGED


@dataclass(frozen=True)
class ListedRun:
    runs: Value | None
    listed: Value | None
    view: RunPanelView
    selected: SelectedRun
    runs_version: int
    choice: ModelChoice


def attach_run(page: Page, owner: object) -> SelectedRun:
    """Return the run to follow when the page is loaded: this browser's run if it is active, else the visitor's newest active run."""
    job = owner.get("job") if isinstance(owner, dict) else ""
    runs = page.studio.fine_tune.list_runs(page.visitor(owner))
    own = [run for run in runs if run.id == job]
    open_runs = [run for run in runs if run.active] + [run for run in runs if run.status == "interrupted"]
    candidates = own if own and own[0].active else open_runs or own
    return SelectedRun(candidates[0].id if candidates else "")


def select_run(owner: object, run_id: str) -> SelectedRun:
    return SelectedRun(run_id, {**(owner if isinstance(owner, dict) else {}), "job": run_id})


def show_run(page: Page, followed: FollowedRun) -> RunPanelView:
    snapshot = read_run(page, followed)
    now, run, studio = snapshot.followed, snapshot.record, page.studio
    actions = () if run is None else studio.fine_tune.list_actions(run)
    question = studio.fine_tune.get_question(now.run_id) if now.status == "asks" else None
    return RunPanelView(
        followed=now,
        run=snapshot.run,
        curves=snapshot.curves,
        stop=props(visible="stop" in actions),
        resume=props(visible="resume" in actions),
        use=props(visible="use" in actions),
        compare=props(visible="use" in actions),
        save=props(visible="download" in actions),
        push=props(visible="download" in actions),
        alarm=questions_view("Training stopped: your answer is needed", [question] if question else []),
        strength=None if run is None else strength_view(run),
        pinned=pinned_view(studio.fine_tune.get_pins(now.run_id) if now.run_id else None, now),
        mistakes=None if run is None else mistakes_view(studio, run),
        labels=None if run is None else labels_view(studio, run),
        timer=props(active=now.status in LIVE),
    )


def show_chosen_run(page: Page, chosen: str, followed: FollowedRun) -> RunPanelView:
    return show_run(page, followed if followed.run_id == chosen else FollowedRun(chosen))


def update_run(page: Page, chosen: str, followed: FollowedRun) -> TickView | None:
    """Update the followed run at a timer tick.

    A response to the timer may arrive after another run was selected. Because only selections set ``chosen``, the next tick corrects what a
    late response has drawn.
    """
    view = show_chosen_run(page, chosen, followed)
    now = view.followed
    # A waiting run has no events, so what a late response has drawn over it would remain.
    if now == followed and now.status != "queued":
        return None
    has_ended = now.status != followed.status and now.status not in LIVE
    return TickView(view, f"{now.run_id} {now.cursor}" if has_ended else UNCHANGED)


def stop_run(page: Page, followed: FollowedRun) -> RunPanelView:
    page.studio.fine_tune.stop(followed.run_id)
    return show_run(page, followed)


def resume_run(page: Page, followed: FollowedRun) -> RunPanelView:
    page.studio.fine_tune.resubmit(followed.run_id)
    return show_run(page, followed)


def answer_alarm(page: Page, followed: FollowedRun, owner: object, selection: Selection) -> AnsweredRun:
    run = answer_run_question(page.studio, followed.run_id, selection.item)
    view = show_run(page, followed if run.id == followed.run_id else FollowedRun(run.id))
    return AnsweredRun(view, select_run(owner, run.id))


def answer_run_question(studio: Studio, run_id: str, place: object) -> Run:
    """Return the run that continues after the answer at ``place``: [0, index], from the browser."""
    if not (isinstance(place, list) and len(place) == 2 and place[0] == 0 and isinstance(place[1], int)):
        raise StudioError("this question was already answered", "reload the run")
    return studio.fine_tune.answer(run_id, place[1])


def set_strength(page: Page, followed: FollowedRun, runs_version: int, selection: Selection) -> ChangedRun:
    strength = selection.item
    if isinstance(strength, bool) or not isinstance(strength, int | float) or not 0 <= strength <= 1:
        raise StudioError("this strength is out of range", "choose a value from 0 (base model) to 1 (fine-tuned)")
    run = page.studio.fine_tune.set_strength(followed.run_id, float(strength))
    notify_info(
        _("{name} now has strength {strength}.", name=html.escape(run.name), strength=f"{run.after['strength']:g}"), title="Model changed"
    )
    return ChangedRun(show_run(page, FollowedRun(run.id)), runs_version + 1)


def compare_mistake(page: Page, followed: FollowedRun, selection: Selection) -> tuple[TextPair, Update]:
    return mistake_pair(page.studio, followed.run_id, selection.item), props(selected=SIMILARITY)


def list_runs(page: Page, owner: object, chosen: str, listed: Value | None) -> RunList:
    """List the visitor's runs, and leave a chosen run that was deleted, also in another window."""
    found = page.studio.fine_tune.list_views(page.visitor(owner))
    value = runs_view(page.studio, found, chosen)
    drawn = UNCHANGED if value == listed else value
    # A late response may have reported the end of another run and stopped the timer of the followed run.
    is_live = any(seen.run.id == chosen and seen.run.active for seen in found)
    # Others' runs may be followed by their id.
    is_gone = (
        bool(chosen)
        and all(seen.run.id != chosen for seen in found)
        and chosen not in {run.id for run in page.studio.fine_tune.list_runs()}
    )
    return RunList(drawn, drawn, props(active=True) if is_live else UNCHANGED, "" if is_gone else UNCHANGED)


def click_listed_run(page: Page, owner: object, chosen: str, followed: FollowedRun, runs_version: int, selection: Selection) -> ListedRun:
    """Carry out an action of the list: one of :data:`~sbert_studio.runs.run.ACTIONS`, or follow the run."""
    value = selection.item if isinstance(selection.item, dict) else {"id": selection.item}
    run_id, service = value.get("id"), page.studio.fine_tune
    if not isinstance(run_id, str) or run_id not in {run.id for run in service.list_runs(page.visitor(owner))}:
        raise StudioError("this run no longer exists", "reload the page")
    choice, now, version = ModelChoice(UNCHANGED, UNCHANGED), run_id, runs_version + 1
    if selection.action == "stop":
        service.stop(run_id)
        now = chosen
    elif selection.action == "resume":
        service.resubmit(run_id)
    elif selection.action == "use":
        choice = use_model(page, run_id, owner)
    elif selection.action == "rename":
        service.rename(run_id, str(value.get("name") or ""))
        now = chosen
    elif selection.action == "delete":
        service.delete_run(run_id)
        now = "" if run_id == chosen else chosen
    else:
        version = runs_version
    # Also redraw the followed run: it may be the one that was changed.
    view = show_run(page, followed if followed.run_id == now and selection.action != "resume" else FollowedRun(now))
    runs = runs_view(page.studio, service.list_views(page.visitor(owner)), now)
    return ListedRun(runs, runs, view, SelectedRun(now) if now == chosen else select_run(owner, now), version, choice)


def runs_view(studio: Studio, runs: Sequence[RunView], chosen: str) -> Value | None:
    """Return the list of the visitor's runs; ``None`` if there is none."""
    if not runs:
        return None
    more = max(0, len(runs) - _MAX_LISTED)
    rows = [_run_row(seen, studio.fine_tune.list_actions(seen.run), chosen) for seen in runs[:_MAX_LISTED]]
    note = _("{more} older runs are listed in the Models tab.", more=more) if more else ""
    return to_plain({"live": any(seen.run.active for seen in runs), "rows": rows, "note": note})  # type: ignore[no-any-return]


def _run_row(view: RunView, actions: Sequence[Action], chosen: str) -> Value:
    run = view.run
    return {
        "id": run.id,
        "name": run.name,
        "status": run.status,
        "words": "Stopping…" if view.stopping else _describe_progress(view) if run.active else run.created[:16].replace("T", " "),
        "gain": None if run.active else gain_view(run),
        "share": progress_share(run.step, run.steps) or 0.0 if run.status == "running" else 0.0,
        "followed": run.id == chosen,
        "stopping": view.stopping,
        "actions": list(actions),
    }


def _describe_progress(view: RunView) -> str:
    run = view.run
    if run.status == "queued":
        return _("Waiting · {waiting} ahead", waiting=view.waiting) if view.waiting else "Waiting for its turn"
    return _("Training · step {step} of {steps}", step=f"{run.step:,}", steps=f"{run.steps:,}") if run.steps else "Training"


def strength_view(run: Run) -> Value | None:
    found = strength_marks(run.before, run.after) if run.status == "finished" and run.model_path is not None else None
    is_chosen = "chosen" in (run.after.get("kept") or run.after)
    note = _CHOSEN_BY_HAND if is_chosen else _HELD_OUT_CHOSE if "tried" in run.after else ""
    return to_plain({**found, "metric": describe_metric(str(run.after.get("metric", "score"))), "note": note}) if found else None


def pinned_view(pins: TrackedExamples | None, followed: FollowedRun) -> Value | None:
    """Return the example pairs and the nearest texts of the query, before and now; ``None`` before the first evaluation.

    Events for other pairs, which a damaged run may contain, are ignored.
    """
    now: Mapping[str, Any] | None = followed.pinned
    if pins is None or now is None or len(now["similarities"]) != len(pins.pairs):
        return None
    untuned: Mapping[str, Any] | None = followed.untuned
    before = untuned if untuned and len(untuned["similarities"]) == len(pins.pairs) else None
    ranks = {row: rank for rank, row in enumerate((before or {}).get("order") or (), start=1)}
    lines = [line for line in followed.lines if len(line[1]) == len(pins.pairs)]
    pairs = [
        {
            "texts": list(texts),
            "before": before["similarities"][number] if before else None,
            "now": now["similarities"][number],
            "line": [[step, values[number]] for step, values in lines],
        }
        for number, texts in enumerate(pins.pairs)
    ]
    order = [row for row in now.get("order") or () if row < len(pins.among)]
    nearest = [
        {"text": pins.among[row], "similarity": similarity, "rank": rank, "before": ranks.get(row)}
        for rank, (row, similarity) in enumerate(zip(order, now.get("nearest") or (), strict=False), start=1)
    ]
    among = (
        f"{len(pins.among):,}" if len(pins.among) == pins.of else _("{among} of the {of}", among=f"{len(pins.among):,}", of=f"{pins.of:,}")
    )
    value = {
        "pairs": pairs,
        "query": pins.query if nearest else "",
        "nearest": nearest,
        "among": _("among {among} texts of the file", among=among),
    }
    return to_plain(value | {"which": _describe_pinned_model(followed, now)})  # type: ignore[no-any-return]


def _describe_pinned_model(followed: FollowedRun, event: Mapping[str, Any]) -> str:
    if event.get("kept") and followed.status not in ("", *LIVE):
        return "Before training, and with the saved model."
    step = f"{int(event['step']):,}"
    # With several members, those trained on a part of the rows are evaluated, and the saved model comes from another one.
    if followed.part:
        return (
            _("After step {step} of {part}.", step=step, part=followed.part)
            if event["step"]
            else _("Base model of {part}.", part=followed.part)
        )
    return _("After step {step}.", step=step) if event["step"] else "Base model."


def mistakes_view(studio: Studio, run: Run) -> Value | None:
    """Return the largest errors on the held-out rows; ``None`` if the run has no model or no held-out rows."""
    found = studio.fine_tune.get_mistakes(run.id) if run.status in ("finished", "stopped") and run.model_path is not None else None
    if found is None or found["kind"] not in _MISTAKES:
        return None
    roles = _roles(studio, run.id)
    rows = [
        {
            "texts": one["texts"],
            "line": one["line"],
            "gold": format_label(one["gold"], roles),
            "said": format_label(one["said"], roles),
            "beside": one["beside"],
        }
        for one in found["worst"]
    ]
    of = f"{found['rows']:,}"
    title = (
        ngettext("The worst mistake on {rows} held-out rows", "The {n} worst mistakes on {rows} held-out rows", len(rows), rows=of)
        if rows
        else _("No mistake on {rows} held-out rows.", rows=of)
    )
    saved = run.after.get("kept") or run.after
    now, then = saved.get("strength"), found.get("strength")
    notes = [_MISTAKES[found["kind"]], "Each row was evaluated by a model that had not been trained on it."]
    if isinstance(then, int | float) and isinstance(now, int | float) and abs(then - now) > 1e-6:
        notes.append(_("The list is from the end of the training, at strength {then}.", then=f"{then:g}"))
    if saved.get("folds"):
        notes.append("Compare uses the saved model, which has since been trained on these rows.")
    return to_plain({"title": title, "note": join(" ", notes), "rows": rows})  # type: ignore[no-any-return]


def labels_view(studio: Studio, run: Run) -> Value | None:
    """Return the list of a run, or the offer to make it; ``None`` if the run has no model, or no labels that can be checked."""
    if run.status not in ("finished", "stopped") or run.model_path is None or not studio.labels.can_check(run.id):
        return None
    found = studio.labels.of_run(run.id)
    if found is None:
        return {"run": run.id, "rows": None}
    shown = found.listed[: min(max(found.suspicious, _LEAST_SHOWN), _MOST_SHOWN)]
    rows = [{"row": one.row, "texts": one.texts, "label": one.label, "predicted": one.predicted} for one in shown]
    listed = [_("The {n} most suspicious ones are listed.", n=len(rows))] if found.suspicious > len(rows) else []
    note = join(" ", (*listed, _CHECKED_BY[found.by], "Many suspicious labels are right: read the row before you change it."))
    return to_plain({"run": run.id, "title": found.describe(), "note": note, "choices": found.choices, "rows": rows})  # type: ignore[no-any-return]


def mistake_pair(studio: Studio, run_id: str, number: object) -> TextPair:
    """Return the two texts of an error, and the model that made it. ``number``: index in the list, from the browser."""
    worst: Sequence[Mapping[str, Any]] = (studio.fine_tune.get_mistakes(run_id) or {"worst": []})["worst"]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(worst):
        raise StudioError("this error is no longer in the list", "reload the run")
    one = worst[number]
    return TextPair(one["texts"][0], one["beside"] or one["texts"][-1], run_id)


def _roles(studio: Studio, run_id: str) -> Roles | None:
    try:
        return RunFiles(studio.workspace.run(run_id)).roles()
    except StudioError:
        return None
