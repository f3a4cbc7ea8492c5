"""Similarity with scores within each group: the topics of argument facets (SBERT paper, section 4.3), the subsets of a year of STS.

Scored pairs of several topics, judged within each (argument facets; SBERT paper, section 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import StudioError
from ..answers import of_scores
from ..bootstrap import drawn_among, interval, resampled_mean_of
from ..encoding import similarities
from ..report import Report
from .base import REGISTRY, Shape, Task
from .sts import pearson, resampled_spearman, spearman

if TYPE_CHECKING:
    import numpy as np

    from ...data.columns.roles import Roles
    from ...data.examples import Examples
    from .categories import Known


def evaluate_by_group(left: np.ndarray, right: np.ndarray, gold: np.ndarray, groups: Sequence[str], by: str = "cosine") -> Report:
    """Pearson and Spearman of the cosine with the gold scores, by group; see :func:`correlations_by_group`.

    Args:
        left, right: (n, d) vectors of the two sides.
        gold: (n,) scores on any scale; larger means more alike.
        groups: the group of each of the n pairs.
        by: the similarity in the cosine's place, for a model that compares by another.
    """
    return correlations_by_group(similarities(left, right)[by], gold, groups)


def correlations_by_group(scores: np.ndarray, gold: np.ndarray, groups: Sequence[str]) -> Report:
    """Pearson and Spearman of any (n,) scores of pairs with gold ones: within each group, their mean, and over all pairs.

    The mean weighs each group the same. A group whose gold scores are all equal tells nothing: it is named in ``silent``, and has no
    part in the mean.

    Returns:
        A report of ``topics``: ``groups`` (a name → ``rows, pearson, spearman``), ``mean`` and ``all`` (``pearson, spearman``),
        ``silent``, and ``interval``, the 95% bootstrap interval of the mean Spearman, for which rows are drawn within their group.

    Raises:
        StudioError: the gold scores are equal within every group.
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
        found[name] = {"rows": int(rows.sum()), **_both(own, theirs)}
        with drawn_among(rows):
            drawn.append(resampled_spearman(own, theirs))
    if not found:
        raise StudioError("within every group all gold scores are the same", "choose another column of groups, or judge all pairs together")
    mean = {measure: float(np.mean([one[measure] for one in found.values()])) for measure in ("pearson", "spearman")}
    resampled = resampled_mean_of(drawn)
    told = {"groups": found, "mean": mean, "all": _both(scores, gold), "silent": silent}
    told["interval"] = interval(resampled) if resampled is not None else []
    return Report("topics", len(gold), told, resampled=resampled, answers=of_scores(scores, gold))


def _both(scores: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    return {"pearson": pearson(scores, gold), "spearman": spearman(scores, gold)}


@REGISTRY.register("topics")
class Topics(Task):
    """Correlations within groups of pairs."""

    order = 10
    title = "Similarity with scores, within each topic"
    help = "Spearman's and Pearson's correlation of the cosine with the scores within each group of pairs, their mean, and over all."
    kinds = ("scored_pairs",)
    main = ("mean", "spearman")

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def require(self, roles: Roles) -> None:
        """There is a column of groups."""
        if roles.group is None:
            raise StudioError("no column says which topic a pair is of", "name it as the group: --group topic")

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.topics.evaluate_by_group`."""

        return evaluate_by_group(vectors[0], vectors[1], cast("np.ndarray", examples.targets), examples.groups, by)

    def judge_scores(self, examples: Examples, scores: np.ndarray, classes: tuple[str, ...]) -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.topics.correlations_by_group`."""

        return correlations_by_group(scores.ravel(), cast("np.ndarray", examples.targets), examples.groups)
