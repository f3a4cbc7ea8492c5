"""Semantic textual similarity: correlation of similarities with gold scores (SBERT paper, section 4), over all pairs or within groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import StudioError
from ..answers import average_ranks, prediction_kind, predictions_from_scores
from ..bootstrap import MAX_BOOTSTRAP_ROWS, average_bootstraps, bootstrap_mean, bootstrap_scores, percentile_interval, resample_subset
from ..encoding import similarities
from ..report import Report, similarity_entry
from .base import TASK_REGISTRY, DataShape, EncodedExamples, SimilarityTask, Task, require_order

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.schema.roles import Kind, Roles

_CORRELATIONS = ("spearman", "pearson")


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


def evaluate_sts_similarities(values: Mapping[str, np.ndarray], gold: np.ndarray, by: str = "cosine") -> Report:
    """Compute :func:`evaluate_sts` from (n,) similarities of each measure; very large sets have no interval."""
    scores: dict[str, Any] = {name: correlations(own, gold) for name, own in values.items()}
    drawn = bootstrap_spearman(values[by], gold) if len(gold) <= MAX_BOOTSTRAP_ROWS else np.empty(0)
    scores |= {"interval": percentile_interval(drawn), **similarity_entry(by)}
    answers = predictions_from_scores(values[by], gold, prediction_kind(by))
    return Report("sts", len(gold), scores, resampled=drawn, answers=answers)


def evaluate_scores(scores: np.ndarray, gold: np.ndarray) -> Report:
    """Compute Spearman, Pearson and mean squared error of (n,) scores with gold scores in 0..1, each with its 95 % bootstrap interval.

    Returns:
        An ``sts`` report: ``pair`` contains all three and their ``intervals``; ``interval`` is that of Spearman's ρ.
    """
    scores, gold = np.asarray(scores, np.float64), np.asarray(gold, np.float64)
    errors = (scores - gold) ** 2
    every = {"spearman": bootstrap_spearman(scores, gold), "pearson": bootstrap_pearson(scores, gold), "mse": bootstrap_mean(errors)}
    intervals = {name: percentile_interval(drawn) for name, drawn in every.items()}
    found = {**correlations(scores, gold), "mse": float(errors.mean()), "intervals": intervals}
    return Report(
        "sts",
        len(scores),
        {"pair": found, "interval": intervals["spearman"]},
        resampled=every["spearman"],
        answers=predictions_from_scores(scores, gold, "score"),
    )


def correlations(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return Spearman's ρ and Pearson's r of two (n,) arrays."""
    return {"spearman": spearman(x, y), "pearson": pearson(x, y)}


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

    NaN if the gold scores of a resample are constant, 0 if only ``x`` is. Rows are sorted once: the ranks of a resample are cumulative sums
    of its counts over groups of equal values.
    """
    return bootstrap_scores(lambda counts: _weighted_pearson(_resampled_ranks(x, counts), _resampled_ranks(y, counts), counts), len(x))


def bootstrap_pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Pearson's r of (n,) ``x`` and ``y`` in every resample, (resamples,); NaN and 0 as in :func:`bootstrap_spearman`."""
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
    x, y = (values - (weights * values).sum(axis=1, keepdims=True) / total for values in (x, y))
    together, own_x, own_y = (np.einsum("bn,bn,bn->b", weights, a, b) for a, b in ((x, y), (x, x), (y, y)))
    scale = np.sqrt(own_x * own_y)
    found = np.divide(together, scale, out=np.zeros_like(scale), where=(scale > 0) & ~same_x)
    return np.where(same_y, np.nan, found)


