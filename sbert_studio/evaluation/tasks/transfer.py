"""Transfer: accuracy of a logistic regression on frozen vectors (SentEval, Conneau & Kiela 2018), with a fixed penalty."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import StudioError
from ...progress import checkpoint
from ..answers import predictions_from_classes
from ..bootstrap import bootstrap_mean, share_interval
from ..report import Report
from .base import TASK_REGISTRY, DataShape, TextTask, category_names

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import ReferenceTexts


_FOLDS = 10
_C = 10.0  # inverse of the L2 penalty, for centred vectors of mean length one
_ITERATIONS = 1000


def cross_validated(vectors: np.ndarray, labels: Sequence[str], *, seed: int = 12) -> Report:
    """Cross-validate in ten stratified folds, as the SBERT paper does for MR, CR, SUBJ, MPQA and MRPC.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones. Fewer folds are used if the largest class has fewer than ten rows.

    Returns:
        A ``transfer`` report: ``accuracy`` with its 95 % bootstrap ``interval`` over rows, ``macro_f1``, ``majority`` (accuracy of always
        predicting the largest class), ``classes``, ``folds``.

    Raises:
        StudioError: every class has a single row.
    """
    truth = np.asarray(labels, dtype=object).astype(str)
    predicted, folds = predict_folds(vectors, truth, seed=seed)
    return _report(truth, predicted, folds)


def predict_folds(vectors: np.ndarray, truth: np.ndarray, *, most: int = _FOLDS, seed: int = 12) -> tuple[np.ndarray, int]:
    """Return out-of-fold predictions of a logistic regression, and the number of folds.

    Args:
        vectors: (n, d).
        truth: (n,) class names.
        most: number of folds, reduced if the largest class has fewer rows.

    Raises:
        StudioError: every class has a single row.
    """
    from sklearn.model_selection import StratifiedKFold

    folds = min(most, int(np.unique(truth, return_counts=True)[1].max()))
    if folds < 2:
        raise StudioError("every class has a single row", "add rows, so that a class can be learnt from one and tested on another")
    predicted = truth.copy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # a rare class is then absent from some folds
        splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(vectors, truth))
    for train, test in splits:
        predicted[test] = _classify(vectors[train], truth[train], vectors[test])
    return predicted, folds


def _classify(train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    checkpoint()
    if len(np.unique(labels)) == 1:
        return np.full(len(test), labels[0])
    centre = train.mean(axis=0)
    scale = float(np.linalg.norm(train - centre, axis=1).mean()) or 1.0
    model = LogisticRegression(C=_C, max_iter=_ITERATIONS).fit((train - centre) / scale, labels)
    return np.asarray(model.predict((test - centre) / scale))


def classification_report(task: str, truth: np.ndarray, predicted: np.ndarray, positive: str | None = None, **more: Any) -> Report:
    """Return the report of a classifier: accuracy with its interval, macro F1, and per-row predictions.

    Args:
        truth, predicted: (n,) classes.
        positive: class whose own F1 is reported too.
        more: further scores.
    """
    from sklearn.metrics import f1_score

    right = truth == predicted
    scores: dict[str, Any] = {
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(truth, predicted, average="macro", zero_division=0)),
        **({} if positive is None else {"f1": float(f1_score(truth == positive, predicted == positive, zero_division=0))}),
        **more,
    }
    drawn = bootstrap_mean(right)
    scores["interval"] = share_interval(drawn, right)
    return Report(task, len(truth), scores, resampled=drawn, answers=predictions_from_classes(predicted, truth))


def _report(truth: np.ndarray, predicted: np.ndarray, folds: int) -> Report:
    sizes = Counter(truth.tolist())
    return classification_report("transfer", truth, predicted, majority=max(sizes.values()) / len(truth), classes=len(sizes), folds=folds)


@TASK_REGISTRY.register("transfer")
class TransferTask(TextTask):
    """Linear probe."""

    order = 7
    title = "Texts with a category: a linear probe"
    help = "Accuracy and macro F1 of a logistic regression on the vectors, cross-validated."
    main = ("accuracy",)

    def fits(self, shape: DataShape) -> bool:
        """Fit sentences with a class column that is not known to be a similarity category."""
        return shape.classed and shape.kind == "sentences"

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return cross_validated(vectors[0], category_names(examples))
