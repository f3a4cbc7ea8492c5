"""A tuning run before it starts: the file, what was chosen by hand, and the plan that Start submits as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....data.schema.overrides import SchemaOverrides
from ....errors import StudioError, describe_rows
from ....services.training_plan import TrainRequest
from ...views import Value, to_sentence

if TYPE_CHECKING:
    from ....data.doctor.diagnosis import Diagnosis
    from ....data.loading.table import Table
    from ....progress import Progress
    from ....runs.run import Run
    from ....services import Studio
    from ....services.training_plan import TrainPlan
    from ....training.pins import TrackedExamples

KIND_WORDS = {
    "scored_pairs": "Pairs with a score",
    "labelled_pairs": "Pairs with a label",
    "positive_pairs": "Pairs that belong together",
    "triplets": "Triplets: anchor, positive, negative",
    "labelled_texts": "Texts with a category",
    "sentences": "Sentences alone",
}


@dataclass(frozen=True)
class Draft:
    """All that Start needs.

    Attributes:
        name: of the file, as it was uploaded.
        path: the file as it came, and ``original`` its table; ``table`` is the same, perhaps mended or converted.
        request: what was chosen by hand: columns, settings, further files.
        plan: what a run would be; ``None`` where the columns fit no kind, and ``problem`` then says why.
        typed: the settings that were chosen by hand since, and on which no other setting depends, with those of the request; ``None``
            where there are none since.
    """

    name: str
    path: Path
    original: Table
    table: Table
    request: TrainRequest
    plan: TrainPlan | None = None
    problem: str = ""
    typed: Mapping[str, Any] | None = None

    @property
    def diagnosis(self) -> Diagnosis | None:
        """What the file is and what is wrong with it."""
        return self.plan.diagnosis if self.plan else None

    @property
    def asked(self) -> SchemaOverrides:
        """What was said of how the file is to be read."""
        return self.request.choices or SchemaOverrides()

    @property
    def overrides(self) -> Mapping[str, Any]:
        """The settings that were chosen by hand."""
        return self.request.overrides

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings that were chosen by hand, as the controls stand."""
        return dict(self.overrides if self.typed is None else self.typed)

    @property
    def changes(self) -> tuple[str, ...]:
        """What was done to the table, in words, in order."""
        return self.request.changes

    @property
    def saved_as(self) -> str:
        """What the file is called on the visitor's disk, once it is changed and downloaded."""
        return f"{Path(self.name).stem}-changed.csv" if self.changes else self.name

    def asking(self, **values: Any) -> Draft:
        """The draft with fields of its request changed."""
        return replace(self, request=replace(self.request, **{"overrides": self.chosen, **values}), typed=None)

    def without_objective(self) -> Draft:
        """An objective that was chosen by hand does not outlive the kind of examples that it was chosen for."""
        return self.asking(overrides={name: value for name, value in self.overrides.items() if name != "objective"})


def open_draft(
    studio: Studio,
    path: Path,
    model: str | None,
    *,
    name: str | None = None,
    table: Table | None = None,
    reading: Progress | None = None,
    checking: Progress | None = None,
) -> Draft:
    """A draft from a file.

    Args:
        table: its rows, where they were read already.
        reading, checking: told how far the one and then the other is.

    Raises:
        StudioError: it cannot be read.
    """
    table = studio.read.table(path, name, reading) if table is None else table
    return checked(studio, Draft(name or path.name, path, table, table, TrainRequest(path)), model, checking)


def checked(studio: Studio, draft: Draft, model: str | None, progress: Progress | None = None) -> Draft:
    """The draft with the plan of what it now asks for; what the last plan found is kept where that still holds."""
    request = replace(draft.request, data=draft.table if draft.changes else draft.path, model=model)
    try:
        plan = studio.tune.plan(request, draft.plan, table=draft.table, checking=progress)
    except StudioError as error:
        rows = f" ({describe_rows(error.rows)})" if error.rows else ""
        words = " ".join(to_sentence(part) for part in (error.message + rows, error.hint) if part)
        return replace(draft, request=request, plan=None, problem=words.rstrip("."), typed=None)
    return replace(draft, request=request, plan=plan, problem="", typed=None)


def planned(studio: Studio, draft: Draft, model: str | None, overrides: Mapping[str, Any]) -> Draft:
    """The draft with the advisor's settings around a person's own; the very same one where nothing has changed.

    Raises:
        StudioError: a setting is refused.
    """
    if dict(overrides) == dict(draft.overrides) and model == draft.request.model:
        return draft
    changed = draft.asking(overrides=dict(overrides), model=model)
    if draft.plan is None:
        return changed
    return replace(changed, plan=studio.tune.plan(changed.request, draft.plan, table=draft.table))


