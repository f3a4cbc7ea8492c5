"""Draft of a run before it starts: the file, the visitor's choices, and the plan that Start submits unchanged.

The browser stores the form, and the visitor's folder its files, so that a reload restores the draft.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....data.samples import list_samples
from ....data.schema.roles import SchemaOverrides, format_flags, format_value
from ....errors import StudioError
from ....i18n import _, join, to_sentence
from ....serialization import to_plain
from ....services.questions import apply_answer
from ....services.run_setup import default_run_name
from ....services.training_plan import FIRST_STAGE_PREFIX, AnsweredQuestion, TrainRequest
from ....training.events import rename_settings
from ...views import Value, chosen_option

if TYPE_CHECKING:
    from ....data.doctor.diagnosis import Diagnosis
    from ....data.findings import Question
    from ....data.loading.table import Table
    from ....progress import Progress
    from ....runs.run import Run
    from ....services import Studio
    from ....services.training_plan import TrainPlan
    from ....training.events import TrackedExamples
    from ...page import Page
    from ...sessions.file_store import StoredFile

_FLAGS = {
    "loss": "--loss",
    "method": "--method",
    "epochs": "--epochs",
    "batch_size": "--batch-size",
    "learning_rate": "--lr",
    "seed": "--seed",
}
_FORMAT_OPTIONS = ("encoding", "delimiter", "header")
PURPOSE = "examples"
_SAMPLE, _FILE = "sample:", "file:"
_MAX_FILES = 500  # maximum number of files whose ids are remembered
_TUPLES = ("columns", "scale", "order")


@dataclass(frozen=True)
class Draft:
    """Everything needed to start a run.

    Attributes:
        edited: settings changed since the plan was made that affect no other setting, together with those of the request; ``None`` if there
            are none.
    """

    name: str  # name of the uploaded file
    path: Path  # the uploaded file; ``original`` is its table, and ``table`` the same with the visitor's fixes and conversions
    original: Table
    table: Table
    request: TrainRequest  # the visitor's choices: columns, settings, additional files
    plan: TrainPlan | None = None  # the run that would start; ``None`` if the columns fit no kind (see ``problem``)
    problem: str = ""
    edited: Mapping[str, Any] | None = None
    refused: tuple[str, ...] = ()  # last choice that was rejected, and why
    is_checked: bool = True  # False while only the first rows are shown, and ``plan`` is still to be made
    data: str = ""  # ``data_key`` of the selected data that it was opened from; empty for examples from elsewhere

    @property
    def diagnosis(self) -> Diagnosis | None:
        return self.plan.diagnosis if self.plan else None

    @property
    def choices(self) -> SchemaOverrides:
        return self.request.choices or SchemaOverrides()

    @property
    def overrides(self) -> dict[str, Any]:
        return dict(self.request.overrides if self.edited is None else self.edited)

    @property
    def changes(self) -> tuple[str, ...]:
        return self.request.changes

    @property
    def file_name(self) -> str:
        """Name of the downloaded file if it was changed."""
        return f"{Path(self.name).stem}-fixed.csv" if self.changes else self.name

    def with_request(self, **values: Any) -> Draft:
        return replace(self, request=replace(self.request, **{"overrides": self.overrides, **values}), edited=None)

    def without_loss(self) -> Draft:
        return self.with_request(overrides={name: value for name, value in self.overrides.items() if name != "loss"})


def open_draft(
    studio: Studio, path: Path, model: str | None, *, name: str | None = None, table: Table | None = None, progress: Progress | None = None
) -> Draft:
    """Create a draft from a file, whose table may already have been read.

    Raises:
        StudioError: the file cannot be read.
    """
    table = studio.data.read_table(path, name) if table is None else table
    return plan_again(studio, Draft(name or path.name, path, table, table, TrainRequest(path)), model, progress)


def preview_draft(path: Path, model: str | None, name: str | None, table: Table) -> Draft:
    """Return a draft whose rows can be shown, but were not checked yet (see :func:`plan_again`)."""
    return Draft(name or path.name, path, table, table, TrainRequest(path, model=model), is_checked=False)


def plan_again(studio: Studio, draft: Draft, model: str | None, progress: Progress | None = None) -> Draft:
    request = replace(draft.request, data=draft.table if draft.changes else draft.path, model=model)
    draft = replace(draft, is_checked=True)
    try:
        plan = studio.planner.plan(request, draft.plan, table=draft.table, check_progress=progress)
    except StudioError as error:
        words = join(" ", (to_sentence(part) for part in (error.describe(), error.hint) if part))
        return replace(draft, request=request, plan=None, problem=words, edited=None)
    return replace(draft, request=request, plan=plan, problem="", edited=None)


def with_settings(studio: Studio, draft: Draft, model: str | None, overrides: Mapping[str, Any]) -> Draft:
    """Return the draft with automatic settings that respect the visitor's; the same object if nothing has changed."""
    if dict(overrides) == dict(draft.request.overrides) and model == draft.request.model:
        return draft
    changed = draft.with_request(overrides=dict(overrides), model=model)
    if draft.plan is None:
        return changed
    return replace(changed, plan=studio.planner.plan(changed.request, draft.plan, table=draft.table))


