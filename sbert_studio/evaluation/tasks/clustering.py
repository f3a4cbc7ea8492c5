"""Clustering: V-measure of k-means against the classes (Rosenberg & Hirschberg 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.similarity import unit
from ..bootstrap import bootstrap_scores, percentile_interval
from ..report import Report
from .base import TASK_REGISTRY, DataShape, TextTask, category_names

if TYPE_CHECKING:
    import numpy as np

    from ...data.examples import Examples
    from .categories import ReferenceTexts


_MINI_BATCH_FROM = 50_000  # rows from which full k-means would take minutes


def evaluate_clustering(vectors: np.ndarray, labels: Sequence[str], *, seed: int = 12) -> Report:
    """Cluster normalised vectors by k-means with as many clusters as classes.

    Args:
        vectors: (n, d).
        labels: the n classes, at least two distinct ones.

    Returns:
        A ``clustering`` report: ``v_measure`` with its 95 % bootstrap ``interval`` over rows (clusters fixed), ``homogeneity``,
        ``completeness``, ``clusters``.
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
    drawn = bootstrap_v_measure(np.unique(list(labels), return_inverse=True)[1], found)
    scores: dict[str, Any] = {"v_measure": v_measure, "homogeneity": homogeneity, "completeness": completeness, "clusters": classes}
    return Report("clustering", len(vectors), scores | {"interval": percentile_interval(drawn)}, resampled=drawn)


def bootstrap_v_measure(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the V-measure of (n,) cluster ids with (n,) class ids in every resample, (resamples,); NaN for a single class.

    V = 2 I(C; K) / (H(C) + H(K)), so only the counts of classes, clusters and their intersections are needed.
    """
    both = truth.astype(np.int64) * (int(predicted.max()) + 1) + predicted
    parts = [_membership(ids) for ids in (truth, predicted, both)]

    def v_measure(counts: np.ndarray) -> np.ndarray:
        of_classes, of_clusters, of_both = (_entropy(part @ counts.T) for part in parts)
        total = of_classes + of_clusters
        shared = np.maximum(total - of_both, 0.0)
        return np.asarray(np.divide(2 * shared, total, out=np.full_like(total, np.nan), where=of_classes > 0))

    return bootstrap_scores(v_measure, len(truth))


def _membership(ids: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    _, group = np.unique(ids, return_inverse=True)
    return csr_matrix((np.ones(len(ids)), (group, np.arange(len(ids)))))


def _entropy(sizes: np.ndarray) -> np.ndarray:
    shares = sizes / sizes.sum(axis=0)
    return np.asarray(-np.sum(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0), axis=0))


@TASK_REGISTRY.register("clustering")
class ClusteringTask(TextTask):
    """K-means against the classes."""

    order = 8
    title = "Texts with a category: clustering"
    help = "V-measure of k-means, with as many clusters as there are classes."
    main = ("v_measure",)

    def fits(self, shape: DataShape) -> bool:
        return False

    def evaluate_vectors(
        self, examples: Examples, vectors: Sequence[np.ndarray], reference: ReferenceTexts | None = None, by: str = "cosine"
    ) -> Report:
        return evaluate_clustering(vectors[0], category_names(examples))
