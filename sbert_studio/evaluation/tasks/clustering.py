"""Clustering: does k-means on the vectors find the classes again? (V-measure, Rosenberg & Hirschberg 2007)

Texts with a class, judged by whether clusters find the classes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.similarity import unit
from ..bootstrap import interval, resampled
from ..report import Report
from .base import REGISTRY, OfTexts, Shape, categories_of

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import Known


_MINI_BATCH_FROM = 50_000  # rows from which full k-means would take minutes


def evaluate_clustering(vectors: np.ndarray, labels: Sequence[str], *, seed: int = 12) -> Report:
    """K-means on normalised vectors with as many clusters as there are classes.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.

    Returns:
        A report of ``clustering``: ``v_measure``, its 95% bootstrap ``interval`` over the rows (the clusters stay as they were found),
        ``homogeneity``, ``completeness``, ``clusters``.
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.metrics import homogeneity_completeness_v_measure

    classes = len(set(labels))
    if len(vectors) < _MINI_BATCH_FROM:
        model = KMeans(classes, n_init=1, random_state=seed)
    else:
        model = MiniBatchKMeans(classes, n_init=1, batch_size=4096, random_state=seed)
    found = model.fit_predict(unit(vectors))
    homogeneity, completeness, v_measure = (float(score) for score in homogeneity_completeness_v_measure(list(labels), found))
    drawn = resampled_v_measure(np.unique(list(labels), return_inverse=True)[1], found)
    scores: dict[str, Any] = {"v_measure": v_measure, "homogeneity": homogeneity, "completeness": completeness, "clusters": classes}
    return Report("clustering", len(vectors), scores | {"interval": interval(drawn)}, resampled=drawn)


def resampled_v_measure(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """V-measure of (n,) cluster ids with (n,) class ids over rows drawn with replacement, (resamples,); NaN of a single class.

    It is 2 I(C; K) / (H(C) + H(K)), so only the counts of classes, of clusters and of what both share are needed.
    """
    both = truth.astype(np.int64) * (int(found.max()) + 1) + found
    parts = [_membership(ids) for ids in (truth, found, both)]

    def v_measure(counts: np.ndarray) -> np.ndarray:
        of_classes, of_clusters, of_both = (_entropy(part @ counts.T) for part in parts)
        total = of_classes + of_clusters
        shared = np.maximum(total - of_both, 0.0)
        return np.asarray(np.divide(2 * shared, total, out=np.full_like(total, np.nan), where=of_classes > 0))

    return resampled(v_measure, len(truth))


def _membership(ids: np.ndarray) -> Any:
    """A sparse (groups, n) matrix that is 1 where a row belongs to a group."""
    from scipy.sparse import csr_matrix

    _, group = np.unique(ids, return_inverse=True)
    return csr_matrix((np.ones(len(ids)), (group, np.arange(len(ids)))))


def _entropy(sizes: np.ndarray) -> np.ndarray:
    """The entropy, in nats, of each column of (groups, resamples) sizes."""
    shares = sizes / sizes.sum(axis=0)
    return np.asarray(-np.sum(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0), axis=0))


@REGISTRY.register("clustering")
class Clustering(OfTexts):
    """K-means against the classes."""

    order = 8
    title = "Texts with a category: clustering"
    help = "V-measure of k-means, with as many clusters as there are classes."
    main = ("v_measure",)

    def fits(self, shape: Shape) -> bool:
        """Nothing: it is chosen by name."""
        return False

    def judge_vectors(self, examples: Examples, vectors: Sequence[np.ndarray], known: Known | None = None, by: str = "cosine") -> Report:
        """See :func:`~sbert_studio.evaluation.tasks.clustering.evaluate_clustering`."""

        return evaluate_clustering(vectors[0], categories_of(examples))
