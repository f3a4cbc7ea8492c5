"""The most similar pairs of a corpus: exact, in bounded memory (paraphrase mining; SBERT paper, section 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..data.progress import checkpoint
from ..encoders.unit import unit
from ..errors import StudioError
from .products import exact_products, upper_blocks

if TYPE_CHECKING:
    from ..data.progress import Progress

_MARGIN = 2e-5  # more than single precision loses on a product of unit vectors
_MOST = 100_000
_LEAST = -3.0  # no product is as small; masked cells are
_AT_ONCE = 65_536  # candidates scored in double precision at once


@dataclass(frozen=True)
class Pair:
    """Two rows, ``a < b``, and the cosine of their vectors."""

    a: int
    b: int
    score: float


def most_similar_pairs(vectors: np.ndarray, top: int = 10, progress: Progress | None = None) -> list[Pair]:
    """The ``top`` pairs of different rows with the largest cosine, best first; equal cosines by row numbers.

    Every pair is looked at once. Single precision finds the candidates, double precision ranks them.

    Args:
        vectors: (n, d), of any length.
        top: how many; all pairs where there are fewer.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000.
    """
    if not 1 <= top <= _MOST:
        raise StudioError(f"top is {top}", f"choose a number between 1 and {_MOST:,}")
    return top_pairs(unit(vectors), None, lambda a, b: exact_products(vectors, a, b), top, progress)


def top_pairs(
    rows: np.ndarray,
    others: np.ndarray | None,
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray],
    top: int,
    progress: Progress | None = None,
    *,
    margin: float = _MARGIN,
    highest: float = 1.0,
) -> list[Pair]:
    """The ``top`` pairs i < j with the largest product of row i with row j of ``others``, best first; equal ones by row numbers.

    Args:
        rows, others: (n, d), single precision; ``None``: the rows themselves.
        exact: rows a and b, (m,) each → what ranks them, (m,) in double precision.
        margin: more than single precision loses on a product.
        highest: no pair scores more.
    """
    best = _Best(top, highest)
    for start, products in upper_blocks(rows, others):
        checkpoint()
        floor = max(best.floor, _kth(products, top)) if not best.full else best.floor
        left, right = _at_least(products, floor - margin)
        for part in range(0, len(left), _AT_ONCE):
            a, b = left[part : part + _AT_ONCE] + start, right[part : part + _AT_ONCE] + start
            best.add(a, b, exact(a, b))
            if best.perfect:
                break
        if progress is not None:
            progress(min(start + len(products), len(rows)), len(rows))
        if best.perfect:
            break
    if progress is not None:
        progress(len(rows), len(rows))
    return best.pairs()


def _kth(products: np.ndarray, count: int) -> float:
    """The ``count``-th largest cell, or -inf where there are not so many."""
    cells = products.ravel()
    return float(np.partition(cells, len(cells) - count)[len(cells) - count]) if len(cells) > count else -np.inf


def _at_least(products: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """The places of the cells that reach ``floor``, in the order of rows; never the masked ones."""
    left, right = np.divmod(np.flatnonzero(products >= max(floor, _LEAST)), products.shape[1])
    return left, right


class _Best:
    """The best pairs so far, ordered by score, then rows."""

    def __init__(self, count: int, highest: float) -> None:
        self._count, self._highest = count, highest
        self._a = self._b = np.empty(0, np.int64)
        self._scores = np.empty(0)

    @property
    def full(self) -> bool:
        return len(self._scores) == self._count

    @property
    def floor(self) -> float:
        """A pair below it cannot enter."""
        return float(self._scores[-1]) if self.full else -np.inf

    @property
    def perfect(self) -> bool:
        """Whether nothing can enter: none scores more, and later pairs have larger row numbers."""
        return self.full and bool(self._scores[-1] >= self._highest)

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        a, b, scores = np.concatenate([self._a, a]), np.concatenate([self._b, b]), np.concatenate([self._scores, scores])
        order = np.lexsort((b, a, -scores))[: self._count]
        self._a, self._b, self._scores = a[order], b[order], scores[order]

    def pairs(self) -> list[Pair]:
        return [Pair(int(a), int(b), float(score)) for a, b, score in zip(self._a, self._b, self._scores, strict=True)]
