"""From a table or a set of examples to the evaluation that fits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from ..data.accounts import account_of
from ..data.examples import Examples, Kind, Roles, build_examples, detect_roles
from ..encoders.cross import CrossEncoder
from ..errors import StudioError
from . import transfer
from .classes import ClassRoles, class_account, class_roles, classed_texts
from .clustering import evaluate_clustering
from .crossing import evaluate_cross, refuse_vectors
from .pairs import evaluate_pairs
from .report import TASKS, Report, primary
from .retrieval import evaluate_retrieval
from .similarity import encode_columns
from .sts import evaluate_sts
from .triplets import evaluate_triplets

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..encoders.base import Encoder

__all__ = ["SCORED_KINDS", "TASKS", "detect_task", "evaluate", "evaluate_examples", "primary"]

# The kinds that tell a good model from a bad one; bare sentences do not.
SCORED_KINDS: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs", "positive_pairs", "triplets")
_KINDS_OF: dict[str, tuple[Kind, ...]] = {
    "sts": ("scored_pairs", "labelled_pairs"),
    "pairs": ("labelled_pairs",),
    "triplets": ("triplets",),
    "retrieval": ("positive_pairs",),
    "classes": ("labelled_pairs",),
}


def detect_task(table: Table) -> str:
    """The task, one of :data:`TASKS`, that a table is made for.

    Raises:
        StudioError: the table holds neither pairs, nor triplets, nor texts with a class.
    """
    return _plan(table, "auto")[0]


def evaluate(encoder: Encoder | CrossEncoder, table: Table, task: str = "auto", progress: Progress | None = None) -> Report:
    """Judge an encoder or a cross-encoder on a table.

    Args:
        task: one of :data:`TASKS`, or ``auto``: decided by the table's columns.
        progress: told how many texts are encoded.

    Raises:
        StudioError: the task is unknown, or the table does not hold what it needs.
    """
    automatic = task == "auto"
    task, roles = _plan(table, task)
    if isinstance(encoder, CrossEncoder):
        refuse_vectors(task)
    if isinstance(roles, ClassRoles):
        assert not isinstance(encoder, CrossEncoder)  # these tasks were refused it
        texts, labels, notes = classed_texts(table, roles)
        (vectors,) = encode_columns(encoder, [texts], progress)
        judge: Callable[..., Report] = evaluate_clustering if task == "clustering" else transfer.cross_validated
        return replace(judge(vectors, labels), notes=notes, account=class_account(table, roles))
    examples, findings = build_examples(table, roles)
    if examples.targets is not None and len(np.unique(examples.targets)) < 2:
        raise StudioError(f"every row of {table.name} has the same {roles.target}", "a model can only be judged where they differ")
    if automatic:
        task = _task_for(encoder, examples)
    account = account_of(table, findings, examples.lines)
    return replace(_judge(encoder, examples, task, progress), notes=tuple(finding.in_words() for finding in findings), account=account)


def evaluate_examples(encoder: Encoder | CrossEncoder, examples: Examples, progress: Progress | None = None) -> Report:
    """Judge an encoder or a cross-encoder on examples of one of :data:`SCORED_KINDS`, as the trainer does with its dev split.

    Raises:
        StudioError: the examples are bare sentences, or there are none.
    """
    return _judge(encoder, examples, _task_for(encoder, examples), progress)


def _task_for(encoder: Encoder | CrossEncoder, examples: Examples) -> str:
    if isinstance(encoder, CrossEncoder) and encoder.labels > 1 and examples.kind == "labelled_pairs":
        return "classes"
    return _task_of(examples.kind, len(examples.labels))


def _judge(encoder: Encoder | CrossEncoder, examples: Examples, task: str, progress: Progress | None) -> Report:
    if len(examples) == 0:
        raise StudioError("there are no rows to judge the model on", "give a larger set")
    if isinstance(encoder, CrossEncoder):
        return evaluate_cross(encoder, examples, task, progress)
    if task == "classes":
        raise StudioError("a sentence encoder does not sort pairs into classes", "choose the task sts or pairs, or a cross-encoder")
    vectors = encode_columns(encoder, examples.texts, progress)
    if task == "retrieval":
        return evaluate_retrieval(vectors[0], vectors[1], examples.texts[0], examples.texts[1])
    if task == "triplets":
        return evaluate_triplets(vectors[0], vectors[1], vectors[2:])
    targets = cast(np.ndarray, examples.targets)
    return evaluate_pairs(vectors[0], vectors[1], targets) if task == "pairs" else evaluate_sts(vectors[0], vectors[1], targets)


def _plan(table: Table, task: str) -> tuple[str, Roles | ClassRoles]:
    """The task and the columns that serve it."""
    if task in ("transfer", "clustering"):
        return task, class_roles(table)
    if task == "auto":
        return _automatic(table)
    if task not in _KINDS_OF:
        raise StudioError(f"there is no evaluation {task!r}", f"choose one of auto, {', '.join(TASKS)}")
    kinds = _KINDS_OF[task]
    roles = detect_roles(table)
    if roles.kind not in kinds:
        roles = detect_roles(table, kinds[0])
    if task == "pairs" and len(roles.labels) != 2:
        raise StudioError(f"the labels are {', '.join(roles.labels) or 'missing'}", "pairs need labels of two classes, 0 and 1; try sts")
    return task, roles


def _automatic(table: Table) -> tuple[str, Roles | ClassRoles]:
    try:
        roles = detect_roles(table)
    except StudioError:
        return "transfer", class_roles(table)
    return ("transfer", class_roles(table)) if roles.kind == "sentences" else (_task_of(roles.kind, len(roles.labels)), roles)


def _task_of(kind: Kind, labels: int) -> str:
    if kind == "scored_pairs":
        return "sts"
    if kind == "labelled_pairs":
        # three and more classes are ordered by similarity (contradiction, neutral, entailment)
        return "pairs" if labels <= 2 else "sts"
    if kind == "triplets":
        return "triplets"
    if kind == "positive_pairs":
        return "retrieval"
    raise StudioError("bare sentences hold nothing to judge a model by", "give pairs with a score or label, or triplets")
