"""Clustering with HDBSCAN, spherical k-means and average linkage; topic labels and colors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..models.similarity import unit
from ..progress import KeyLocks, checkpoint
from ..registry import KeyedSettings, setting
from ..workspace import Workspace
from . import DEFAULT_SEED
from .products import upper_blocks
from .topics import (
    choose_count,
    find_outliers,
    group_topics,
    keywords,
    nearest_topics,
    split_terms,
    topic_centroids,
    topic_tree,
    typicality,
    unique_labels,
)
from .umap import METHOD, LayoutSettings, build_neighbor_graph, umap_layout
from .vector_store import load_array, store_array

if TYPE_CHECKING:
    from ..progress import Progress
    from .umap import NeighborProvider


SPACE = 5  # dimensions for HDBSCAN
_NEIGHBOURS = 30  # 15 split topics of BANKING77 train in two, and the number of topics was twice as far off
_EPOCHS = 120  # 200 give no better topics; with 100 or fewer, the number of topics varies by a factor of ten between seeds
_SAMPLE_SEED = 12
_VERSION = "topics3"  # changes when the same parameters give other clusters
_SAME = 1e-6  # extent of a projection of identical texts
_MIN_OUTLIER_ROWS = 50
_DENSITY_ROWS = 30_000  # HDBSCAN's time grows with the square of the rows
_LINKAGE_ROWS = 20_000  # the tree needs 16 n² / 2 bytes: 3.2 GB here


def project_for_density(
    vectors: np.ndarray, cache: Path, seed: int = DEFAULT_SEED, progress: Progress | None = None, near: NeighborProvider | None = None
) -> np.ndarray:
    """Return (n, 5) float32: a UMAP projection with min_dist 0 in which density is meaningful."""
    return umap_layout(
        vectors, cache, LayoutSettings(SPACE, _NEIGHBOURS, min_dist=0.0, seed=seed, epochs=_EPOCHS), near=near, progress=progress
    )


def hdbscan(points: np.ndarray, min_size: int) -> np.ndarray:
    """Cluster with HDBSCAN (Campello et al. 2013); beyond 30,000 rows, cluster a sample and assign the other rows to their nearest one."""
    from sklearn.cluster import HDBSCAN

    rows = len(points)
    if rows < 3:
        return np.zeros(rows, np.int64)
    chosen = np.arange(rows)
    if rows > _DENSITY_ROWS:
        chosen = np.sort(np.random.default_rng(_SAMPLE_SEED).choice(rows, _DENSITY_ROWS, replace=False))
        min_size = max(5, round(min_size * _DENSITY_ROWS / rows))
    found = np.asarray(HDBSCAN(min_cluster_size=max(2, min(min_size, len(chosen))), copy=True).fit_predict(points[chosen]), np.int64)
    if len(chosen) == rows:
        return found
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(np.ascontiguousarray(points[chosen]))
    return np.asarray(found[index.search(np.ascontiguousarray(points), 1)[1][:, 0]])


def _require_linkage_size(rows: int) -> None:
    if rows > _LINKAGE_ROWS:
        raise StudioError(
            _("agglomerative clustering compares every pair of texts, which is too slow for {rows} texts", rows=f"{rows:,}"),
            _("choose hdbscan or kmeans, or a corpus of at most {linkage_rows} texts", linkage_rows=f"{_LINKAGE_ROWS:,}"),
        )


def average_linkage(vectors: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """Return the average-linkage tree of cosine distances, (n - 1, 4) float64, in scipy's ``linkage`` format.

    Raises:
        StudioError: more than 20,000 rows.
    """
    from scipy.cluster.hierarchy import linkage

    count = len(vectors)
    _require_linkage_size(count)
    distances = np.empty(count * (count - 1) // 2)
    filled = 0
    for start, products in upper_blocks(unit(vectors)):
        checkpoint()
        for row, cosines in enumerate(products):
            right = cosines[row + 1 :]
            np.subtract(1, right, out=distances[filled : filled + len(right)])
            filled += len(right)
        if progress is not None:
            progress(start + len(products), count)
    return np.asarray(linkage(np.maximum(distances, 0, out=distances), "average"))


def cut_tree(tree: np.ndarray, *, count: int, threshold: float) -> np.ndarray:
    """Cut a tree into ``count`` groups or, for 0, into groups whose mean cosine is at least ``threshold``."""
    from scipy.cluster.hierarchy import fcluster

    found = fcluster(tree, count, "maxclust") if count else fcluster(tree, 1 - threshold, "distance")
    return np.asarray(found, np.int64) - 1


_CELLS = 8_000_000  # cells per block of cosines: 32 MB
_ROUNDS = 50
_RESTARTS = 5
_RESTART_CELLS = 200_000  # rows times groups


def spherical_k_means(vectors: np.ndarray, count: int, seed: int = DEFAULT_SEED) -> np.ndarray:
    """Maximize the mean cosine of rows to their centroid; return cluster ids, (n,) int64 below ``count`` (Dhillon & Modha 2001).

    Initialized by greedy k-means++ (Arthur & Vassilvitskii 2007). Each iteration is one matrix product. Fewer clusters are returned if
    there are fewer distinct directions. A negative seed is random.
    """
    rows = unit(vectors)
    rng = np.random.default_rng(seed if seed >= 0 else None)
    # Small sets are cheap to restart and most affected by bad initial centroids.
    restarts = _RESTARTS if len(rows) * count <= _RESTART_CELLS else 1
    return max((_iterate(rows, rows[_init_centroids(rows, count, rng)]) for _ in range(restarts)), key=lambda found: found[1])[0]


def _iterate(rows: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    groups, total = _assign_centroids(rows, centres)
    for _unused in range(_ROUNDS):
        checkpoint()
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        centres[groups[order][starts]] = unit(np.add.reduceat(rows[order], starts, axis=0))
        moved, total = _assign_centroids(rows, centres)
        if np.array_equal(moved, groups):
            break
        groups = moved
    return groups, total


def _init_centroids(rows: np.ndarray, count: int, rng: np.random.Generator) -> list[int]:
    chosen = [int(rng.integers(len(rows)))]
    distance = np.maximum(0, 1 - rows @ rows[chosen[0]])
    tries = 2 + int(np.log(count))
    for _unused in range(count - 1):
        checkpoint()
        reach = np.cumsum(distance, dtype=np.float64)
        drawn = np.minimum(np.searchsorted(reach, rng.random(tries) * reach[-1], side="right"), len(rows) - 1)
        left = np.minimum(distance[:, None], np.maximum(0, 1 - rows @ rows[drawn].T))
        best = int(left.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        distance = left[:, best]
    return chosen


def _assign_centroids(rows: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    found = np.empty(len(rows), np.int64)
    total = 0.0
    height = max(1, _CELLS // len(centres))
    for start in range(0, len(rows), height):
        cosines = rows[start : start + height] @ centres.T
        found[start : start + height] = cosines.argmax(axis=1)
        total += float(cosines.max(axis=1).sum(dtype=np.float64))
    return found, total


_LOCKS = KeyLocks()
_METHODS = ("auto", "hdbscan", "kmeans", "agglomerative")


MAX_CLUSTERS = 1000


@dataclass(frozen=True)
class ClusterParams(KeyedSettings):
    """Clustering parameters, validated against their bounds."""

    method: str = setting(
        "auto",
        "auto finds distinct topics; hdbscan finds dense clusters and leaves many outliers; kmeans creates a "
        "given number of clusters; agglomerative merges similar texts",
        choices=_METHODS,
    )
    count: int = setting(0, "number of clusters; 0 lets the method choose", min=0, max=MAX_CLUSTERS, step=1)
    min_size: int = setting(0, "minimum number of texts per cluster; 0: depends on the size of the corpus", min=0, max=10_000, step=1)
    threshold: float = setting(0.5, "agglomerative: merge clusters while their mean cosine is at least this", min=0.0, max=1.0, step=0.01)
    seed: int = setting(DEFAULT_SEED, "random seed; -1 gives different clusters each time", min=-1, step=1)


@dataclass(frozen=True)
class Clusters:
    """A clustering of n texts into k clusters.

    Attributes:
        ids: (n,) int64, read-only: 0 is the largest cluster, -1 an outlier.
        labels: a few words for each cluster, all distinct.
        sizes: number of texts in each cluster.
        keywords: the most characteristic words of each cluster, best first.
        parents: (k,) the broad topic of each cluster, an index into ``groups``; -1 for none.
        groups: a few words for each broad topic.
        typicality: (n,) float32, the cosine of each text to the centroid of its cluster or, for an outlier, to the nearest one.
        nearest: (n,) int64, the cluster with the nearest centroid for an outlier, otherwise the text's own; -1 if there is none.
    """

    ids: np.ndarray
    labels: tuple[str, ...]
    sizes: tuple[int, ...]
    keywords: tuple[tuple[str, ...], ...]
    parents: np.ndarray
    groups: tuple[str, ...]
    typicality: np.ndarray
    nearest: np.ndarray

    @property
    def noise(self) -> int:
        return int((self.ids < 0).sum())

    def examples(self, cluster: int, count: int = 3) -> list[int]:
        """Return the ``count`` most typical rows of a cluster, best first."""
        rows = np.flatnonzero(self.ids == cluster)
        return [int(row) for row in rows[np.argsort(-self.typicality[rows], kind="stable")[:count]]]


def cluster(
    vectors: np.ndarray,
    texts: Sequence[str],
    params: ClusterParams,
    key_base: str,
    workspace: Workspace,
    *,
    progress: Progress | None = None,
    near: NeighborProvider | None = None,
    times: np.ndarray | None = None,
) -> Clusters:
    """Cluster texts by the direction of their vectors, and label the clusters.

    ``auto`` finds topics, see :mod:`.topics`; ``count`` sets their number, by another cut of the same tree.

    Args:
        vectors: (n, d).
        texts: the n texts, for the labels.
        key_base: cache key of the vectors: ``<text digest>-<encoder fingerprint>``.
        near: provider of cached neighbors.
        times: (n,) int64, how often each text occurs, for the labels and the typical texts; by default once.

    Raises:
        StudioError: more clusters than texts, or too many texts for average linkage.
    """
    require_clusters(params, len(vectors))
    path = workspace.projection(f"{key_base}-{params.key}-{METHOD}-{_VERSION}")
    with _LOCKS[str(path)]:
        ids = load_array(path, (len(vectors),), np.int64)
        if ids is None:
            near = near or lru_cache(partial(build_neighbor_graph, vectors, "cosine"))
            ids = _renumber_by_size(_group(vectors, params, key_base, workspace, progress, near))
            ids.flags.writeable = False
            store_array(path, ids)
    return _describe(vectors, texts, ids, times)


def require_clusters(params: ClusterParams, texts: int) -> None:
    """Check before encoding whether the texts can be clustered with these parameters.

    Raises:
        StudioError: more clusters than texts, or too many texts for average linkage.
    """
    if params.count > texts:
        raise StudioError(_("{count} clusters of {texts} texts", count=params.count, texts=texts), "choose fewer clusters")
    if params.method == "agglomerative":
        _require_linkage_size(texts)


def distinct_texts(texts: Sequence[str], rows: Iterable[int], count: int) -> tuple[str, ...]:
    """Return the first ``count`` distinct texts of some rows: the most typical text of a topic may occur a thousand times."""
    found: dict[str, None] = {}
    for row in rows:
        found[texts[row]] = None
        if len(found) == count:
            break
    return tuple(found)


def split_clusters(vectors: np.ndarray, texts: Sequence[str], params: ClusterParams) -> Clusters:
    """Cluster n texts with (n, d) vectors by k-means into at most ``params.count`` clusters, without caching."""
    return _describe(vectors, texts, _renumber_by_size(spherical_k_means(vectors, params.count, params.seed)))


def select_rows(clusters: Clusters, rows: np.ndarray) -> Clusters:
    """Return the clusters of (n,) selected rows, renumbered by size."""
    ids = clusters.ids[rows]
    sizes = np.bincount(ids[ids >= 0], minlength=len(clusters.labels))
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(len(order) + 1, np.int64)
    number[order], number[-1] = np.arange(len(order)), -1
    again = number[ids]
    again.flags.writeable = False
    return Clusters(
        again,
        tuple(clusters.labels[old] for old in order.tolist()),
        tuple(int(size) for size in sizes[order]),
        tuple(clusters.keywords[old] for old in order.tolist()),
        clusters.parents[order],
        clusters.groups,
        clusters.typicality[rows],
        number[clusters.nearest[rows]],
    )


def _describe(vectors: np.ndarray, texts: Sequence[str], ids: np.ndarray, times: np.ndarray | None = None) -> Clusters:
    sizes = np.bincount(ids[ids >= 0])
    centroids = topic_centroids(vectors, ids, times)
    typical = typicality(vectors, ids, centroids)
    terms = split_terms(texts)
    ranked = keywords(terms, ids, typicality=typical, times=times)
    parents = group_topics(centroids)
    broad = np.where(ids >= 0, parents[ids], -1) if len(parents) else ids
    nearest = np.where(ids < 0, nearest_topics(vectors, centroids), ids) if len(centroids) else ids
    return Clusters(
        ids,
        unique_labels(ranked),
        tuple(int(size) for size in sizes),
        tuple(tuple(words) for words in ranked),
        parents,
        unique_labels(keywords(terms, broad, typicality=typical, times=times)),
        typical,
        nearest,
    )


def _group(
    vectors: np.ndarray,
    params: ClusterParams,
    key_base: str,
    workspace: Workspace,
    progress: Progress | None,
    near: NeighborProvider,
) -> np.ndarray:
    if len(vectors) < 3:
        return np.zeros(len(vectors), np.int64)
    if params.method == "kmeans":
        return spherical_k_means(vectors, params.count or _default_count(len(vectors)), params.seed)
    if params.method == "agglomerative":
        return _agglomerative(vectors, params, key_base, workspace, progress)
    space = workspace.projection(f"{key_base}-space{max(params.seed, -1)}-{METHOD}-{_VERSION}")
    with _LOCKS[str(space)]:
        points = load_array(space, (len(vectors), SPACE))
        if points is None:
            points = project_for_density(vectors, workspace.cache("numba"), params.seed, progress, near)
            store_array(space, points)
    if params.method == "hdbscan":
        return hdbscan(points, params.min_size or max(5, round(0.4 * len(vectors) ** 0.5)))
    return _topics(vectors, points, params, near)


def _topics(vectors: np.ndarray, points: np.ndarray, params: ClusterParams, near: NeighborProvider) -> np.ndarray:
    if np.ptp(points, axis=0).max() < _SAME:
        return np.zeros(len(points), np.int64)
    tree = topic_tree(points)
    ids = tree.cut(params.count or choose_count(tree, points, vectors))
    if len(ids) < _MIN_OUTLIER_ROWS:
        return ids
    found = np.where(find_outliers(ids, typicality(vectors, ids, topic_centroids(vectors, ids)), near(_NEIGHBOURS)), -1, ids)
    sizes = np.bincount(found[found >= 0], minlength=int(ids.max()) + 1)
    return np.where(sizes[ids] > 0, found, ids)  # no topic vanishes


def _agglomerative(
    vectors: np.ndarray, params: ClusterParams, key_base: str, workspace: Workspace, progress: Progress | None
) -> np.ndarray:
    # The tree is cached: another threshold or number of clusters only needs another cut.
    path = workspace.projection(f"{key_base}-tree")
    with _LOCKS[str(path)]:
        tree = load_array(path, (len(vectors) - 1, 4), np.float64)
        if tree is None:
            tree = average_linkage(vectors, progress)
            store_array(path, tree)
    found = cut_tree(tree, count=params.count, threshold=params.threshold)
    sizes = np.bincount(found)
    return np.where(sizes[found] >= (params.min_size or 1), found, -1)


def _default_count(rows: int) -> int:
    return int(np.clip(round((rows / 2) ** 0.5), 1, 100))


def _renumber_by_size(ids: np.ndarray) -> np.ndarray:
    names, first, sizes = np.unique(ids, return_index=True, return_counts=True)
    order = sorted((place for place in range(len(names)) if names[place] >= 0), key=lambda place: (-sizes[place], first[place]))
    numbers = {int(names[place]): number for number, place in enumerate(order)}
    return np.array([numbers.get(int(name), -1) for name in ids], np.int64)


MAX_HUES = 12


def assign_hues(points: np.ndarray, groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hue and lightness of each category.

    Categories are merged by average linkage of their median points into at most :data:`MAX_HUES` hues, which follow the angle around the
    map's center, so that neighbors on the map are neighbors on the color wheel.

    Args:
        points: (n, 2) or (n, 3) map positions.
        groups: (n,) category ids from 0 to ``count`` - 1; negative for none.
        count: number of categories, each with at least one point.

    Returns:
        (count,) int64 hues from 0, and (count,) float64 lightness in [0, 1], 0 the darkest.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    order = np.argsort(groups.astype(np.int16), kind="stable")  # a radix sort: a million rows take milliseconds
    starts = np.searchsorted(groups[order], np.arange(count + 1))
    middles = np.stack([np.median(points[order[starts[group] : starts[group + 1]]], axis=0) for group in range(count)])
    joined = fcluster(linkage(middles, "average"), MAX_HUES, "maxclust") - 1 if count > MAX_HUES else np.arange(count)
    centre = points.mean(axis=0)
    centers = np.stack([middles[joined == hue].mean(axis=0) - centre for hue in range(joined.max() + 1)])
    turn = np.argsort(np.arctan2(centers[:, 1], centers[:, 0]), kind="stable")
    hues = np.argsort(turn)[joined]
    shades = np.full(count, 0.5)
    for hue in range(len(turn)):
        members = np.flatnonzero(hues == hue)
        # Alternate light and dark, so that adjacent categories of the same hue differ.
        ranked = members[np.lexsort((middles[members, 1], middles[members, 0]))]
        steps = np.linspace(0, 1, len(ranked)) if len(ranked) > 1 else np.array([0.5])
        shades[ranked] = np.concatenate([steps[::2], steps[1::2]])
    return hues, shades
