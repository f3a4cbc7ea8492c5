"""View models of the draft: frozen dataclasses whose fields name components, and the values of the tab's views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....data.schema.hypotheses import UNUSED
from ....errors import describe_rows
from ....services.training_plan import describe_row_reports
from ....training.events import MAX_PAIRS
from ...forms import answer_form, form_view, group
from ...page import ModelUpdate
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, questions_view, table, to_json, to_sentence
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
    "Choose a file or a sample. Its columns, the kind of examples and any problems are detected at once; "
    "nothing is trained until you press Start training."
)
NO_GROUP = ("none", "")
_WITH_TARGET = ("scored_pairs", "labelled_pairs", "labelled_texts")
_PREVIEW_ROWS = 4
_ESTIMATE_NOTE = "Estimated by running a few steps; the memory is that of the whole program."


@dataclass(frozen=True)
class PlanView:
    """The settings of a draft and everything that follows from them.

    Attributes:
        start: update of the Start button.
        forecast: estimated time and memory; ``None`` for other rows or settings than those that were estimated.
    """

    settings: Value | Unchanged = UNCHANGED
    reasons: Value | Unchanged | None = UNCHANGED
    command: Value | Unchanged | None = UNCHANGED
    questions: Value | Unchanged | None = UNCHANGED
    start: Update | Unchanged = UNCHANGED
    forecast: Value | Unchanged | None = UNCHANGED


@dataclass(frozen=True)
class DraftView:
    """A draft.

    Attributes:
        draft: its key in ``page.drafts``.
        roles: update of the row around the next six, the choosers of columns.
        changed: update of the part that offers the changed file.
    """

    draft: str | None
    preview: Value
    roles: Update
    kind: Update | Unchanged = UNCHANGED
    columns: Update | Unchanged = UNCHANGED
    target: Update | Unchanged = UNCHANGED
    low: Update | Unchanged = UNCHANGED
    high: Update | Unchanged = UNCHANGED
    group: Update | Unchanged = UNCHANGED
    findings: Value | None = None
    changed: Update = field(default_factory=lambda: props(visible=False))
    plan: PlanView = field(default_factory=PlanView)


@dataclass(frozen=True)
class FileView:
    """A draft of a newly chosen file, and the model that fits its language."""

    view: DraftView
    header: ModelUpdate = field(default_factory=ModelUpdate)


@dataclass(frozen=True)
class SettingsView:
    """The form after an edit, and its values for the browser to store."""

    plan: PlanView
    saved_form: Value | Unchanged


@dataclass(frozen=True)
class PinsView:
    """The form of example pairs to track, the number of pairs that are visible, and the button that shows another one."""

    pins: Value | Unchanged = UNCHANGED
    visible_pairs: int | Unchanged = UNCHANGED
    more_pairs: Update | Unchanged = UNCHANGED
    pins_section: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class RestoredForm:
    """The form as it was before a reload."""

    view: DraftView
    name: str
    pins_view: PinsView


@dataclass(frozen=True)
class StartedRun:
    """The draft of a run that was started, and the run for the page to follow."""

    view: DraftView
    selected: SelectedRun
    runs_version: int


def displayed_settings(draft: Draft) -> dict[str, object]:
    """Return what the form displays for a draft."""
    return settings_form.displayed_settings(draft.plan.spec, draft.overrides) if draft.plan else settings_form.default_settings()


def empty_draft() -> DraftView:
    """Return the view without a file."""
    return DraftView(draft=None, preview=NO_FILE, roles=props(visible=False))


def draft_view(page: Page, key: str, draft: Draft, model: str | None, sent: object = None, forecast: Value | None = None) -> DraftView:
    """Return the view of a draft.

    Args:
        key: in ``page.drafts``.
        sent: the form from which the draft was made; what was edited since is left alone.
    """
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
    """Return the view of a draft's plan; see :func:`draft_view`."""
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
    """Return the first rows of the file."""
    rows = [[int(line), *cells] for line, cells in zip(draft.table.lines, draft.table.head(_PREVIEW_ROWS), strict=False)]
    return table(
        [column("Row", "row"), *(column(name, theirs=True) for name in draft.table.columns)],
        rows,
        caption=f"{draft.name} · {len(draft.table):,} rows",
        note=" ".join(note.message for note in draft.table.notes),
    )


