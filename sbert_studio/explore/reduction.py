"""Fewer dimensions by principal components, and the exact neighbours that UMAP starts from."""

from __future__ import annotations

import numpy as np

_BLOCK = 16_384


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
    squares, rows = index.search(points, k)
    # Among exact copies FAISS may name another copy first, or leave the row itself out.
    own = np.arange(len(points))[:, None]
    place = np.where((rows == own).any(axis=1), (rows == own).argmax(axis=1), k - 1)
    rows[own[:, 0], place] = rows[:, 0]
    squares[own[:, 0], place] = squares[:, 0]
    rows[:, 0], squares[:, 0] = own[:, 0], 0
    order = np.argsort(squares, axis=1, kind="stable")
    return np.take_along_axis(rows, order, 1).astype(np.int32), np.sqrt(np.maximum(np.take_along_axis(squares, order, 1), 0))
