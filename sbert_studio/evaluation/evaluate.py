"""Choose the task for a data set and evaluate a model on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.examples import Examples, Roles, detect_roles
from ..errors import StudioError
from ..models.base import Encoder
from ..models.pair_scorer import PairScorer
from ..models.prompts import column_roles
from .bootstrap import drawn_together
from .encoding import Encoded, Pace
from .measures.crossing import require_finite
from .tasks import SCORED_KINDS, TASKS, Rows, Shape, Task, WithVectors, all_tasks, kinds_of_task, primary, task_for, task_named
from .tasks.base import ClassRoles, categories_of, class_roles, class_roles_of
from .tasks.categories import Known

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..models.prompts import Role
    from ..models.trainable import Trainable
    from .report import Report


# What can be judged on examples: whatever gives vectors or scores. A model in training is one of the two, which its type does not say.
Judged: TypeAlias = "Encoder | PairScorer | Trainable"
# Texts that new ones are laid beside: more of them change no figure that is shown.
MOST_KNOWN = 5_000


@dataclass(frozen=True, eq=False)
class ToJudge:
    """Examples and the task that they are judged by.

    Attributes:
        known, dev: of a task that uses them, others whose answers are known, and those by which it chooses its settings.
    """

    examples: Examples
    task: Task
    known: Examples | None = None
    dev: Examples | None = None

    @property
    def columns(self) -> list[tuple[tuple[str, ...], Role]]:
        """Return all columns of texts that a model is asked for, with their roles."""
        sets = [one for one in (self.examples, self.known, self.dev) if one is not None]
        return [both for one in sets for both in zip(one.texts, column_roles(one.kind, len(one.texts)), strict=True)]


def judge_sets(
    model: Judged,
    sets: Sequence[ToJudge],
    progress: Progress | None = None,
    known: Examples | None = None,
    pace: Pace | None = None,
) -> list[Report]:
    """Judge a model on each set by its task. A text, or of a model that scores pairs a pair, that stands in several sets is read once.

    Args:
        progress: told how many texts or pairs are done.
        known: texts with a category that is known, a sample of which those of a task that is ``beside_known`` are laid beside.
        pace: counts what the model reads, and how long that takes.

    Raises:
        StudioError: a set is empty, a task is not one for such a model, or the model gives numbers that are not finite.
    """
    if not all(len(one.examples) for one in sets):
        raise StudioError("there are no rows to judge the model on", "give a larger set")
    if isinstance(model, PairScorer):
        return _by_scores(model, sets, progress, pace or Pace())
    return _by_vectors(cast("Encoder", model), sets, progress, known, pace or Pace())  # whatever learns gives vectors, or scores


def fitting_task(model: Judged, examples: Examples) -> Task:
    """The task that fits examples and what the model gives.

    Raises:
        StudioError: the examples are bare sentences.
    """
    shape = Shape(examples.kind, len(examples.labels), examples.ordered)
    if isinstance(model, PairScorer):
        return task_for(replace(shape, gives="class" if model.labels > 1 else "score"))
    return task_for(shape)


def known_sample(examples: Examples) -> Examples:
    """At most :data:`MOST_KNOWN` of the examples, always the same ones, in their order."""
    if len(examples) <= MOST_KNOWN:
        return examples
    return examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:MOST_KNOWN]))


def _by_vectors(encoder: Encoder, sets: Sequence[ToJudge], progress: Progress | None, known: Examples | None, pace: Pace) -> list[Report]:
    wanted = known is not None and len(known) > 0 and any(one.task.beside_known for one in sets)
    beside = known_sample(known) if wanted and known is not None else None
    columns = [both for one in sets for both in one.columns]
    columns += [] if beside is None else [(beside.texts[0], "symmetric")]
    with pace.reading(progress) as show:
        vectors = Encoded(encoder, [column for column, _ in columns], show, [role for _, role in columns])
    laid = None if beside is None else _laid(_with_vectors(vectors, beside))
    reports = []
    for one in sets:
        judged = _with_vectors(vectors, one.examples)
        others = None if one.known is None else _with_vectors(vectors, one.known)
        with drawn_together(*one.examples.texts):
            if others is not None and one.task.learns:
                dev = None if one.dev is None else _with_vectors(vectors, one.dev)
                reports.append(one.task.judge_taught(judged, others, dev))
            else:
                beside_it = laid if others is None else _laid(others)
                reports.append(one.task.judge_vectors(one.examples, judged.vectors, beside_it, encoder.similarity_name))
    return reports


def _with_vectors(vectors: Encoded, examples: Examples) -> WithVectors:
    roles = column_roles(examples.kind, len(examples.texts))
    return WithVectors(examples, [vectors.of(column, role) for column, role in zip(examples.texts, roles, strict=True)])


def _laid(known: WithVectors) -> Known:
    return Known(known.vectors[0], categories_of(known.examples), known.examples.texts[0])


def _by_scores(model: PairScorer, sets: Sequence[ToJudge], progress: Progress | None, pace: Pace) -> list[Report]:
    for one in sets:
        one.task.require_scorer(model)
    asked = [[] if one.task.ranks_candidates else one.task.pairs(one.examples) for one in sets]
    places: dict[tuple[str, str], int] = {}
    for pair in (pair for pairs in asked for pair in pairs):
        places.setdefault(pair, len(places))
    # One that reads pairs whole tells how many of them are done; a poly-encoder how many queries and candidates, each read once.
    with pace.reading(progress, 2 if model.candidates is None else 1) as show:
        scores = require_finite(model.predict(list(places), progress=show)) if places else np.empty(0, np.float32)
    reports = []
    for one, pairs in zip(sets, asked, strict=True):
        examples, task = one.examples, one.task
        own = scores[np.fromiter((places[pair] for pair in pairs), np.int64, len(pairs))]
        with drawn_together(*examples.texts):
            ranked = task.ranks_candidates
            reports.append(task.judge_ranking(examples, model, progress) if ranked else task.judge_scores(examples, own, model.class_names))
    return reports


def detect_task(table: Table) -> str:
    """The task, one of :data:`TASKS`, that a table is made for.

    Raises:
        StudioError: the table holds neither pairs, nor triplets, nor texts with a class.
    """
    return _automatic(table, None)[0].name


def evaluate(
    encoder: Encoder | PairScorer,
    table: Table,
    task: str = "auto",
    progress: Progress | None = None,
    roles: Roles | None = None,
    known: Table | None = None,
    dev: Table | None = None,
) -> Report:
    """Judge an encoder or a cross-encoder on a table.

    Args:
        task: one of :data:`TASKS`, or ``auto``: decided by the table's columns.
        progress: told how many texts are encoded.
        roles: what the columns are; found by names and values where it is not said.
        known, dev: see :func:`beside`.

    Raises:
        StudioError: the task is unknown, or the table does not hold what it needs.
    """
    chosen, columns = task_of(table, task, roles)
    if isinstance(encoder, PairScorer):
        chosen.require_pairs(encoder)
    rows = chosen.read(table, columns)
    if known is not None:
        rows = beside(rows, chosen, known, dev, columns)
    if task == "auto" and isinstance(encoder, PairScorer):
        chosen = fitting_task(encoder, rows.examples)
    (report,) = judge_sets(encoder, [ToJudge(rows.examples, chosen, rows.known, rows.dev)], progress)
    return replace(report, notes=rows.notes, account=rows.account)


def beside(rows: Rows, task: Task, known: Table, dev: Table | None = None, roles: Roles | ClassRoles | None = None) -> Rows:
    """What is judged, with other rows whose answers are known.

    Args:
        known: the task learns from them, or lays what is judged beside them.
        dev: rows by which it chooses its settings.
        roles: what the columns of the judged table are; those of another table that has other columns are found out.

    Raises:
        StudioError: the task has no use for them, or a table does not hold what it needs.
    """
    if not task.uses_known:
        able = ", ".join(one.name for one in all_tasks() if one.uses_known)
        raise StudioError(f"{task.name} judges a file by itself and has no use for known answers", f"leave them out, or choose {able}")
    found, chosen = (None if table is None else task.read(table, _of_columns(table, roles)) for table in (known, dev))
    assert found is not None
    use = "learned from" if task.learns else "laid beside"
    notes = (*rows.notes, f"{use} the {len(found.examples):,} rows of {known.name}", *found.notes)
    return replace(rows, known=found.examples, dev=None if chosen is None else chosen.examples, notes=notes)


def _of_columns(table: Table, roles: Roles | ClassRoles | None) -> Roles | ClassRoles | None:
    """Roles, if the table has the columns that they name."""
    if isinstance(roles, ClassRoles):
        names = {roles.text, roles.label}
    else:
        names = set() if roles is None else {*roles.texts, *(name for name in (roles.target,) if name)}
    return roles if names <= set(table.columns) else None


def task_of(table: Table, task: str, roles: Roles | None) -> tuple[Task, Roles | ClassRoles | None]:
    """The task of that name, or the one that fits a table where it is ``auto``; and the columns that serve it, as far as they are known.

    Raises:
        StudioError: there is no such task, or the table is made for none.
    """
    return _automatic(table, roles) if task == "auto" else (task_named(task), roles)


def evaluate_examples(encoder: Judged, examples: Examples, progress: Progress | None = None, *, known: Examples | None = None) -> Report:
    """Judge an encoder or a cross-encoder on examples of one of :data:`SCORED_KINDS`, as the trainer does with its dev split.

    Args:
        known: of texts with a category, others whose category is known: those that were learned. As many of them as
            :func:`known_sample` takes are looked at, always the same ones. Without them the judged texts are laid beside each other.

    Raises:
        StudioError: the examples are bare sentences, or there are none.
    """
    (report,) = judge_sets(encoder, [ToJudge(examples, fitting_task(encoder, examples))], progress, known)
    return report


def _automatic(table: Table, roles: Roles | None) -> tuple[Task, Roles | ClassRoles]:
    """The task that fits a table, for a model that gives vectors, and the columns that serve it."""
    try:
        roles = roles or detect_roles(table)
    except StudioError:
        return task_for(Shape("sentences", classed=True)), class_roles(table)
    if roles.kind in ("labelled_texts", "sentences"):
        return task_for(Shape(roles.kind, classed=True)), class_roles_of(roles) or class_roles(table)
    return task_for(Shape(roles.kind, len(roles.labels), roles.ordered)), roles


__all__ = [
    "SCORED_KINDS",
    "TASKS",
    "beside",
    "detect_task",
    "evaluate",
    "evaluate_examples",
    "kinds_of_task",
    "known_sample",
    "primary",
    "task_of",
]
