"""Correlation within groups of scored pairs: topics of argument facets (SBERT paper, section 4.3), subsets of an STS year."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import StudioError
from ..answers import predictions_from_scores
from ..bootstrap import average_bootstraps, percentile_interval, resample_subset
from ..encoding import similarities
from ..report import Report
from .base import TASK_REGISTRY, DataShape, Task
from .sts import bootstrap_spearman, pearson, spearman

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples
    from .categories import ReferenceTexts


def evaluate_by_group(left: np.ndarray, right: np.ndarray, gold: np.ndarray, groups: Sequence[str], by: str = "cosine") -> Report:
    """Compute correlations of the cosine with the gold scores by group; see :func:`correlations_by_group`.

    Args:
        left, right: (n, d) vectors of both sides.
        gold: (n,) scores on any scale; larger means more similar.
        groups: the group of each pair.
        by: similarity function of the model.
    """
    return correlations_by_group(similarities(left, right)[by], gold, groups)


def correlations_by_group(scores: np.ndarray, gold: np.ndarray, groups: Sequence[str]) -> Report:
    """Compute Pearson and Spearman of (n,) scores with gold scores within each group, their mean, and over all pairs.

    Groups have equal weight in the mean. Groups with constant gold scores are left out and listed in ``silent``.

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
        found[name] = {"rows": int(rows.sum()), **_correlations(own, theirs)}
        with resample_subset(rows):
            drawn.append(bootstrap_spearman(own, theirs))
    if not found:
        raise StudioError("within every group all gold scores are the same", "choose another column of groups, or judge all pairs together")
    mean = {measure: float(np.mean([one[measure] for one in found.values()])) for measure in ("pearson", "spearman")}
    resampled = average_bootstraps(drawn)
    told = {"groups": found, "mean": mean, "all": _correlations(scores, gold), "silent": silent}
    told["interval"] = percentile_interval(resampled) if resampled is not None else []
    return Report("topics", len(gold), told, resampled=resampled, answers=predictions_from_scores(scores, gold))


def _correlations(scores: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    return {"pearson": pearson(scores, gold), "spearman": spearman(scores, gold)}


@TASK_REGISTRY.register("topics")
class TopicTask(Task):
    """Correlations within groups of pairs."""

    order = 10
    title = "Similarity with scores, within each topic"
    help = "Spearman's and Pearson's correlation of the cosine with the scores within each group of pairs, their mean, and over all."
    kinds = ("scored_pairs",)
    main = ("mean", "spearman")

    def fits(self, shape: DataShape) -> bool:
        return False

    def require(self, roles: Roles) -> None:
        if roles.group is None:
            raise StudioError("no column says which topic a pair is of", "name it as the group: --group topic")

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return evaluate_by_group(vectors[0], vectors[1], cast("np.ndarray", examples.targets), examples.groups, by)

    def evaluate_pair_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        return correlations_by_group(scores.ravel(), cast("np.ndarray", examples.targets), examples.groups)
