"""Suspicious labels: rows whose label is contradicted most by models that were not trained on them.

A row's *doubt* is how much its out-of-fold prediction contradicts its label. For a class, it is by how much another class is preferred,
the normalized margin of confident learning (Northcutt et al. 2021). For a score, it is the difference from the prediction, corrected by the
median error of rows with a similar prediction, in typical differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..data.split import connected_rows, make_folds
from ..errors import StudioError
from ..i18n import _, ngettext
from ..models.similarity import unit
from ..progress import checkpoint
from .encoding import encode_columns

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..models.base import Encoder
    from ..progress import Progress

CHECKED_KINDS = ("scored_pairs", "labelled_pairs", "labelled_texts")
MIN_ROWS = 20
_FOLDS = MIN_TEXTS = 5  # each fold holds out other texts
_PENALTIES = 10.0 ** np.arange(-2, 4)  # in mean squared singular values
_COSINE = 30.0  # weight of the cosine among the standardized features: nearly unpenalized
_NEIGHBORS, _MOST_NEIGHBORS = 0.1, 1000  # share and number of rows with a similar prediction
_LEAST_SPREAD = 0.05  # of a score in [0, 1]
_NO_DOUBT = -1.0  # of a class that another fold does not contain
_Z_95 = 1.645  # standard errors
_OUTLIER = 2.75  # doubt of a suspicious score, in typical differences
_TYPICAL = 1.4826  # standard deviation of a normal variable, in median absolute deviations
_NORMAL_80 = 1.2816  # its deviation that four fifths do not exceed, in standard deviations


@dataclass(frozen=True)
class Doubts:
    """Doubts about the labels of n rows.

    Attributes:
        values: (n,) doubts; larger is more suspicious.
        predicted: (n,) the predicted score in [0, 1] or class id.
        suspicious: number of rows that are worth a look.
    """

    values: np.ndarray
    predicted: np.ndarray
    suspicious: int

    @property
    def order(self) -> np.ndarray:
        """Places of the rows, most suspicious first."""
        return np.argsort(-self.values, kind="stable")


def find_doubts(encoder: Encoder, examples: Examples, *, folds: int = _FOLDS, seed: int = 12, progress: Progress | None = None) -> Doubts:
    """Predict each label by ridge regression on the frozen vectors of the other folds; it takes seconds.

    Raises:
        StudioError: the examples have no labels that can be checked, or are too few.
    """
    if examples.kind not in CHECKED_KINDS or examples.targets is None:
        raise StudioError("these examples have no scores or labels to check", "use pairs with scores or labels, or texts with a category")
    if len(examples) < MIN_ROWS:
        message = _("there are {rows} rows; checking labels needs {least}", rows=len(examples), least=MIN_ROWS)
        raise StudioError(message, "label more rows first")
    sets = len(np.unique(connected_rows(examples)))
    if sets < folds:
        message = ngettext(
            "all rows share texts with each other; checking labels needs {least} sets of rows that do not",
            "the rows form only {n} sets without shared texts; checking labels needs {least}",
            sets,
            least=folds,
        )
        raise StudioError(message, "add rows with other texts")
    features = frozen_features([unit(one) for one in encode_columns(encoder, list(examples.texts), progress=progress)])
    targets = target_matrix(examples)
    predicted = np.zeros_like(targets)
    for train, held in fold_places(examples, folds, seed):
        checkpoint()
        predicted[held] = predict_targets(features[train], targets[train], features[held])
    return judge(examples, predicted)


def fold_places(examples: Examples, folds: int = _FOLDS, seed: int = 12) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the places of training and held-out rows of each fold; no text is in both."""
    numbered = replace(examples, lines=np.arange(len(examples)), teacher=None)
    return [(train.lines, held.lines) for train, held in make_folds(numbered, folds, seed)]


