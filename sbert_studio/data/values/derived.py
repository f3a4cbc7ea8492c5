"""Columns of numbers that were computed from other columns: from the lengths of the texts, or as the mean of several marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

_LEAST = 20  # rows below which chance could do it
_SAME = 0.98
_MEAN = 0.99
_ROUNDED = 0.011  # of the span: marks of 0 to 5, their mean written with one decimal


def of_lengths(first: Sequence[str], second: Sequence[str], numbers: np.ndarray) -> bool:
    """Whether numbers follow how long the two texts of a row are: their characters or words, added, subtracted or divided.

    Args:
        first, second: n texts each.
        numbers: (n,) the column, NaN where it holds none.
    """
    good = ~np.isnan(numbers)
    if good.sum() < _LEAST or np.ptp(numbers[good]) == 0:
        return False
    for size in (len, lambda text: len(text.split())):
        a, b = (np.array([size(text) for text in texts], dtype=np.float64) for texts in (first, second))
        shorter, longer = np.minimum(a, b), np.maximum(a, b)
        for made in (a, b, a + b, a - b, longer - shorter, longer, shorter, shorter / np.maximum(longer, 1)):
            if abs(_rank_correlation(made[good], numbers[good])) >= _SAME:
                return True
    return False


def means(columns: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """Which columns are the mean, the median or the sum of two others or more, and of which.

    Args:
        columns: the numbers of each column that may be one, (n,) each.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, numbers in columns.items():
        others = [other for other in columns if other != name]
        for parts in _groups(others):
            with np.errstate(all="ignore"):
                table = np.stack([columns[part] for part in parts])
                good = ~np.isnan(table).any(axis=0) & ~np.isnan(numbers)
                if good.sum() < _LEAST or name in found or not _of_one_scale(table[:, good]):
                    continue
                for made in (table[:, good].mean(axis=0), np.median(table[:, good], axis=0)):
                    if any(
                        alike(made, numbers[good]) >= least and all(alike(mark, numbers[good]) < least for mark in table[:, good])
                        for alike, least in ((_correlation, _MEAN), (_equal, _SAME))
                    ):
                        found[name] = parts
    return found


def _equal(a: np.ndarray, b: np.ndarray) -> float:
    """The share of rows in which two columns hold the same number, but for rounding."""
    return float(np.mean(np.abs(a - b) <= _ROUNDED * np.ptp(b)))


def _of_one_scale(marks: np.ndarray) -> bool:
    """Whether the greatest span of (columns, rows) marks is at most twice the least."""
    spans = np.ptp(marks, axis=1)
    return bool(spans.max() <= 2 * spans.min())


def _groups(names: Sequence[str]) -> list[tuple[str, ...]]:
    """All of the names, and those that are one name but for its end: ``rater_1, rater_2``, ``Bewerter A, Bewerter B``."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(name.rstrip("0123456789").rstrip("ABCDEFabcdef _-.#").casefold() or name, []).append(name)
    groups = [tuple(group) for group in stems.values() if len(group) > 1]
    return list(dict.fromkeys([*groups, tuple(names)])) if len(names) > 1 else groups


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if len(a) > 1 and np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    from scipy.stats import rankdata

    return _correlation(rankdata(a), rankdata(b))
