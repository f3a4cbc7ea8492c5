"""View models of the draft: frozen dataclasses whose fields are named after components, and the values of the tab's views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....data.schema.hypotheses import UNUSED
from ....errors import describe_rows
from ....i18n import _, capitalize, join, ngettext, to_sentence
from ....serialization import to_plain
from ....services.training_plan import describe_row_reports
from ....training.events import MAX_PAIRS
from ...components import answer_form, form_view, group
from ...state import ModelUpdate
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, questions_view, table
from . import settings_form
from .draft import Draft, command_line, open_question_flags, require_plan
from .run_panel import SelectedRun

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page

KINDS = {
    "scored_pairs": "Pairs with a score",
    "labelled_pairs": "Pairs with a label",
    "positive_pairs": "Pairs that belong together",
    "triplets": "Triplets: anchor, positive, negative",
    "labelled_texts": "Texts with a category",
    "sentences": "Sentences without labels",
}
NO_FILE = placeholder(
    "Choose a file or a sample. Its columns, the kind of examples and any problems are detected automatically; "
    "training starts only when you press Start training."
)
NO_GROUP = ("none", "")
_WITH_TARGET = ("scored_pairs", "labelled_pairs", "labelled_texts")
_PREVIEW_ROWS = 4
_ESTIMATE_NOTE = "Estimated by running a few steps; the memory is that of the whole program."


@dataclass(frozen=True)
class PlanView:
    """The settings of a draft and everything derived from them.

    Attributes:
        forecast: estimated time and memory; ``None`` if the estimate was for other rows or settings.
    """

    settings: Value | Unchanged = UNCHANGED
    reasons: Value | Unchanged | None = UNCHANGED
    command: Value | Unchanged | None = UNCHANGED
    questions: Value | Unchanged | None = UNCHANGED
    start: Update | Unchanged = UNCHANGED  # update of the Start button
    forecast: Value | Unchanged | None = UNCHANGED


@dataclass(frozen=True)
class DraftView:
    draft: str | None  # its key in ``page.drafts``
    preview: Value
    roles: Update  # update of the row with the next six components, the column selectors
    kind: Update | Unchanged = UNCHANGED
    columns: Update | Unchanged = UNCHANGED
    target: Update | Unchanged = UNCHANGED
    low: Update | Unchanged = UNCHANGED
    high: Update | Unchanged = UNCHANGED
    group: Update | Unchanged = UNCHANGED
    findings: Value | None = None
    changed: Update = field(default_factory=lambda: props(visible=False))  # update of the section for downloading the changed file
    plan: PlanView = field(default_factory=PlanView)


@dataclass(frozen=True)
class FileView:
    view: DraftView
    header: ModelUpdate = field(default_factory=ModelUpdate)


@dataclass(frozen=True)
class SettingsView:
    plan: PlanView
    saved_form: Value | Unchanged


@dataclass(frozen=True)
class PinsView:
    pins: Value | Unchanged = UNCHANGED
    visible_pairs: int | Unchanged = UNCHANGED
    more_pairs: Update | Unchanged = UNCHANGED
    pins_section: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class RestoredForm:
    view: DraftView
    name: str
    pins_view: PinsView


@dataclass(frozen=True)
class StartedRun:
    view: DraftView
    selected: SelectedRun
    runs_version: int


def displayed_settings(draft: Draft) -> dict[str, object]:
    return settings_form.displayed_settings(draft.plan.spec, draft.overrides) if draft.plan else settings_form.default_settings()


def empty_draft() -> DraftView:
    return DraftView(draft=None, preview=NO_FILE, roles=props(visible=False))


def draft_view(page: Page, key: str, draft: Draft, model: str | None, sent: object = None, forecast: Value | None = None) -> DraftView:
    """Return the view of a draft with its key; edits made since the form was ``sent`` are not overwritten."""
    roles, choices, names = draft.diagnosis.roles if draft.diagnosis else None, draft.choices, list(draft.table.columns)
    kind, texts, target = (roles.kind, roles.texts, roles.target) if roles else (choices.kind, choices.columns or (), choices.target)
    low, high = (roles.low, roles.high) if roles else choices.scale or (None, None)
    group_name = (roles.group if roles else choices.group) or ""
    return DraftView(
        draft=key,
        preview=preview_table(draft),
        roles=props(visible=True),
        kind=props(value=kind),
        columns=props(choices=names, value=list(texts)),
        target=props(choices=names, value=target, visible=kind in _WITH_TARGET),
        low=props(value=low, visible=low is not None),
        high=props(value=high, visible=high is not None),
        group=props(choices=[NO_GROUP, *names], value=group_name, visible=bool(roles or group_name)),
        findings=findings_view(draft),
        changed=props(visible=bool(draft.changes)),
        plan=plan_view(page, draft, model, sent, forecast),
    )


def plan_view(page: Page, draft: Draft, model: str | None, sent: object = None, forecast: Value | None = None) -> PlanView:
    kind = draft.diagnosis.roles.kind if draft.diagnosis else None
    return PlanView(
        settings=answer_form(sent, settings_form.settings_view(kind, displayed_settings(draft))),
        reasons=reasons_view(draft),
        command=command_view(draft, model or "", page.studio.settings.default_model),
        questions=open_questions(draft),
        start=props(variant="primary" if draft.plan and draft.plan.certain else "secondary"),
        forecast=forecast,
    )


def preview_table(draft: Draft) -> Value:
    rows = [[int(line), *cells] for line, cells in zip(draft.table.lines, draft.table.head(_PREVIEW_ROWS), strict=False)]
    return table(
        [column("Row", "row"), *(column(name, theirs=True) for name in draft.table.columns)],
        rows,
        caption=_("{name} · {table} rows", name=draft.name, table=f"{len(draft.table):,}"),
        note=join(" ", (note.message for note in draft.table.notes)),
    )


def findings_view(draft: Draft) -> Value:
    more = {"changes": list(draft.changes), "undo": "Undo" if draft.changes else ""}
    if draft.plan is None:
        problem = {"severity": "error", "message": to_sentence(draft.problem), "where": "", "fix": "", "index": -1}
        return {"verdict": "Training cannot start yet.", "findings": [problem], "offers": [], **more}
    diagnosis, roles = draft.plan.diagnosis, draft.plan.roles
    value = {
        "verdict": (
            _("{rows} rows · {kinds} · {note}", rows=f"{diagnosis.rows:,}", kinds=KINDS[roles.kind], note=roles.note)
            if roles.note
            else _("{rows} rows · {kinds}", rows=f"{diagnosis.rows:,}", kinds=KINDS[roles.kind])
        ),
        # While a question is unanswered, it contains the reasons.
        "why": _evidence(diagnosis.why) if draft.plan.certain else "",
        "findings": [
            {
                "severity": item.severity,
                "message": to_sentence(item.message),
                "where": capitalize(describe_rows(item.rows)) if item.rows else "",
                "fix": item.fix.label if item.fix else "",
                "index": number,
            }
            for number, item in enumerate(diagnosis.findings)
        ],
        "offers": [{"name": offer.name, "label": offer.label, "rows": offer.describe_rows()} for offer in diagnosis.offers],
    }
    return to_plain({**value, **more})  # type: ignore[no-any-return]


def _evidence(reasons: Sequence[str]) -> str:
    unused = [to_sentence(one) for one in reasons if one.startswith(UNUSED)]
    evidence = [one for one in reasons if not one.startswith(UNUSED)]
    return join(" ", [to_sentence(_("Inferred because {evidence}", evidence=join("; ", evidence)))] * bool(evidence) + unused)


def open_questions(draft: Draft) -> Value | None:
    if draft.plan is None or draft.plan.certain:
        return None
    number = len(draft.plan.questions)
    return questions_view(
        "One question before training" if number == 1 else _("{number} questions before training", number=number), draft.plan.questions
    )


def reasons_view(draft: Draft) -> Value | None:
    if draft.plan is None:
        return None
    return {"title": "Rows, and reasons for the settings", "reasons": [*describe_row_reports(draft.plan.accounts), *draft.plan.reasons]}


def command_view(draft: Draft, model: str, default_model: str) -> Value | None:
    """Return the command that starts the same run; ``None`` if the file cannot be trained on."""
    if draft.plan is None:
        return None
    if draft.plan.certain:
        title = "Same run from the command line"
    elif "--as-read" in open_question_flags(draft.plan.questions):
        title = "Same run from the command line, with the current interpretation of the file; your answer changes the command"
    else:
        title = "Same run from the command line, with the proposed answer; your answer changes the command"
    return {"title": title, "command": command_line(draft, model, default_model)}


def estimate_view(studio: Studio, draft: Draft) -> Value:
    plan = require_plan(draft)
    found = studio.planner.estimate(plan)
    spec = found.spec
    trainings = spec.seeds * max(1, spec.folds)
    work = (
        ngettext(
            "{n} epoch of {examples} rows, {batch_size} at a time, {soup} times over",
            "{n} epochs of {examples} rows, {batch_size} at a time, {soup} times over",
            spec.epochs,
            n=f"{spec.epochs:g}",
            examples=f"{len(plan.examples):,}",
            batch_size=spec.batch_size,
            soup=spec.soup,
        )
        if spec.soup > 1
        else ngettext(
            "{n} epoch of {examples} rows, {batch_size} at a time",
            "{n} epochs of {examples} rows, {batch_size} at a time",
            spec.epochs,
            n=f"{spec.epochs:g}",
            examples=f"{len(plan.examples):,}",
            batch_size=spec.batch_size,
        )
    )
    if folds := found.estimate.folds:
        work += _(", in {folds} folds without a part of the rows each, and once with all of them", folds=folds)
    work += _(", {trainings} trainings", trainings=trainings) if trainings > 1 else ""
    reasons = [to_sentence(work), to_sentence(found.describe_steps()), _ESTIMATE_NOTE]
    return {"title": to_sentence(found.describe_cost()), "reasons": reasons}


def pins_form(texts: Sequence[str] = (), visible_pairs: int = 1) -> Value:
    """Return the form of example pairs to track. ``texts``: both texts of each pair in order, and a query."""
    names = pin_names()
    items = []
    for number in range(1, MAX_PAIRS + 1):
        boxes = [{"name": f"{number}a", "label": _("Pair {number}", number=number)}, {"name": f"{number}b", "label": "and"}]
        shown = [{"kind": "text", "info": "", "choices": [], **box} for box in boxes]
        items.append(group(shown, name=f"pair-{number}", row=True, visible=number <= visible_pairs))
    query = {"name": "query", "label": "Query, whose nearest texts in your file are listed", "kind": "text", "info": "", "choices": []}
    return form_view("tune-pin", [*items, query], dict(zip(names, texts or [""] * len(names), strict=True)))


def pin_names() -> list[str]:
    return [*(f"{number}{side}" for number in range(1, MAX_PAIRS + 1) for side in "ab"), "query"]
