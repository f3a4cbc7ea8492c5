"""Pairs labelled 0 or 1 (paraphrase or not): ranking and the best decision threshold.

Pairs that are the same or not (paraphrases, duplicates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import StudioError
from ..answers import of_labels, what_of
from ..bootstrap import MOST_DRAWN, interval, resampled
from ..encoding import similarities
from ..report import Report, compared_by
from .base import REGISTRY, Shape, Task, require_order

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples
    from .categories import Known


def evaluate_pairs(left: np.ndarray, right: np.ndarray, labels: np.ndarray, by: str = "cosine") -> Report:
    """Average precision, best accuracy and best F1 of four similarities.

    Args:
        left, right: (n, d) vectors of the two sides.
        labels: (n,) of 0 (different) and 1 (the same).
        by: the main similarity, that by which the model compares.

    Returns:
        A report of ``pairs``: ``{average_precision, accuracy, threshold, f1, f1_threshold}`` for each similarity.
        A threshold is on the similarity, distances negated; pairs at or above it are called the same. It is chosen on the rows that it is
        judged by, which flatters accuracy and F1 a little, and average precision not at all. ``interval`` is
        the 95% bootstrap interval of the main one's average precision.
    """
    return evaluate_pairs_alike(similarities(left, right), labels, by)


def evaluate_pairs_alike(alike: Mapping[str, np.ndarray], labels: np.ndarray, by: str = "cosine") -> Report:
    """:func:`evaluate_pairs` by the (n,) similarities of each measure, larger for more alike; of very many rows without the interval."""
    found: dict[str, Any] = {name: judge(values, labels) for name, values in alike.items()}
    drawn = resampled_average_precision(alike[by], labels) if len(labels) <= MOST_DRAWN else np.empty(0)
    scores = {**found, "interval": interval(drawn), **compared_by(by)}
    return Report("pairs", len(labels), scores, resampled=drawn, answers=of_labels(alike[by], labels, what_of(by)))


def judge(scores: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """What the scores say about the labels, over every distinct threshold.

    Average precision is Σ (Rₖ − Rₖ₋₁) Pₖ over descending thresholds, equal scores taken together; 0 where no label is 1.
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
    cuts = _between(ranked, last)
    best, best_f1 = int(right.argmax()), int(f1.argmax())
    return {
        "average_precision": float(np.sum(np.diff(recall, prepend=0) * precision)),
        "accuracy": float(right[best] / len(truth)),
        "threshold": float(cuts[best]),
        "f1": float(f1[best_f1]),
        "f1_threshold": float(cuts[best_f1 + 1]),
    }


def resampled_average_precision(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The average precision of (n,) scores over rows drawn with replacement, (resamples,); NaN where all labels drawn are the same.

    The rows are sorted once. A threshold at which nothing was drawn adds nothing, since recall does not move there.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, truth = scores[order], (np.asarray(labels)[order] == 1).astype(np.float64)
    last = np.flatnonzero(np.diff(ranked, append=-np.inf))

    def average_precision(counts: np.ndarray) -> np.ndarray:
        drawn = counts[:, order]
        hits = np.cumsum(drawn * truth, axis=1)[:, last]
        called = np.cumsum(drawn, axis=1)[:, last]
        found = np.sum(np.diff(hits, prepend=0.0, axis=1) * hits / np.maximum(called, 1), axis=1)
        return _of_both(found / np.maximum(hits[:, -1], 1), hits[:, -1], called[:, -1])

    return resampled(average_precision, len(scores))


def resampled_decisions(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The best accuracy and the best F1 of (n,) scores over rows drawn with replacement, (resamples, 2); thresholds are chosen anew.

    NaN where all labels drawn are the same: one threshold is then always right.
    """
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
        return _of_both(found, positives, total[:, None])

    return resampled(best, len(scores))


def _of_both(found: np.ndarray, positives: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The scores of resamples that hold both labels; NaN for the others."""
    return np.where((positives > 0) & (positives < total), found, np.nan)


def _between(ranked: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Thresholds: one just above all scores, then halfway below each run of equal scores, the lowest score at the end."""
    values = ranked[last]
    halfway = (values[:-1] + values[1:]) / 2
    return np.concatenate([[np.nextafter(values[0], np.inf)], halfway, values[-1:]])


@REGISTRY.register("pairs")
class Pairs(Task):
    """Ranking and the best threshold."""

    order = 2
    title = "Pairs with yes or no"
    help = "Average precision of each similarity, and the accuracy and F1 of the threshold that is best on these rows."
    kinds = ("labelled_pairs",)
    main = ("cosine", "average_precision")
    by_similarity = True

    def fits(self, shape: Shape) -> bool:
        """Two classes, the second of which means alike; a model that scores pairs is trusted with any two."""
        if shape.kind != "labelled_pairs" or shape.gives == "class":
            return False
        return (shape.ordered and shape.labels <= 2) or (shape.gives == "score" and shape.labels == 2)

    def require(self, roles: Roles) -> None:
        """There are two classes in an order."""
        if len(roles.labels) != 2:
            raise StudioError(
                f"the labels are {', '.join(roles.labels) or 'missing'}", "pairs need labels of two classes, 0 and 1; try sts"
            )
        require_order(roles)

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.pairs.evaluate_pairs`."""

        return evaluate_pairs(vectors[0], vectors[1], cast("np.ndarray", examples.targets), by)

    def judge_alike(self, targets: np.ndarray, alike: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.pairs.evaluate_pairs`."""

        return evaluate_pairs_alike(alike, targets, by)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_labels`."""
        from ..measures.crossing import evaluate_labels

        return evaluate_labels(scores, cast("np.ndarray", examples.targets))
