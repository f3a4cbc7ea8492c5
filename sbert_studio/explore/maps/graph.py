"""The graph of UMAP (McInnes et al. 2018, section 3.1): who pulls whom, and how much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .compiled import kernels

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def memberships(distances: np.ndarray, cache: Path) -> np.ndarray:
    """How much each neighbour belongs to a row, (n, k) float32 in [0, 1]; from (n, k) distances, the nearest first."""
    distances = np.ascontiguousarray(distances, np.float32)
    widths, nearest = np.empty(len(distances), np.float32), np.empty(len(distances), np.float32)
    kernels(cache).smooth_distances(distances, widths, nearest)
    beyond = np.maximum(distances - nearest[:, None], 0)
    return np.asarray(np.exp(-np.divide(beyond, widths[:, None], out=np.zeros_like(beyond), where=widths[:, None] > 0)), np.float32)


def fuzzy_union(rows: np.ndarray, distances: np.ndarray, cache: Path) -> csr_matrix:
    """The symmetric graph, (n, n) float32: a + b - a·b of how much two rows belong to each other.

    Args:
        rows, distances: (n, k), the neighbours of each row, itself first.
    """
    from scipy.sparse import csr_matrix

    count, k = rows.shape
    weights = memberships(distances, cache)
    weights[rows == np.arange(count)[:, None]] = 0
    directed = csr_matrix((weights.ravel(), rows.ravel().copy(), np.arange(0, count * k + 1, k)), shape=(count, count))
    directed.eliminate_zeros()
    back = directed.T.tocsr()
    return (directed + back - directed.multiply(back)).tocsr()
