"""Paraphrase mining: the most similar pairs of a corpus, exact in bounded memory (SBERT paper, section 1) or approximate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..models.similarity import TITLES, similarity, unit
from ..progress import checkpoint
from .index import train_centroids
from .products import At, Float32Products, Int8Products, RowSource, UnitRows, exact_products, int8_is_fast

if TYPE_CHECKING:
    import torch

    from ..progress import Progress


@dataclass(frozen=True)
class ScoredPair:
    """Two rows, ``a < b``, and their cosine."""

    a: int
    b: int
    score: float


class TopPairs:
    """The best ``count`` pairs so far, by score, then rows.

    Args:
        highest: upper bound of all scores.
        once: whether pairs may be added repeatedly and count only once.
    """

    def __init__(self, count: int, highest: float, *, once: bool = False) -> None:
        self.count = count
        self._highest, self._once = highest, once
        self._a = self._b = np.empty(0, np.int64)
        self._scores = np.empty(0)

    @property
    def full(self) -> bool:
        return len(self._scores) == self.count

    @property
    def floor(self) -> float:
        """Minimum score of new pairs; lower ones are rejected."""
        return float(self._scores[-1]) if self.full else -np.inf

    @property
    def last(self) -> int | None:
        """Row limit: if all scores have reached the upper bound, pairs whose smaller row is greater are rejected."""
        return int(self._a[-1]) if self.full and self._scores[-1] >= self._highest else None

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        """Add pairs a < b, (m,) each."""
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

    def pairs(self) -> list[ScoredPair]:
        return [ScoredPair(int(a), int(b), float(score)) for a, b, score in zip(*self.columns(), strict=True)]

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows a < b and scores, best first."""
        return self._a, self._b, self._scores


ExactScores = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Maps rows a and b, (m,) each, to exact scores, (m,) float64."""

T = TypeVar("T", bound=At)
_Candidates = tuple[tuple[np.ndarray, np.ndarray], bool]
"""Positions in a tile, (m,) each, and True if there are many."""

MARGIN = 2e-5  # upper bound of the float32 error of a product of unit vectors
TILE = 1024  # rows and columns of a tile, which fits into the CPU caches
_AT_ONCE = 65_536  # candidates scored in float64 at once
_MANY = 256  # if more than one in this many cells is an int8 candidate, filter in float32 before float64
_FEW = 2048  # with fewer rows, int8 and threads do not pay off


def top_pairs(
    rows: RowSource,
    others: RowSource | None,
    exact: ExactScores,
    top: int,
    progress: Progress | None = None,
    *,
    margin: float = MARGIN,
    highest: float = 1.0,
    use_int8: bool | None = None,
) -> list[ScoredPair]:
    """Return the ``top`` pairs i < j with the largest product of row i and row j of ``others``, best first, ties by row.

    Int8 or float32 products find candidates; float64 products rank them.

    Args:
        rows, others: (n, d) float32; ``None``: the rows themselves.
        margin: upper bound of the float32 rounding error.
        highest: upper bound of all scores.
        use_int8: find candidates in int8; by default if it is faster. The result is the same.
    """
    scan = PairScan(rows, others, exact, TopPairs(top, highest), margin=margin, eight=use_int8)
    total, done = len(rows) * (len(rows) - 1) // 2, 0
    with closing(scan.over(triangle_tiles(len(rows)))) as scanned:
        for left, right in scanned:
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


def triangle_tiles(count: int) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles on and above the diagonal of ``count`` rows, row by row."""
    parts = _parts(slice(0, count))
    for place, left in enumerate(parts):
        for right in parts[place:]:
            yield left, right