def with_columns(studio: Studio, draft: Draft, chosen: SchemaOverrides, model: str | None) -> Draft:
    """The draft with its columns chosen by hand; another kind starts without columns and without an objective of one's own.

    What only repeats the group or the scale that was found is no choice, and another column of scores has a scale of its own.
    """
    roles, before = draft.diagnosis.roles if draft.diagnosis else None, draft.asked
    if chosen.kind != (roles.kind if roles else before.kind):
        return checked(studio, draft.asking(choices=replace(as_file(before), kind=chosen.kind)).without_objective(), model)
    if roles is None:  # what was tried and did not fit can be put right
        group = before.group if before.group is None else chosen.group or ""
        scale, order = before.scale and chosen.scale, before.order
    else:
        group, scale, order = before.group, before.scale, before.order
        group = group if (chosen.group or "") == (roles.group or "") else chosen.group or ""
        scale = scale if chosen.scale in (None, (roles.low, roles.high)) else chosen.scale
        if chosen.target != roles.target:
            scale = order = None
    columns, target = chosen.columns or None, chosen.target or None
    asked = replace(before, kind=chosen.kind, columns=columns, target=target, group=group, scale=scale, order=order)
    return checked(studio, draft.asking(choices=asked), model)


def shows(draft: Draft, chosen: SchemaOverrides) -> bool:
    """Whether the columns are already what the controls hold, so that a field which was only visited changes nothing."""
    if draft.diagnosis is None:
        return False
    roles = draft.diagnosis.roles
    scale = None if roles.low is None or roles.high is None else (roles.low, roles.high)
    return chosen == SchemaOverrides(roles.kind, roles.texts, roles.target, roles.group or "", scale)


def with_first(studio: Studio, draft: Draft, path: Path | None, model: str | None) -> Draft:
    """The draft with a file to learn from before, or without one; without one, nothing is said of its columns and settings.

    Raises:
        StudioError: that file cannot be trained on.
    """
    kept = {name: value for name, value in draft.overrides.items() if not name.startswith("first.")}
    asked = draft.asking(first=path, overrides=kept, model=model)
    return replace(asked, plan=studio.tune.plan(asked.request, draft.plan, table=draft.table)) if draft.plan else asked


def start(studio: Studio, draft: Draft, owner: str, name: str, pins: TrackedExamples | None = None) -> Run:
    """Queue the run of the plan that is shown, watched by what is pinned, under a name that no other run of the visitor has.

    Raises:
        StudioError: the columns fit no kind, a question is open, or the rows are not fit to learn from.
    """
    return studio.tune.submit(_plan(draft).named(owner, free_name(studio, owner, called(draft, name)), pins))


def called(draft: Draft, name: str) -> str:
    """What the new model is to be called: as was typed, or as the file is."""
    return name.strip() or Path(draft.name).stem


def free_name(studio: Studio, owner: str, name: str) -> str:
    """The name, with a number where a run of the same visitor has it already, so that the two can be told apart."""
    taken = {run.name for run in studio.tune.runs(owner)}
    return next(one for one in chain([name], (f"{name} {number}" for number in count(2))) if one not in taken)


def estimate(studio: Studio, draft: Draft) -> Value:
    """What the run would take, as a ``reasons`` view; a few steps are taken for it.

    Raises:
        StudioError: as :func:`start` would; or a training is under way.
    """
    found = studio.tune.estimate(_plan(draft))
    spec = found.spec
    span, steps = found.in_words().split("; ")
    trainings = spec.seeds * max(1, spec.folds)
    of = f"{spec.epochs:g} epoch{'' if spec.epochs == 1 else 's'} of {len(_plan(draft).examples):,} rows, {spec.batch_size} at a time" + (
        f", {spec.soup} times over" if spec.soup > 1 else ""
    )
    if folds := found.estimate.folds:
        of += f", in {folds} folds without a part of the rows each, and once with all of them"
    reasons = [to_sentence(of + (f", {trainings} trainings" if trainings > 1 else "")), to_sentence(steps)]
    return {"title": to_sentence(span), "reasons": [*reasons, "Found by taking a few steps; the memory is that of this whole program."]}


def _plan(draft: Draft) -> TrainPlan:
    if draft.plan is None:
        # What is wrong says what to do about it: it may be the model, such as a frozen one, and no matter of columns.
        hint = "" if draft.problem else "choose its kind and its columns"
        raise StudioError(draft.problem or "this file cannot be trained on", hint)
    if draft.plan.questions and not draft.asked.as_read:
        raise StudioError(f"a question is open: {draft.plan.questions[0].text}", "press one of its answers, above Start training")
    return draft.plan


def as_file(asked: SchemaOverrides) -> SchemaOverrides:
    """What was said of how the file itself is read; nothing of its columns."""
    return SchemaOverrides(encoding=asked.encoding, delimiter=asked.delimiter, header=asked.header)
