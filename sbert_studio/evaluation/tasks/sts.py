"""Semantic textual similarity: correlation of similarities with gold scores (SBERT paper, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..answers import average_ranks, prediction_kind, predictions_from_scores
from ..bootstrap import MAX_BOOTSTRAP_ROWS, bootstrap_mean, bootstrap_scores, percentile_interval
from ..encoding import similarities
from ..report import Report, similarity_entry
from .base import TASK_REGISTRY, DataShape, Task, require_order

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples
    from .categories import ReferenceTexts


def evaluate_sts(left: np.ndarray, right: np.ndarray, gold: np.ndarray, by: str = "cosine") -> Report:
    """Compute Spearman and Pearson correlations of four similarities with gold scores.

    Args:
        left, right: (n, d) vectors of both sides.
        gold: (n,) scores on any scale, or class ids in ascending order of similarity.
        by: main similarity, that of the model.

    Returns:
        An ``sts`` report: ``{spearman, pearson}`` for each similarity, and ``interval``, the 95 % bootstrap interval of the main Spearman.
    """
    return evaluate_sts_similarities(similarities(left, right), gold, by)


def evaluate_sts_similarities(found: Mapping[str, np.ndarray], gold: np.ndarray, by: str = "cosine") -> Report:
    """Compute :func:`evaluate_sts` from (n,) similarities of each measure; very large sets have no interval."""
    scores: dict[str, Any] = {
        name: {"spearman": spearman(values, gold), "pearson": pearson(values, gold)} for name, values in found.items()
    }
    drawn = bootstrap_spearman(found[by], gold) if len(gold) <= MAX_BOOTSTRAP_ROWS else np.empty(0)
    scores["interval"] = percentile_interval(drawn)
    answers = predictions_from_scores(found[by], gold, prediction_kind(by))
    return Report("sts", len(gold), scores | similarity_entry(by), resampled=drawn, answers=answers)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's r of two (n,) arrays; 0 if either is constant."""
    x, y = (np.asarray(values, np.float64) - np.mean(values, dtype=np.float64) for values in (x, y))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip((x @ y) / scale, -1, 1)) if scale > 0 else 0.0


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's ρ (Pearson's r of average ranks); 0 if either is constant."""
    return pearson(average_ranks(x), average_ranks(y))


def bootstrap_spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Spearman's ρ of (n,) scores ``x`` with gold scores ``y`` in every resample, (resamples,).

    NaN if the gold scores of a resample are constant, 0 if only ``x`` is. Rows are sorted once: the ranks of a resample are running sums of
    its counts over groups of equal values.
    """
    return bootstrap_scores(lambda counts: _weighted_pearson(_resampled_ranks(x, counts), _resampled_ranks(y, counts), counts), len(x))


def bootstrap_pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Pearson's r of (n,) x and y in every resample, (resamples,); NaN and 0 as in :func:`bootstrap_spearman`."""
    return bootstrap_scores(
        lambda counts: _weighted_pearson(np.broadcast_to(x, counts.shape), np.broadcast_to(y, counts.shape), counts), len(x)
    )


def _resampled_ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    _, inverse = np.unique(values, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.flatnonzero(np.diff(inverse[order], prepend=-1))
    groups = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = np.cumsum(groups, axis=1) - (groups - 1) / 2
    return np.asarray(ranks[:, inverse])


def _weighted_pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=1, keepdims=True)
    drawn = weights > 0
    same_x, same_y = (
        np.max(values, axis=1, where=drawn, initial=-np.inf) == np.min(values, axis=1, where=drawn, initial=np.inf) for values in (x, y)
    )
    x = x - (weights * x).sum(axis=1, keepdims=True) / total
    y = y - (weights * y).sum(axis=1, keepdims=True) / total
    together, own_x, own_y = (np.einsum("bn,bn,bn->b", weights, a, b) for a, b in ((x, y), (x, x), (y, y)))
    scale = np.sqrt(own_x * own_y)
    found = np.divide(together, scale, out=np.zeros_like(scale), where=(scale > 0) & ~same_x)
    return np.where(same_y, np.nan, found)


def evaluate_scores(scores: np.ndarray, gold: np.ndarray) -> Report:
    """Compute Spearman, Pearson and mean squared error of (n,) scores with gold scores in 0..1, each with its 95 % bootstrap interval.

    Returns:
        An ``sts`` report: ``pair`` holds all three and their ``intervals``; ``interval`` is that of Spearman's ρ.
    """
    scores, gold = np.asarray(scores, np.float64), np.asarray(gold, np.float64)
    errors = (scores - gold) ** 2
    found: dict[str, Any] = {"spearman": spearman(scores, gold), "pearson": pearson(scores, gold), "mse": float(errors.mean())}
    drawn = bootstrap_spearman(scores, gold)
    intervals = {
        "spearman": percentile_interval(drawn),
        "pearson": percentile_interval(bootstrap_pearson(scores, gold)),
        "mse": percentile_interval(bootstrap_mean(errors)),
    }
    return Report(
        "sts",
        len(scores),
        {"pair": {**found, "intervals": intervals}, "interval": percentile_interval(drawn)},
        resampled=drawn,
        answers=predictions_from_scores(scores, gold, "score"),
    )


@TASK_REGISTRY.register("sts")
class STSTask(Task):
    """Rank and linear correlation with what people said."""

    order = 1
    title = "Similarity with scores (STS)"
    help = "Spearman's and Pearson's correlation of each similarity with the scores that people gave."
    kinds = ("scored_pairs", "labelled_pairs")
    main = ("cosine", "spearman")
    pools = True
    by_similarity = True

    def fits(self, shape: DataShape) -> bool:
        """Scores, and three or more classes that rise with similarity (contradiction, neutral, entailment)."""
        ranked = shape.kind == "labelled_pairs" and shape.ordered and shape.labels > 2 and shape.gives != "class"
        return shape.kind == "scored_pairs" or ranked

    def require(self, roles: Roles) -> None:
        """Classes have an order."""
        require_order(roles)

    def averaged(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Both correlations of every similarity."""
        correlations = ("spearman", "pearson")
        return {name: {each: own[each] for each in correlations} for name, own in scores.items() if isinstance(own, Mapping)}

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.sts.evaluate_sts`."""

        return evaluate_sts(vectors[0], vectors[1], cast("np.ndarray", examples.targets), by)

    def evaluate_similarities(self, targets: np.ndarray, values: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.sts.evaluate_sts`."""

        return evaluate_sts_similarities(values, targets, by)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.crossing.evaluate_scores`; classes stand at equal distances from 0 to 1."""

        targets = cast("np.ndarray", examples.targets)
        return evaluate_scores(scores, targets if targets.dtype.kind == "f" else targets / max(1, len(examples.labels) - 1))
