"""K-means by direction (spherical, Dhillon & Modha 2001), started by greedy k-means++ (Arthur & Vassilvitskii 2007)."""

from __future__ import annotations

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit

_CELLS = 8_000_000  # of a block of cosines: 32 MB
_ROUNDS = 50
_STARTS = 5
_CHEAP = 200_000  # rows times groups
_DEFAULT_SEED = 12


def k_means(vectors: np.ndarray, count: int, seed: int = -1) -> np.ndarray:
    """Groups of largest mean cosine to their centre, (n,) int64 below ``count``; a seed below zero means 12.

    Each round is one matrix product, which on busy processors takes a third of the time of scikit-learn's threads.
    Fewer groups are used where there are fewer distinct directions.
    """
    rows = unit(vectors)
    rng = np.random.default_rng(seed if seed >= 0 else _DEFAULT_SEED)
    # Small sets are cheap to start again, and are the ones that a bad start spoils.
    tried = [_settle(rows, rows[_spread(rows, count, rng)]) for _ in range(_STARTS if len(rows) * count <= _CHEAP else 1)]
    return max(tried, key=lambda found: found[1])[0]


def _settle(rows: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """The groups that no round changes any more, and their summed cosine to their centres."""
    groups, total = _nearest(rows, centres)
    for _ in range(_ROUNDS):
        checkpoint()
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        centres[groups[order][starts]] = unit(np.add.reduceat(rows[order], starts, axis=0))
        moved, total = _nearest(rows, centres)
        if np.array_equal(moved, groups):
            break
        groups = moved
    return groups, total


def _spread(rows: np.ndarray, count: int, rng: np.random.Generator) -> list[int]:
    """Rows far from each other: of a few drawn by their distance, the one that leaves the least distance is taken."""
    chosen = [int(rng.integers(len(rows)))]
    distance = np.maximum(0, 1 - rows @ rows[chosen[0]])
    tries = 2 + int(np.log(count))
    for _ in range(count - 1):
        checkpoint()
        reach = np.cumsum(distance, dtype=np.float64)
        drawn = np.minimum(np.searchsorted(reach, rng.random(tries) * reach[-1], side="right"), len(rows) - 1)
        left = np.minimum(distance[:, None], np.maximum(0, 1 - rows @ rows[drawn].T))
        best = int(left.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        distance = left[:, best]
    return chosen


def _nearest(rows: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """The centre of largest cosine of each row, and the sum of those cosines."""
    found = np.empty(len(rows), np.int64)
    total = 0.0
    height = max(1, _CELLS // len(centres))
    for start in range(0, len(rows), height):
        cosines = rows[start : start + height] @ centres.T
        found[start : start + height] = cosines.argmax(axis=1)
        total += float(cosines.max(axis=1).sum(dtype=np.float64))
    return found, total
