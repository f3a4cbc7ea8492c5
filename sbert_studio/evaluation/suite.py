"""From a table or a set of examples to the evaluation that fits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.accounts import account_of
from ..data.examples import Examples, Kind, Roles, build_examples, detect_roles
from ..data.splits.siblings import siblings
from ..encoders.base import Encoder
from ..encoders.scorers.pair_scorer import PairScorer
from ..errors import StudioError
from . import transfer
from .bootstrap import drawn_together
from .categories import Known, evaluate_categories
from .classes import ClassRoles, class_account, class_roles, class_roles_of, classed_texts
from .clustering import evaluate_clustering
from .crossing import evaluate_cross, refuse_vectors
from .pair_classes import evaluate_pair_classes
from .pairs import evaluate_pairs
from .report import TASKS, Report, primary
from .retrieval import evaluate_retrieval
from .similarity import encode_columns
from .sts import evaluate_sts
from .triplets import evaluate_triplets

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..data.tables import Table
    from ..encoders.trainable import Trainable

__all__ = ["SCORED_KINDS", "TASKS", "detect_task", "evaluate", "evaluate_examples", "primary"]

# What can be judged on examples: whatever gives vectors or scores. A model in training is one of the two, which its type does not say.
Judged: TypeAlias = "Encoder | PairScorer | Trainable"
# The kinds that tell a good model from a bad one; bare sentences do not.
SCORED_KINDS: tuple[Kind, ...] = ("scored_pairs", "labelled_pairs", "positive_pairs", "triplets", "labelled_texts")
_KINDS_OF: dict[str, tuple[Kind, ...]] = {
    "sts": ("scored_pairs", "labelled_pairs"),
    "pairs": ("labelled_pairs",),
    "triplets": ("triplets",),
    "retrieval": ("positive_pairs",),
    "classes": ("labelled_pairs",),
}
_OF_TEXTS = ("categories", "transfer", "clustering")
# Texts that new ones are laid beside, and texts that are laid beside each other: more of them change no figure that is shown.
MOST_KNOWN, _MOST_ALONE = 5_000, 20_000


def detect_task(table: Table) -> str:
    """The task, one of :data:`TASKS`, that a table is made for.

    Raises:
        StudioError: the table holds neither pairs, nor triplets, nor texts with a class.
    """
    return _plan(table, "auto", None)[0]


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
    automatic = task == "auto"
    task, read = _plan(table, task, roles)
    if isinstance(encoder, PairScorer):
        refuse_vectors(task)
    if isinstance(read, ClassRoles):
        assert not isinstance(encoder, PairScorer)  # these tasks were refused it
        texts, labels, notes = classed_texts(table, read)
        if task == "categories":
            return replace(_categories(encoder, texts, labels, notes, progress), account=class_account(table, read))
        (vectors,) = encode_columns(encoder, [texts], progress)
        judge: Callable[..., Report] = evaluate_clustering if task == "clustering" else transfer.cross_validated
        with drawn_together(texts):
            return replace(judge(vectors, labels), notes=notes, account=class_account(table, read))
    examples, findings = build_examples(table, read)
    if examples.targets is not None and len(np.unique(examples.targets)) < 2:
        raise StudioError(f"every row of {table.name} has the same {read.target}", "a model can only be judged where they differ")
    if automatic:
        task = _task_for(encoder, examples)
    account = account_of(table, findings, examples.lines)
    return replace(_judge(encoder, examples, task, progress), notes=tuple(finding.in_words() for finding in findings), account=account)


def evaluate_examples(encoder: Judged, examples: Examples, progress: Progress | None = None, *, known: Examples | None = None) -> Report:
    """Judge an encoder or a cross-encoder on examples of one of :data:`SCORED_KINDS`, as the trainer does with its dev split.

    Args:
        known: of texts with a category, others whose category is known: those that were learned. At most :data:`MOST_KNOWN` of them
            are looked at, always the same ones. Without them the judged texts are laid beside each other.

    Raises:
        StudioError: the examples are bare sentences, or there are none.
    """
    return _judge(encoder, examples, _task_for(encoder, examples), progress, known)


def known_sample(examples: Examples) -> Examples:
    """At most :data:`MOST_KNOWN` of the examples, always the same ones, in their order."""
    if len(examples) <= MOST_KNOWN:
        return examples
    return examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:MOST_KNOWN]))


def _task_for(encoder: Judged, examples: Examples) -> str:
    if isinstance(encoder, PairScorer) and examples.kind == "labelled_pairs" and (encoder.labels > 1 or len(examples.labels) == 2):
        return "classes" if encoder.labels > 1 else "pairs"
    return _task_of(examples.kind, len(examples.labels), examples.ordered)


def _judge(encoder: Judged, examples: Examples, task: str, progress: Progress | None, known: Examples | None = None) -> Report:
    if len(examples) == 0:
        raise StudioError("there are no rows to judge the model on", "give a larger set")
    with drawn_together(*examples.texts):
        return _judged(encoder, examples, task, progress, known)


def _judged(encoder: Judged, examples: Examples, task: str, progress: Progress | None, known: Examples | None) -> Report:
    if isinstance(encoder, PairScorer):
        return evaluate_cross(encoder, examples, task, progress)
    encoder = cast("Encoder", encoder)  # whatever learns gives vectors, or scores
    if task == "categories":
        beside = None if known is None or not len(known) else known_sample(known)
        columns = encode_columns(encoder, [examples.texts[0], *([] if beside is None else [beside.texts[0]])], progress)
        laid = None if beside is None else Known(columns[1], categories_of(beside), beside.texts[0])
        return evaluate_categories(columns[0], categories_of(examples), examples.texts[0], laid)
    vectors = encode_columns(encoder, examples.texts, progress)
    if task == "retrieval":
        return evaluate_retrieval(vectors[0], vectors[1], examples.texts[0], examples.texts[1], siblings(examples))
    if task == "triplets":
        return evaluate_triplets(vectors[0], vectors[1], vectors[2:])
    targets = cast(np.ndarray, examples.targets)
    if task == "classes":
        return evaluate_pair_classes(vectors[0], vectors[1], targets, examples.labels)
    return evaluate_pairs(vectors[0], vectors[1], targets) if task == "pairs" else evaluate_sts(vectors[0], vectors[1], targets)


def categories_of(examples: Examples) -> list[str]:
    """The name of each text's category."""
    return [examples.labels[place] for place in cast(np.ndarray, examples.targets).tolist()]


