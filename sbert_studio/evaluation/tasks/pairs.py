"""Labelled pairs (paraphrase or not), evaluated by ranking and threshold, and triplets by accuracy (SBERT paper, section 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..answers import prediction_kind, predictions_from_labels, predictions_from_margins
from ..bootstrap import MAX_BOOTSTRAP_ROWS, bootstrap_mean, bootstrap_scores, percentile_interval, share_interval
from ..encoding import MEASURES, similarities
from ..report import Report, similarity_entry
from .base import TASK_REGISTRY, DataShape, EncodedExamples, SimilarityTask, Task, require_order

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.schema.roles import Kind, Roles


def evaluate_pairs(left: np.ndarray, right: np.ndarray, labels: np.ndarray, by: str = "cosine") -> Report:
    """Compute average precision, best accuracy and best F1 of four similarities.

    Args:
        left, right: (n, d) vectors of both sides.
        labels: (n,), 0 (different) or 1 (same).
        by: main similarity, that of the model.

    Returns:
        A ``pairs`` report: ``{average_precision, accuracy, threshold, f1, f1_threshold}`` for each similarity. Thresholds apply to the
        similarity (negated distances); pairs at or above one are predicted as the same. They are chosen on the evaluated rows, so
        accuracy and F1 are slightly optimistic. ``interval`` is the 95 % bootstrap interval of the main average precision.
    """
    return evaluate_pair_similarities(similarities(left, right), labels, by)


def evaluate_pair_similarities(values: Mapping[str, np.ndarray], labels: np.ndarray, by: str = "cosine") -> Report:
    """Compute :func:`evaluate_pairs` from (n,) similarities of each measure; very large sets have no interval."""
    found: dict[str, Any] = {name: threshold_scores(values, labels) for name, values in values.items()}
    drawn = bootstrap_average_precision(values[by], labels) if len(labels) <= MAX_BOOTSTRAP_ROWS else np.empty(0)
    scores = {**found, "interval": percentile_interval(drawn), **similarity_entry(by)}
    return Report("pairs", len(labels), scores, resampled=drawn, answers=predictions_from_labels(values[by], labels, prediction_kind(by)))


def evaluate_labels(scores: np.ndarray, labels: np.ndarray) -> Report:
    """Compute average precision, best accuracy and best F1 of (n,) scores for 0/1 labels, each with its 95 % bootstrap interval.

    Returns:
        A ``pairs`` report: ``pair`` contains :func:`threshold_scores` and ``intervals``; ``interval`` is that of the average precision.
    """
    drawn, decisions = bootstrap_average_precision(scores, labels), bootstrap_decisions(scores, labels)
    every = {"average_precision": drawn, "accuracy": decisions[:, 0], "f1": decisions[:, 1]}
    intervals = {name: percentile_interval(values) for name, values in every.items()}
    found = {"pair": {**threshold_scores(scores, labels), "intervals": intervals}, "interval": intervals["average_precision"]}
    return Report("pairs", len(labels), found, resampled=drawn, answers=predictions_from_labels(scores, labels, "score"))


def threshold_scores(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Compute average precision, and the best accuracy and F1 over all distinct thresholds.

    Average precision is Σ (Rₖ − Rₖ₋₁) Pₖ over descending thresholds, with ties combined; 0 without a positive label.
    """
    order, last = _ranking(scores)
    truth = np.asarray(labels)[order] == 1
    hits, called, positives = np.cumsum(truth)[last], last + 1, int(truth.sum())
    recall = hits / positives if positives else np.zeros(len(last))
    # From no pair predicted as the same, before the first threshold, to all pairs.
    right = np.concatenate([[0], 2 * hits - called]) + (len(truth) - positives)
    f1 = 2 * hits / (called + positives)
    values = scores[order][last]
    cuts = np.concatenate([[np.nextafter(values[0], np.inf)], (values[:-1] + values[1:]) / 2, values[-1:]])
    best, best_f1 = int(right.argmax()), int(f1.argmax())
    return {
        "average_precision": float(np.sum(np.diff(recall, prepend=0) * (hits / called))),
        "accuracy": float(right[best] / len(truth)),
        "threshold": float(cuts[best]),
        "f1": float(f1[best_f1]),
        "f1_threshold": float(cuts[best_f1 + 1]),
    }


