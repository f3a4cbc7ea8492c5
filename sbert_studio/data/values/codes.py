"""Numbers among scores that stand for no answer: 99, 999, −1 and the like, and numbers far beyond all others."""

from __future__ import annotations

import numpy as np

CODES = (-9999.0, -999.0, -99.0, -98.0, -97.0, -9.0, -8.0, -2.0, -1.0, 8.0, 9.0, 77.0, 88.0, 97.0, 98.0, 99.0, 888.0, 998.0, 999.0, 9999.0)
"""What surveys and programs write where there is no answer."""
_MOST_STEPS = 30
_MOST_STRAYS = 3  # different ones on one side: refused, do not know, not asked
_MOST_OF_ALL = 0.5
_VARIED = 5  # different numbers below which one far off may be a step of the scale that is rarely given


def without_codes(scores: np.ndarray) -> np.ndarray:
    """The scores without the number that stands for no answer: 9, 99, 999, −1, −9 and the like, far from all others, which are few.

    Args:
        scores: (n,) finite numbers.
    """
    values = np.unique(scores)
    for code in values[np.isin(values, CODES)][::-1]:
        rest = values[values != code]
        if len(rest) < 3 or np.ptp(rest) == 0:
            continue
        low, high = float(rest.min()), float(rest.max())
        whole = bool((rest % 1 == 0).all())
        above = code > high and (code >= 2 * high + 10 or (whole and code >= high + 2 and len(rest) >= 4 and code >= 8))
        below = code < 0 <= low and (code < -1 or len(rest) > 3 or not whole)
        if (above and len(rest) <= _MOST_STEPS) or (below and (scores == code).sum() > 1):
            return without_codes(scores[scores != code])
    return scores


def without_strays(scores: np.ndarray) -> np.ndarray:
    """The scores without codes, and without those that may be one: farther from all others than these are from each other.

    Up to three different numbers on a side may be codes where each is a usual one or comes more than once; one alone may be a typing
    error as well. Whether they are is for the texts, or the owner, to say.

    Args:
        scores: (n,) finite numbers.
    """
    scores = without_codes(scores)
    for strays in _candidates(scores):
        rest = np.setdiff1d(scores, strays)
        usual = bool(np.isin(strays, CODES).all())
        if len(rest) < 2 or (not usual and np.isin(scores, strays).sum() > _MOST_OF_ALL * len(scores)):
            continue
        low, high = float(rest.min()), float(rest.max())
        gap = strays.min() - high if strays[0] > high else low - strays.max()
        if usual and len(rest) > 3 and strays.max() < 0 <= low:
            return without_strays(scores[~np.isin(scores, strays)])
        known = usual or (len(rest) >= _VARIED and _each_again(scores, strays))
        if known and gap > high - low > 0:
            return without_strays(scores[~np.isin(scores, strays)])
    return scores


def _candidates(scores: np.ndarray) -> list[np.ndarray]:
    values = np.unique(scores)
    return [part for many in range(1, _MOST_STRAYS + 1) if many < len(values) for part in (values[-many:], values[:many])]


def _each_again(scores: np.ndarray, strays: np.ndarray) -> bool:
    return len(strays) == 1 or all((scores == stray).sum() > 1 for stray in strays)
