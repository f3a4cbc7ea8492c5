"""Compare two models on the same texts: neighbours, pairs and categories that changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.progress import checkpoint
from ..models.similarity import unit
from .paraphrase_mining import top_pairs
from .products import exact_products

if TYPE_CHECKING:
    from ..data.progress import Progress


def laid_on(points: np.ndarray, other: np.ndarray) -> np.ndarray:
    """``points`` turned or mirrored, sized and shifted onto ``other``, row on row: (n, d) float32.

    The turn is the one with the least sum of squares: with ``A = points - mean``, ``B = other - mean`` and ``AᵀB = U S Vᵀ`` it is
    ``U Vᵀ`` (orthogonal Procrustes; Schönemann 1966, "A generalized solution of the orthogonal Procrustes problem", equations 2.7 to
    2.9). The size is not that of least squares, which shrinks a map to a dot where the two have little in common: both get the same mean
    square distance from their centre.

    Args:
        points, other: (n, d) each.
    """
    here, there = (np.asarray(found, np.float64) for found in (points, other))
    centre = there.mean(axis=0)
    here, there = here - here.mean(axis=0), there - centre
    sizes = [float(np.linalg.norm(found)) for found in (here, there)]
    if not all(sizes):  # all in one place: nothing to turn
        return np.asarray(here + centre, np.float32)
    left, _, right = np.linalg.svd(here.T @ there)
    return np.asarray(here @ (left @ right) * (sizes[1] / sizes[0]) + centre, np.float32)


@dataclass(frozen=True)
class ConfusionChange:
    """Two categories, whichever was taken for which.

    Attributes:
        categories: the two.
        before, after: how many texts of either had a nearest text of the other.
        mended: the rows of those that have no longer; broken: of those that have only now.
    """

    categories: tuple[str, str]
    before: int
    after: int
    mended: tuple[int, ...]
    broken: tuple[int, ...]


def confusion_changes(truth: np.ndarray, before: np.ndarray, after: np.ndarray, names: Sequence[str]) -> list[ConfusionChange]:
    """Every two categories of which the count changed or was above zero: those that most went away first, those that most came last.

    Args:
        truth: (n,) the category of each text, a place in ``names``.
        before, after: (n,) that of its nearest text; -1 where there is none.
    """
    then, now = _pairs(truth, before), _pairs(truth, after)
    found = []
    for pair in sorted({*then, *now}):
        was, is_ = then.get(pair, set()), now.get(pair, set())
        categories = (names[pair[0]], names[pair[1]])
        found.append(ConfusionChange(categories, len(was), len(is_), tuple(sorted(was - is_)), tuple(sorted(is_ - was))))
    return sorted(found, key=lambda one: (one.after - one.before, -one.before, one.categories))


def _pairs(truth: np.ndarray, found: np.ndarray) -> dict[tuple[int, int], set[int]]:
    pairs: dict[tuple[int, int], set[int]] = defaultdict(set)
    for row in np.flatnonzero((truth != found) & (found >= 0)).tolist():
        pairs[min(truth[row], found[row]), max(truth[row], found[row])].add(row)
    return pairs


NEAREST = 10
_AT_ONCE = 1024
_MARGIN = 1e-5  # cosines that lie as close are a tie: single precision does not tell them apart


@dataclass(frozen=True)
class Movement:
    """The nearest texts of each of n texts, before and after.

    Attributes:
        before, after: (n, k) int32 rows, the nearest first, itself left out.
        lost: (n, k) bool, which of ``before`` are farther than the k-th nearest after. Of texts that are as near none is lost.
        gained: (n, k) bool, which of ``after`` were farther before.
    """

    before: np.ndarray
    after: np.ndarray
    lost: np.ndarray
    gained: np.ndarray

    @property
    def moved(self) -> np.ndarray:
        """(n,) float32: the share of a text's nearest that were lost, from 0 (all are the same) to 1 (all are others)."""
        return np.asarray(self.lost.mean(axis=1), np.float32)


def movement(before: np.ndarray, after: np.ndarray, k: int = NEAREST, progress: Progress | None = None) -> Movement:
    """Who is nearest to each text in two spaces.

    Args:
        before, after: (n, d) and (n, e) vectors of the same n texts, n at least 2.
        k: how many are looked at; n - 1 at most.
        progress: told the texts done in both spaces, and twice their number.
    """
    k = min(k, len(before) - 1)
    spaces = [unit(np.asarray(found)) for found in (before, after)]
    rows, farthest = zip(*(_nearest(space, k, place, progress) for place, space in enumerate(spaces)), strict=True)
    lost = _farther(spaces[1], rows[0], farthest[1])
    gained = _farther(spaces[0], rows[1], farthest[0])
    return Movement(rows[0], rows[1], lost, gained)


def _nearest(rows: np.ndarray, k: int, place: int, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
    """The k rows of largest cosine with each, (n, k) int32, and the k-th largest cosine, (n,) float32."""
    import faiss

    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    total = len(rows)
    found, least = np.empty((total, k), np.int32), np.empty(total, np.float32)
    for start in range(0, total, _AT_ONCE):
        checkpoint()
        own = np.arange(start, min(start + _AT_ONCE, total))
        cosines, near = index.search(rows[own], k + 1)
        # Among copies another may come first, and the row itself not at all: then the last one goes.
        others = near != own[:, None]
        others[others.all(axis=1), k] = False
        found[own], least[own] = near[others].reshape(-1, k), cosines[others].reshape(-1, k)[:, -1]
        if progress is not None:
            progress(place * total + int(own[-1]) + 1, 2 * total)
    return found, least


def _farther(rows: np.ndarray, near: np.ndarray, least: np.ndarray) -> np.ndarray:
    """(n, k) bool: which of the rows ``near[i]`` have a smaller cosine with row ``i`` than ``least[i]``."""
    found = np.empty(near.shape, bool)
    for start in range(0, len(rows), _AT_ONCE):
        checkpoint()
        part = slice(start, start + _AT_ONCE)
        cosines = np.einsum("nd,nkd->nk", rows[part], rows[near[part]])
        found[part] = cosines < least[part, None] - _MARGIN
    return found


_AMONG = 2_000  # the pairs that changed most, of which those are shown that repeat no text too often
_TWICE = 2
_MARGIN_PAIRS = 5e-5  # more than single precision loses on the difference of two products of unit vectors


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

            best = top_pairs(whole[rows], sign * turned[rows], of_rows, _AMONG, told, margin=_MARGIN_PAIRS, highest=2.0)
            moved = [(int(rows[pair.a]), int(rows[pair.b])) for pair in best if pair.score > _MARGIN_PAIRS]
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
