"""Choose the task for a data set and evaluate a model on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.examples import Examples
from ..data.schema.inference import infer_roles
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..models.base import Encoder, PairScorer
from ..models.prompts import column_roles
from .bootstrap import resample_clusters
from .encoding import EncodedColumns, EncodingSpeed, require_finite
from .tasks import SCORED_KINDS, TASKS, DataShape, EncodedExamples, Task, TaskData, all_tasks, find_task, get_task, main_score, task_kinds
from .tasks.base import ClassRoles, category_names, class_roles, class_roles_from
from .tasks.categories import ReferenceTexts

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..models.prompts import Role
    from ..models.trainable import Trainable
    from ..progress import Progress
    from .report import Report


# What can be judged on examples: whatever gives vectors or scores. A model in training is one of the two, which its type does not say.
EvaluatedModel: TypeAlias = "Encoder | PairScorer | Trainable"
# Texts that new ones are laid beside: more of them change no figure that is shown.
MAX_REFERENCE_TEXTS = 5_000


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """Examples and the task to evaluate them with.

    Attributes:
        reference: reference examples with known labels, for tasks that use them.
        dev: examples on which the task chooses its settings.
    """

    examples: Examples
    task: Task
    reference: Examples | None = None
    dev: Examples | None = None

    @property
    def columns(self) -> list[tuple[tuple[str, ...], Role]]:
        """All text columns to encode, with their prompt roles."""
        sets = [one for one in (self.examples, self.reference, self.dev) if one is not None]
        return [both for one in sets for both in zip(one.texts, column_roles(one.kind, len(one.texts)), strict=True)]


def evaluate_sets(
    model: EvaluatedModel,
    sets: Sequence[EvaluationSet],
    progress: Progress | None = None,
    reference: Examples | None = None,
    pace: EncodingSpeed | None = None,
) -> list[Report]:
    """Evaluate a model on each set by its task; texts (or pairs) that occur in several sets are read once.

    Args:
        progress: called with the number of texts or pairs done.
        reference: labelled texts; a sample of them is the reference of tasks with ``uses_reference``.
        pace: accumulates the encoding speed.

    Raises:
        StudioError: a set is empty, a task does not fit the model, or the model returns numbers that are not finite.
    """
    if not all(len(one.examples) for one in sets):
        raise StudioError("there are no rows to judge the model on", "give a larger set")
    if isinstance(model, PairScorer):
        return _evaluate_scores(model, sets, progress, pace or EncodingSpeed())
    return _evaluate_vectors(
        cast("Encoder", model), sets, progress, reference, pace or EncodingSpeed()
    )  # whatever learns gives vectors, or scores


def fitting_task(model: EvaluatedModel, examples: Examples) -> Task:
    """Return the task that fits the examples and the output of the model.

    Raises:
        StudioError: the examples are unlabelled sentences.
    """
    shape = DataShape(examples.kind, len(examples.labels), examples.ordered)
    if isinstance(model, PairScorer):
        return find_task(replace(shape, gives="class" if model.labels > 1 else "score"))
    return find_task(shape)


def sample_reference(examples: Examples) -> Examples:
    """Return at most :data:`MAX_REFERENCE_TEXTS` examples in order, always the same sample."""
    if len(examples) <= MAX_REFERENCE_TEXTS:
        return examples
    return examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:MAX_REFERENCE_TEXTS]))


def _evaluate_vectors(
    encoder: Encoder, sets: Sequence[EvaluationSet], progress: Progress | None, reference: Examples | None, pace: EncodingSpeed
) -> list[Report]:
    wanted = reference is not None and len(reference) > 0 and any(one.task.uses_reference for one in sets)
    beside = sample_reference(reference) if wanted and reference is not None else None
    columns = [both for one in sets for both in one.columns]
    columns += [] if beside is None else [(beside.texts[0], "symmetric")]
    with pace.measure(progress) as show:
        vectors = EncodedColumns(encoder, [column for column, _ in columns], show, [role for _, role in columns])
    laid = None if beside is None else _as_reference(_encoded_examples(vectors, beside))
    reports = []
    for one in sets:
        evaluated = _encoded_examples(vectors, one.examples)
        others = None if one.reference is None else _encoded_examples(vectors, one.reference)
        with resample_clusters(*one.examples.texts):
            if others is not None and one.task.learns:
                dev = None if one.dev is None else _encoded_examples(vectors, one.dev)
                reports.append(one.task.train_and_evaluate(evaluated, others, dev))
            else:
                beside_it = laid if others is None else _as_reference(others)
                reports.append(one.task.evaluate_vectors(one.examples, evaluated.vectors, beside_it, encoder.similarity_name))
    return reports


def _encoded_examples(vectors: EncodedColumns, examples: Examples) -> EncodedExamples:
    roles = column_roles(examples.kind, len(examples.texts))
    return EncodedExamples(examples, [vectors.of(column, role) for column, role in zip(examples.texts, roles, strict=True)])


def _as_reference(reference: EncodedExamples) -> ReferenceTexts:
    return ReferenceTexts(reference.vectors[0], category_names(reference.examples), reference.examples.texts[0])


def _evaluate_scores(model: PairScorer, sets: Sequence[EvaluationSet], progress: Progress | None, pace: EncodingSpeed) -> list[Report]:
    for one in sets:
        one.task.require_scorer(model)
    asked = [[] if one.task.ranks_candidates else one.task.pairs(one.examples) for one in sets]
    places: dict[tuple[str, str], int] = {}
    for pair in (pair for pairs in asked for pair in pairs):
        places.setdefault(pair, len(places))
    # One that reads pairs whole tells how many of them are done; a poly-encoder how many queries and candidates, each read once.
    with pace.measure(progress, 2 if model.candidate_encoder is None else 1) as show:
        scores = require_finite(model.predict(list(places), progress=show)) if places else np.empty(0, np.float32)
    reports = []
    for one, pairs in zip(sets, asked, strict=True):
        examples, task = one.examples, one.task
        own = scores[np.fromiter((places[pair] for pair in pairs), np.int64, len(pairs))]
        with resample_clusters(*examples.texts):
            ranked = task.ranks_candidates
            reports.append(
                task.evaluate_ranking(examples, model, progress) if ranked else task.evaluate_pair_scores(examples, own, model.class_names)
            )
    return reports


def detect_task(table: Table) -> str:
    """Return the name of the task that fits a table, one of :data:`TASKS`.

    Raises:
        StudioError: the table has neither pairs, triplets, nor labelled texts.
    """
    return _detect(table, None)[0].name


def evaluate(
    encoder: Encoder | PairScorer,
    table: Table,
    task: str = "auto",
    progress: Progress | None = None,
    roles: Roles | None = None,
    reference: Table | None = None,
    dev: Table | None = None,
) -> Report:
    """Evaluate an encoder or a cross-encoder on a table.

    Args:
        task: one of :data:`TASKS`, or ``auto`` to detect it from the columns.
        progress: called with the number of encoded texts.
        roles: column roles; detected if not given.
        reference, dev: see :func:`with_reference`.

    Raises:
        StudioError: the task is unknown, or the table lacks what it needs.
    """
    chosen, columns = choose_task(table, task, roles)
    if isinstance(encoder, PairScorer):
        chosen.require_pairs(encoder)
    rows = chosen.read(table, columns)
    if reference is not None:
        rows = with_reference(rows, chosen, reference, dev, columns)
    if task == "auto" and isinstance(encoder, PairScorer):
        chosen = fitting_task(encoder, rows.examples)
    (report,) = evaluate_sets(encoder, [EvaluationSet(rows.examples, chosen, rows.reference, rows.dev)], progress)
    return replace(report, notes=rows.notes, account=rows.account)


def with_reference(
    rows: TaskData, task: Task, reference: Table, dev: Table | None = None, roles: Roles | ClassRoles | None = None
) -> TaskData:
    """Return the data of a task together with reference rows whose labels are known.

    Args:
        reference: rows that the task trains on, or compares the evaluated texts with.
        dev: rows on which it chooses its settings.
        roles: column roles of the evaluated table; detected for tables with other columns.

    Raises:
        StudioError: the task does not use reference rows, or a table lacks what it needs.
    """
    if not task.uses_known_rows:
        able = ", ".join(one.name for one in all_tasks() if one.uses_known_rows)
        raise StudioError(f"{task.name} judges a file by itself and has no use for known answers", f"leave them out, or choose {able}")
    found, chosen = (None if table is None else task.read(table, _roles_for_columns(table, roles)) for table in (reference, dev))
    assert found is not None
    use = "learned from" if task.learns else "laid beside"
    notes = (*rows.notes, f"{use} the {len(found.examples):,} rows of {reference.name}", *found.notes)
    return replace(rows, reference=found.examples, dev=None if chosen is None else chosen.examples, notes=notes)


def _roles_for_columns(table: Table, roles: Roles | ClassRoles | None) -> Roles | ClassRoles | None:
    if isinstance(roles, ClassRoles):
        names = {roles.text, roles.label}
    else:
        names = set() if roles is None else {*roles.texts, *(name for name in (roles.target,) if name)}
    return roles if names <= set(table.columns) else None


def choose_task(table: Table, task: str, roles: Roles | None) -> tuple[Task, Roles | ClassRoles | None]:
    """Return the named task (or the one that fits the table for ``auto``) and its column roles, as far as they are known.

    Raises:
        StudioError: the task is unknown, or none fits the table.
    """
    return _detect(table, roles) if task == "auto" else (get_task(task), roles)


def evaluate_examples(
    encoder: EvaluatedModel, examples: Examples, progress: Progress | None = None, *, reference: Examples | None = None
) -> Report:
    """Evaluate a model on examples of one of :data:`SCORED_KINDS`, as the trainer does with its validation split.

    Args:
        reference: labelled reference texts (the training texts), of which :func:`sample_reference` takes a fixed sample. Without them
            the evaluated texts are compared with each other.

    Raises:
        StudioError: there are no examples, or only unlabelled sentences.
    """
    (report,) = evaluate_sets(encoder, [EvaluationSet(examples, fitting_task(encoder, examples))], progress, reference)
    return report


def _detect(table: Table, roles: Roles | None) -> tuple[Task, Roles | ClassRoles]:
    try:
        roles = roles or infer_roles(table)
    except StudioError:
        return find_task(DataShape("sentences", classed=True)), class_roles(table)
    if roles.kind in ("labelled_texts", "sentences"):
        return find_task(DataShape(roles.kind, classed=True)), class_roles_from(roles) or class_roles(table)
    return find_task(DataShape(roles.kind, len(roles.labels), roles.ordered)), roles


__all__ = [
    "SCORED_KINDS",
    "TASKS",
    "choose_task",
    "detect_task",
    "evaluate",
    "evaluate_examples",
    "main_score",
    "sample_reference",
    "task_kinds",
    "with_reference",
]