@TASK_REGISTRY.register("sts")
class STSTask(SimilarityTask):
    """Rank and linear correlation with human scores."""

    order = 1
    title = "Pairs with scores (STS)"
    help = "Spearman and Pearson correlation of each similarity with human scores."
    kinds: ClassVar[tuple[Kind, ...]] = ("scored_pairs", "labelled_pairs")
    main: ClassVar[tuple[str, ...]] = ("cosine", "spearman")
    pools = True

    def fits(self, shape: DataShape) -> bool:
        """Return True for scores, and for three or more classes ordered by similarity (contradiction, neutral, entailment)."""
        ranked = shape.kind == "labelled_pairs" and shape.ordered and shape.labels > 2 and shape.gives != "class"
        return shape.kind == "scored_pairs" or ranked

    def require(self, roles: Roles) -> None:
        require_order(roles)

    def averaged(self, scores: Mapping[str, Any]) -> dict[str, Any]:
        """Return both correlations of every similarity."""
        return {name: {each: own[each] for each in _CORRELATIONS} for name, own in scores.items() if isinstance(own, Mapping)}

    def evaluate_similarities(self, values: Mapping[str, np.ndarray], targets: np.ndarray, by: str = "cosine") -> Report:
        return evaluate_sts_similarities(values, targets, by)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """Evaluate (n,) scores; gold classes are spaced evenly from 0 to 1."""
        targets = examples.targets
        assert targets is not None
        return evaluate_scores(scores, targets if targets.dtype.kind == "f" else targets / max(1, len(examples.labels) - 1))


def evaluate_by_group(scores: np.ndarray, gold: np.ndarray, groups: Sequence[str]) -> Report:
    """Compute Pearson and Spearman of (n,) scores with gold scores within each group, their mean, and over all pairs.

    Groups, such as topics of argument facets (SBERT paper, section 4.3), have equal weight in the mean. Groups with constant gold scores
    are skipped and listed in ``silent``.

    Returns:
        A ``topics`` report: ``groups`` (name → ``rows, pearson, spearman``), ``mean`` and ``all`` (``pearson, spearman``), ``silent``, and
        ``interval``, the 95 % bootstrap interval of the mean Spearman with rows resampled within groups.

    Raises:
        StudioError: gold scores are constant within every group.
    """
    scores, gold = np.asarray(scores, np.float64), np.asarray(gold, np.float64)
    names, places = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    found: dict[str, dict[str, Any]] = {}
    silent, drawn = [], []
    for place, name in enumerate(names.tolist()):
        rows = places == place
        own, theirs = scores[rows], gold[rows]
        if len(np.unique(theirs)) < 2:
            silent.append(name)
            continue
        found[name] = {"rows": int(rows.sum()), **correlations(own, theirs)}
        with resample_subset(rows):
            drawn.append(bootstrap_spearman(own, theirs))
    if not found:
        raise StudioError("the gold scores are constant within every group", "choose another group column, or evaluate all pairs together")
    resampled = average_bootstraps(drawn)
    report = {
        "groups": found,
        "mean": {name: float(np.mean([one[name] for one in found.values()])) for name in _CORRELATIONS},
        "all": correlations(scores, gold),
        "silent": silent,
        "interval": percentile_interval(resampled) if resampled is not None else [],
    }
    return Report("topics", len(gold), report, resampled=resampled, answers=predictions_from_scores(scores, gold))


@TASK_REGISTRY.register("topics")
class TopicTask(Task):
    """Correlations within groups of pairs."""

    order = 10
    title = "Pairs with scores, by topic"
    help = "Spearman and Pearson correlation of the cosine with the scores within each group of pairs, their mean, and overall."
    kinds: ClassVar[tuple[Kind, ...]] = ("scored_pairs",)
    main: ClassVar[tuple[str, ...]] = ("mean", "spearman")

    def require(self, roles: Roles) -> None:
        if roles.group is None:
            raise StudioError("no column contains the topics of the pairs", "specify it as the group: --group topic")

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_by_group(similarities(encoded.vectors[0], encoded.vectors[1])[by], encoded.targets, encoded.examples.groups)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        assert examples.targets is not None
        return evaluate_by_group(scores.ravel(), examples.targets, examples.groups)
