"""The pairs of texts whose cosine changed most from one model to another: exact, in bounded memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...encoders.unit import unit
from ..mining.scan import top_pairs
from ..products import exact_products

if TYPE_CHECKING:
    from ...data.progress import Progress

_AMONG = 2_000  # the pairs that changed most, of which those are shown that repeat no text too often
_TWICE = 2
_MARGIN = 5e-5  # more than single precision loses on the difference of two products of unit vectors


@dataclass(frozen=True)
class PairChange:
    """Two rows, ``a < b``, and the cosine of their vectors before and after."""

    a: int
    b: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """By how much it rose."""
        return self.after - self.before


def changed_most(
    before: np.ndarray, after: np.ndarray, top: int = 10, progress: Progress | None = None
) -> tuple[list[PairChange], list[PairChange]]:
    """The pairs that came together most, and those that came apart most, each at most ``top``, the largest change first.

    The difference of two cosines is one product, ``[u′ u]·[v′ −v] = u′·v′ − u·v``, so every pair is looked at in blocks and none is kept
    that is not among the first. A text stands in at most two of them: one that moved far takes its pairs with all others along.

    Args:
        before, after: (n, d) and (n, e) vectors of the same n texts.
    """
    then, now = (unit(np.asarray(found)) for found in (before, after))
    whole, turned = np.hstack([now, then]), np.hstack([now, -then])
    found = []
    for place, sign in enumerate((1, -1)):

        def exact(a: np.ndarray, b: np.ndarray, sign: int = sign) -> np.ndarray:
            return np.asarray(sign * (exact_products(after, a, b) - exact_products(before, a, b)))

        def told(done: int, total: int, place: int = place) -> None:
            if progress is not None:
                progress(place * total + done, 2 * total)

        chosen, seen, rows = list[tuple[int, int]](), Counter[int](), np.arange(len(now))
        while len(rows) > 1 and len(chosen) < top:

            def of_rows(a: np.ndarray, b: np.ndarray, rows: np.ndarray = rows, exact: Any = exact) -> np.ndarray:
                return np.asarray(exact(rows[a], rows[b]))

            best = top_pairs(whole[rows], sign * turned[rows], of_rows, _AMONG, told, margin=_MARGIN, highest=2.0)
            moved = [(int(rows[pair.a]), int(rows[pair.b])) for pair in best if pair.score > _MARGIN]
            fresh = _spread([pair for pair in moved if pair not in chosen], top - len(chosen), seen)
            chosen += fresh
            if len(moved) < _AMONG or not fresh:
                break
            # One text that moved far fills all of them with its pairs: the rest is looked at without those that have had their turn.
            rows = rows[[seen[row] < _TWICE for row in rows.tolist()]]
        a, b = (np.array([pair[side] for pair in chosen], np.int64) for side in (0, 1))
        cosines = zip(exact_products(before, a, b).tolist(), exact_products(after, a, b).tolist(), strict=True)
        found.append([PairChange(*pair, *both) for pair, both in zip(chosen, cosines, strict=True)])
    return found[0], found[1]


def _spread(pairs: list[tuple[int, int]], top: int, seen: Counter[int]) -> list[tuple[int, int]]:
    """The first pairs of which no text stands in more than two, those counted in which it was ``seen`` before."""
    chosen: list[tuple[int, int]] = []
    for pair in pairs:
        if len(chosen) < top and all(seen[row] < _TWICE for row in pair):
            seen.update(pair)
            chosen.append(pair)
    return chosen
