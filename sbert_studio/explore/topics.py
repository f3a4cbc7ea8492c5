"""Topics: a tree of similar texts, cut where the topics are most distinct, with broad topics above and outliers apart.

Density clustering collapses on homogeneous texts: HDBSCAN puts 99 % of the questions of TREC into one cluster. Here the UMAP projection is
clustered by Ward's method (1963), which gives a topic tree, and the tree is cut where the silhouette (Rousseeuw 1987) is best. Another
number of topics is another cut of the same tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models.similarity import unit
from ..progress import checkpoint

if TYPE_CHECKING:
    from .umap import NeighborGraph

MAX_TOPICS = 200
_TREE_ROWS = 6_000  # the time of Ward's method grows with n²
_SILHOUETTE_ROWS = 2_500
_CANDIDATES = 24
_MIN_MEAN_SIZE = 15  # mean texts of a topic; smaller topics are too many to read
MAX_SHARE, MIN_MANY, MANY_ROWS = 0.3, 10, 2_000
_MIN_GROUPED = 8  # topics from which on broad topics help
_OUTLIER_DEVIATIONS = 2.5
_NORMAL = 1.4826  # of a normal distribution: standard deviation / median absolute deviation
_SEED = 12


@dataclass(frozen=True)
class TopicTree:
    """A Ward tree of texts.

    Attributes:
        rows: (m,) int64, the rows that the tree joins: all n, or a sample of 6,000.
        merges: (m - 1, 4) float64, in scipy's ``linkage`` format.
        nearest: (n,) int64, for each row the index into ``rows`` of the nearest sampled row.
    """

    rows: np.ndarray
    merges: np.ndarray
    nearest: np.ndarray

    def cut(self, count: int) -> np.ndarray:
        """Return (n,) int64 topics from 0, at most ``count``."""
        from scipy.cluster.hierarchy import fcluster

        return np.asarray(fcluster(self.merges, count, "maxclust")[self.nearest] - 1, np.int64)


def topic_tree(points: np.ndarray) -> TopicTree:
    """Build a Ward tree of (n, d) projected points, n ≥ 2; for more than 6,000, from a sample to which the others are assigned."""
    from fastcluster import linkage_vector

    rows = sample_rows(len(points), _TREE_ROWS)
    merges = linkage_vector(points[rows].astype(np.float64), "ward")
    if len(rows) == len(points):
        return TopicTree(rows, merges, np.arange(len(points)))
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(np.ascontiguousarray(points[rows]))
    return TopicTree(rows, merges, index.search(np.ascontiguousarray(points), 1)[1][:, 0])


def choose_count(tree: TopicTree, points: np.ndarray, vectors: np.ndarray) -> int:
    """Return the number of topics at which they are most distinct.

    The criterion is the mean silhouette, averaged over the projection and the cosine distances of the vectors, each relative to its best
    value. The projection alone splits too finely, the vectors alone too coarsely. From 2,000 texts on, there are at least ten topics, and
    the largest has at most 30 % of the texts if any number achieves that: broad topics show what they have in common.

    Args:
        points: (n, d) projection from which the tree was made.
        vectors: (n, D) vectors of the texts.
    """
    numbers = candidate_counts(len(points))
    if len(numbers) < 2:
        return numbers[0]
    rows = sample_rows(len(points), _SILHOUETTE_ROWS)
    directions = unit(np.asarray(vectors[rows], np.float32))
    spaces = (_euclidean(points[rows]), np.maximum(0, 1 - directions @ directions.T))
    scores, largest = np.empty((len(numbers), 2)), np.empty(len(numbers))
    # All cuts are joins of the finest one, so that the distances are read once for all of them.
    finest = tree.cut(numbers[-1])[rows]
    sums = [space @ _members(finest, numbers[-1]) for space in spaces]
    for place, count in enumerate(numbers):
        checkpoint()
        ids = tree.cut(count)
        largest[place] = np.bincount(ids).max() / len(ids)
        joined = np.zeros(numbers[-1], np.int64)
        joined[finest] = ids[rows]
        join = _members(joined, count)
        scores[place] = [mean_silhouette(found @ join, ids[rows]) for found in sums]
    total = (scores / np.maximum(np.abs(scores).max(axis=0), 1e-9)).sum(axis=1)
    is_allowed = (largest <= MAX_SHARE) & (np.array(numbers) >= MIN_MANY) if len(points) >= MANY_ROWS else np.ones(len(numbers), bool)
    return numbers[int(np.where(is_allowed | ~is_allowed.any(), total, -np.inf).argmax())]


def candidate_counts(rows: int) -> list[int]:
    """Return the numbers of topics to try for this many texts, ascending, evenly spaced in their logarithm."""
    most = int(np.clip(rows / _MIN_MEAN_SIZE, 2, MAX_TOPICS))
    return sorted({round(count) for count in np.geomspace(2, most, _CANDIDATES)})


def silhouette(distances: np.ndarray, ids: np.ndarray) -> float:
    """Return the mean silhouette coefficient of n points, like ``sklearn.metrics.silhouette_score``, using a single matrix product.

    Args:
        distances: (n, n) with zeros on the diagonal.
        ids: (n,) clusters; ids without a point are allowed. With fewer than two clusters the result is 0.
    """
    return mean_silhouette(distances @ _members(ids, int(ids.max(initial=-1)) + 1), ids)


def mean_silhouette(sums: np.ndarray, ids: np.ndarray) -> float:
    """Return the mean silhouette coefficient of n points from (n, k) ``sums`` of their distances to the members of each cluster."""
    rows, sizes = np.arange(len(ids)), np.bincount(ids, minlength=sums.shape[1])
    if (sizes > 0).sum() < 2:
        return 0.0
    within = sums[rows, ids] / np.maximum(sizes[ids] - 1, 1)
    means = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.inf)
    means[rows, ids] = np.inf
    between = means.min(axis=1)
    values = (between - within) / np.maximum(np.maximum(between, within), 1e-9)
    return float(np.where(sizes[ids] > 1, values, 0).mean())


def _members(ids: np.ndarray, count: int) -> np.ndarray:
    """Return (n, count) float32: 1 where a point belongs to a cluster."""
    members = np.zeros((len(ids), count), np.float32)
    members[np.arange(len(ids)), ids] = 1
    return members


def group_topics(centroids: np.ndarray) -> np.ndarray:
    """Join k topics into about √(1.5 k) broad topics by Ward's method; return (k,) int64 broad topics, all -1 for fewer than 8 topics.

    Args:
        centroids: (k, d) unit vectors.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(centroids) < _MIN_GROUPED:
        return np.full(len(centroids), -1, np.int64)
    count = round((1.5 * len(centroids)) ** 0.5)
    return np.asarray(fcluster(linkage(centroids.astype(np.float64), "ward"), count, "maxclust") - 1, np.int64)