def findings_view(draft: Draft) -> Value:
    """Return the kind of examples, the problems of the file with their fixes, and the conversions that fit it."""
    more = {"changes": list(draft.changes), "undo": "Undo" if draft.changes else ""}
    if draft.plan is None:
        problem = {"severity": "error", "message": to_sentence(draft.problem), "where": "", "fix": "", "index": -1}
        return {"verdict": "Training cannot start yet.", "findings": [problem], "offers": [], **more}
    diagnosis, roles = draft.plan.diagnosis, draft.plan.roles
    value = {
        "verdict": f"{diagnosis.rows:,} rows · {KINDS[roles.kind]}" + (f" · {roles.note}" if roles.note else ""),
        # While a question is open, the question gives the reasons.
        "why": _evidence(diagnosis.why) if draft.plan.certain else "",
        "findings": [
            {
                "severity": item.severity,
                "message": to_sentence(item.message),
                "where": describe_rows(item.rows).capitalize() if item.rows else "",
                "fix": item.fix.label if item.fix else "",
                "index": number,
            }
            for number, item in enumerate(diagnosis.findings)
        ],
        "offers": [
            {"name": offer.name, "label": offer.label, "rows": offer.describe().removeprefix(f"{offer.label}: ")}
            for offer in diagnosis.offers
        ],
    }
    return to_json({**value, **more})  # type: ignore[no-any-return]


def _evidence(reasons: Sequence[str]) -> str:
    """Return why the columns were read as they were, and which are unused."""
    unused = [to_sentence(one) for one in reasons if one.startswith(UNUSED)]
    evidence = [one for one in reasons if not one.startswith(UNUSED)]
    return " ".join([to_sentence(f"Inferred because {'; '.join(evidence)}")] * bool(evidence) + unused)


def open_questions(draft: Draft) -> Value | None:
    """Return the questions about the file that only its owner can answer; ``None`` if there are none."""
    if draft.plan is None or draft.plan.certain:
        return None
    number = len(draft.plan.questions)
    return questions_view("One question before training" if number == 1 else f"{number} questions before training", draft.plan.questions)


def reasons_view(draft: Draft) -> Value | None:
    """Return the use of every row and the reasons for the settings."""
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
        title = "Same run from the command line, as the file is read now; your answer changes the command"
    else:
        title = "Same run from the command line, with the proposed answer; your answer changes the command"
    return {"title": title, "command": command_line(draft, model, default_model)}


def estimate_view(studio: Studio, draft: Draft) -> Value:
    """Return the time and memory that a run would take, estimated by running a few steps.

    Raises:
        StudioError: the run could not start, or another one is training.
    """
    plan = require_plan(draft)
    found = studio.planner.estimate(plan)
    spec = found.spec
    duration, steps = found.describe().split("; ")
    trainings = spec.seeds * max(1, spec.folds)
    work = f"{spec.epochs:g} epoch{'' if spec.epochs == 1 else 's'} of {len(plan.examples):,} rows, {spec.batch_size} at a time" + (
        f", {spec.soup} times over" if spec.soup > 1 else ""
    )
    if folds := found.estimate.folds:
        work += f", in {folds} folds without a part of the rows each, and once with all of them"
    work += f", {trainings} trainings" if trainings > 1 else ""
    return {"title": to_sentence(duration), "reasons": [to_sentence(work), to_sentence(steps), _ESTIMATE_NOTE]}


def pins_form(texts: Sequence[str] = (), visible_pairs: int = 1) -> Value:
    """Return the form of example pairs to track.

    Args:
        texts: both texts of each pair in turn, and a query.
    """
    names = pin_names()
    items = []
    for number in range(1, MAX_PAIRS + 1):
        boxes = [{"name": f"{number}a", "label": f"Pair {number}"}, {"name": f"{number}b", "label": "and"}]
        shown = [{"kind": "text", "info": "", "choices": [], **box} for box in boxes]
        items.append(group(shown, name=f"pair-{number}", row=True, visible=number <= visible_pairs))
    query = {"name": "query", "label": "Query, whose nearest texts of your file are listed", "kind": "text", "info": "", "choices": []}
    return form_view("tune-pin", [*items, query], dict(zip(names, texts or [""] * len(names), strict=True)))


def pin_names() -> list[str]:
    """Return the names of the values of :func:`pins_form`, in order."""
    return [*(f"{number}{side}" for number in range(1, MAX_PAIRS + 1) for side in "ab"), "query"]
