"""Choose the task for a dataset and evaluate a model on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.examples import Examples
from ..data.schema.inference import infer_roles
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..i18n import _
from ..models.base import Encoder, PairScorer
from ..models.prompts import column_roles
from .bootstrap import resample_clusters
from .encoding import CachingEncoder, EncodedColumns, EncodingSpeed, require_finite
from .tasks import SCORED_KINDS, TASKS, DataShape, EncodedExamples, Task, TaskData, all_tasks, find_task, get_task, main_score, task_kinds
from .tasks.base import ClassRoles, class_roles, class_roles_from

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..models.prompts import Role
    from ..models.trainable import Trainable
    from ..progress import Progress
    from .report import Report


# A model in training is one of the other two types, but is not annotated as such.
EvaluatedModel: TypeAlias = "Encoder | PairScorer | Trainable"
MAX_REFERENCE_TEXTS = 5_000  # more do not change the reported figures


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
    """Evaluate a model on each set with its task; texts (or pairs) that occur in several sets are encoded once.

    Args:
        reference: labelled texts; a sample of them is the reference of tasks with ``uses_reference``.
        pace: accumulates the encoding speed.

    Raises:
        StudioError: a set is empty, a task does not fit the model, or the model returns values that are not finite.
    """
    if not all(len(one.examples) for one in sets):
        raise StudioError("there are no rows to evaluate the model on", "use a larger set")
    pace = pace or EncodingSpeed()
    if isinstance(model, PairScorer):
        return _evaluate_scores(model, sets, progress, pace)
    return _evaluate_vectors(cast("Encoder", model), sets, progress, reference, pace)


def time_repeats(model: EvaluatedModel, sets: Sequence[EvaluationSet], pace: EncodingSpeed) -> None:
    """Time the encoding of some texts (or pairs) of the sets several times; see :meth:`.EncodingSpeed.time_repeats`."""
    if isinstance(model, PairScorer):
        pairs = [pair for one in sets if not one.task.ranks_candidates for pair in one.task.pairs(one.examples)]
        pace.time_repeats(list(dict.fromkeys(pairs)), model.predict, _sentences_per_pair(model))
        return
    encoder = model.encoder if isinstance(model, CachingEncoder) else cast("Encoder", model)
    texts = list(dict.fromkeys((role, text) for one in sets for column, role in one.columns for text in column))

    def encode(sample: Sequence[tuple[Role, str]]) -> None:
        for role in dict.fromkeys(own for own, text in sample):
            encoder.for_role(role).encode([text for own, text in sample if own == role])

    pace.time_repeats(texts, encode)


def _sentences_per_pair(model: PairScorer) -> int:
    # A cross-encoder reports progress in pairs; a poly-encoder in queries and candidates, each encoded once.
    return 2 if model.candidate_encoder is None else 1


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
    """Return at most :data:`MAX_REFERENCE_TEXTS` examples in order; the sample is deterministic."""
    if len(examples) <= MAX_REFERENCE_TEXTS:
        return examples
    return examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:MAX_REFERENCE_TEXTS]))


def _evaluate_vectors(
    encoder: Encoder, sets: Sequence[EvaluationSet], progress: Progress | None, reference: Examples | None, pace: EncodingSpeed
) -> list[Report]:
    shared = sample_reference(reference) if reference and any(one.task.uses_reference for one in sets) else None
    columns = [both for one in sets for both in one.columns]
    columns += [] if shared is None else [(shared.texts[0], "symmetric")]
    with pace.measure(progress) as show:
        vectors = EncodedColumns(encoder, [column for column, _ in columns], show, [role for _, role in columns])

    def encoded(examples: Examples) -> EncodedExamples:
        roles = column_roles(examples.kind, len(examples.texts))
        return EncodedExamples(examples, [vectors.of(column, role) for column, role in zip(examples.texts, roles, strict=True)])

    encoded_shared = None if shared is None else encoded(shared)
    reports = []
    for one in sets:
        own = None if one.reference is None else encoded(one.reference)
        with resample_clusters(*one.examples.texts):
            if own is not None and one.task.learns:
                dev = None if one.dev is None else encoded(one.dev)
                reports.append(one.task.train_and_evaluate(encoded(one.examples), own, dev))
            else:
                reports.append(one.task.evaluate_vectors(encoded(one.examples), own or encoded_shared, encoder.similarity_name))
    return reports


def _evaluate_scores(model: PairScorer, sets: Sequence[EvaluationSet], progress: Progress | None, pace: EncodingSpeed) -> list[Report]:
    for one in sets:
        one.task.require_scorer(model)
    needed = [[] if one.task.ranks_candidates else one.task.pairs(one.examples) for one in sets]
    places = {pair: place for place, pair in enumerate(dict.fromkeys(pair for pairs in needed for pair in pairs))}
    with pace.measure(progress, _sentences_per_pair(model)) as show:
        scores = require_finite(model.predict(list(places), progress=show)) if places else np.empty(0, np.float32)
    reports = []
    for one, pairs in zip(sets, needed, strict=True):
        with resample_clusters(*one.examples.texts):
            if one.task.ranks_candidates:
                reports.append(one.task.evaluate_ranking(one.examples, model, progress))
            else:
                own = scores[np.fromiter((places[pair] for pair in pairs), np.int64, len(pairs))]
                reports.append(one.task.evaluate_pair_scores(one.examples, own, model.class_names))
    return reports


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
        dev: rows for choosing the settings of the task.
        roles: column roles of the evaluated table; detected for tables with other columns.

    Raises:
        StudioError: the task does not use reference rows, or a table lacks what it needs.
    """
    if not task.uses_known_rows:
        able = ", ".join(one.name for one in all_tasks() if one.uses_known_rows)
        raise StudioError(
            _("{name} evaluates a file on its own and does not use reference rows", name=task.name),
            _("omit them, or choose {able}", able=able),
        )
    found, chosen = (None if table is None else task.read(table, _roles_for_columns(table, roles)) for table in (reference, dev))
    assert found is not None
    examples = f"{len(found.examples):,}"
    use = (
        _("trained on the {examples} rows of {name}", examples=examples, name=reference.name)
        if task.learns
        else _("compared with the {examples} rows of {name}", examples=examples, name=reference.name)
    )
    notes = (*rows.notes, use, *found.notes)
    return replace(rows, reference=found.examples, dev=None if chosen is None else chosen.examples, notes=notes)