def bootstrap_average_precision(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the average precision of (n,) scores in every resample, (resamples,); NaN if a resample has only one label."""

    def average_precision(hits: np.ndarray, called: np.ndarray) -> np.ndarray:
        found = np.sum(np.diff(hits, prepend=0.0, axis=1) * hits / np.maximum(called, 1), axis=1)
        return np.asarray(found / np.maximum(hits[:, -1], 1))

    return _bootstrap_thresholds(average_precision, scores, labels)


def bootstrap_decisions(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the best accuracy and F1 of (n,) scores in every resample, (resamples, 2), with new thresholds; NaN with only one label."""

    def best(hits: np.ndarray, called: np.ndarray) -> np.ndarray:
        positives, total = hits[:, -1:], called[:, -1]
        right = np.maximum((2 * hits - called).max(axis=1), 0) + total - positives[:, 0]
        return np.stack([right / total, (2 * hits / np.maximum(called + positives, 1)).max(axis=1)], axis=1)

    return _bootstrap_thresholds(best, scores, labels)


def _bootstrap_thresholds(score: Callable[[np.ndarray, np.ndarray], np.ndarray], scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    order, last = _ranking(scores)
    truth = (np.asarray(labels)[order] == 1).astype(np.float64)

    def score_block(counts: np.ndarray) -> np.ndarray:
        drawn = counts[:, order]
        hits, called = np.cumsum(drawn * truth, axis=1)[:, last], np.cumsum(drawn, axis=1)[:, last]
        found = score(hits, called)
        found[(hits[:, -1] <= 0) | (hits[:, -1] >= called[:, -1])] = np.nan
        return found

    return bootstrap_scores(score_block, len(scores))


def _ranking(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of descending scores, and the last index of each run of equal scores."""
    order = np.argsort(-scores, kind="stable")
    return order, np.flatnonzero(np.diff(scores[order], append=-np.inf))


@TASK_REGISTRY.register("pairs")
class PairTask(SimilarityTask):
    """Ranking and best threshold."""

    order = 2
    title = "Pairs with binary labels"
    help = "Average precision of each similarity, and accuracy and F1 at the best threshold on these rows."
    kinds: ClassVar[tuple[Kind, ...]] = ("labelled_pairs",)
    main: ClassVar[tuple[str, ...]] = ("cosine", "average_precision")

    def fits(self, shape: DataShape) -> bool:
        """Return True for two ordered classes, and for any two classes if the model scores pairs."""
        if shape.kind != "labelled_pairs" or shape.gives == "class":
            return False
        return (shape.ordered and shape.labels <= 2) or (shape.gives == "score" and shape.labels == 2)

    def require(self, roles: Roles) -> None:
        if len(roles.labels) != 2:
            raise StudioError(
                _("the labels are {labels}", labels=", ".join(roles.labels) or "missing"),
                "pairs need labels of two classes, 0 and 1; try sts",
            )
        require_order(roles)

    def evaluate_similarities(self, values: Mapping[str, np.ndarray], targets: np.ndarray, by: str = "cosine") -> Report:
        return evaluate_pair_similarities(values, targets, by)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        assert examples.targets is not None
        return evaluate_labels(scores, examples.targets)


def evaluate_triplets(anchor: np.ndarray, positive: np.ndarray, negatives: Sequence[np.ndarray], by: str = "cosine") -> Report:
    """Compute the share of rows whose positive is strictly more similar to the anchor than each negative.

    Args:
        anchor, positive: (n, d) vectors.
        negatives: at least one (n, d) array.
        by: main similarity, that of the model.

    Returns:
        A ``triplets`` report: ``{accuracy}`` for each similarity, and the main ``accuracy`` with its 95 % bootstrap ``interval``.
    """
    near, far = similarities(anchor, positive), [similarities(anchor, negative) for negative in negatives]
    won = {name: np.all([near[name] > other[name] for other in far], axis=0) for name in MEASURES}
    margins = np.min([near[by] - other[by] for other in far], axis=0)
    scores: dict[str, Any] = {name: {"accuracy": float(rows.mean())} for name, rows in won.items()}
    drawn = bootstrap_mean(won[by])
    scores = {"accuracy": scores[by]["accuracy"], **scores, "interval": share_interval(drawn, won[by]), **similarity_entry(by)}
    return Report("triplets", len(anchor), scores, resampled=drawn, answers=predictions_from_margins(margins))


def evaluate_triplet_scores(scores: np.ndarray) -> Report:
    """Compute the share of triplets whose positive scores higher than each negative; ties count as errors.

    Args:
        scores: (columns, n): scores of each anchor with its positive, then with its negatives.
    """
    margins = scores[0] - scores[1:].max(axis=0)
    right = (margins > 0).astype(np.float64)
    drawn = bootstrap_mean(right)
    found = {"pair": {"accuracy": float(right.mean())}, "interval": share_interval(drawn, right)}
    return Report("triplets", len(right), found, resampled=drawn, answers=predictions_from_margins(margins))


@TASK_REGISTRY.register("triplets")
class TripletTask(Task):
    """Triplet accuracy."""

    order = 4
    title = "Triplets"
    help = "Share of anchors that are closer to their positive than to every negative."
    kinds: ClassVar[tuple[Kind, ...]] = ("triplets",)
    main: ClassVar[tuple[str, ...]] = ("cosine", "accuracy")

    def fits(self, shape: DataShape) -> bool:
        return shape.kind == "triplets"

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_triplets(encoded.vectors[0], encoded.vectors[1], encoded.vectors[2:], by)

    def pairs(self, examples: Examples) -> list[tuple[str, str]]:
        """Return all pairs of an anchor and its positive, then of an anchor and its first negative, and so on."""
        return [pair for column in examples.texts[1:] for pair in zip(examples.texts[0], column, strict=True)]

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        return evaluate_triplet_scores(scores.reshape(len(examples.texts) - 1, -1))
