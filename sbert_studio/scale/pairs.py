"""The best pairs between two blocks of rows: the scan that one matrix is looked through by, in the memory of two blocks."""

from __future__ import annotations

import numpy as np

from ..explore.mining.best import Best
from ..explore.mining.closest import unit_rows
from ..explore.mining.scan import Scan, tiles, tiles_between
from ..explore.products import exact_products


def look_between(best: Best, rows: np.ndarray, first: int, others: np.ndarray, second: int) -> None:
    """Let every pair of a row of one block and a row of another, or of the same one, enter as far as it belongs.

    Args:
        best: of pairs by the numbers that rows have among all blocks.
        rows, others: (n, d) and (m, d) float32, of any length.
        first, second: the numbers of the blocks' first rows; the second block is the first one, or a later one.

    Raises:
        StoppedError: the work was asked to end.
    """
    same = first == second
    both = rows if same else np.concatenate([rows, others])

    def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return exact_products(both, a, b)

    looked = tiles(len(rows)) if same else tiles_between(slice(0, len(rows)), slice(len(rows), len(both)))
    for _ in Scan(unit_rows(both), None, exact, _Numbered(best, first, second, len(rows))).over(looked):
        pass


class _Numbered(Best):
    """The best pairs, told of rows by their numbers in two blocks, of which the first has ``count`` rows."""

    def __init__(self, best: Best, first: int, second: int, count: int) -> None:
        super().__init__(best.count, 1.0)
        self._best, self._starts, self._rows = best, (first, second - count), count

    @property
    def full(self) -> bool:
        return self._best.full

    @property
    def floor(self) -> float:
        return self._best.floor

    @property
    def last(self) -> int | None:
        last = self._best.last
        return None if last is None else last - self._starts[0]

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        self._best.add(self._among_all(a), self._among_all(b), scores)

    def _among_all(self, rows: np.ndarray) -> np.ndarray:
        return rows + np.where(rows < self._rows, *self._starts)
