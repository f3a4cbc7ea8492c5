"""Nearest-neighbour graph of a corpus and principal components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caches import LruCache
from ..models.similarity import unit
from ..progress import checkpoint

_BLOCK = 16_384
_ASKED = 4096  # rows whose neighbours are looked for at once
_EXACT_ROWS = 20_000  # beyond it an inverted file looks at a part of the rows
_LISTS = 4  # times √n
_LOOKED_AT = 8  # lists at first; twice as many until the recall is right
_SAMPLE = 256  # rows that the recall is measured on
_RECALL = 0.98
_FOR_CENTRES = 64  # rows a list


def principal_components(vectors: np.ndarray, count: int) -> np.ndarray:
    """Return the first ``count`` principal component scores, (n, count) float32, padded with zeros.

    Exact, from the (d, d) covariance in float64. Signs are fixed so that equal vectors give equal scores.
    """
    rows, dim = vectors.shape
    centre = np.zeros(dim) if rows == 0 else vectors.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((dim, dim))
    for start in range(0, rows, _BLOCK):
        block = vectors[start : start + _BLOCK] - centre
        covariance += block.T @ block
    _, axes = np.linalg.eigh(covariance)
    axes = axes[:, ::-1][:, :count]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
    scores = np.zeros((rows, count), np.float32)
    for start in range(0, rows, _BLOCK):
        scores[start : start + _BLOCK, : axes.shape[1]] = (vectors[start : start + _BLOCK] - centre) @ axes
    return scores


def nearest_neighbors(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` nearest rows of each row, itself first: (n, k) int32 rows and float32 Euclidean distances."""
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return _query_index(index, points, k)


def approximate_neighbors(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return :func:`nearest_neighbors` and the measured recall: exact up to 20,000 rows, otherwise at least 0.98.

    Large inputs use a FAISS inverted file; the number of probed lists is doubled until a sample reaches the recall.
    """
    import faiss

    count, width = points.shape
    if count <= _EXACT_ROWS:
        return *nearest_neighbors(points, k), 1.0
    exact = faiss.IndexFlatL2(width)
    index = faiss.IndexIVFFlat(exact, width, round(_LISTS * count**0.5))
    index.cp.max_points_per_centroid = _FOR_CENTRES
    index.train(points)
    checkpoint()
    index.add(points)
    sample = np.linspace(0, count - 1, _SAMPLE).astype(np.int64)
    whole = faiss.IndexFlatL2(width)
    whole.add(points)
    truth = whole.search(points[sample], k)[1]
    recall, index.nprobe = 0.0, _LOOKED_AT
    while True:
        found = index.search(points[sample], k)[1]
        recall = float(np.mean([len(np.intersect1d(*pair)) / k for pair in zip(found, truth, strict=True)]))
        if recall >= _RECALL or index.nprobe >= index.nlist:
            break
        index.nprobe = min(2 * index.nprobe, index.nlist)
    return *_query_index(index, points, k), recall


def _query_index(index: Any, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    rows, distances = np.empty((len(points), k), np.int32), np.empty((len(points), k), np.float32)
    for start in range(0, len(points), _ASKED):
        checkpoint()
        part = slice(start, start + _ASKED)
        squares, found = index.search(points[part], k)
        rows[part], distances[part] = _self_first(squares, found, start)
    return rows, distances


def _self_first(squares: np.ndarray, rows: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    own = start + np.arange(len(rows))[:, None]
    place = np.where((rows == own).any(axis=1), (rows == own).argmax(axis=1), rows.shape[1] - 1)
    at = np.arange(len(rows))
    rows[at, place] = rows[:, 0]
    squares[at, place] = squares[:, 0]
    rows[:, 0], squares[:, 0] = own[:, 0], 0
    missing = rows < 0
    rows, squares = np.where(missing, own, rows), np.where(missing, 0, squares)
    order = np.argsort(squares, axis=1, kind="stable")
    return np.take_along_axis(rows, order, 1), np.sqrt(np.maximum(np.take_along_axis(squares, order, 1), 0))


COMPONENTS = 50  # dimensions that neighbours are looked for in
_AT_LEAST, _MOST = 32, 100  # neighbours that are kept: what few settings ask for, and what the page's slider can
_BUDGET = 64 << 20


@dataclass(frozen=True)
class NeighborGraph:
    """Principal components of a corpus and the neighbors of each row.

    Attributes:
        points: (n, 50) float32.
        rows, distances: (n, k) int32 and float32, nearest first, including the row itself.
        recall: measured recall; 1 for exact search.
    """

    points: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    recall: float

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.points.nbytes + self.rows.nbytes + self.distances.nbytes


def build_neighbor_graph(vectors: np.ndarray, metric: str, count: int) -> NeighborGraph:
    """Return the graph of the ``count`` nearest neighbors of (n, d) ``vectors``."""
    checkpoint()
    points = principal_components(unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32), COMPONENTS)
    return NeighborGraph(points, *approximate_neighbors(points, min(count, len(points))))


NeighborProvider = Callable[[int], NeighborGraph]
"""A count → that many neighbours or more of each row."""


class NeighborGraphCache:
    """Neighbor graphs of recently drawn corpora; graphs with fewer neighbors are slices of larger ones.

    Args:
        budget: memory budget in bytes.
    """

    def __init__(self, budget: int = _BUDGET) -> None:
        self._kept: LruCache[NeighborGraph] = LruCache(budget, lambda value: value.nbytes)

    @property
    def bytes(self) -> int:
        """Memory in use."""
        return self._kept.bytes

    def evict_unused(self, seconds: float) -> None:
        """Evict graphs not used for ``seconds``."""
        self._kept.evict_unused(seconds)

    def of(self, vectors: np.ndarray, key: str, metric: str = "cosine") -> NeighborProvider:
        """Return a provider of at least that many neighbors of each row of ``vectors``, cached under ``key``."""

        def get(count: int) -> NeighborGraph:
            room = next((size for size in (_AT_LEAST, _MOST) if count <= size), count)
            return self._kept.get((key, metric, room), lambda: build_neighbor_graph(vectors, metric, room), checkpoint)

        return get
