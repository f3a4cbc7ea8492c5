"""Maps of very large corpora: a sample is laid out and clustered, and all other texts are placed by their nearest sampled texts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..progress import checkpoint
from .clusters import Clusters, select_rows
from .topics import topic_centroids
from .umap import COMPONENTS, membership_strengths, metric_space, optimize_layout
from .vector_store import evict_files, load_array, store_array

if TYPE_CHECKING:
    from ..progress import Progress
    from .projection import ProjectionParams

LARGE_MAP_ROWS = 200_000
"""Number of rows beyond which a map is laid out from a sample."""
SAMPLE_ROWS = 15_000
_NEIGHBORS = 5
_EPOCHS, _RATE = 5, 0.25  # a few steps of UMAP's transform, which spread texts that share their neighbors
_PROBES = 4
_BLOCK = 16_384
_CACHE_BYTES = 1 << 30
PLACED_VERSION = "placed1"  # changes when the same sample places the other rows elsewhere


@dataclass(frozen=True)
class SampleNeighbors:
    """What places the rows of a corpus among those of a sample.

    Attributes:
        near, distances: (n, 5) int64 and float32, the nearest sampled rows as indices into the sample, and their distances.
        topics, cosines: (n,) int64 and float32, the cluster with the nearest centroid, and its cosine; empty without clusters.
    """

    near: np.ndarray
    distances: np.ndarray
    topics: np.ndarray
    cosines: np.ndarray


def find_sampled(vectors: np.ndarray, rows: np.ndarray, groups: Clusters, metric: str, progress: Progress | None = None) -> SampleNeighbors:
    """Find the nearest sampled rows and the nearest cluster of each of (n, d) ``vectors``, which are read once, block by block.

    The nearest rows are found by the principal components of the sample, approximately.

    Args:
        rows: (m,) sampled rows, ascending.
        groups: their clusters.
        metric: ``cosine`` or ``euclidean``, for the nearest rows.
    """
    import faiss

    count, sampled = len(vectors), metric_space(np.asarray(vectors[rows]), metric)
    center, centroids = sampled.mean(axis=0), topic_centroids(sampled, groups.ids)
    axes = np.linalg.eigh(((sampled - center).T @ (sampled - center)).astype(np.float64))[1][:, ::-1][:, :COMPONENTS].astype(np.float32)
    points = sampled @ axes  # not centered, which leaves distances unchanged
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], max(1, round(len(points) ** 0.5)))
    index.train(points)
    index.add(points)
    index.nprobe = min(_PROBES, index.nlist)
    near, distances = np.empty((count, _NEIGHBORS), np.int64), np.empty((count, _NEIGHBORS), np.float32)
    topics, cosines = np.empty(count, np.int64), np.empty(count, np.float32)
    # One matrix product reads each vector once; scaling its results is cheaper than scaling the vectors.
    directions, width = np.ascontiguousarray(np.concatenate([axes, centroids.T], axis=1), np.float32), axes.shape[1]
    for start in range(0, count, _BLOCK):
        checkpoint()
        part = slice(start, start + _BLOCK)
        block = np.asarray(vectors[part], np.float32)
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block))[:, None]
        products, inverse = block @ directions, np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        components = products[:, :width] * inverse if metric == "cosine" else np.ascontiguousarray(products[:, :width])
        squares, found = index.search(components, _NEIGHBORS)
        missing = found < 0  # fewer rows than neighbors in the probed lists
        near[part], squares = np.where(missing, found[:, :1], found), np.where(missing, squares[:, :1], squares)
        distances[part] = np.sqrt(np.maximum(squares, 0))
        if len(centroids):
            topics[part] = products[:, width:].argmax(axis=1)
            cosines[part] = products[np.arange(len(products)), width + topics[part]] * inverse[:, 0]
        if progress is not None:
            progress(min(start + _BLOCK, count), count)
    return SampleNeighbors(near, distances, topics if len(centroids) else topics[:0], cosines if len(centroids) else cosines[:0])


def place_rows(
    neighbors: SampleNeighbors, rows: np.ndarray, xy: np.ndarray, params: ProjectionParams, cache: Path, progress: Progress | None = None
) -> np.ndarray:
    """Place all rows on the map of a sample, (n, 2) or (n, 3) float32, as UMAP's transform does, with few epochs; sampled rows stay.

    Args:
        rows: (m,) sampled rows, ascending.
        xy: (m, 2) or (m, 3), their map.
        params: its parameters.
        cache: folder for compiled code if the package is not writable.
    """
    from scipy.sparse import csr_matrix

    count, rest = len(neighbors.near), np.setdiff1d(np.arange(len(neighbors.near)), rows, assume_unique=True)
    near, weights = neighbors.near[rest], membership_strengths(neighbors.distances[rest], cache)
    initial = np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), xy[near]).astype(np.float32)
    starts = np.concatenate([np.zeros(len(rows), np.int64), np.arange(0, near.size + 1, _NEIGHBORS)])
    points = np.concatenate([np.asarray(xy, np.float32), initial])
    moved = optimize_layout(
        points,
        csr_matrix((weights.ravel(), near.ravel(), starts), shape=(count, count)),
        cache,
        min_dist=params.min_dist,
        epochs=_EPOCHS,
        rate=_RATE,
        seed=max(params.seed, 0),
        first=len(rows),
        progress=progress,
    )
    made = np.empty((count, xy.shape[1]), np.float32)
    made[rows], made[rest] = xy, np.where(np.isfinite(moved), moved, points)[len(rows) :]
    return made


def assign_clusters(neighbors: SampleNeighbors, rows: np.ndarray, groups: Clusters) -> Clusters:
    """Extend the clusters of the sampled rows to all rows: each has the cluster with the nearest centroid.

    A row whose nearest sampled row is an outlier is one too, so that their share stays the same. The clusters keep their numbers and sizes;
    :func:`renumber` gives those of all rows.
    """
    count = len(neighbors.near)
    if not len(neighbors.topics):
        none = np.full(count, -1, np.int64)
        return replace(groups, ids=none, typicality=np.zeros(count, np.float32), nearest=none)
    ids, nearest, typical = neighbors.topics.copy(), neighbors.topics.copy(), neighbors.cosines.copy()
    ids[groups.ids[neighbors.near[:, 0]] < 0] = -1
    ids[rows], typical[rows], nearest[rows] = groups.ids, groups.typicality, groups.nearest
    return replace(groups, ids=ids, typicality=typical, nearest=nearest)


def renumber(groups: Clusters) -> Clusters:
    """Return extended clusters with their sizes among all rows, the largest first."""
    return select_rows(groups, np.arange(len(groups.ids)))


def store_placed(path: Path, xy: np.ndarray, groups: Clusters) -> None:
    """Store the places and clusters of all rows, so that the same map opens without placing them again."""
    # One float32 array holds everything: numbers of clusters are below 2²⁴, up to which float32 is exact.
    columns = (*xy.T, groups.ids, groups.nearest, groups.typicality)
    if store_array(path, np.stack([np.asarray(column, np.float32) for column in columns], axis=1)):
        evict_files(path.parent, _CACHE_BYTES, path)


def load_placed(path: Path, count: int, dimensions: int, groups: Clusters) -> tuple[np.ndarray, Clusters] | None:
    """Return what :func:`store_placed` stored, or ``None``.

    Args:
        groups: clusters of the sampled rows, with their labels.
    """
    found = load_array(path, (count, dimensions + 3))
    if found is None:
        return None
    ids, nearest = (found[:, dimensions + place].astype(np.int64) for place in (0, 1))
    return np.ascontiguousarray(found[:, :dimensions]), replace(groups, ids=ids, nearest=nearest, typicality=found[:, -1].copy())


def sample_digest(xy: np.ndarray, groups: Clusters) -> str:
    """Return a digest of the map and the clusters of the sample, on which the places and clusters of all rows depend."""
    return hashlib.sha256(xy.tobytes() + groups.ids.tobytes()).hexdigest()[:16]
