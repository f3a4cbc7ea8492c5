"""The settings form and the view models of the draft: frozen dataclasses whose fields name components, and the values of the tab's views.

The advisor fills the form, and whatever the visitor changes becomes an override.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from ....data.schema.hypotheses import UNUSED
from ....errors import describe_rows
from ....i18n import _, capitalize, join, ngettext, to_sentence
from ....registry import Field, fields_of
from ....serialization import to_plain
from ....services.training_plan import describe_row_reports
from ....training.events import MAX_PAIRS
from ... import components
from ...components import answer_form, form_view, group
from ...state import ModelUpdate
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, questions_view, table
from .draft import Draft, command_line, open_question_flags, require_plan
from .run_panel import SelectedRun

if TYPE_CHECKING:
    from ....services import Studio
    from ....training.spec import TrainSpec
    from ...page import Page

KINDS = {
    "scored_pairs": "Pairs with a score",
    "labelled_pairs": "Pairs with a label",
    "positive_pairs": "Pairs that belong together",
    "triplets": "Triplets: anchor, positive, negative",
    "labelled_texts": "Texts with a category",
    "sentences": "Sentences without labels",
}
NO_FILE = placeholder("The rows of your data appear here, with the kind of examples and any problems.")
NO_PAIRS = placeholder("The pairs to train on appear here once they are made from the documents.")
_FROM_ANOTHER_TAB = "These rows come from another tab; the data selected at the top of the page is not used here."
_ADVICE = "To train on this data, add a column of scores, labels or categories, or label texts on the map."
NO_GROUP = ("none", "")
_WITH_TARGET = ("scored_pairs", "labelled_pairs", "labelled_texts")
_PREVIEW_ROWS = 4
_ESTIMATE_NOTE = "Estimated by running a few steps; memory is given for the whole program."
_PREFIX = "tune"
_BASIC = ("epochs", "batch_size", "learning_rate")
_LORA = ("lora_r", "lora_alpha", "lora_dropout")
_VECTORS = ("prompt", "pooling", "projection", "activation", "matryoshka")
_AUTO = ("Chosen for your data", "auto")
_OBJECTIVE_HELP = "The loss that training minimizes."
# Settings that have no effect with an architecture.
_UNUSED = {"siamese": ("head", "codes"), "cross": (*_VECTORS, "codes"), "poly": ("head", "matryoshka")}
_CHOICES = {
    "architecture": [
        ("Bi-encoder: compares the vectors of two texts", "siamese"),
        ("Cross-encoder: reads both texts at once, for re-ranking", "cross"),
        ("Poly-encoder: compares several vectors of the first text with one of the second, for fast re-ranking", "poly"),
    ],
    "head": [("One linear layer", "linear"), ("512 units with ReLU, then a sigmoid", "mlp")],
}
_METHODS = [["All weights", "full"], ["LoRA: small adapters", "lora"]]
_DECIDING = ("method", "loss", "acting", "architecture", "head")


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
    trainings: Value | Unchanged | None = UNCHANGED  # note on a run of several trainings


@dataclass(frozen=True)
class DraftView:
    draft: str | None  # its key in ``page.drafts``
    preview: Value
    roles: Update  # update of the section with the next six components, the column selectors
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
    more_pairs: Update | Unchanged = UNCHANGED
    pins_section: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class OpenedData:
    file: FileView
    name: str | Unchanged = UNCHANGED
    pins_view: PinsView = field(default_factory=PinsView)


@dataclass(frozen=True)
class StartedRun:
    view: DraftView
    selected: SelectedRun
    runs_version: int


def displayed_settings(draft: Draft) -> dict[str, object]:
    return form_settings(draft.plan.spec, draft.overrides) if draft.plan else default_settings()


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
        roles=roles_section(draft),
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


def roles_section(draft: Draft) -> Update:
    """Return the update of the section with the column selectors, which opens by itself only if the columns are uncertain."""
    is_uncertain = draft.is_checked and (draft.diagnosis is None or bool(draft.diagnosis.questions))
    return props(visible=draft.is_checked, open=True) if is_uncertain else props(visible=draft.is_checked)


def plan_view(page: Page, draft: Draft, model: str | None, sent: object = None, forecast: Value | Unchanged | None = None) -> PlanView:
    kind = draft.diagnosis.roles.kind if draft.diagnosis else None
    return PlanView(
        settings=answer_form(sent, settings_view(kind, displayed_settings(draft))),
        reasons=reasons_view(draft),
        command=command_view(draft, model or "", page.studio.settings.default_model),
        questions=open_questions(draft),
        start=props(variant="primary" if draft.plan and draft.plan.certain else "secondary"),
        forecast=forecast,
        trainings=trainings_view(page.studio, draft),
    )


def trainings_view(studio: Studio, draft: Draft) -> Value | None:
    """Return the note that a run trains several times, with its total time; ``None`` if it trains once."""
    words = "" if draft.plan is None else studio.planner.describe_trainings(draft.plan)
    return {"text": words} if words else None


def preview_table(draft: Draft) -> Value:
    rows = [[int(line), *cells] for line, cells in zip(draft.table.lines, draft.table.head(_PREVIEW_ROWS), strict=False)]
    notes = [note.message for note in draft.table.notes]
    return table(
        [column("Row", "row"), *(column(name, theirs=True) for name in draft.table.columns)],
        rows,
        caption=_("{name} · {table} rows", name=draft.name, table=f"{len(draft.table):,}"),
        note=join(" ", notes if draft.data else [_FROM_ANOTHER_TAB, *notes]),
    ) | ({} if draft.data else {"offer": "Use the selected data"})


def findings_view(draft: Draft) -> Value:
    if not draft.is_checked:
        return {
            "verdict": _("Checking {rows} rows…", rows=f"{len(draft.table):,}"),
            "checking": True,
            "findings": [],
            "offers": [],
            "changes": [],
            "undo": "",
        }
    more = {"changes": list(draft.changes), "undo": "Undo" if draft.changes else ""}
    if draft.plan is None:
        problem = {"severity": "error", "message": to_sentence(draft.problem), "where": "", "fix": "", "index": -1}
        advice = {"severity": "info", "message": _ADVICE, "where": "", "fix": "", "index": -1}
        return {"verdict": "Training cannot start yet.", "findings": [problem, advice], "offers": [], **more}
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
    return join(" ", [to_sentence(_("Evidence: {evidence}", evidence=join("; ", evidence)))] * bool(evidence) + unused)


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
            "{n} epoch of {examples} rows, {batch_size} at a time, repeated {soup} times",
            "{n} epochs of {examples} rows, {batch_size} at a time, repeated {soup} times",
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
    if found.estimate.folds:
        work = join(", ", [work, studio.planner.describe_parts(plan)])
    work += _(", {trainings} training runs", trainings=trainings) if trainings > 1 else ""
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
    query = {"name": "query", "label": "Query (its nearest texts in your file are listed)", "kind": "text", "info": "", "choices": []}
    return form_view("tune-pin", [*items, query], dict(zip(names, texts or [""] * len(names), strict=True)))


def count_visible_pairs(form: object) -> int:
    """Return the number of pairs that the form, as the browser sent it, shows."""
    items = form.get("items") if isinstance(form, Mapping) else None
    groups = [item for item in items if isinstance(item, Mapping) and item.get("kind") == "group"] if isinstance(items, list) else []
    return min(MAX_PAIRS, max(1, sum(bool(item.get("visible")) for item in groups)))


def pin_names() -> list[str]:
    return [*(f"{number}{side}" for number in range(1, MAX_PAIRS + 1) for side in "ab"), "query"]


@cache
def spec_fields() -> tuple[Field, ...]:
    """Return the settings of a run, except for those with a separate item in the form."""
    from ....training.spec import TrainSpec

    return tuple(item for item in TrainSpec.settings() if item.name not in ("model", "loss", "method"))


@cache
def loss_fields() -> tuple[tuple[str, tuple[Field, ...]], ...]:
    """Return the settings of each loss of any architecture; losses with the same name have the same settings."""
    from ....losses import LOSSES_BY_ARCHITECTURE

    params = {name: known[name].Params for known in LOSSES_BY_ARCHITECTURE.values() for name in known}
    return tuple((name, tuple(fields_of(one))) for name, one in params.items())


def loss_choices(kind: str | None, architecture: str = "siamese") -> list[tuple[str, str]]:
    from ....losses import losses_of

    known = losses_of(architecture)
    return [_AUTO, *((known[name].title, name) for name in known if kind is None or kind in known[name].kinds)]


def form_settings(spec: TrainSpec, overrides: Mapping[str, object]) -> dict[str, object]:
    """Return the values displayed in the form for a spec, by name.

    Numbers are parsed back, so that rounding does not count as a change. Settings of the loss are named ``loss.setting``, and "acting" is
    the loss in use.
    """
    values: dict[str, object] = {"method": spec.method, "loss": overrides.get("loss", "auto"), "acting": spec.loss}
    for item in spec_fields():
        values[item.name] = item.parse(components.to_control_value(item, getattr(spec, item.name)))
    for item in dict(loss_fields()).get(spec.loss, ()):
        value = spec.loss_params.get(item.name, item.default)
        values[f"{spec.loss}.{item.name}"] = item.parse(components.to_control_value(item, value))
    return values


def default_settings() -> dict[str, object]:
    from ....training.spec import TrainSpec

    return form_settings(TrainSpec(), {})


def deciding_values(displayed: Mapping[str, object]) -> tuple[object, ...]:
    """Return the values that determine which other settings are visible and what they contain."""
    return tuple(displayed[name] for name in _DECIDING)


def chosen_options(values: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(values.get(name)) for name in _DECIDING if name != "acting")


def settings_view(kind: str | None, displayed: Mapping[str, object], sent: Mapping[str, object] | None = None) -> Value:
    """Return the form with the ``displayed`` settings. Values ``sent`` by the browser, such as an incompletely typed number, are kept."""
    from ....losses import losses_of

    current = displayed if sent is None else sent
    architecture = str(current.get("architecture"))
    architecture = architecture if architecture in _UNUSED else "siamese"
    known = losses_of(architecture)
    # There is no loss yet if the file fits no kind.
    acting = known[str(displayed["acting"])] if displayed["acting"] in known else None
    auto = (_("{auto}: {title}", auto=_AUTO[0], title=acting.title), "auto") if acting and displayed["loss"] == "auto" else _AUTO
    offered = [auto, *loss_choices(kind, architecture)[1:]]
    values = {item.name: components.to_control_value(item, displayed[item.name]) for item in spec_fields()}
    for name, items in loss_fields():
        values |= {
            f"{name}.{item.name}": components.to_control_value(item, displayed.get(f"{name}.{item.name}", item.default)) for item in items
        }
    values |= {"method": displayed["method"], "loss": displayed["loss"], **(sent or {})}
    if values["loss"] not in {name for _, name in offered}:
        values["loss"] = "auto"
    loss = {"name": "loss", "label": "Loss", "kind": "choice", "choices": [list(one) for one in offered]}
    loss["info"] = acting.summary if acting else _OBJECTIVE_HELP
    return components.form_view(_PREFIX, _items(loss, str(displayed["acting"]), str(current.get("method")), architecture), values)


def _items(loss: Value, acting: str, method: str, architecture: str) -> list[Value]:
    fields = {item.name: item for item in spec_fields()}

    def controls(*names: str) -> list[Value]:
        return [components.describe_control(fields[name]) for name in names]

    def radio(name: str, label: str) -> Value:
        return components.radio(components.describe_control(fields[name], label=label, choices=[list(one) for one in _CHOICES[name]]))

    own = [
        components.group(
            [components.describe_control(item, name=f"{name}.{item.name}") for item in items], name=name, visible=name == acting
        )
        for name, items in loss_fields()
    ]
    placed = ("architecture", "head", "codes", *_BASIC, *_LORA, *_VECTORS)
    advanced = [
        components.group([radio("architecture", "Architecture")]),
        components.group([radio("head", "Head")], name="of-cross", visible=architecture == "cross"),
        components.group(controls("codes"), name="of-poly", visible=architecture == "poly"),
        loss,
        *own,
        components.group(controls(*_LORA), name="of-lora", visible=method == "lora"),
        components.group(controls(*_VECTORS), name="of-vectors", visible=architecture != "cross"),
        *controls(*(name for name in fields if name not in placed)),
    ]
    basic = [
        components.radio({"name": "method", "label": "Trained weights", "info": "", "choices": _METHODS}),
        components.group([components.describe_control(fields[name], info="") for name in _BASIC], row=True),
    ]
    return [components.group([*basic, *advanced], name="advanced", title="Advanced")]


def read_overrides(values: Mapping[str, object], displayed: Mapping[str, object], earlier: Mapping[str, object]) -> dict[str, object]:
    """Return the earlier overrides, and each value of the browser's form that differs from the displayed value."""
    from ....losses import losses_of

    parsed = components.parse_values(spec_fields(), values)
    architecture = str(parsed["architecture"])
    known = losses_of(architecture)
    # The loss was chosen for another architecture.
    loss = str(values.get("loss")) if values.get("loss") in known else "auto"
    current = {"method": values.get("method"), "loss": loss, **parsed}
    overrides = {**earlier, **{name: value for name, value in current.items() if value != displayed.get(name)}}
    if overrides.get("loss") == "auto":
        del overrides["loss"]
    for name in _UNUSED[architecture]:
        overrides.pop(name, None)
    displayed_objective = str(displayed.get("acting") or "")
    acting = loss if loss != "auto" else displayed_objective
    acting = acting if acting in known else ""
    own = dict(loss_fields())
    if displayed_objective != acting:  # another loss does not have these settings
        for item in own.get(displayed_objective, ()):
            if item.name not in current:
                overrides.pop(item.name, None)
    for name, value in components.parse_values(own.get(acting, ()), values, f"{acting}.").items():
        default = next(item.default for item in own[acting] if item.name == name)
        if value != displayed.get(f"{acting}.{name}", default):
            overrides[name] = value
    return overrides
