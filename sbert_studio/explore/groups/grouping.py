"""HDBSCAN and average linkage on bare vectors; groups are (n,) int64, -1 for none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit
from ...errors import StudioError
from ..maps.layout import layout
from ..products import upper_blocks

if TYPE_CHECKING:
    from ...data.progress import Progress
    from ..maps.neighbourhood import Near

SPACE = 5  # dimensions in which HDBSCAN looks for density
_NEIGHBOURS = 15
_SAMPLE_SEED = 12
_DENSITY_ROWS = 30_000  # HDBSCAN's time grows with the square of the rows
_LINKAGE_ROWS = 20_000  # the tree needs 16 n² / 2 bytes: 3.2 GB here


def dense_space(vectors: np.ndarray, cache: Path, seed: int = -1, progress: Progress | None = None, near: Near | None = None) -> np.ndarray:
    """(n, 5) float32: UMAP with nothing kept apart, in which density means something again."""
    return layout(vectors, cache, dimensions=SPACE, n_neighbors=_NEIGHBOURS, min_dist=0.0, seed=seed, near=near, progress=progress)


def hdbscan(points: np.ndarray, min_size: int) -> np.ndarray:
    """HDBSCAN (Campello et al. 2013). Of more than 30,000 rows a sample is clustered; the rest join their nearest row of it."""
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


def require_linkable(rows: int) -> None:
    """Raises:
    StudioError: there are more than 20,000 rows.
    """
    if rows > _LINKAGE_ROWS:
        raise StudioError(
            f"agglomerative clustering compares every pair of texts, too many for {rows:,} texts",
            f"choose hdbscan or kmeans, or a corpus of at most {_LINKAGE_ROWS:,} texts",
        )


def average_linkage(vectors: np.ndarray, progress: Progress | None = None) -> np.ndarray:
    """The tree of average linkage over cosine distances, (n - 1, 4) float64, as scipy's ``linkage`` describes it.

    Raises:
        StudioError: more than 20,000 rows.
    """
    from scipy.cluster.hierarchy import linkage

    count = len(vectors)
    require_linkable(count)
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


def cut(tree: np.ndarray, *, count: int, threshold: float) -> np.ndarray:
    """The groups of a tree: ``count`` of them, or, where that is 0, those whose mean cosine is at least ``threshold``."""
    from scipy.cluster.hierarchy import fcluster

    found = fcluster(tree, count, "maxclust") if count else fcluster(tree, 1 - threshold, "distance")
    return np.asarray(found, np.int64) - 1
