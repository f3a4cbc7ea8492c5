"""Comparison of two models on the same texts: neighbors, pairs and categories that changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..models.similarity import unit
from ..progress import checkpoint
from .paraphrase_mining import top_pairs
from .products import exact_products

if TYPE_CHECKING:
    from ..progress import Progress


def align_points(points: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rotate or mirror, scale and translate ``points`` onto ``other``, row by row: (n, d) float32.

    The rotation minimizes the sum of squares: with ``A = points - mean``, ``B = other - mean`` and ``AᵀB = U S Vᵀ`` it is ``U Vᵀ``
    (orthogonal Procrustes; Schönemann 1966, equations 2.7 to 2.9). The scale gives both the same mean squared distance from their center,
    because the least-squares scale collapses maps that have little in common.

    Args:
        points, other: (n, d) each.
    """
    here, there = (np.asarray(found, np.float64) for found in (points, other))
    centre = there.mean(axis=0)
    here, there = here - here.mean(axis=0), there - centre
    sizes = [float(np.linalg.norm(found)) for found in (here, there)]
    if not all(sizes):  # all points coincide
        return np.asarray(here + centre, np.float32)
    left, _, right = np.linalg.svd(here.T @ there)
    return np.asarray(here @ (left @ right) * (sizes[1] / sizes[0]) + centre, np.float32)


@dataclass(frozen=True)
class ConfusionChange:
    """Texts of two categories whose nearest text is of the other category.

    Attributes:
        before, after: number of such texts.
        resolved: rows no longer confused.
        introduced: rows newly confused.
    """

    categories: tuple[str, str]
    before: int
    after: int
    resolved: tuple[int, ...]
    introduced: tuple[int, ...]


def compare_confusions(truth: np.ndarray, before: np.ndarray, after: np.ndarray, names: Sequence[str]) -> list[ConfusionChange]:
    """Return each pair of categories with confusions: largest decrease first, largest increase last.

    Args:
        truth: (n,) category ids into ``names``.
        before, after: (n,) category of the nearest text; -1 if none.
    """
    then, now = _confused_pairs(truth, before), _confused_pairs(truth, after)
    found = []
    for pair in sorted({*then, *now}):
        was, is_ = then.get(pair, set()), now.get(pair, set())
        categories = (names[pair[0]], names[pair[1]])
        found.append(ConfusionChange(categories, len(was), len(is_), tuple(sorted(was - is_)), tuple(sorted(is_ - was))))
    return sorted(found, key=lambda one: (one.after - one.before, -one.before, one.categories))


def _confused_pairs(truth: np.ndarray, predicted: np.ndarray) -> dict[tuple[int, int], set[int]]:
    pairs: dict[tuple[int, int], set[int]] = defaultdict(set)
    for row in np.flatnonzero((truth != predicted) & (predicted >= 0)).tolist():
        pairs[min(truth[row], predicted[row]), max(truth[row], predicted[row])].add(row)
    return pairs


NEIGHBORS = 10
_AT_ONCE = 1024
_MARGIN = 1e-5  # float32 cosines that differ by less count as ties


@dataclass(frozen=True)
class NeighborChange:
    """Nearest neighbors of n texts with two models.

    Attributes:
        before, after: (n, k) int32 rows, nearest first, without the text itself.
        lost: (n, k) bool, entries of ``before`` that are farther than the k-th neighbor after; ties are not lost.
        gained: (n, k) bool, entries of ``after`` that were farther before.
    """

    before: np.ndarray
    after: np.ndarray
    lost: np.ndarray
    gained: np.ndarray

    @property
    def moved(self) -> np.ndarray:
        """(n,) float32 share of each text's neighbors that were lost."""
        return np.asarray(self.lost.mean(axis=1), np.float32)


def compare_neighbors(before: np.ndarray, after: np.ndarray, k: int = NEIGHBORS, progress: Progress | None = None) -> NeighborChange:
    """Return the neighbors of each text in two embedding spaces.

    Args:
        before, after: (n, d) and (n, e) vectors of the same texts, n at least 2.
        k: number of neighbors, at most n - 1.
    """
    k = min(k, len(before) - 1)
    spaces = [unit(np.asarray(found)) for found in (before, after)]
    rows, farthest = zip(*(_nearest(space, k, place, progress) for place, space in enumerate(spaces)), strict=True)
    lost = _moved_away(spaces[1], rows[0], farthest[1])
    gained = _moved_away(spaces[0], rows[1], farthest[0])
    return NeighborChange(rows[0], rows[1], lost, gained)


