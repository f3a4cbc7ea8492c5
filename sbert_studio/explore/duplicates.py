"""Groups of near-duplicates: a kept text and the texts that reach a similarity threshold with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..models.similarity import unit
from ..progress import checkpoint
from .products import exact_products, upper_blocks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..progress import Progress

Keep = Literal["first", "longest"]
KEEPS: tuple[Keep, ...] = ("first", "longest")
MIN_THRESHOLD = 0.8
"""Minimum threshold of a tree; texts with lower cosines are related, but not near-duplicates."""
_BLOCK = 256
_MARGIN = 2e-5  # upper bound of the float32 error of a product of unit vectors


@dataclass(frozen=True)
class DuplicateGroup:
    """A kept text and its near-duplicates.

    Attributes:
        rows: ascending, from 0.
        kept: the row that is kept; ``None`` to keep all.
        scores: cosine of each row with the kept one (with the first if all are kept).
        values: category of each row; empty without a column of categories.
    """

    rows: tuple[int, ...]
    kept: int | None
    scores: tuple[float, ...]
    values: tuple[str, ...] = ()

    @property
    def removed(self) -> tuple[int, ...]:
        """Rows that are removed."""
        return () if self.kept is None else tuple(row for row in self.rows if row != self.kept)

    @property
    def contradicts(self) -> bool:
        """True if the texts have different categories, ignoring blanks, case and surrounding whitespace."""
        return len({" ".join(value.casefold().split()) for value in self.values} - {""}) > 1


@dataclass(frozen=True)
class DuplicateTree:
    """Maximum spanning forest of the pairs of n rows above a threshold: near-duplicates are searched for in its components only.

    Attributes:
        rows: n.
        a, b: (m,) int64, the endpoints of each edge.
        scores: (m,) float64, cosines in descending order.
        least: lower bound of the scores.
    """

    rows: int
    a: np.ndarray
    b: np.ndarray
    scores: np.ndarray
    least: float

    def components(self, threshold: float) -> list[tuple[int, ...]]:
        """Return the connected components of at least two rows at ``threshold``, the largest first.

        Raises:
            StudioError: the threshold is below that of the tree, or above 1.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if not self.least <= threshold <= 1:
            raise StudioError(
                _("the threshold is {threshold}", threshold=f"{threshold:g}"),
                _("choose a cosine between {least} and 1", least=f"{self.least:g}"),
            )
        edges = self.max_removed(threshold)
        graph = coo_array((np.ones(edges, np.int8), (self.a[:edges], self.b[:edges])), shape=(self.rows, self.rows))
        group = connected_components(graph, directed=False)[1]
        order = np.argsort(group, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if self.rows else []
        found = [tuple(part.tolist()) for part in parts if len(part) > 1]
        return sorted(found, key=lambda members: (-len(members), members[0]))

    def max_removed(self, threshold: float) -> int:
        """Return an upper bound of the number of removed rows at ``threshold``, which assumes that one row per component is kept."""
        return int(np.searchsorted(-self.scores, -threshold + 1e-12, side="right"))


def build_duplicate_tree(
    vectors: np.ndarray, same: Sequence[str] | None = None, least: float = MIN_THRESHOLD, progress: Progress | None = None
) -> DuplicateTree:
    """Build the tree of all pairs with a cosine of at least ``least``.

    Args:
        vectors: (n, d), of any length.
        same: the text of each row; identical texts are joined at 1 without comparison.

    Raises:
        StudioError: ``least`` is not a valid cosine.
    """
    if not -1 <= least <= 1:
        raise StudioError(
            _("the threshold is {least}", least=least), "choose a cosine between -1 and 1; near-duplicates start at about 0.9"
        )
    first, copies = _copies(len(vectors), same)
    rows = unit(vectors[first])
    forest = _SpanningForest(len(first))
    for start, products in upper_blocks(rows):
        checkpoint()
        left, right = np.divmod(np.flatnonzero(products >= max(least - _MARGIN, -2.0)), products.shape[1])
        a, b = left + start, right + start
        scores = exact_products(vectors, first[a], first[b])
        high = scores >= least
        forest.add(a[high], b[high], scores[high])
        if progress is not None:
            progress(min(start + len(products), len(rows)), len(rows))
    a = np.concatenate([copies[:, 0], first[forest.a]])
    b = np.concatenate([copies[:, 1], first[forest.b]])
    scores = np.concatenate([np.ones(len(copies)), forest.scores])
    order = np.lexsort((b, a, -scores))
    return DuplicateTree(len(vectors), a[order], b[order], scores[order], least)


def find_groups(
    tree: DuplicateTree,
    vectors: np.ndarray,
    texts: Sequence[str],
    threshold: float,
    keep: Keep = "first",
    *,
    chosen: Sequence[int] = (),
    apart: Collection[tuple[int, ...]] = (),
    values: Sequence[str] | None = None,
) -> tuple[DuplicateGroup, ...]:
    """Return the groups of near-duplicates, largest first. Every removed text reaches the threshold with the kept one.

    Args:
        vectors: (n, d), from which the tree was built.
        texts: (n,); identical texts always match.
        threshold: minimum cosine of near-duplicates.
        keep: the text of a group to keep, the first or the longest.
        chosen: rows to keep regardless of ``keep``; if a group contains several, the last one is kept.
        apart: disjoint groups of rows that are all kept at every threshold.
        values: category of each row.

    Raises:
        StudioError: the threshold is below that of the tree or above 1, or ``keep`` is unknown.
    """
    if keep not in KEEPS:
        raise StudioError(_("there is no rule {keep}", keep=repr(keep)), _("choose one of {keeps}", keeps=", ".join(KEEPS)))
    preference = {row: place for place, row in enumerate(chosen)}

    def group(rows: Sequence[int], keep_row: int | None) -> DuplicateGroup:
        anchor = rows[0] if keep_row is None else keep_row
        scores = exact_products(vectors, np.full(len(rows), anchor), np.asarray(rows)).tolist()
        return DuplicateGroup(tuple(rows), keep_row, tuple(scores), () if values is None else tuple(values[row] for row in rows))

    found: list[DuplicateGroup] = []
    for rows in tree.components(threshold):
        kept_together = [sorted(set(one).intersection(rows)) for one in apart]
        found += [group(one, None) for one in kept_together if len(one) > 1]
        left = set(rows).difference(*kept_together)
        order = sorted(left, key=lambda row: (-preference.get(row, -1), -len(texts[row]) if keep == "longest" else 0, row))
        found += [group(sorted(star), star[0]) for star in group_around_centers(vectors, order, threshold, texts)]
    return tuple(sorted(found, key=lambda one: (-len(one.rows), one.rows[0])))


def group_around_centers(
    vectors: np.ndarray, order: Sequence[int], threshold: float, same: Sequence[str] | None = None
) -> list[tuple[int, ...]]:
    """Group rows greedily around centers: the first row of ``order`` takes all rows similar to *it*, then the next remaining row.

    Args:
        vectors: (n, d), of any length.
        order: rows in order of preference as centers.
        same: the text of each row; identical texts always match.

    Returns:
        The rows of each group, its center first; rows without similar rows are omitted.
    """
    at, rows = np.asarray(order, np.int64), unit(vectors[np.asarray(order, np.int64)])
    text = None if same is None else np.unique([same[row] for row in order], return_inverse=True)[1]
    free, found = np.ones(len(at), bool), []
    start = 0
    while start < len(at):
        checkpoint()
        block = start + np.flatnonzero(free[start:])[:_BLOCK]
        if not len(block):
            break
        products = rows[block] @ rows[start:].T
        for centre, near in zip(block.tolist(), products, strict=True):
            if not free[centre]:
                continue
            free[centre] = False
            like = start + np.flatnonzero(free[start:] & (near >= threshold - _MARGIN))
            like = like[exact_products(vectors, np.full(len(like), at[centre]), at[like]) >= threshold - 1e-9]
            if text is not None:
                like = np.union1d(like, np.flatnonzero(free & (text == text[centre])))
            free[like] = False
            if len(like):
                found.append((int(at[centre]), *at[like].tolist()))
        start = int(block[-1]) + 1
    return found


class _SpanningForest:
    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.a = self.b = np.empty(0, np.int64)
        self.scores = np.empty(0)

    def add(self, a: np.ndarray, b: np.ndarray, scores: np.ndarray) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import minimum_spanning_tree

        if not len(a):
            return
        a, b, scores = np.concatenate([self.a, a]), np.concatenate([self.b, b]), np.concatenate([self.scores, scores])
        # Use the ranks of the scores as weights, from 1: exact, and never 0, which would mean no edge.
        known, place = np.unique(-scores, return_inverse=True)
        place += 1
        tree = minimum_spanning_tree(coo_array((place.astype(np.float64), (a, b)), shape=(self._rows, self._rows)).tocsr()).tocoo()
        self.a, self.b = tree.row.astype(np.int64), tree.col.astype(np.int64)
        self.scores = -known[tree.data.astype(np.int64) - 1]


def _copies(rows: int, same: Sequence[str] | None) -> tuple[np.ndarray, np.ndarray]:
    if same is None:
        return np.arange(rows), np.empty((0, 2), np.int64)
    seen: dict[str, int] = {}
    first_of = np.array([seen.setdefault(text, row) for row, text in enumerate(same)], np.int64)
    later = np.flatnonzero(first_of != np.arange(rows))
    return np.flatnonzero(first_of == np.arange(rows)), np.stack([first_of[later], later], axis=1)


def similarity_order(cosines: np.ndarray) -> list[int]:
    """Return the rows of an (n, n) cosine matrix in optimal leaf order of their average-linkage tree (Bar-Joseph et al. 2001)."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    if len(cosines) < 3:
        return list(range(len(cosines)))
    distances = np.clip(1 - (np.asarray(cosines, np.float64) + np.asarray(cosines, np.float64).T) / 2, 0, 2)
    np.fill_diagonal(distances, 0)
    condensed = squareform(distances, checks=False)
    return [int(row) for row in leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))]
