"""Paraphrase mining: the most similar pairs of a corpus, exact, in bounded memory (SBERT paper, section 1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..data.progress import checkpoint
from ..errors import StudioError
from ..models.similarity import NAMES, similarity, unit
from .products import At, Eight, Rows, Single, UnitRows, eight_pays, exact_products

if TYPE_CHECKING:
    import torch

    from ..data.progress import Progress


@dataclass(frozen=True)
class Pair:
    """Two rows, ``a < b``, and the cosine of their vectors."""

    a: int
    b: int
    score: float


class Best:
    """The ``count`` best pairs so far, ordered by score, then rows.

    Args:
        highest: no pair scores more.
        once: pairs may be added more than once, and count once.
    """

    def __init__(self, count: int, highest: float, *, once: bool = False) -> None:
        self.count = count
        self._highest, self._once = highest, once
        self._a = self._b = np.empty(0, np.int64)
        self._scores = np.empty(0)

    @property
    def full(self) -> bool:
        """Whether there are ``count`` of them."""
        return len(self._scores) == self.count

    @property
    def floor(self) -> float:
        """A pair below it cannot enter."""
        return float(self._scores[-1]) if self.full else -np.inf

    @property
    def last(self) -> int | None:
        """Where no pair can score more than those that are here: pairs whose smaller row is greater than this cannot enter."""
        return int(self._a[-1]) if self.full and self._scores[-1] >= self._highest else None

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        """Let pairs a < b, (m,) each, enter as far as they belong."""
        enough = scores >= self.floor
        if not enough.any():
            return
        a, b, scores = a[enough], b[enough], scores[enough]
        a, b, scores = np.concatenate([self._a, a]), np.concatenate([self._b, b]), np.concatenate([self._scores, scores])
        order = np.lexsort((b, a, -scores))
        if self._once and len(order):
            again = (np.diff(a[order]) == 0) & (np.diff(b[order]) == 0)
            order = order[np.concatenate([[True], ~again])]
        order = order[: self.count]
        self._a, self._b, self._scores = a[order], b[order], scores[order]

    def pairs(self) -> list[Pair]:
        """All of them, best first."""
        return [Pair(int(a), int(b), float(score)) for a, b, score in zip(*self.columns(), strict=True)]

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows a < b of each pair, and its score, best first."""
        return self._a, self._b, self._scores


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


_MOST = 100_000
_WHOLE = 1 << 28  # bytes of rows that may stand in memory a second time, at length one


def most_similar_pairs(vectors: np.ndarray, top: int = 10, progress: Progress | None = None, *, eight: bool | None = None) -> list[Pair]:
    """The ``top`` pairs of different rows with the largest cosine, best first; equal cosines by row numbers.

    Every pair is looked at once.

    Args:
        vectors: (n, d), of any length.
        top: how many; all pairs where there are fewer.
        progress: told of pairs.
        eight: see :func:`.scan.top_pairs`.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    require_top(top)
    return top_pairs(unit_rows(vectors), None, lambda a, b: exact_products(vectors, a, b), top, progress, eight=eight)


def unit_rows(vectors: np.ndarray) -> Rows:
    """``vectors`` at length one: at once, or, where they are large, a part at a time."""
    return UnitRows(vectors) if vectors.shape[0] * vectors.shape[1] * 4 > _WHOLE else unit(vectors)


def require_top(top: int) -> None:
    """Raises:
    StudioError: ``top`` is not between 1 and 100,000.
    """
    if not 1 <= top <= _MOST:
        raise StudioError(f"top is {top}", f"choose a number between 1 and {_MOST:,}")


MOST = 50_000
"""Rows of which all pairs are compared: by the Manhattan distance of 384 components that takes some ten minutes."""
_HEIGHT, _WIDTH = 256, 4_096


def most_similar_by(vectors: np.ndarray, name: str, top: int = 10, progress: Progress | None = None) -> list[Pair]:
    """The ``top`` pairs of different rows that are most similar, best first; equal ones by row numbers. Every pair is compared.

    Args:
        vectors: (n, d).
        name: one of :data:`~sbert_studio.models.similarity.SIMILARITIES`.
        progress: told of pairs.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000, or there are more than :data:`MOST` rows.
    """
    require_top(top)
    if len(vectors) > MOST:
        raise StudioError(
            f"the model compares by {NAMES[name]}, by which pairs of {len(vectors):,} texts cannot be found in reasonable time",
            f"give at most {MOST:,} texts, or choose a model that compares by the cosine",
        )
    best, count = Best(top, np.inf), len(vectors)
    done, total = 0, count * (count - 1) // 2
    for top_row in range(0, count, _HEIGHT):
        rows = np.asarray(vectors[top_row : top_row + _HEIGHT])
        for first in range(top_row, count, _WIDTH):
            checkpoint()
            scores = similarity(rows, np.asarray(vectors[first : first + _WIDTH]), name)
            a, b = np.nonzero(scores >= best.floor)
            a, b = a + top_row, b + first
            later = a < b
            best.add(a[later], b[later], scores[a[later] - top_row, b[later] - first])
        done += len(rows) * (count - top_row) - len(rows) * (len(rows) + 1) // 2
        if progress is not None:
            progress(done, total)
    return best.pairs()