def _categories(encoder: Encoder, texts: list[str], labels: list[str], notes: tuple[str, ...], progress: Progress | None) -> Report:
    """Each text beside all others of its table, or of a sample of a very large one."""
    if len(texts) > _MOST_ALONE:
        notes = (*notes, f"judged on a sample of {_MOST_ALONE:,} of the {len(texts):,} texts")
        places = np.sort(np.random.default_rng(len(texts)).permutation(len(texts))[:_MOST_ALONE]).tolist()
        texts, labels = [texts[place] for place in places], [labels[place] for place in places]
    (vectors,) = encode_columns(encoder, [texts], progress)
    single = sum(count == 1 for count in Counter(labels).values())
    if single:
        notes = (*notes, f"the only text of its category counts as wrong: {single:,} of {len(texts):,}")
    with drawn_together(texts):
        return replace(evaluate_categories(vectors, labels, texts), notes=notes)


def kinds_of_task(task: str) -> tuple[Kind, ...]:
    """The kinds of examples that a task judges by, the usual one first; of ``auto`` none, for it fits the task to the examples.

    Raises:
        StudioError: there is no such task.
    """
    if task == "auto":
        return ()
    if task not in TASKS:
        raise StudioError(f"there is no evaluation {task!r}", f"choose one of auto, {', '.join(TASKS)}")
    return _KINDS_OF.get(task, ("labelled_texts",))


def _plan(table: Table, task: str, known: Roles | None) -> tuple[str, Roles | ClassRoles]:
    """The task and the columns that serve it."""
    kinds = kinds_of_task(task)
    if task in _OF_TEXTS:
        return task, (known and class_roles_of(known)) or class_roles(table)
    if task == "auto":
        return _automatic(table, known)
    roles = known or detect_roles(table)
    if roles.kind not in kinds:
        if known is not None:
            wanted = " or ".join(kind.replace("_", " ") for kind in kinds)
            raise StudioError(f"these rows are {roles.kind.replace('_', ' ')}, and {task} needs {wanted}", "choose another task or kind")
        roles = detect_roles(table, kinds[0])
    if task == "pairs" and len(roles.labels) != 2:
        raise StudioError(f"the labels are {', '.join(roles.labels) or 'missing'}", "pairs need labels of two classes, 0 and 1; try sts")
    if task in ("sts", "pairs") and roles.kind == "labelled_pairs" and not roles.ordered:
        raise StudioError(f"the labels {', '.join(roles.labels[:6])} have no order that a ranking could follow", "choose classes")
    return task, roles


def _automatic(table: Table, known: Roles | None) -> tuple[str, Roles | ClassRoles]:
    try:
        roles = known or detect_roles(table)
    except StudioError:
        return "transfer", class_roles(table)
    if roles.kind in ("labelled_texts", "sentences"):
        of_texts = class_roles_of(roles) or class_roles(table)
        return "categories" if roles.kind == "labelled_texts" else "transfer", of_texts
    return _task_of(roles.kind, len(roles.labels), roles.ordered), roles


def _task_of(kind: Kind, labels: int, ordered: bool) -> str:
    if kind == "scored_pairs":
        return "sts"
    if kind == "labelled_pairs":
        # Ordered classes rise with similarity (contradiction, neutral, entailment); of others no ranking says anything.
        return "classes" if not ordered else "pairs" if labels <= 2 else "sts"
    if kind == "triplets":
        return "triplets"
    if kind == "positive_pairs":
        return "retrieval"
    if kind == "labelled_texts":
        return "categories"
    raise StudioError("bare sentences hold nothing to judge a model by", "give pairs with a score or label, or triplets")