def with_columns(studio: Studio, draft: Draft, chosen: SchemaOverrides, model: str | None) -> Draft:
    """Return the draft with the columns selected in the controls.

    Changing the kind resets the columns and the loss. A value that only repeats the inferred group or scale does not count as a choice, and
    another score column has another scale.
    """
    roles, before = draft.diagnosis.roles if draft.diagnosis else None, draft.choices
    if chosen.kind != (roles.kind if roles else before.kind):
        choices = replace(format_choices(before), kind=chosen.kind)
        return plan_again(studio, draft.with_request(choices=choices).without_loss(), model)
    if roles is None:  # choices that did not fit can be corrected
        group = before.group if before.group is None else chosen.group or ""
        scale, order = before.scale and chosen.scale, before.order
    else:
        group, scale, order = before.group, before.scale, before.order
        group = group if (chosen.group or "") == (roles.group or "") else chosen.group or ""
        scale = scale if chosen.scale in (None, (roles.low, roles.high)) else chosen.scale
        if chosen.target != roles.target:
            scale = order = None
    columns, target = chosen.columns or None, chosen.target or None
    choices = replace(before, kind=chosen.kind, columns=columns, target=target, group=group, scale=scale, order=order)
    return plan_again(studio, draft.with_request(choices=choices), model)


def has_columns(draft: Draft, chosen: SchemaOverrides) -> bool:
    """Return whether the columns already match the controls, for example after focusing a field without changing it."""
    if draft.diagnosis is None:
        return False
    roles = draft.diagnosis.roles
    scale = None if roles.low is None or roles.high is None else (roles.low, roles.high)
    return chosen == SchemaOverrides(roles.kind, roles.texts, roles.target, roles.group or "", scale)


def with_first_stage(studio: Studio, draft: Draft, path: Path | None, model: str | None) -> Draft:
    overrides = {name: value for name, value in draft.overrides.items() if not name.startswith("first.")}
    changed = draft.with_request(first=path, overrides=overrides, model=model)
    return replace(changed, plan=studio.planner.plan(changed.request, draft.plan, table=draft.table)) if draft.plan else changed


def change_rows(studio: Studio, draft: Draft, action: object, item: object, model: str | None) -> Draft:
    """Return the draft after ``undo``, ``convert`` (a name) or ``fix`` (number of a finding).

    Raises:
        StudioError: the change does not exist.
    """
    if action == "undo":
        restored = draft.with_request(changes=(), choices=format_choices(draft.choices))
        return plan_again(studio, replace(restored, table=draft.original), model)
    return _convert(studio, draft, item, model) if action == "convert" else _fix(studio, draft, item, model)


def _fix(studio: Studio, draft: Draft, index: object, model: str | None) -> Draft:
    findings = draft.diagnosis.findings if draft.diagnosis else ()
    mend = findings[index].fix if isinstance(index, int) and 0 <= index < len(findings) else None
    if mend is None:
        raise StudioError("this finding has no fix", "check the file again")
    fixed = draft.with_request(changes=(*draft.changes, mend.label), choices=draft.choices.after(mend))
    return plan_again(studio, replace(fixed, table=studio.data.fix(draft.table, mend)), model)


