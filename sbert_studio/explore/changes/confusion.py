"""Which categories were taken for each other by one model, and are by another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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
