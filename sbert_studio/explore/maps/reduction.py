"""Fewer dimensions by principal components, and the neighbours that a layout starts from: exact ones, of many rows nearly all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.progress import checkpoint

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
