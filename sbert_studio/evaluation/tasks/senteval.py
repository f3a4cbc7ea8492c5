"""Transfer as SentEval measures it (Conneau & Kiela 2018): a logistic regression on frozen vectors, its L2 strength chosen unseen.

MR, CR, SUBJ and MPQA are judged by ten folds (:func:`cross_validated`), TREC, SST and MRPC by their own split
(:func:`train_and_test`). The strength is chosen from :data:`GRID` on rows of the training part alone. The task ``transfer`` of any
table has one strength for all (:mod:`.transfer`): it is about five times as fast and as good on single texts, but not on pairs, whose
features are twice as many.

Texts or pairs with a class, judged by a classifier as SentEval does (Conneau & Kiela 2018).
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.progress import checkpoint
from ...errors import StudioError
from ...models.similarity import unit
from ..report import Report
from .base import REGISTRY, OfTexts, Rows, Shape, Task, WithVectors, categories_of
from .transfer import report_of

if TYPE_CHECKING:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from ...data.examples import Examples, Roles
    from ...data.tables import Table
    from .base import ClassRoles
    from .categories import Known


GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The inverse strengths, for centred vectors of mean length one; of equally good ones the smallest, the strongest penalty, is taken."""
_FOLDS, _INNER = 10, 3
_ITERATIONS = 1000
_UNTRIED = 10.0  # where too few rows are there to choose by

Split = tuple[np.ndarray, np.ndarray]


def cross_validated(
    vectors: np.ndarray,
    labels: Sequence[str],
    *,
    folds: int = _FOLDS,
    grid: Sequence[float] = GRID,
    seed: int = 12,
    positive: str | None = None,
) -> Report:
    """Ten stratified folds; within the training part of each, three inner folds choose the strength.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.
        folds: fewer are made where the largest class has fewer rows.
        grid: the inverse strengths to choose from.
        seed: of the folds.
        positive: the class whose F1 is told as well.

    Returns:
        A report of ``senteval``: ``accuracy`` and its 95% bootstrap ``interval`` over the rows, ``macro_f1``, ``f1`` of the positive
        class, ``majority`` (the accuracy of always naming the largest class), ``classes``, ``folds``, and ``strengths``, the inverse
        strength chosen in each fold.

    Raises:
        StudioError: every class has a single row.
    """
    truth = _names(labels)
    splits = _splits(truth, folds, seed)
    if not splits:
        raise StudioError("every class has a single row", "add rows, so that a class can be learnt from one and tested on another")
    predicted, strengths = truth.copy(), []
    for train, test in splits:
        chosen = _chosen(vectors[train], truth[train], _splits(truth[train], _INNER, seed), grid)
        strengths.append(chosen)
        (predicted[test],) = _predictions(vectors[train], truth[train], vectors[test], [chosen])
    return _report(truth, predicted, truth, positive, {"folds": len(splits), "strengths": strengths})


def train_and_test(
    train: np.ndarray,
    train_labels: Sequence[str],
    test: np.ndarray,
    test_labels: Sequence[str],
    *,
    dev: np.ndarray | None = None,
    dev_labels: Sequence[str] = (),
    grid: Sequence[float] = GRID,
    seed: int = 12,
    positive: str | None = None,
) -> Report:
    """Learn on one set and judge on another; the strength is chosen on the dev set, or by three folds of the training set without one.

    Args:
        train, test, dev: (n, d), (m, d) and (k, d).
        train_labels, test_labels, dev_labels: their classes, at least two distinct ones in ``train_labels``.
        grid, seed, positive: as for :func:`cross_validated`.

    Returns:
        A report of ``senteval`` as that of :func:`cross_validated`, with ``train_rows`` in place of ``folds``.
    """
    known, truth = _names(train_labels), _names(test_labels)
    if dev is None:
        chosen = _chosen(train, known, _splits(known, _INNER, seed), grid)
    else:
        rows = np.arange(len(known) + len(dev_labels))
        split = (rows[: len(known)], rows[len(known) :])
        chosen = _chosen(np.concatenate([train, dev]), np.concatenate([known, _names(dev_labels)]), [split], grid)
    (predicted,) = _predictions(train, known, test, [chosen])
    return _report(truth, predicted, known, positive, {"train_rows": len(train), "strengths": [chosen]})