def rectangle_tiles(rows: slice, others: slice) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles of some rows with later rows."""
    later = _parts(others)
    for left in _parts(rows):
        for right in later:
            yield left, right


def _parts(rows: slice) -> list[slice]:
    return [slice(start, min(start + TILE, rows.stop)) for start in range(rows.start, rows.stop, TILE)]


class PairScan:
    """Scan of tiles that collects the best pairs; see :func:`top_pairs`."""

    def __init__(
        self,
        rows: RowSource,
        others: RowSource | None,
        exact: ExactScores,
        best: TopPairs,
        *,
        margin: float = MARGIN,
        eight: bool | None = None,
    ) -> None:
        self.best = best
        self._exact, self._count = exact, len(rows)
        others = rows if others is None else others
        self._single = Float32Products(rows, others, margin)
        pays = len(rows) >= _FEW and int8_is_fast() if eight is None else eight
        self._coarse: Float32Products | Int8Products = Int8Products(rows, others, margin) if pays and len(rows) else self._single

    def over(self, tiles: Iterable[tuple[T, T]]) -> Generator[tuple[T, T], None, None]:
        """Compare the rows ``left`` with the rows ``right`` of each tile; on diagonal tiles, each row only with later ones.

        Each tile is multiplied by a single thread: threads that share a product wait for each other, which takes forty times as long if
        another program uses one of two cores.

        Args:
            tiles: slices or ascending row numbers, equal or all of ``left`` before all of ``right``.

        Yields:
            Each tile in order, once its pairs are added.
        """
        import torch

        waiting: deque[tuple[tuple[T, T], Future[_Candidates]]] = deque()
        threads = torch.get_num_threads()

        def take_next() -> tuple[T, T]:
            tile, work = waiting.popleft()
            self._take(tile, work.result())
            return tile

        with ThreadPoolExecutor(threads, "tiles", _use_one_thread) if self._count >= _FEW else nullcontext() as pool:
            try:
                for tile in tiles:
                    checkpoint()
                    if pool is None or not self.best.full:
                        self._take(tile, self._candidates(self._coarse, *tile))
                        yield tile
                        continue
                    waiting.append((tile, pool.submit(self._candidates, self._coarse, *tile)))
                    if len(waiting) > 2 * threads:
                        yield take_next()
                while waiting:
                    checkpoint()
                    yield take_next()
            finally:
                for _unused, work in waiting:
                    work.cancel()

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

    def _candidates(self, products: Float32Products | Int8Products, left: At, right: At) -> _Candidates:
        import torch

        cells, same = products.of(left, right), _numbers(left)[0] == _numbers(right)[0]
        lowest = torch.iinfo(cells.dtype).min if cells.dtype == torch.int32 else -torch.inf
        if same:
            cells.masked_fill_(_lower_triangle(len(cells)), lowest)
        pairs = cells.shape[0] * (cells.shape[0] - 1) // 2 if same else cells.numel()
        floor = self.best.floor
        if not self.best.full and pairs > self.best.count:
            floor = products.lower_bound(float(torch.topk(cells.view(-1), self.best.count, sorted=False).values.min()))
        least = products.least(floor) if np.isfinite(floor) else lowest
        rows = (cells.amax(1) >= least).nonzero()[:, 0]
        if not len(rows):
            return (np.empty(0, np.int64), np.empty(0, np.int64)), False
        last = self.best.last
        if last is not None:
            rows = rows[torch.from_numpy(_numbers(left)[rows.numpy()] <= last)]
        reached = cells[rows] >= least
        if same:
            reached &= ~_lower_triangle(len(cells))[rows]
        places = reached.nonzero().numpy()
        return (rows.numpy()[places[:, 0]], places[:, 1]), len(places) * _MANY > cells.numel()


@lru_cache(maxsize=1)
def _lower_triangle(size: int) -> torch.Tensor:
    import torch

    return torch.ones((size, size), dtype=torch.bool).tril_()


def _use_one_thread() -> None:
    import torch
    from threadpoolctl import threadpool_limits

    torch.get_num_threads()  # initializes torch in a new thread
    threadpool_limits(1, user_api="openmp")


def _numbers(at: At) -> np.ndarray:
    return np.arange(at.start, at.stop) if isinstance(at, slice) else at


_MAX_TOP = 100_000
_WHOLE = 1 << 28  # maximum bytes of normalized rows kept in memory


def paraphrase_mining(
    vectors: np.ndarray, top: int = 10, progress: Progress | None = None, *, use_int8: bool | None = None
) -> list[ScoredPair]:
    """Return the ``top`` pairs of distinct rows with the largest cosine, best first, ties by row. All pairs are compared.

    Args:
        vectors: (n, d), of any length.
        top: number of pairs.
        use_int8: see :func:`top_pairs`.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    require_top(top)
    return top_pairs(unit_rows(vectors), None, lambda a, b: exact_products(vectors, a, b), top, progress, use_int8=use_int8)