def topic_centroids(vectors: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return (k, d) float32 unit centroids of the topics 0 … k-1 of (n,) ``ids``; negative ids are ignored."""
    count = int(ids.max(initial=-1)) + 1
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    order = np.argsort(ids, kind="stable")
    order = order[ids[order] >= 0]
    if len(order):
        directions, starts = unit(np.asarray(vectors, np.float32)[order]), np.flatnonzero(np.diff(ids[order], prepend=-1))
        sums[ids[order][starts]] = np.add.reduceat(directions, starts, axis=0)
    return unit(sums)


def typicality(vectors: np.ndarray, ids: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return (n,) float32: the cosine of each text to the centroid of its topic, or to the nearest one if it has none."""
    directions = unit(np.asarray(vectors, np.float32))
    found = np.zeros(len(ids), np.float32)
    if not len(centroids):
        return found
    for start in range(0, len(ids), _SILHOUETTE_ROWS):
        part = slice(start, start + _SILHOUETTE_ROWS)
        cosines = directions[part] @ centroids.T
        own = ids[part]
        found[part] = np.where(own >= 0, cosines[np.arange(len(own)), np.maximum(own, 0)], cosines.max(axis=1))
    return found


def nearest_topics(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return (n,) int64, the topic with the nearest centroid for each text."""
    return np.asarray((unit(np.asarray(vectors, np.float32)) @ centroids.T).argmax(axis=1), np.int64)


def find_outliers(ids: np.ndarray, typical: np.ndarray, near: NeighborGraph) -> np.ndarray:
    """Return (n,) bool: texts that are unlike their topic and isolated.

    A text is an outlier if its mean distance to its nearest neighbors is more than 2.5 robust standard deviations above the median of all
    texts, and its typicality more than one below the median of its topic.

    Args:
        typical: (n,) as from :func:`typicality`.
        near: neighbors of each text.
    """
    mean_distance = near.distances[:, 1:].mean(axis=1)
    middle, spread = _robust(mean_distance)
    isolated = mean_distance > middle + _OUTLIER_DEVIATIONS * spread
    far = np.zeros(len(ids), bool)
    for topic in np.unique(ids[isolated & (ids >= 0)]).tolist():
        rows = np.flatnonzero(ids == topic)
        center, width = _robust(typical[rows])
        far[rows] = typical[rows] < center - width
    return np.asarray(isolated & far)


def sample_rows(rows: int, limit: int) -> np.ndarray:
    """Return (min(rows, limit),) int64 ascending rows, drawn by a fixed seed."""
    if rows <= limit:
        return np.arange(rows)
    return np.sort(np.random.default_rng(_SEED).choice(rows, limit, replace=False))


def _euclidean(points: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(points)), np.float32)


def _robust(values: np.ndarray) -> tuple[float, float]:
    middle = float(np.median(values))
    return middle, max(_NORMAL * float(np.median(np.abs(values - middle))), 1e-6)