def _convert(studio: Studio, draft: Draft, name: object, model: str | None) -> Draft:
    diagnosis = draft.diagnosis
    offer = next((offer for offer in diagnosis.offers if offer.name == name), None) if diagnosis else None
    if offer is None or diagnosis is None:
        raise StudioError("this conversion does not apply to the file", "check the file again")
    table = studio.data.convert(draft.table, offer.name, diagnosis.roles, model)
    changes, choices = (*draft.changes, offer.describe()), SchemaOverrides(kind=offer.kind)
    return plan_again(studio, replace(draft.with_request(changes=changes, choices=choices).without_loss(), table=table), model)


def answer_question(studio: Studio, draft: Draft, place: object, model: str | None) -> Draft:
    """Return the draft with a question answered. ``place``: indices of the question and of the answer, from the browser."""
    question, option = chosen_option(draft.plan.questions if draft.plan else (), place, "check the file again")
    first_stage = {name: value for name, value in option.choice.items() if name.startswith(FIRST_STAGE_PREFIX)}
    own = {name: value for name, value in option.choice.items() if name not in first_stage}
    changed = draft.with_request(
        answered=(*draft.request.answered, AnsweredQuestion(question.text, option.answer)),
        overrides={**draft.overrides, **first_stage},
        choices=apply_answer(draft.choices, own),
    )
    if any(name in _FORMAT_OPTIONS for name in own):  # the file is read again, which undoes changes to its rows
        table = studio.data.read_table(draft.path, draft.original.name, overrides=changed.choices)
        changed = replace(changed.with_request(changes=()), original=table, table=table)
    if "kind" in own:
        changed = changed.without_loss()
    return plan_again(studio, changed, model)


def start_run(studio: Studio, draft: Draft, owner: str, name: str, pins: TrackedExamples | None = None) -> Run:
    return studio.fine_tune.submit(require_plan(draft).named(owner, free_name(studio, owner, model_name(draft, name)), pins))


def model_name(draft: Draft, name: str) -> str:
    return name.strip() or default_run_name(draft.name)


def free_name(studio: Studio, owner: str, name: str) -> str:
    taken = {run.name for run in studio.fine_tune.list_runs(owner)}
    return next(one for one in chain([name], (f"{name} {number}" for number in count(2))) if one not in taken)


def require_plan(draft: Draft) -> TrainPlan:
    if draft.plan is None:
        # The problem includes its own hint: the cause may be the model, such as a frozen one, rather than the columns.
        hint = "" if draft.problem else "choose its kind and its columns"
        raise StudioError(draft.problem or "this file cannot be trained on", hint)
    if draft.plan.questions and not draft.choices.as_read:
        raise StudioError(
            _("a question is unanswered: {text}", text=draft.plan.questions[0].text), "choose one of its answers, above Start training"
        )
    return draft.plan


def format_choices(choices: SchemaOverrides) -> SchemaOverrides:
    return SchemaOverrides(encoding=choices.encoding, delimiter=choices.delimiter, header=choices.header, split=choices.split)


def command_line(draft: Draft, model: str, default_model: str) -> str:
    """Return the command that starts the same run in a terminal; for a file changed here, with the downloaded file.

    While a question is unanswered, the command contains its proposed answer, or ``--as-read``.
    """
    request = draft.request
    words = ["sbert-studio", "train", draft.file_name]
    words += ["--dev", _file_name(request.dev)] if request.dev else []
    words += ["--first", _file_name(request.first)] if request.first else []
    words += choice_flags(draft.choices)
    words += open_question_flags(draft.plan.questions if draft.plan is not None and not draft.choices.as_read else ())
    words += ["--model", model] if model != default_model else []
    spec = draft.plan.spec.to_json() if draft.plan else {}
    for name, flag in _FLAGS.items():
        if name in spec:
            words += [flag, f"{spec[name]:g}" if isinstance(spec[name], float) else str(spec[name])]
    # On another machine, which may be faster, they would be chosen again.
    by_time = {name: spec[name] for name in ("evaluation", "max_folds") if spec.get(name) not in (None, "auto", 0)}
    for name, value in {**by_time, **request.overrides}.items():
        if name not in _FLAGS:
            words += ["--set", f"{name}={format_value(value)}"]
    return shlex.join(words)


