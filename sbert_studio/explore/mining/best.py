"""The best pairs so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
