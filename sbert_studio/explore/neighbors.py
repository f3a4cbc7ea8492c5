"""Nearest-neighbour graph of a corpus and principal components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caches import LruCache
from ..data.progress import checkpoint
from ..models.similarity import unit

_BLOCK = 16_384
_ASKED = 4096  # rows whose neighbours are looked for at once
_EXACT_ROWS = 20_000  # beyond it an inverted file looks at a part of the rows
_LISTS = 4  # times √n
_LOOKED_AT = 8  # lists at first; twice as many until the recall is right
_SAMPLE = 256  # rows that the recall is measured on
_RECALL = 0.98
_FOR_CENTRES = 64  # rows a list


def principal_components(vectors: np.ndarray, count: int) -> np.ndarray:
    """The scores on the first ``count`` principal components, (n, count) float32, padded with zeros where there are fewer.

    The sign of each component is fixed, so that the same vectors always give the same picture. Exact, from the
    (d, d) covariance in double precision; n only matters as blocks.
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


def neighbours(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` nearest rows of each row, itself first: (n, k) int32 rows and float32 Euclidean distances."""
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return _asked(index, points, k)


def near_neighbours(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """:func:`neighbours`, and the share of the true ones among them: all, of more than 20,000 rows at least 98 of 100.

    Many rows are looked up in an inverted file (FAISS), in twice as many of its lists until a sample of rows, looked up exactly as well,
    says that this is reached.
    """
    import faiss

    count, width = points.shape
    if count <= _EXACT_ROWS:
        return *neighbours(points, k), 1.0
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
    return *_asked(index, points, k), recall


def _asked(index: Any, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What an index of ``points`` answers for each of them, the row itself first."""
    rows, distances = np.empty((len(points), k), np.int32), np.empty((len(points), k), np.float32)
    for start in range(0, len(points), _ASKED):
        checkpoint()
        part = slice(start, start + _ASKED)
        squares, found = index.search(points[part], k)
        rows[part], distances[part] = _itself_first(squares, found, start)
    return rows, distances


def _itself_first(squares: np.ndarray, rows: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Among exact copies FAISS may name another copy first, or leave the row itself out; a list that holds too few is filled up by it."""
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


KEPT = 50  # dimensions that neighbours are looked for in
_AT_LEAST, _MOST = 32, 100  # neighbours that are kept: what few settings ask for, and what the page's slider can
_BUDGET = 64 << 20


@dataclass(frozen=True)
class Neighbourhood:
    """Rows by their principal components, and who is near whom.

    Attributes:
        points: (n, 50) float32.
        rows, distances: (n, k) int32 and float32, the nearest first, of which each row itself is one.
        recall: the share of the true neighbours that were found, measured; 1 where the search was exact.
    """

    points: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    recall: float

    @property
    def nbytes(self) -> int:
        """What it holds in memory."""
        return self.points.nbytes + self.rows.nbytes + self.distances.nbytes


def neighbourhood(vectors: np.ndarray, metric: str, count: int) -> Neighbourhood:
    """The ``count`` nearest of each of (n, d) ``vectors``, fewer where there are fewer rows."""
    checkpoint()
    points = principal_components(unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32), KEPT)
    return Neighbourhood(points, *near_neighbours(points, min(count, len(points))))


Near = Callable[[int], Neighbourhood]
"""A count → that many neighbours or more of each row."""


class Neighbourhoods:
    """Those of the corpora that were drawn of late; fewer neighbours are the first of more.

    Args:
        budget: bytes that they may take together.
    """

    def __init__(self, budget: int = _BUDGET) -> None:
        self._kept: LruCache[Neighbourhood] = LruCache(budget, lambda value: value.nbytes)

    @property
    def bytes(self) -> int:
        """What is held now."""
        return self._kept.bytes

    def forget_unused(self, seconds: float) -> None:
        """Let go of those that nobody has asked for since so long."""
        self._kept.forget_unused(seconds)

    def of(self, vectors: np.ndarray, key: str, metric: str = "cosine") -> Near:
        """A count → that many neighbours or more of each row of ``vectors``, whose name is ``key``."""

        def get(count: int) -> Neighbourhood:
            room = next((size for size in (_AT_LEAST, _MOST) if count <= size), count)
            return self._kept.get((key, metric, room), lambda: neighbourhood(vectors, metric, room), checkpoint)

        return get
