"""Clustering with HDBSCAN, spherical k-means and average linkage; topic labels and colors."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..models.similarity import unit
from ..progress import KeyLocks, checkpoint
from ..registry import KeyedSettings, setting
from ..workspace import Workspace
from .bm25 import stop_words, tokenize
from .products import upper_blocks
from .umap import METHOD, LayoutSettings, umap_layout
from .vector_store import load_array, store_array

if TYPE_CHECKING:
    from ..progress import Progress
    from .umap import NeighborProvider


SPACE = 5  # dimensions for HDBSCAN
_NEIGHBOURS = 15
_SAMPLE_SEED = 12
_DENSITY_ROWS = 30_000  # HDBSCAN's time grows with the square of the rows
_LINKAGE_ROWS = 20_000  # the tree needs 16 n² / 2 bytes: 3.2 GB here


def project_for_density(
    vectors: np.ndarray, cache: Path, seed: int = -1, progress: Progress | None = None, near: NeighborProvider | None = None
) -> np.ndarray:
    """Return (n, 5) float32: a UMAP projection with min_dist 0 in which density is meaningful."""
    return umap_layout(vectors, cache, LayoutSettings(SPACE, _NEIGHBOURS, min_dist=0.0, seed=seed), near=near, progress=progress)


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
            _("agglomerative clustering compares every pair of texts, too many for {rows} texts", rows=f"{rows:,}"),
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
_DEFAULT_SEED = 12


def spherical_k_means(vectors: np.ndarray, count: int, seed: int = -1) -> np.ndarray:
    """Maximize the mean cosine of rows to their centroid; return cluster ids, (n,) int64 below ``count`` (Dhillon & Modha 2001).

    Initialized by greedy k-means++ (Arthur & Vassilvitskii 2007). Each iteration is one matrix product. Fewer clusters are returned if
    there are fewer distinct directions. A negative seed means 12.
    """
    rows = unit(vectors)
    rng = np.random.default_rng(seed if seed >= 0 else _DEFAULT_SEED)
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
        "hdbscan finds the number of clusters and excludes outliers; kmeans makes a given number; agglomerative merges similar texts",
        choices=_METHODS,
    )
    count: int = setting(0, "number of clusters; 0 lets the method choose", min=0, max=MAX_CLUSTERS, step=1)
    min_size: int = setting(0, "minimum number of texts per cluster; 0: depends on the size of the corpus", min=0, max=10_000, step=1)
    threshold: float = setting(0.5, "agglomerative: merge clusters while their mean cosine is at least this", min=0.0, max=1.0, step=0.01)
    seed: int = setting(-1, "-1 uses all CPU cores; 0 or more gives reproducible clusters", min=-1, step=1)


@dataclass(frozen=True)
class Clusters:
    """A clustering of texts.

    Attributes:
        ids: (n,) int64, read-only: 0 is the largest cluster, -1 is noise.
        labels: a few words for each cluster, all distinct.
        sizes: number of texts in each cluster.
    """

    ids: np.ndarray
    labels: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def noise(self) -> int:
        return int((self.ids < 0).sum())


def cluster(
    vectors: np.ndarray,
    texts: Sequence[str],
    params: ClusterParams,
    key_base: str,
    workspace: Workspace,
    *,
    progress: Progress | None = None,
    near: NeighborProvider | None = None,
) -> Clusters:
    """Cluster texts by the direction of their vectors, and label the clusters.

    ``auto`` means k-means if ``count`` is given; otherwise HDBSCAN, or k-means with √(n/2) clusters if HDBSCAN finds none.

    Args:
        vectors: (n, d).
        texts: the n texts, for the labels.
        key_base: cache key of the vectors: ``<text digest>-<encoder fingerprint>``.
        near: provider of cached neighbors.

    Raises:
        StudioError: more clusters than texts, or too many texts for average linkage.
    """
    require_clusters(params, len(vectors))
    path = workspace.projection(f"{key_base}-{params.key}-{METHOD}")
    with _LOCKS[str(path)]:
        ids = load_array(path, (len(vectors),), np.int64)
        if ids is None:
            ids = _renumber_by_size(_group(vectors, params, key_base, workspace, progress, near))
            ids.flags.writeable = False
            store_array(path, ids)
    return _with_labels(texts, ids)


def require_clusters(params: ClusterParams, texts: int) -> None:
    """Check before encoding whether the texts can be clustered with these parameters.

    Raises:
        StudioError: more clusters than texts, or too many texts for average linkage.
    """
    if params.count > texts:
        raise StudioError(_("{count} clusters of {texts} texts", count=params.count, texts=texts), "choose fewer clusters")
    if params.method == "agglomerative":
        _require_linkage_size(texts)


def split_clusters(vectors: np.ndarray, texts: Sequence[str], params: ClusterParams) -> Clusters:
    """Cluster n texts with (n, d) vectors by k-means into at most ``params.count`` clusters, without caching."""
    return _with_labels(texts, _renumber_by_size(spherical_k_means(vectors, params.count, params.seed)))


def select_rows(clusters: Clusters, rows: np.ndarray) -> Clusters:
    """Return the clusters of (n,) selected rows, renumbered by size."""
    ids = clusters.ids[rows]
    sizes = np.bincount(ids[ids >= 0], minlength=len(clusters.labels))
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    again = np.where(ids >= 0, number[ids], -1)
    again.flags.writeable = False
    return Clusters(again, tuple(clusters.labels[old] for old in order.tolist()), tuple(int(size) for size in sizes[order]))


def _with_labels(texts: Sequence[str], ids: np.ndarray) -> Clusters:
    sizes = np.bincount(ids[ids >= 0])
    return Clusters(ids, label_clusters(texts, ids), tuple(int(size) for size in sizes))


def _group(
    vectors: np.ndarray,
    params: ClusterParams,
    key_base: str,
    workspace: Workspace,
    progress: Progress | None,
    near: NeighborProvider | None,
) -> np.ndarray:
    if len(vectors) < 3:
        return np.zeros(len(vectors), np.int64)
    if params.method == "kmeans" or (params.method == "auto" and params.count):
        return spherical_k_means(vectors, params.count or _default_count(len(vectors)), params.seed)
    if params.method == "agglomerative":
        return _agglomerative(vectors, params, key_base, workspace, progress)
    space = workspace.projection(f"{key_base}-space{max(params.seed, -1)}-{METHOD}")
    with _LOCKS[str(space)]:
        points = load_array(space, (len(vectors), SPACE))
        if points is None:
            points = project_for_density(vectors, workspace.cache("numba"), params.seed, progress, near)
            store_array(space, points)
    found = hdbscan(points, params.min_size or max(5, round(0.4 * len(vectors) ** 0.5)))
    if params.method == "auto" and found.max() < 1:
        return spherical_k_means(vectors, _default_count(len(vectors)), params.seed)
    return found


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

    middles = np.stack([np.median(points[groups == group], axis=0) for group in range(count)])
    joined = fcluster(linkage(middles, "average"), MAX_HUES, "maxclust") - 1 if count > MAX_HUES else np.arange(count)
    centre = points.mean(axis=0)
    centers = np.stack([middles[joined == hue].mean(axis=0) - centre for hue in range(joined.max() + 1)])
    order = np.argsort(np.arctan2(centers[:, 1], centers[:, 0]), kind="stable")
    hues = np.argsort(order)[joined]
    shades = np.full(count, 0.5)
    for hue in range(len(order)):
        members = np.flatnonzero(hues == hue)
        # Alternate light and dark, so that adjacent categories of the same hue differ.
        ranked = members[np.lexsort((middles[members, 1], middles[members, 0]))]
        steps = np.linspace(0, 1, len(ranked)) if len(ranked) > 1 else np.array([0.5])
        shades[ranked] = np.concatenate([steps[::2], steps[1::2]])
    return hues, shades


_JOIN = " · "


def label_clusters(texts: Sequence[str], ids: np.ndarray, top: int = 3) -> tuple[str, ...]:
    """Return a distinct label for each cluster: its ``top`` most characteristic words.

    Args:
        texts: n texts.
        ids: (n,) clusters 0 … k-1; negative for noise.

    Returns:
        k labels; a cluster without words is labelled by its number.
    """
    terms = c_tf_idf(texts, ids, top + 3)
    used: set[str] = set()
    labels = []
    for cluster, ranked in enumerate(terms):
        label = _unique_label(ranked, top, used) or _("cluster {cluster}", cluster=cluster + 1)
        used.add(label)
        labels.append(label)
    return tuple(labels)


def c_tf_idf(texts: Sequence[str], ids: np.ndarray, top: int = 10) -> list[list[str]]:
    """Return the ``top`` words of each cluster by tf · log(1 + A / f), best first, ties alphabetical.

    tf is a word's share of its cluster's words, f its total count, A the mean number of words per cluster. English stop words and numbers
    are excluded unless a cluster has nothing else. Of overlapping character bigrams (重置, 置密, 密码) only the strongest are kept.
    """
    clusters = int(ids.max(initial=-1)) + 1
    counts: list[Counter[str]] = [Counter() for _ in range(clusters)]
    for text, cluster in zip(texts, ids.tolist(), strict=True):
        if cluster >= 0:
            counts[cluster].update(tokenize(text))
    counts = [_informative_words(count) for count in counts]
    overall: Counter[str] = Counter()
    for count in counts:
        overall.update(count)
    average = overall.total() / max(clusters, 1)
    ranked = []
    for count in counts:
        weight = {word: number * math.log(1 + average / overall[word]) for word, number in count.items()}
        ranked.append(_distinct_words(sorted(weight, key=lambda word: (-weight[word], word)), top))
    return ranked


def _informative_words(count: Counter[str]) -> Counter[str]:
    kept = Counter({word: number for word, number in count.items() if word not in stop_words() and not word.isdecimal()})
    return Counter({word: number for word, number in kept.items() if len(word) > 1}) or kept or count


def _distinct_words(ranked: list[str], top: int) -> list[str]:
    taken: list[str] = []
    for word in ranked:
        if len(taken) < top and not any(_overlap(word, other) for other in taken):
            taken.append(word)
    return taken


def _overlap(word: str, other: str) -> bool:
    if len(word) == len(other) == 2 and not word.isascii():
        return word[0] == other[1] or word[1] == other[0]
    return word in (other + "s", other + "es") or other in (word + "s", word + "es")


def _unique_label(ranked: list[str], top: int, used: set[str]) -> str:
    best = _JOIN.join(ranked[:top])
    with_spare = (_JOIN.join([*ranked[: top - 1], spare]) for spare in ranked[top:])
    labels = itertools.chain([best], with_spare, (f"{best} ({number})" for number in itertools.count(2)))
    return next(label for label in labels if label not in used)