def _roles_for_columns(table: Table, roles: Roles | ClassRoles | None) -> Roles | ClassRoles | None:
    if isinstance(roles, ClassRoles):
        names = {roles.text, roles.label}
    else:
        names = set() if roles is None else {*roles.texts, *(name for name in (roles.target,) if name)}
    return roles if names <= set(table.columns) else None


def choose_task(table: Table, task: str, roles: Roles | None) -> tuple[Task, Roles | ClassRoles | None]:
    """Return the named task (for ``auto``, the one that fits the table) and its column roles, as far as they are known.

    Raises:
        StudioError: the task is unknown, or none fits the table.
    """
    if task != "auto":
        return get_task(task), roles
    try:
        roles = roles or infer_roles(table)
    except StudioError:
        return find_task(DataShape("sentences", classed=True)), class_roles(table)
    if roles.kind in ("labelled_texts", "sentences"):
        return find_task(DataShape(roles.kind, classed=True)), class_roles_from(roles) or class_roles(table)
    return find_task(DataShape(roles.kind, len(roles.labels), roles.ordered)), roles


def evaluate_examples(
    encoder: EvaluatedModel, examples: Examples, progress: Progress | None = None, *, reference: Examples | None = None
) -> Report:
    """Evaluate a model on examples of one of :data:`SCORED_KINDS`, as the trainer does on its validation split.

    Args:
        reference: labelled reference texts (the training texts), of which :func:`sample_reference` takes a fixed sample. Without them,
            the evaluated texts are compared with each other.

    Raises:
        StudioError: there are no examples, or only unlabelled sentences.
    """
    (report,) = evaluate_sets(encoder, [EvaluationSet(examples, fitting_task(encoder, examples))], progress, reference)
    return report


__all__ = ["SCORED_KINDS", "TASKS", "choose_task", "evaluate", "evaluate_examples", "main_score"]
__all__ += ["sample_reference", "task_kinds", "with_reference"]
