"""Every pair looked at once, a tile of products at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ...data.progress import checkpoint
from .best import Best, Pair
from .products import At, Eight, Rows, Single, eight_pays

if TYPE_CHECKING:
    import torch

    from ...data.progress import Progress

Exact = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows a and b, (m,) each → what ranks them, (m,) in double precision."""

T = TypeVar("T", bound=At)
_Candidates = tuple[tuple[np.ndarray, np.ndarray], bool]
"""Places in a tile, (m,) each, and whether they are many."""

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
    with closing(scan.over(tiles(len(rows)))) as looked:
        for left, right in looked:
            if right.stop < len(rows):
                continue
            done += (left.stop - left.start) * (2 * len(rows) - left.start - left.stop - 1) // 2
            if progress is not None:
                progress(done, total)
            last = scan.best.last
            if last is not None and last < left.stop:
                break
    if progress is not None and done < total:
        progress(total, total)
    return scan.best.pairs()


def tiles(count: int) -> Iterator[tuple[slice, slice]]:
    """The tiles on the diagonal of ``count`` rows and above it, by rows."""
    parts = _parts(slice(0, count))
    for place, left in enumerate(parts):
        for right in parts[place:]:
            yield left, right


def tiles_between(rows: slice, others: slice) -> Iterator[tuple[slice, slice]]:
    """The tiles of some rows with others that come later, by rows."""
    later = _parts(others)
    for left in _parts(rows):
        for right in later:
            yield left, right


def _parts(rows: slice) -> list[slice]:
    return [slice(start, min(start + TILE, rows.stop)) for start in range(rows.start, rows.stop, TILE)]


class Scan:
    """Tiles of pairs, and the best of those that were looked at; see :func:`top_pairs`."""

    def __init__(
        self, rows: Rows, others: Rows | None, exact: Exact, best: Best, *, margin: float = MARGIN, eight: bool | None = None
    ) -> None:
        self.best = best
        self._exact, self._count = exact, len(rows)
        others = rows if others is None else others
        self._single = Single(rows, others, margin)
        pays = len(rows) >= _FEW and eight_pays() if eight is None else eight
        self._coarse: Single | Eight = Eight(rows, others, margin) if pays and len(rows) else self._single

    def over(self, tiles: Iterable[tuple[T, T]]) -> Generator[tuple[T, T], None, None]:
        """Look at the pairs of the rows ``left`` with those ``right`` of each tile; where both are the same, at those of the one before
        the other.

        Tiles are multiplied a thread each rather than by all threads at once, which would wait for each other at every step: where
        another program has one of two processors, that was seen to take forty times as long.

        Args:
            tiles: slices or rising row numbers, the same or all of ``left`` before all of ``right``.

        Yields:
            Each tile, in order, once its pairs are among the best as far as they belong.

        Raises:
            StoppedError: the work was asked to end.
        """
        import torch

        waiting: deque[tuple[tuple[T, T], Future[_Candidates]]] = deque()
        threads = torch.get_num_threads()
        with ThreadPoolExecutor(threads, "tiles", _one_thread) if len(self) >= _FEW else nullcontext() as pool:
            try:
                for tile in tiles:
                    checkpoint()
                    if pool is None or not self.best.full:
                        self._take(tile, self._candidates(self._coarse, *tile))
                        yield tile
                        continue
                    waiting.append((tile, pool.submit(self._candidates, self._coarse, *tile)))
                    if len(waiting) > 2 * threads:
                        yield self._next(waiting)
                while waiting:
                    checkpoint()
                    yield self._next(waiting)
            finally:
                for _, work in waiting:
                    work.cancel()

    def __len__(self) -> int:
        return self._count

    def _next(self, waiting: deque[tuple[tuple[T, T], Future[_Candidates]]]) -> tuple[T, T]:
        tile, work = waiting.popleft()
        self._take(tile, work.result())
        return tile

    def _take(self, tile: tuple[At, At], candidates: _Candidates) -> None:
        left, right = tile
        first, second = _numbers(left), _numbers(right)
        found, many = candidates
        if many and self._coarse is not self._single:
            found, _ = self._candidates(self._single, left, right)
        for part in range(0, len(found[0]), _AT_ONCE):
            a, b = first[found[0][part : part + _AT_ONCE]], second[found[1][part : part + _AT_ONCE]]
            if self.best.last is not None:
                if a[0] > self.best.last:
                    break
                a, b = a[a <= self.best.last], b[a <= self.best.last]
            self.best.add(a, b, self._exact(a, b))

    def _candidates(self, products: Single | Eight, left: At, right: At) -> _Candidates:
        """The places of the cells that may belong to the best, in the order of rows; and whether they are many."""
        import torch

        cells, same = products.of(left, right), _numbers(left)[0] == _numbers(right)[0]
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


def _one_thread() -> None:
    """Have what is computed in this thread be computed by it alone."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.get_num_threads()  # sets its own number in a thread that is new to it
    threadpool_limits(1, user_api="openmp")


def _numbers(at: At) -> np.ndarray:
    return np.arange(at.start, at.stop) if isinstance(at, slice) else at
