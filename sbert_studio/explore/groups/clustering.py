"""Groups of alike texts: HDBSCAN, k-means, or average linkage as in the SBERT paper's argument clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import KeyLocks
from ...errors import StudioError
from ...registry import setting
from ...workspace import Workspace
from ..arrays import load_array, store_array
from ..maps.layout import METHOD
from ..settings_key import KeyedSettings
from . import grouping
from .keywords import label_clusters
from .kmeans import k_means

if TYPE_CHECKING:
    from ...data.progress import Progress
    from ..maps.neighbourhood import Near

_LOCKS = KeyLocks()
_METHODS = ("auto", "hdbscan", "kmeans", "agglomerative")


MOST_CLUSTERS = 1000
"""As many may be asked for."""


@dataclass(frozen=True)
class ClusterParams(KeyedSettings):
    """How texts are grouped.

    Raises:
        StudioError: a value is out of bounds.
    """

    method: str = setting(
        "auto",
        "hdbscan finds the number by itself and leaves odd ones out; kmeans makes a given number; agglomerative joins while alike",
        choices=_METHODS,
    )
    count: int = setting(0, "the number of clusters; 0 leaves it to the method", min=0, max=MOST_CLUSTERS, step=1)
    min_size: int = setting(0, "fewer texts than this are no cluster; 0 chooses by the size of the corpus", min=0, max=10_000, step=1)
    threshold: float = setting(0.5, "agglomerative: join while the mean cosine is at least this", min=0.0, max=1.0, step=0.01)
    seed: int = setting(-1, "-1 uses all processors; 0 and more make the same clusters again", min=-1, step=1)


@dataclass(frozen=True)
class Clusters:
    """Which texts belong together.

    Attributes:
        ids: (n,) int64, read-only: 0 is the largest cluster, -1 is noise.
        labels: a few words for each cluster, no two alike.
        sizes: how many texts each cluster has.
    """

    ids: np.ndarray
    labels: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def noise(self) -> int:
        """How many texts belong to no cluster."""
        return int((self.ids < 0).sum())


def cluster(
    vectors: np.ndarray,
    texts: Sequence[str],
    params: ClusterParams,
    key_base: str,
    workspace: Workspace,
    *,
    progress: Progress | None = None,
    near: Near | None = None,
) -> Clusters:
    """Group texts by their vectors, by direction only, and label the groups.

    ``auto`` is k-means where ``count`` is given, else HDBSCAN, else (nothing dense) k-means with √(n/2) clusters.

    Args:
        vectors: (n, d).
        texts: the n texts, for the labels.
        key_base: names the vectors: ``<text digest>-<encoder fingerprint>``. What was computed is kept under it.
        near: the neighbours of each row, where they are kept.

    Raises:
        StudioError: more clusters than texts, or too many texts for average linkage.
    """
    require_clusters(params, len(vectors))
    path = workspace.projection(f"{key_base}-{params.key}-{METHOD}")
    with _LOCKS[str(path)]:
        ids = load_array(path, (len(vectors),), np.int64)
        if ids is None:
            ids = _by_size(_group(vectors, params, key_base, workspace, progress, near))
            ids.flags.writeable = False
            store_array(path, ids)
    return _labelled(texts, ids)


def require_clusters(params: ClusterParams, texts: int) -> None:
    """Find out, before anything is encoded, whether so many texts can be grouped so.

    Raises:
        StudioError: there are more clusters than texts, or too many texts for average linkage.
    """
    if params.count > texts:
        raise StudioError(f"{params.count} clusters of {texts} texts", "choose fewer clusters")
    if params.method == "agglomerative":
        grouping.require_linkable(texts)


def divide(vectors: np.ndarray, texts: Sequence[str], params: ClusterParams) -> Clusters:
    """Group texts in ``params.count`` clusters by k-means, or fewer where there are fewer distinct directions; nothing is kept.

    Args:
        vectors: (n, d).
        texts: the n texts, for the labels.
    """
    return _labelled(texts, _by_size(k_means(vectors, params.count, params.seed)))


def spread(found: Clusters, places: np.ndarray) -> Clusters:
    """The clusters of rows that are each one of those that were grouped, numbered from the largest again.

    Args:
        places: (n,) of each row, which.
    """
    ids = found.ids[places]
    sizes = np.bincount(ids[ids >= 0], minlength=len(found.labels))
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    again = np.where(ids >= 0, number[ids], -1)
    again.flags.writeable = False
    return Clusters(again, tuple(found.labels[old] for old in order.tolist()), tuple(int(size) for size in sizes[order]))


def _labelled(texts: Sequence[str], ids: np.ndarray) -> Clusters:
    sizes = np.bincount(ids[ids >= 0])
    return Clusters(ids, label_clusters(texts, ids), tuple(int(size) for size in sizes))


def _group(
    vectors: np.ndarray, params: ClusterParams, key_base: str, workspace: Workspace, progress: Progress | None, near: Near | None
) -> np.ndarray:
    if len(vectors) < 3:
        return np.zeros(len(vectors), np.int64)
    if params.method == "kmeans" or (params.method == "auto" and params.count):
        return k_means(vectors, params.count or _guess(len(vectors)), params.seed)
    if params.method == "agglomerative":
        return _agglomerative(vectors, params, key_base, workspace, progress)
    space = workspace.projection(f"{key_base}-space{max(params.seed, -1)}-{METHOD}")
    with _LOCKS[str(space)]:
        points = load_array(space, (len(vectors), grouping.SPACE))
        if points is None:
            points = grouping.dense_space(vectors, workspace.cache("numba"), params.seed, progress, near)
            store_array(space, points)
    found = grouping.hdbscan(points, params.min_size or max(5, round(0.4 * len(vectors) ** 0.5)))
    if params.method == "auto" and found.max() < 1:
        return k_means(vectors, _guess(len(vectors)), params.seed)
    return found


def _agglomerative(
    vectors: np.ndarray, params: ClusterParams, key_base: str, workspace: Workspace, progress: Progress | None
) -> np.ndarray:
    # The tree is kept, so that moving the threshold or the number cuts it elsewhere and joins nothing again.
    path = workspace.projection(f"{key_base}-tree")
    with _LOCKS[str(path)]:
        tree = load_array(path, (len(vectors) - 1, 4), np.float64)
        if tree is None:
            tree = grouping.average_linkage(vectors, progress)
            store_array(path, tree)
    found = grouping.cut(tree, count=params.count, threshold=params.threshold)
    sizes = np.bincount(found)
    return np.where(sizes[found] >= (params.min_size or 1), found, -1)


def _guess(rows: int) -> int:
    return int(np.clip(round((rows / 2) ** 0.5), 1, 100))


def _by_size(ids: np.ndarray) -> np.ndarray:
    """The same groups, numbered from the largest; equal sizes by their first row."""
    names, first, sizes = np.unique(ids, return_index=True, return_counts=True)
    order = sorted((place for place in range(len(names)) if names[place] >= 0), key=lambda place: (-sizes[place], first[place]))
    numbers = {int(names[place]): number for number, place in enumerate(order)}
    return np.array([numbers.get(int(name), -1) for name in ids], np.int64)