def unit_rows(vectors: np.ndarray) -> RowSource:
    """Normalize the rows of ``vectors``, lazily if the array is large."""
    return UnitRows(vectors) if vectors.shape[0] * vectors.shape[1] * 4 > _WHOLE else unit(vectors)


def require_top(top: int) -> None:
    """Check the number of pairs.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    if not 1 <= top <= _MAX_TOP:
        raise StudioError(_("top is {top}", top=top), _("choose a number between 1 and {max_top}", max_top=f"{_MAX_TOP:,}"))


MAX_ROWS_BY_SIMILARITY = 50_000
"""Comparing all pairs of this many rows by the Manhattan distance in 384 dimensions takes about ten minutes."""
_HEIGHT, _WIDTH = 256, 4_096


def paraphrase_mining_by(vectors: np.ndarray, name: str, top: int = 10, progress: Progress | None = None) -> list[ScoredPair]:
    """Return the ``top`` most similar pairs by a similarity function other than cosine, best first, ties by row.

    Args:
        vectors: (n, d).
        name: one of :data:`~sbert_studio.models.similarity.SIMILARITIES`.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000, or there are more than :data:`MAX_ROWS_BY_SIMILARITY` rows.
    """
    require_top(top)
    if len(vectors) > MAX_ROWS_BY_SIMILARITY:
        raise StudioError(
            _(
                "the model uses {titles}, and mining pairs of {vectors} texts with it would take too long",
                titles=TITLES[name],
                vectors=f"{len(vectors):,}",
            ),
            _(
                "use at most {max_rows_by_similarity} texts, or a model that uses cosine similarity",
                max_rows_by_similarity=f"{MAX_ROWS_BY_SIMILARITY:,}",
            ),
        )
    best, count = TopPairs(top, np.inf), len(vectors)
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


EXACT_BELOW = 200_000
"""Fewer rows are mined exactly by default."""
_LISTS_PER_ROW = 4
_TRAINING_ROWS = 48  # training rows per list
_BLOCK = 8192
_SAMPLE, _NEAR, _PAIRS = 1000, 4, 1000  # sampled rows, neighbors per row, and pairs used to measure recall
_SEED = 12


@dataclass(frozen=True)
class PairRecall:
    """Measured recall of approximate mining: the share of exact pairs whose rows share a list.

    Attributes:
        share: recall of ``pairs``, between 0 and 1.
        pairs: the closest pairs of ``rows`` sampled rows with any row.
        cosine: the lowest cosine among them; closer pairs are missed less often.
    """

    share: float
    pairs: int
    rows: int
    cosine: float


def approximate_paraphrase_mining(
    vectors: np.ndarray, top: int = 10, progress: Progress | None = None
) -> tuple[list[ScoredPair], PairRecall]:
    """Find most of the pairs of :func:`paraphrase_mining`, and measure the recall.

    Rows are assigned to about √n lists, each to the few lists with the nearest centroids (an inverted file; Jégou, Douze & Schmid 2011),
    and the pairs within each list are compared exactly. A pair is missed only if its rows share no list.

    Args:
        vectors: (n, d), of any length, n at least 2.
        progress: called with the number of compared pairs: rows with centroids, rows within lists (estimated at first), and the sample.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    require_top(top)
    rows, count = UnitRows(vectors), max(1, round(len(vectors) ** 0.5))
    per_row = min(_LISTS_PER_ROW, max(1, count // 2))
    stages = [len(rows) * count, (len(rows) * per_row) ** 2 // (2 * count), len(rows) * min(_SAMPLE, len(rows))]

    def report(stage: int) -> Progress:
        return lambda done, _: None if progress is None else progress(sum(stages[:stage]) + done, sum(stages))

    lists = _assign_lists(rows, count, per_row, report(0))
    scan = PairScan(rows, None, lambda a, b: exact_products(vectors, a, b), TopPairs(top, 1.0, once=per_row > 1), margin=MARGIN)
    order = np.argsort(lists.ravel(), kind="stable") // per_row
    sizes = np.bincount(lists.ravel())
    ends, done = np.cumsum(sizes), 0
    stages[1] = int((sizes * (sizes - 1) // 2).sum())
    with closing(scan.over(_list_tiles(order, (ends - sizes).tolist(), ends.tolist()))) as scanned:
        for left, right in scanned:
            done += len(left) * (len(left) - 1) // 2 if left[0] == right[0] else len(left) * len(right)
            report(1)(done, stages[1])
    return scan.best.pairs(), _recall(rows, lists, report(2))


def _list_tiles(order: np.ndarray, starts: list[int], ends: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start, end in zip(starts, ends, strict=True):
        members = np.sort(order[start:end])
        parts = [members[at : at + TILE] for at in range(0, len(members), TILE)]
        for place, left in enumerate(parts):
            for right in parts[place:]:
                yield left, right


def _assign_lists(rows: UnitRows, count: int, per_row: int, progress: Progress) -> np.ndarray:
    import torch

    sample = np.sort(np.random.default_rng(_SEED).choice(len(rows), min(len(rows), count * _TRAINING_ROWS), replace=False))
    nearest = torch.from_numpy(train_centroids(np.ascontiguousarray(rows[sample]), count, _SEED)).T.contiguous()
    found = np.empty((len(rows), per_row), np.int32)
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        near = torch.from_numpy(rows[start : start + _BLOCK]) @ nearest
        found[start : start + _BLOCK] = torch.topk(near, per_row, dim=1).indices.numpy()
        progress(min(start + _BLOCK, len(rows)) * count, len(rows) * count)
    return found


def _recall(rows: UnitRows, lists: np.ndarray, progress: Progress) -> PairRecall:
    import torch

    sample = np.sort(np.random.default_rng(_SEED + 1).choice(len(rows), min(_SAMPLE, len(rows)), replace=False))
    queries, k = torch.from_numpy(rows[sample]), min(_NEAR + 1, len(rows))
    cosines, others = torch.full((len(sample), 0), -2.0), torch.zeros((len(sample), 0), dtype=torch.int64)
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        part = queries @ torch.from_numpy(rows[start : start + _BLOCK]).T
        near = torch.topk(part, min(k, part.shape[1]), dim=1)
        cosines, others = torch.cat([cosines, near.values], 1), torch.cat([others, near.indices + start], 1)
        best = torch.topk(cosines, min(k, cosines.shape[1]), dim=1)
        cosines, others = best.values, others.gather(1, best.indices)
        progress(min(start + _BLOCK, len(rows)) * len(sample), len(rows) * len(sample))
    a, b, score = np.repeat(sample, k), others.numpy().ravel(), cosines.numpy().ravel()
    a, b = np.minimum(a, b), np.maximum(a, b)
    once = np.unique((a * len(rows) + b)[a != b], return_index=True)[1]  # each of two rows may be a neighbor of the other
    a, b, score = (column[a != b][once] for column in (a, b, score))
    closest = np.argsort(-score, kind="stable")[:_PAIRS]
    a, b, score = a[closest], b[closest], score[closest]
    together = (lists[a][:, :, None] == lists[b][:, None, :]).any((1, 2))
    return PairRecall(float(together.mean()), len(a), len(sample), float(score[-1]))
