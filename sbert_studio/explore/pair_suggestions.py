"""Suggest pairs to label: those about which a model is least certain, and those on which two models disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..models.similarity import unit
from ..progress import checkpoint
from .products import upper_blocks

if TYPE_CHECKING:
    from ..progress import Progress

MAX_ROWS = 3_000
_SEED = 12
_MAX_PAIRS_PER_ROW = 2
_DEPTH = 40  # candidates per requested pair

SuggestedPair = tuple[int, int, float]
PairScorerFn = Callable[[np.ndarray, int], np.ndarray]
"""Maps a block of :func:`~.products.upper_blocks` and its start to the value of each pair."""


def sample_rows(texts: Sequence[str], most: int = MAX_ROWS) -> np.ndarray:
    """Return the first row of each distinct text, ascending int64; if there are more than ``most``, a fixed random sample."""
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(" ".join(text.casefold().split()), row)
    rows = np.array(sorted(first.values()), np.int64)
    return rows if len(rows) <= most else np.sort(np.random.default_rng(_SEED).choice(rows, most, replace=False))


def decision_boundary(cosines: np.ndarray, is_positive: np.ndarray) -> float | None:
    """Return the cosine that best separates labelled pairs; ``None`` with fewer than four of either label.

    Args:
        cosines: (n,) cosines of the pairs.
        is_positive: (n,) bool labels.
    """
    if min(is_positive.sum(), (~is_positive).sum()) < 4:
        return None
    order = np.argsort(cosines, kind="stable")
    sorted_cosines, labels = cosines[order], is_positive[order]
    # Correct predictions if pairs before index k are negative and all others positive.
    right = np.concatenate([[0], np.cumsum(~labels)]) + np.concatenate([np.cumsum(labels[::-1])[::-1], [0]])
    best = int(np.argmax(right[1:-1])) + 1
    return float((sorted_cosines[best - 1] + sorted_cosines[best]) / 2)


def uncertain_pairs(
    vectors: np.ndarray, threshold: float, count: int, exclude: Collection[tuple[int, int]] = (), progress: Progress | None = None
) -> list[SuggestedPair]:
    """Return the pairs with cosines closest to a threshold (uncertainty sampling; Lewis and Gale 1994), each row in at most two.

    Args:
        vectors: (n, d), of any length.
        exclude: pairs (a, b) of rows, a < b, that are already labelled.

    Returns:
        (a, b, cosine), closest first.
    """
    return _select_pairs(vectors, lambda _: lambda products, _: -np.abs(products - threshold), count, exclude, progress)


def disputed_pairs(
    vectors: np.ndarray,
    others: np.ndarray,
    share: Callable[[np.ndarray], np.ndarray],
    other_share: Callable[[np.ndarray], np.ndarray],
    count: int,
    exclude: Collection[tuple[int, int]] = (),
    progress: Progress | None = None,
) -> list[SuggestedPair]:
    """Return the pairs that one model finds similar and another does not (query by committee; Seung et al. 1992).

    Args:
        vectors, others: (n, d) and (n, e) vectors from the two models.
        share, other_share: map cosines of each model to percentiles of its random pairs, which makes them comparable.

    Returns:
        (a, b, cosine by the first model), largest disagreement first.
    """
    every = unit(others)

    def gap(rows: np.ndarray) -> PairScorerFn:
        of_rows = every[rows]

        def worth(products: np.ndarray, start: int) -> np.ndarray:
            theirs = of_rows[start : start + len(products)] @ of_rows[start:].T
            return np.asarray(np.abs(share(products) - other_share(theirs)))

        return worth

    return _select_pairs(vectors, gap, count, exclude, progress)


def _best(vectors: np.ndarray, worth: PairScorerFn, depth: int, progress: Progress | None) -> Iterator[SuggestedPair]:
    rows, kept = unit(vectors), np.empty((0, 4))
    for start, products in upper_blocks(rows):
        checkpoint()
        left, right = np.nonzero(products >= -1)
        values = worth(products, start)[left, right]
        top = np.argpartition(-values, depth)[:depth] if len(values) > depth else np.arange(len(values))
        found = np.stack([left[top] + start, right[top] + start, products[left[top], right[top]], values[top]], axis=1)
        kept = np.concatenate([kept, found])
        kept = kept[np.argsort(-kept[:, 3], kind="stable")[:depth]]
        if progress is not None:
            progress(min(start + len(products), len(rows)), len(rows))
    for a, b, cosine, _ in kept.tolist():
        yield int(a), int(b), float(cosine)


def _select_pairs(
    vectors: np.ndarray,
    worth_of: Callable[[np.ndarray], PairScorerFn],
    count: int,
    exclude: Collection[tuple[int, int]],
    progress: Progress | None,
) -> list[SuggestedPair]:
    seen, picked, rows = Counter[int](), list[SuggestedPair](), np.arange(len(vectors))
    while len(rows) > 1 and len(picked) < count:
        depth, before = count * _DEPTH + len(exclude), len(picked)
        for left, right, cosine in _best(vectors[rows], worth_of(rows), depth, progress):
            a, b = int(rows[left]), int(rows[right])
            if len(picked) == count:
                break
            if (a, b) in exclude or max(seen[a], seen[b]) >= _MAX_PAIRS_PER_ROW or any(pair[:2] == (a, b) for pair in picked):
                continue
            seen.update((a, b))
            picked.append((a, b, cosine))
        if len(picked) == before or len(rows) * (len(rows) - 1) // 2 <= depth:
            break
        # A text with many uncertain pairs fills the list: search again without the texts that are already listed twice.
        rows = rows[[seen[row] < _MAX_PAIRS_PER_ROW for row in rows.tolist()]]
    return picked