def frozen_features(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Return the features of texts, (n, d), or of pairs, (n, 2 d + 1): cosine, products and differences of the components."""
    if len(vectors) == 1:
        return np.asarray(vectors[0], np.float32)
    left, right = vectors[:2]
    products = left * right
    rest = np.concatenate([products, np.abs(left - right)], axis=1)
    rest = (rest - rest.mean(axis=0)) / rest.std(axis=0).clip(1e-6)
    cosine = products.sum(axis=1, keepdims=True)
    return np.concatenate([_COSINE * (cosine - cosine.mean()) / cosine.std().clip(1e-6), rest], axis=1).astype(np.float32)


def target_matrix(examples: Examples) -> np.ndarray:
    """Return the scores, (n, 1), or the classes as indicators, (n, classes), float32."""
    assert examples.targets is not None
    if examples.kind == "scored_pairs":
        return np.asarray(examples.targets[:, None], np.float32)
    return np.eye(len(examples.labels), dtype=np.float32)[examples.targets.astype(np.int64)]


def fit_ridge(features: np.ndarray, targets: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the predictions of a ridge regression; its penalty has the least leave-one-out error (Allen's PRESS statistic)."""
    center, mean = features.mean(axis=0), targets.mean(axis=0)
    left, sizes, right = np.linalg.svd((features - center).astype(np.float32), full_matrices=False)
    centered = targets - mean
    within = left.T @ centered
    penalties = _PENALTIES * max(float((sizes**2).mean()), 1e-12)  # of identical features, the mean is predicted

    def press(penalty: float) -> float:
        kept = sizes**2 / (sizes**2 + penalty)
        residuals = centered - left @ (kept[:, None] * within)
        leverage = left**2 @ kept + 1 / len(features)
        return float(((residuals / (1 - leverage).clip(1e-3)[:, None]) ** 2).mean())

    penalty = min(penalties, key=press)
    weights = right.T @ ((sizes / (sizes**2 + penalty))[:, None] * within)
    return lambda other: np.asarray((other - center) @ weights + mean)


def predict_targets(features: np.ndarray, targets: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the predictions of a ridge regression for other features; NaN for a class without training rows, which it cannot know."""
    predicted = fit_ridge(features, targets)(others)
    if targets.shape[1] > 1:
        predicted[:, ~targets.any(axis=0)] = np.nan
    return predicted


def judge(examples: Examples, predicted: np.ndarray) -> Doubts:
    """Return the doubts about the labels.

    Args:
        predicted: out-of-fold predictions, (n, 1) scores or (n, classes); a row whose class has NaN is not doubted.
    """
    assert examples.targets is not None
    if examples.kind == "scored_pairs":
        return _doubt_scores(examples.targets.astype(np.float64), predicted[:, 0].astype(np.float64))
    return _doubt_classes(examples.targets.astype(np.int64), predicted.astype(np.float64))


def _doubt_scores(targets: np.ndarray, predicted: np.ndarray) -> Doubts:
    order = np.argsort(predicted, kind="stable")
    half = max(5, round(min(_NEIGHBORS * len(targets), _MOST_NEIGHBORS) / 2))
    residuals, bias = (targets - predicted)[order], np.empty(len(targets))
    for place, row in enumerate(order):  # a linear regression errs where the scores bend, and wrong labels pull it to the middle
        # Without its own: a wrong label would move its prediction towards itself.
        bias[row] = np.median(np.concatenate([residuals[max(0, place - half) : place], residuals[place + 1 : place + half + 1]]))
    corrected = (predicted + bias).clip(0, 1)
    difference = np.abs(targets - corrected)
    # Where a score cannot be predicted, the correction makes half of the differences zero: a fifth of the rows are never all wrong.
    spread = max(_TYPICAL * float(np.median(difference)), float(np.quantile(difference, 0.8)) / _NORMAL_80, _LEAST_SPREAD)
    values = difference / spread
    return Doubts(values, corrected, int((values > _OUTLIER).sum()))


def _doubt_classes(targets: np.ndarray, predicted: np.ndarray) -> Doubts:
    rows = np.arange(len(targets))
    is_known = ~np.isnan(predicted[rows, targets])
    predicted = np.where(np.isnan(predicted), -np.inf, predicted)
    own = predicted[rows, targets]
    others = predicted.copy()
    others[rows, targets] = -np.inf
    best = others.argmax(axis=1)
    values = np.where(is_known, (others[rows, best] - own.clip(-1e9)).clip(_NO_DOUBT), _NO_DOUBT)
    # Confident learning: a row counts if it is predicted as another class as confidently as rows of that class are.
    members = [own[is_known & (targets == label)] for label in range(predicted.shape[1])]
    thresholds = np.array([one.mean() if len(one) else np.inf for one in members])
    confident = (others[rows, best] >= thresholds[best]) & (values > 0)
    guesses = np.where(values > 0, best, targets)
    is_predictable = _agrees_beyond_chance(targets[is_known], guesses[is_known], predicted.shape[1])
    return Doubts(values, guesses, int(confident.sum()) if is_predictable else 0)


def _agrees_beyond_chance(labels: np.ndarray, guesses: np.ndarray, classes: int) -> bool:
    """Return whether labels and predictions agree in more rows than two independent columns with these classes do (Cohen 1960).

    Labels that cannot be predicted say nothing about single rows.
    """
    rows = len(labels)
    shares = [np.bincount(one, minlength=classes) / max(1, rows) for one in (labels, guesses)]
    chance = float(shares[0] @ shares[1])
    return chance > 1 - 1e-9 or int((labels == guesses).sum()) > rows * chance + _Z_95 * np.sqrt(rows * chance * (1 - chance))
