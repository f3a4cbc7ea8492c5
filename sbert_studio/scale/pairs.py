"""The best pairs between blocks of rows: exact, in the memory of two blocks."""

from __future__ import annotations

import numpy as np

_MARGIN = 2e-5  # more than single precision loses on a product of unit vectors
_TALL = 1_024  # rows whose products with a block are looked at together: 34 MB beside 8,192 others
_AT_ONCE = 16_384  # candidates ranked in double precision at once


class BestPairs:
    """The ``top`` pairs of rows with the largest cosine, equal cosines by row numbers.

    Single precision finds the candidates, double precision ranks them, so that a pair has the same score in whichever block it stands.

    Args:
        top: how many are kept.
    """

    def __init__(self, top: int) -> None:
        self._top = top
        self._a = self._b = np.empty(0, np.int64)
        self._scores = np.empty(0)

    def between(self, rows: np.ndarray, exact: np.ndarray, first: int, others: np.ndarray, exact_others: np.ndarray, second: int) -> None:
        """Look at every pair of a row of one block and a row of another, or of the same one.

        Args:
            rows, others: (n, d) and (m, d) float32, of length one; ``exact``, ``exact_others``: as they were before.
            first, second: the numbers of the blocks' first rows; the second block is the first one, or a later one.
        """
        for start in range(0, len(rows), _TALL):
            products = rows[start : start + _TALL] @ others.T
            if first == second:
                products[np.arange(products.shape[1])[None, :] <= np.arange(start, start + len(products))[:, None]] = -np.inf
            floor = max(self._floor, _kth(products, self._top)) - _MARGIN
            a, b = np.divmod(np.flatnonzero(products >= max(floor, -3.0)), products.shape[1])
            for part in range(0, len(a), _AT_ONCE):
                left, right = a[part : part + _AT_ONCE] + start, b[part : part + _AT_ONCE]
                self.add(left + first, right + second, _cosines(exact[left], exact_others[right]))

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        """Take in further pairs, (m,) each."""
        a, b, scores = np.concatenate([self._a, a]), np.concatenate([self._b, b]), np.concatenate([self._scores, scores])
        order = np.lexsort((b, a, -scores))[: self._top]
        self._a, self._b, self._scores = a[order], b[order], scores[order]

    def found(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows a < b of each pair, and its cosine, the best pair first."""
        return self._a, self._b, self._scores

    @property
    def _floor(self) -> float:
        return float(self._scores[-1]) if len(self._scores) == self._top else -np.inf


def _kth(products: np.ndarray, count: int) -> float:
    """The ``count``-th largest cell, or -inf where there are not so many."""
    cells = products.ravel()
    return float(np.partition(cells, len(cells) - count)[len(cells) - count]) if len(cells) > count else -np.inf


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    u, v = left.astype(np.float64), right.astype(np.float64)
    scale = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    dot = np.einsum("nd,nd->n", u, v)
    found: np.ndarray = np.clip(np.round(np.divide(dot, scale, out=np.zeros_like(dot), where=scale > 0), 12), -1, 1)
    return found
