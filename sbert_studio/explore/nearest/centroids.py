"""Spherical k-means (Dhillon & Modha 2001), in pieces between which it can be stopped: the cells of an index."""

from __future__ import annotations

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit

_BLOCK = 4096
_ROUNDS = 8


def centroids(sample: np.ndarray, count: int, seed: int = 12) -> np.ndarray:
    """(count, d) unit vectors, around which (m, d) unit vectors lie.

    An empty cell takes a member of the largest one.

    Raises:
        StoppedError: the work was asked to end.
    """
    rng = np.random.default_rng(seed)
    found = sample[rng.choice(len(sample), count, replace=False)].astype(np.float32)
    for _ in range(_ROUNDS):
        cells = assign(sample, found)
        sizes = np.bincount(cells, minlength=count)
        order = np.argsort(cells, kind="stable")
        filled = np.flatnonzero(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[filled])[:-1]])
        sums = np.add.reduceat(sample[order], starts, axis=0)
        found[filled] = unit(sums)
        empty = np.flatnonzero(sizes == 0)
        if len(empty):
            largest = np.flatnonzero(np.isin(cells, np.argsort(-sizes)[: max(1, len(empty) // 4)]))
            found[empty] = sample[rng.choice(largest, len(empty), replace=len(largest) < len(empty))]
    return found


def assign(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The nearest centre of each of (n, d) rows, (n,) int64.

    Raises:
        StoppedError: the work was asked to end.
    """
    found = np.empty(len(rows), np.int64)
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        found[start : start + _BLOCK] = (rows[start : start + _BLOCK] @ centres.T).argmax(1)
    return found