def pair_features(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(|u − v|, u · v) of pairs of (n, d) vectors, (n, 2d) float32, as SentEval's pair tasks have them.

    The vectors are normalised, and the products multiplied by √d: else they would be so much smaller than the differences that a
    penalty common to both left nothing of them.
    """
    u, v = unit(left), unit(right)
    return np.concatenate([np.abs(u - v), u * v * np.float32(np.sqrt(u.shape[1]))], axis=1)


def _names(labels: Sequence[str]) -> np.ndarray:
    return np.asarray(labels, dtype=object).astype(str)


def _splits(truth: np.ndarray, folds: int, seed: int) -> list[Split]:
    """Stratified folds as (train, test) places, fewer where the largest class has fewer rows; none where every class has one row."""
    from sklearn.model_selection import StratifiedKFold

    folds = min(folds, max(Counter(truth.tolist()).values()))
    if folds < 2:
        return []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # a rare class is then absent from some folds
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(truth, truth))


def _chosen(vectors: np.ndarray, labels: np.ndarray, splits: Iterable[Split], grid: Sequence[float]) -> float:
    """The inverse strength of ``grid`` under which most rows of the splits' second parts are named right."""
    right = np.zeros(len(grid), np.int64)
    tried = sorted(grid)
    for train, test in splits:
        found = _predictions(vectors[train], labels[train], vectors[test], tried)
        right += [int((one == labels[test]).sum()) for one in found]
    return float(tried[int(right.argmax())]) if right.any() else _UNTRIED


def _predictions(train: np.ndarray, labels: np.ndarray, test: np.ndarray, strengths: Sequence[float]) -> list[np.ndarray]:
    """The classes of ``test`` under each of the rising inverse strengths; each begins where the one before ended."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(labels)) == 1:
        return [np.full(len(test), labels[0])] * len(strengths)
    centre = train.mean(axis=0)
    scale = float(np.linalg.norm(train - centre, axis=1).mean()) or 1.0
    seen, unseen = ((part - centre) / scale for part in (train, test))
    model: LogisticRegression = LogisticRegression(solver="newton-cg", max_iter=_ITERATIONS, warm_start=True)
    found = []
    for strength in strengths:
        checkpoint()
        found.append(np.asarray(model.set_params(C=strength).fit(seen, labels).predict(unseen)))
    return found


def _report(truth: np.ndarray, predicted: np.ndarray, known: np.ndarray, positive: str | None, extra: dict[str, Any]) -> Report:
    sizes = Counter(known.tolist())
    largest = sizes.most_common(1)[0][0]
    return report_of("senteval", truth, predicted, positive, majority=float((truth == largest).mean()), classes=len(sizes), **extra)


@REGISTRY.register("senteval")
class SentEval(OfTexts):
    """A logistic regression that chooses its penalty by itself."""

    order = 9
    title = "Texts or pairs with a class: SentEval's regression"
    help = "Accuracy and F1 of a logistic regression with a penalty chosen unseen, learned from rows of its own or in ten folds."
    kinds = ("labelled_texts", "labelled_pairs")
    main = ("accuracy",)
    learns = True
    known_use = "The regression learns from them: the train.csv of a test.csv. Without them it learns from the rows above, in ten folds."

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def read(self, table: Table, known: Roles | ClassRoles | None = None) -> Rows:
        """Labelled pairs where the table has them, else texts with a class."""
        from ...data.examples import Roles, detect_roles

        if known is None:
            with contextlib.suppress(StudioError):
                known = detect_roles(table)
        if isinstance(known, Roles) and known.kind == "labelled_pairs":
            return Task.read(self, table, known)
        return super().read(table, known)

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.senteval.cross_validated`."""

        return cross_validated(_features(vectors), categories_of(examples), positive=_positive(examples))

    def judge_taught(self, judged: WithVectors, known: WithVectors, dev: WithVectors | None) -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.senteval.train_and_test`."""

        (train, taught), (test, truth) = ((_features(one.vectors), categories_of(one.examples)) for one in (known, judged))
        if train.shape[1] != test.shape[1]:
            raise StudioError("single texts teach nothing of pairs, nor pairs of single texts", "give two files of one kind")
        if not set(taught) & set(truth):
            classes = ", ".join(sorted(set(truth))[:6])
            raise StudioError(f"none of the classes {classes} is among those of the known rows", "give the set's own training rows")
        features, labels = (None, []) if dev is None else (_features(dev.vectors), categories_of(dev.examples))
        return train_and_test(train, taught, test, truth, dev=features, dev_labels=labels, positive=_positive(judged.examples))


def _features(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """The vectors of single texts as they are; of pairs what parts and what joins them."""

    return vectors[0] if len(vectors) == 1 else pair_features(vectors[0], vectors[1])


def _positive(examples: Examples) -> str | None:
    """The class of two that says that a pair is alike: paraphrases are told by the F1 of it."""
    alike = examples.kind == "labelled_pairs" and examples.ordered and len(examples.labels) == 2
    return examples.labels[1] if alike else None