def _nearest(rows: np.ndarray, k: int, place: int, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
    import faiss

    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    total = len(rows)
    found, least = np.empty((total, k), np.int32), np.empty(total, np.float32)
    for start in range(0, total, _AT_ONCE):
        checkpoint()
        own = np.arange(start, min(start + _AT_ONCE, total))
        cosines, near = index.search(rows[own], k + 1)
        # With many copies, the row itself may be missing; then drop the last neighbor.
        others = near != own[:, None]
        others[others.all(axis=1), k] = False
        found[own], least[own] = near[others].reshape(-1, k), cosines[others].reshape(-1, k)[:, -1]
        if progress is not None:
            progress(place * total + int(own[-1]) + 1, 2 * total)
    return found, least


def _moved_away(rows: np.ndarray, near: np.ndarray, least: np.ndarray) -> np.ndarray:
    found = np.empty(near.shape, bool)
    for start in range(0, len(rows), _AT_ONCE):
        checkpoint()
        part = slice(start, start + _AT_ONCE)
        cosines = np.einsum("nd,nkd->nk", rows[part], rows[near[part]])
        found[part] = cosines < least[part, None] - _MARGIN
    return found


_AMONG = 2_000  # candidate pairs, before removing those that repeat a text too often
_MAX_PAIRS_PER_TEXT = 2
_PAIR_MARGIN = 5e-5  # upper bound of the float32 error of a difference of two products of unit vectors


@dataclass(frozen=True)
class PairChange:
    """Two rows, ``a < b``, with their cosine before and after."""

    a: int
    b: int
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


def most_changed_pairs(
    before: np.ndarray, after: np.ndarray, top: int = 10, progress: Progress | None = None
) -> tuple[list[PairChange], list[PairChange]]:
    """Return the pairs whose cosine increased most and decreased most, at most ``top`` each, largest change first.

    The difference of two cosines is one product, ``[u′ u]·[v′ −v] = u′·v′ − u·v``, so all pairs are compared in blocks with bounded
    memory. Each text occurs in at most two pairs.

    Args:
        before, after: (n, d) and (n, e) vectors of the same texts.
    """
    then, now = (unit(np.asarray(found)) for found in (before, after))
    left, right = np.hstack([now, then]), np.hstack([now, -then])
    found = []
    for place, sign in enumerate((1, -1)):

        def report(done: int, total: int, place: int = place) -> None:
            if progress is not None:
                progress(place * total + done, 2 * total)

        chosen, seen, rows = list[tuple[int, int]](), Counter[int](), np.arange(len(now))
        while len(rows) > 1 and len(chosen) < top:

            def change(a: np.ndarray, b: np.ndarray, rows: np.ndarray = rows, sign: int = sign) -> np.ndarray:
                return np.asarray(sign * (exact_products(after, rows[a], rows[b]) - exact_products(before, rows[a], rows[b])))

            best = top_pairs(left[rows], sign * right[rows], change, _AMONG, report, margin=_PAIR_MARGIN, highest=2.0)
            changed = [(int(rows[pair.a]), int(rows[pair.b])) for pair in best if pair.score > _PAIR_MARGIN]
            fresh = _limit_repeats([pair for pair in changed if pair not in chosen], top - len(chosen), seen)
            chosen += fresh
            if len(changed) < _AMONG or not fresh:
                break
            # A text that changed a lot fills the list with its pairs: search again without the texts that are already listed twice.
            rows = rows[[seen[row] < _MAX_PAIRS_PER_TEXT for row in rows.tolist()]]
        a, b = (np.array([pair[side] for pair in chosen], np.int64) for side in (0, 1))
        cosines = zip(exact_products(before, a, b).tolist(), exact_products(after, a, b).tolist(), strict=True)
        found.append([PairChange(*pair, *both) for pair, both in zip(chosen, cosines, strict=True)])
    return found[0], found[1]


def _limit_repeats(pairs: list[tuple[int, int]], top: int, counts: Counter[int]) -> list[tuple[int, int]]:
    chosen: list[tuple[int, int]] = []
    for pair in pairs:
        if len(chosen) < top and all(counts[row] < _MAX_PAIRS_PER_TEXT for row in pair):
            counts.update(pair)
            chosen.append(pair)
    return chosen