def choice_flags(choices: SchemaOverrides) -> list[str]:
    return format_flags({name: value for name, value in vars(choices).items() if value != getattr(SchemaOverrides, name)})


def open_question_flags(questions: Sequence[Question]) -> list[str]:
    """Return the options that start a run despite unanswered questions.

    This is the proposed answer if nothing else depends on it, else ``--as-read``.
    """
    if len(questions) == 1 and questions[0].proposed is not None and questions[0].name in ("order", "scale"):
        return shlex.split(questions[0].options[questions[0].proposed].flag)
    return ["--as-read"] if questions else []


def _file_name(file: object) -> str:
    return str(getattr(file, "name", file))


def save_draft(page: Page, owner: object, draft: Draft, name: str, pinned: Sequence[str] = ()) -> Value:
    # A changed file is written again, so its format is known.
    choices = replace(draft.choices, encoding=None, delimiter=None, header=None) if draft.changes else draft.choices
    return {
        "file": _file_id(page, owner, draft.path, draft.file_name, draft),
        "dev": _file_id(page, owner, draft.request.dev, "validation examples"),
        "first": _file_id(page, owner, draft.request.first, "first stage"),
        "choices": to_plain(asdict(choices)),
        "overrides": to_plain(draft.overrides),
        "name": name,
        "pinned": list(pinned),
    }


def restore_draft(page: Page, owner: object, saved: object, model: str | None) -> Draft | None:
    """Return the draft of a stored form, which is untrusted; ``None`` if there is none, or its file was deleted."""
    stored = _mapping(saved)
    found = _find_file(page, owner, stored.get("file"))
    if found is None:
        return None
    path, name = found
    try:
        draft = open_draft(page.studio, path, model, name=name)
        dev, first = (_find_file(page, owner, stored.get(part)) for part in ("dev", "first"))
        changed = draft.with_request(
            choices=_column_choices(stored.get("choices")),
            overrides=rename_settings({key: value for key, value in _mapping(stored.get("overrides")).items() if isinstance(key, str)}),
            dev=dev[0] if dev else None,
            first=first[0] if first else None,
        )
        restored = plan_again(page.studio, changed, model)
        return draft if restored.plan is None and draft.plan is not None else restored
    except (StudioError, TypeError, ValueError):
        return None  # from another version, or forged


def _file_id(page: Page, owner: object, path: object, name: str, draft: Draft | None = None) -> str:
    """Return the id of a stored file, or of the changed table of a draft; empty without one, or if it is too large."""
    if not isinstance(path, Path):
        return ""
    changes = draft.changes if draft is not None else ()
    sample = next((item.id for item in list_samples() if item.path == path and not changes), None)
    if sample is not None:
        return f"{_SAMPLE}{sample}"
    own = page.files.list_files(page.visitor(owner)) if not changes else []
    if stored_id := next((file.id for file in own if file.path == path), ""):
        return f"{_FILE}{stored_id}"
    key = (page.visitor(owner), path, changes)
    if key not in page.form_files:
        if draft is not None and changes:
            path = page.downloads.path(draft.file_name)
            draft.table.to_csv(path, guarded=False)
        stored = page.files.save(key[0], path, name if Path(name).suffix else name + path.suffix, "", PURPOSE)
        if len(page.form_files) >= _MAX_FILES:
            page.form_files.clear()
        page.form_files[key] = "" if stored is None else f"{_FILE}{stored.id}"
    return page.form_files[key]


def _find_file(page: Page, owner: object, file_id: object) -> tuple[Path, str] | None:
    if not isinstance(file_id, str) or not file_id:
        return None
    if file_id.startswith(_SAMPLE):
        sample = next((one for one in list_samples() if one.id == file_id.removeprefix(_SAMPLE)), None)
        return None if sample is None else (sample.path, sample.path.name)
    try:
        stored: StoredFile = page.files.get(page.visitor(owner), file_id.removeprefix(_FILE))
    except StudioError:
        return None
    return stored.path, stored.name


def _column_choices(value: object) -> SchemaOverrides:
    names = {item.name for item in fields(SchemaOverrides)}
    values = {
        name: tuple(one) if name in _TUPLES and isinstance(one, list) else one for name, one in _mapping(value).items() if name in names
    }
    return SchemaOverrides(**values)  # type: ignore[arg-type]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
