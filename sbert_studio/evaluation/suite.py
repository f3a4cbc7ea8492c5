"""From a table or a set of examples to the task that fits it, and to its report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.examples import Examples, Roles, detect_roles
from ..encoders.base import Encoder
from ..encoders.scorers.pair_scorer import PairScorer
from ..errors import StudioError
from .bootstrap import drawn_together
from .categories import Known
from .classes import ClassRoles, class_roles, class_roles_of
from .similarity import encode_columns
from .tasks import SCORED_KINDS, TASKS, Shape, Task, kinds_of_task, primary, task_for, task_named
from .tasks.of_texts import categories_of

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..encoders.trainable import Trainable
    from .report import Report

__all__ = ["SCORED_KINDS", "TASKS", "detect_task", "evaluate", "evaluate_examples", "kinds_of_task", "known_sample", "primary"]

# What can be judged on examples: whatever gives vectors or scores. A model in training is one of the two, which its type does not say.
Judged: TypeAlias = "Encoder | PairScorer | Trainable"
# Texts that new ones are laid beside: more of them change no figure that is shown.
MOST_KNOWN = 5_000


def detect_task(table: Table) -> str:
    """The task, one of :data:`TASKS`, that a table is made for.

    Raises:
        StudioError: the table holds neither pairs, nor triplets, nor texts with a class.
    """
    return _automatic(table, None)[0].name


def evaluate(
    encoder: Encoder | PairScorer, table: Table, task: str = "auto", progress: Progress | None = None, roles: Roles | None = None
) -> Report:
    """Judge an encoder or a cross-encoder on a table.

    Args:
        task: one of :data:`TASKS`, or ``auto``: decided by the table's columns.
        progress: told how many texts are encoded.
        roles: what the columns are; found by names and values where it is not said.

    Raises:
        StudioError: the task is unknown, or the table does not hold what it needs.
    """
    chosen, known = _automatic(table, roles) if task == "auto" else (task_named(task), roles)
    if isinstance(encoder, PairScorer):
        chosen.require_pairs()
    rows = chosen.read(table, known)
    if task == "auto" and isinstance(encoder, PairScorer):
        chosen = _fitting(encoder, rows.examples)
    report = _judged(encoder, rows.examples, chosen, progress)
    return replace(report, notes=rows.notes, account=rows.account)


def evaluate_examples(encoder: Judged, examples: Examples, progress: Progress | None = None, *, known: Examples | None = None) -> Report:
    """Judge an encoder or a cross-encoder on examples of one of :data:`SCORED_KINDS`, as the trainer does with its dev split.

    Args:
        known: of texts with a category, others whose category is known: those that were learned. At most :data:`MOST_KNOWN` of them
            are looked at, always the same ones. Without them the judged texts are laid beside each other.

    Raises:
        StudioError: the examples are bare sentences, or there are none.
    """
    return _judged(encoder, examples, _fitting(encoder, examples), progress, known)


def known_sample(examples: Examples) -> Examples:
    """At most :data:`MOST_KNOWN` of the examples, always the same ones, in their order."""
    if len(examples) <= MOST_KNOWN:
        return examples
    return examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:MOST_KNOWN]))


def _automatic(table: Table, roles: Roles | None) -> tuple[Task, Roles | ClassRoles]:
    """The task that fits a table, for a model that gives vectors, and the columns that serve it."""
    try:
        roles = roles or detect_roles(table)
    except StudioError:
        return task_for(Shape("sentences", classed=True)), class_roles(table)
    if roles.kind in ("labelled_texts", "sentences"):
        return task_for(Shape(roles.kind, classed=True)), class_roles_of(roles) or class_roles(table)
    return task_for(Shape(roles.kind, len(roles.labels), roles.ordered)), roles


def _fitting(encoder: Judged, examples: Examples) -> Task:
    """The task that fits examples and what the model gives."""
    shape = Shape(examples.kind, len(examples.labels), examples.ordered)
    if isinstance(encoder, PairScorer):
        return task_for(replace(shape, gives="class" if encoder.labels > 1 else "score"))
    return task_for(shape)


def _judged(encoder: Judged, examples: Examples, task: Task, progress: Progress | None, known: Examples | None = None) -> Report:
    if len(examples) == 0:
        raise StudioError("there are no rows to judge the model on", "give a larger set")
    if isinstance(encoder, PairScorer):
        task.require_scorer(encoder)
        scores = _scores(encoder, task.pairs(examples), progress)
        with drawn_together(*examples.texts):
            return task.judge_scores(examples, scores, encoder.class_names)
    beside = known_sample(known) if task.beside_known and known is not None and len(known) else None
    columns = [*examples.texts, *(() if beside is None else beside.texts[:1])]
    vectors = encode_columns(cast("Encoder", encoder), columns, progress)  # whatever learns gives vectors, or scores
    laid = None if beside is None else Known(vectors.pop(), categories_of(beside), beside.texts[0])
    with drawn_together(*examples.texts):
        return task.judge_vectors(examples, vectors, laid)


def _scores(model: PairScorer, pairs: list[tuple[str, str]], progress: Progress | None) -> np.ndarray:
    scores = model.predict(pairs, progress=progress)
    if not np.isfinite(scores).all():
        raise StudioError(
            "the model returns scores that are not finite numbers", "its training diverged: lower the learning rate and train it again"
        )
    return scores
