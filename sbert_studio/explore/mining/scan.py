"""Every pair looked at once, a tile of products at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from .best import Best, Pair
from .products import At, Eight, Rows, Single, eight_pays

if TYPE_CHECKING:
    import torch

    from ...data.progress import Progress

Exact = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows a and b, (m,) each → what ranks them, (m,) in double precision."""

MARGIN = 2e-5  # more than single precision loses on a product of unit vectors
TILE = 1024  # rows and columns of a tile: what the processor's caches hold
_AT_ONCE = 65_536  # candidates scored in double precision at once
_MANY = 256  # where more than one cell in so many is a candidate, single precision is asked before double
_FEW = 2048  # rows below which eight bits do not pay


def top_pairs(
    rows: Rows,
    others: Rows | None,
    exact: Exact,
    top: int,
    progress: Progress | None = None,
    *,
    margin: float = MARGIN,
    highest: float = 1.0,
    eight: bool | None = None,
) -> list[Pair]:
    """The ``top`` pairs i < j with the largest product of row i with row j of ``others``, best first; equal ones by row numbers.

    Eight bits or single precision find the candidates, double precision ranks them.

    Args:
        rows, others: (n, d), single precision; ``None``: the rows themselves.
        progress: told of pairs.
        margin: more than single precision loses on a product.
        highest: no pair scores more.
        eight: whether candidates are found in eight bits first; where not given, where it pays. The answer is the same.
    """
    scan = Scan(rows, others, exact, Best(top, highest), margin=margin, eight=eight)
    total, done = len(rows) * (len(rows) - 1) // 2, 0
    for start in range(0, len(rows), TILE):
        end = min(start + TILE, len(rows))
        for across in range(start, len(rows), TILE):
            checkpoint()
            scan.tile(slice(start, end), slice(across, min(across + TILE, len(rows))))
        done += (end - start) * (2 * len(rows) - start - end - 1) // 2
        if progress is not None:
            progress(done, total)
        last = scan.best.last
        if last is not None and last < end:
            break
    if progress is not None and done < total:
        progress(total, total)
    return scan.best.pairs()


class Scan:
    """Tiles of pairs, and the best of those that were looked at; see :func:`top_pairs`."""

    def __init__(
        self, rows: Rows, others: Rows | None, exact: Exact, best: Best, *, margin: float = MARGIN, eight: bool | None = None
    ) -> None:
        self.best = best
        self._exact = exact
        others = rows if others is None else others
        self._single = Single(rows, others, margin)
        pays = len(rows) >= _FEW and eight_pays() if eight is None else eight
        self._coarse: Single | Eight = Eight(rows, others, margin) if pays and len(rows) else self._single

    def tile(self, left: At, right: At) -> None:
        """Look at the pairs of the rows ``left`` with those ``right``; where both are the same, at those of the one before the other.

        Args:
            left, right: slices or rising row numbers, the same or all of ``left`` before all of ``right``.
        """
        first, second = _numbers(left), _numbers(right)
        same = first[0] == second[0]
        found, many = self._candidates(self._coarse, left, right, same)
        if many and self._coarse is not self._single:
            found, _ = self._candidates(self._single, left, right, same)
        for part in range(0, len(found[0]), _AT_ONCE):
            a, b = first[found[0][part : part + _AT_ONCE]], second[found[1][part : part + _AT_ONCE]]
            if self.best.last is not None:
                if a[0] > self.best.last:
                    break
                a, b = a[a <= self.best.last], b[a <= self.best.last]
            self.best.add(a, b, self._exact(a, b))

    def _candidates(self, products: Single | Eight, left: At, right: At, same: bool) -> tuple[tuple[np.ndarray, np.ndarray], bool]:
        """The places of the cells that may belong to the best, in the order of rows; and whether they are many."""
        import torch

        cells = products.of(left, right)
        lowest = torch.iinfo(cells.dtype).min if cells.dtype == torch.int32 else -torch.inf
        if same:
            cells.masked_fill_(_below(len(cells)), lowest)
        pairs = cells.shape[0] * (cells.shape[0] - 1) // 2 if same else cells.numel()
        floor = self.best.floor
        if not self.best.full and pairs > self.best.count:
            floor = products.surely(float(torch.topk(cells.view(-1), self.best.count, sorted=False).values.min()))
        least = products.least(floor) if np.isfinite(floor) else lowest
        rows = (cells.amax(1) >= least).nonzero()[:, 0]
        if not len(rows):
            return (np.empty(0, np.int64), np.empty(0, np.int64)), False
        last = self.best.last
        if last is not None:
            rows = rows[torch.from_numpy(_numbers(left)[rows.numpy()] <= last)]
        reached = cells[rows] >= least
        if same:
            reached &= ~_below(len(cells))[rows]
        places = reached.nonzero().numpy()
        return (rows.numpy()[places[:, 0]], places[:, 1]), len(places) * _MANY > cells.numel()


@lru_cache(maxsize=1)
def _below(size: int) -> torch.Tensor:
    """(size, size), true where the column is not after the row."""
    import torch

    return torch.ones((size, size), dtype=torch.bool).tril_()


def _numbers(at: At) -> np.ndarray:
    return np.arange(at.start, at.stop) if isinstance(at, slice) else at
