"""Semantic textual similarity: does the order of the cosines follow the order that people gave? (SBERT paper, section 4)

Semantic textual similarity: pairs with a score, or with ordered classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..answers import average_ranks, of_scores, what_of
from ..bootstrap import MOST_DRAWN, interval, resampled
from ..encoding import similarities
from ..report import Report, compared_by
from .base import REGISTRY, Shape, Task, require_order

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples
    from .categories import Known


def evaluate_sts(left: np.ndarray, right: np.ndarray, gold: np.ndarray, by: str = "cosine") -> Report:
    """Spearman and Pearson of four similarities with the gold scores.

    Args:
        left, right: (n, d) vectors of the two sides.
        gold: (n,) scores on any scale, or class ids in ascending order of similarity; larger means more alike.
        by: the main similarity, that by which the model compares.

    Returns:
        A report of ``sts``: ``{spearman, pearson}`` for each similarity, and ``interval``, the 95% bootstrap
        interval of the main one's Spearman.
    """
    return evaluate_sts_alike(similarities(left, right), gold, by)


def evaluate_sts_alike(found: Mapping[str, np.ndarray], gold: np.ndarray, by: str = "cosine") -> Report:
    """:func:`evaluate_sts` by the (n,) similarities of each measure, larger for more alike; of very many rows without the interval."""
    scores: dict[str, Any] = {
        name: {"spearman": spearman(values, gold), "pearson": pearson(values, gold)} for name, values in found.items()
    }
    drawn = resampled_spearman(found[by], gold) if len(gold) <= MOST_DRAWN else np.empty(0)
    scores["interval"] = interval(drawn)
    answers = of_scores(found[by], gold, what_of(by))
    return Report("sts", len(gold), scores | compared_by(by), resampled=drawn, answers=answers)


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's r of two (n,) arrays; 0 where either is constant, since it then says nothing about the other."""
    x, y = (np.asarray(values, np.float64) - np.mean(values, dtype=np.float64) for values in (x, y))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(np.clip((x @ y) / scale, -1, 1)) if scale > 0 else 0.0


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's ρ: Pearson's r of the average ranks; 0 where either is constant."""
    return pearson(average_ranks(x), average_ranks(y))


def resampled_spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's ρ of (n,) scores ``x`` with gold ones ``y`` over rows drawn with replacement, (resamples,).

    It is NaN where all gold scores drawn are the same; 0 where only ``x`` is constant, for then it is the model that says nothing.
    A resample is a vector of counts, one for each row. The rows were sorted once, so the ranks of every resample
    are running sums of counts over groups of equal values: no resample is sorted again.
    """
    return resampled(lambda counts: _weighted_pearson(_resampled_ranks(x, counts), _resampled_ranks(y, counts), counts), len(x))


def resampled_pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's r of (n,) x and y over rows drawn with replacement, (resamples,); NaN and 0 as in :func:`resampled_spearman`."""
    return resampled(lambda counts: _weighted_pearson(np.broadcast_to(x, counts.shape), np.broadcast_to(y, counts.shape), counts), len(x))


def _resampled_ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The average rank, (resamples, n), that each row has where it is drawn ``counts`` times."""
    _, inverse = np.unique(values, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.flatnonzero(np.diff(inverse[order], prepend=-1))
    groups = np.add.reduceat(counts[:, order], starts, axis=1)
    ranks = np.cumsum(groups, axis=1) - (groups - 1) / 2
    return np.asarray(ranks[:, inverse])


def _weighted_pearson(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Pearson's r of each row of x and y, (resamples, n), each cell counted ``weights`` times.

    NaN where y is constant, 0 where only x is.
    """
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


@REGISTRY.register("sts")
class Sts(Task):
    """Rank and linear correlation with what people said."""

    order = 1
    title = "Similarity with scores (STS)"
    help = "Spearman's and Pearson's correlation of each similarity with the scores that people gave."
    kinds = ("scored_pairs", "labelled_pairs")
    main = ("cosine", "spearman")
    pools = True
    by_similarity = True

    def fits(self, shape: Shape) -> bool:
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

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.sts.evaluate_sts`."""

        return evaluate_sts(vectors[0], vectors[1], cast("np.ndarray", examples.targets), by)

    def judge_alike(self, targets: np.ndarray, alike: Mapping[str, np.ndarray], by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.sts.evaluate_sts`."""

        return evaluate_sts_alike(alike, targets, by)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.measures.crossing.evaluate_scores`; classes stand at equal distances from 0 to 1."""
        from ..measures.crossing import evaluate_scores

        targets = cast("np.ndarray", examples.targets)
        return evaluate_scores(scores, targets if targets.dtype.kind == "f" else targets / max(1, len(examples.labels) - 1))
