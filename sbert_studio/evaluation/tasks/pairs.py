"""Binary pairs (paraphrase or not): ranking, and the best decision threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import StudioError
from ..answers import prediction_kind, predictions_from_labels
from ..bootstrap import MAX_BOOTSTRAP_ROWS, bootstrap_scores, percentile_interval
from ..encoding import similarities
from ..report import Report, similarity_entry
from .base import TASK_REGISTRY, DataShape, Task, require_order

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples
    from .categories import ReferenceTexts


def evaluate_pairs(left: np.ndarray, right: np.ndarray, labels: np.ndarray, by: str = "cosine") -> Report:
    """Compute average precision, best accuracy and best F1 of four similarities.

    Args:
        left, right: (n, d) vectors of both sides.
        labels: (n,), 0 (different) or 1 (same).
        by: main similarity, that of the model.

    Returns:
        A ``pairs`` report: ``{average_precision, accuracy, threshold, f1, f1_threshold}`` for each similarity. Thresholds apply to the
        similarity (negated distances); pairs at or above one are predicted as the same. They are chosen on the evaluated rows, which
        slightly flatters accuracy and F1. ``interval`` is the 95 % bootstrap interval of the main average precision.
    """
    return evaluate_pair_similarities(similarities(left, right), labels, by)


def evaluate_pair_similarities(values: Mapping[str, np.ndarray], labels: np.ndarray, by: str = "cosine") -> Report:
    """Compute :func:`evaluate_pairs` from (n,) similarities of each measure; very large sets have no interval."""
    found: dict[str, Any] = {name: threshold_scores(values, labels) for name, values in values.items()}
    drawn = bootstrap_average_precision(values[by], labels) if len(labels) <= MAX_BOOTSTRAP_ROWS else np.empty(0)
    scores = {**found, "interval": percentile_interval(drawn), **similarity_entry(by)}
    return Report("pairs", len(labels), scores, resampled=drawn, answers=predictions_from_labels(values[by], labels, prediction_kind(by)))


def threshold_scores(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Compute average precision, and the best accuracy and F1 over all distinct thresholds.

    Average precision is Σ (Rₖ − Rₖ₋₁) Pₖ over descending thresholds, ties taken together; 0 without a positive label.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], np.asarray(labels)[order] == 1
    last = np.flatnonzero(np.diff(ranked, append=-np.inf))  # the last row of each run of equal scores
    hits = np.cumsum(truth)[last]
    called = last + 1
    positives = int(truth.sum())
    precision = hits / called
    recall = hits / positives if positives else np.zeros(len(last))
    # "called the same" from none (before the first threshold) to all
    right = np.concatenate([[0], 2 * hits - called]) + (len(truth) - positives)
    f1 = 2 * hits / (called + positives)
    cuts = _thresholds(ranked, last)
    best, best_f1 = int(right.argmax()), int(f1.argmax())
    return {
        "average_precision": float(np.sum(np.diff(recall, prepend=0) * precision)),
        "accuracy": float(right[best] / len(truth)),
        "threshold": float(cuts[best]),
        "f1": float(f1[best_f1]),
        "f1_threshold": float(cuts[best_f1 + 1]),
    }


def bootstrap_average_precision(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the average precision of (n,) scores in every resample, (resamples,); NaN if a resample has a single label."""
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], (np.asarray(labels)[order] == 1).astype(np.float64)
    last = np.flatnonzero(np.diff(ranked, append=-np.inf))

    def average_precision(counts: np.ndarray) -> np.ndarray:
        drawn = counts[:, order]
        hits = np.cumsum(drawn * truth, axis=1)[:, last]
        called = np.cumsum(drawn, axis=1)[:, last]
        found = np.sum(np.diff(hits, prepend=0.0, axis=1) * hits / np.maximum(called, 1), axis=1)
        return _where_both_labels(found / np.maximum(hits[:, -1], 1), hits[:, -1], called[:, -1])

    return bootstrap_scores(average_precision, len(scores))


def bootstrap_decisions(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the best accuracy and best F1 of (n,) scores in every resample, (resamples, 2), with thresholds chosen anew; NaN as above."""
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], (np.asarray(labels)[order] == 1).astype(np.float64)
    last = np.flatnonzero(np.diff(ranked, append=-np.inf))

    def best(counts: np.ndarray) -> np.ndarray:
        drawn = counts[:, order]
        hits, called = np.cumsum(drawn * truth, axis=1)[:, last], np.cumsum(drawn, axis=1)[:, last]
        positives = hits[:, -1:]
        total = called[:, -1]
        right = np.maximum((2 * hits - called).max(axis=1), 0) + total - positives[:, 0]
        found = np.stack([right / total, (2 * hits / np.maximum(called + positives, 1)).max(axis=1)], axis=1)
        return _where_both_labels(found, positives, total[:, None])

    return bootstrap_scores(best, len(scores))


def _where_both_labels(found: np.ndarray, positives: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where((positives > 0) & (positives < total), found, np.nan)


def _thresholds(ranked: np.ndarray, last: np.ndarray) -> np.ndarray:
    values = ranked[last]
    halfway = (values[:-1] + values[1:]) / 2
    return np.concatenate([[np.nextafter(values[0], np.inf)], halfway, values[-1:]])


def evaluate_labels(scores: np.ndarray, labels: np.ndarray) -> Report:
    """Compute average precision, best accuracy and best F1 of (n,) scores for 0/1 labels, each with its 95 % bootstrap interval.

    Returns:
        A ``pairs`` report: ``pair`` holds :func:`threshold_scores` and ``intervals``; ``interval`` is that of the average precision.
    """
    found: dict[str, Any] = threshold_scores(scores, labels)
    drawn, decisions = bootstrap_average_precision(scores, labels), bootstrap_decisions(scores, labels)
    intervals = {
        "average_precision": percentile_interval(drawn),
        "accuracy": percentile_interval(decisions[:, 0]),
        "f1": percentile_interval(decisions[:, 1]),
    }
    return Report(
        "pairs",
        len(labels),
        {"pair": {**found, "intervals": intervals}, "interval": percentile_interval(drawn)},
        resampled=drawn,
        answers=predictions_from_labels(scores, labels, "score"),
    )


@TASK_REGISTRY.register("pairs")
class PairTask(Task):
    """Ranking and best threshold."""

    order = 2
    title = "Pairs with yes or no"
    help = "Average precision of each similarity, and the accuracy and F1 of the threshold that is best on these rows."
    kinds = ("labelled_pairs",)
    main = ("cosine", "average_precision")
    by_similarity = True

    def fits(self, shape: DataShape) -> bool:
        """Fit two ordered classes, or any two classes for a model that scores pairs."""
        if shape.kind != "labelled_pairs" or shape.gives == "class":
            return False
        return (shape.ordered and shape.labels <= 2) or (shape.gives == "score" and shape.labels == 2)

    def require(self, roles: Roles) -> None:
        if len(roles.labels) != 2:
            raise StudioError(
                f"the labels are {', '.join(roles.labels) or 'missing'}", "pairs need labels of two classes, 0 and 1; try sts"
            )
        require_order(roles)

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return evaluate_pairs(vectors[0], vectors[1], cast("np.ndarray", examples.targets), by)

    def evaluate_similarities(self, targets: np.ndarray, values: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        return evaluate_pair_similarities(values, targets, by)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        return evaluate_labels(scores, cast("np.ndarray", examples.targets))
