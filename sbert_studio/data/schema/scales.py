"""The scale of a column of scores, and numbers outside it that stand for no answer: 99, 999, −1 and the like."""

from __future__ import annotations

import numpy as np

MISSING_CODES = (
    *(-9999.0, -999.0, -99.0, -98.0, -97.0, -9.0, -8.0, -2.0, -1.0),
    *(8.0, 9.0, 77.0, 88.0, 97.0, 98.0, 99.0, 888.0, 998.0, 999.0, 9999.0),
)
"""What surveys and programs write where there is no answer."""
SCALE_TOLERANCE = 1e-5
"""The share of a scale by which a score may lie outside it, as a value once computed in 32 bits does."""

_KNOWN_SCALES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 5.0), (0.0, 10.0), (0.0, 20.0), (0.0, 100.0))
_INSIDE = 0.98
_FREQUENT = 0.04
_FREQUENT_ROWS = 8  # fewer could agree by chance
_MOST_STEPS = 30
_MOST_OUTLIERS = 3  # distinct codes on one side: refused, do not know, not asked
_MOST_OUTLIER_ROWS = 0.5
_VARIED = 5  # distinct scores below which a distant one may be a rare step of the scale


def detect_scale(scores: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest score that a scale allows.

    The first of 0–1, −1–1, 0–5, 0–10, 0–20 and 0–100 that holds 98 % of the scores, so that a typing error does not stretch it;
    1–5 (or 1–4, 1–7, …) if all are whole and none is below 1, 2–5 if 2 is common, 0–7 or 1–7 if scores with decimals often have
    that end; else the lowest and the highest score there are. Codes for no answer and outliers do not count.

    Args:
        scores: (n,) finite numbers, n ≥ 1.
    """
    low, high = _fit_scale(without_outliers(scores))
    known = without_codes(scores)
    return _fit_scale(known[(known >= low) & (known <= high)])


def describe_scale(low: float, high: float) -> str:
    """Describe a scale in words: ``scores 0–5, divided by 5``; if ``low`` is the higher number, reversed."""
    if low > high:
        return f"scores {high:g}–{low:g}, reversed: {low:g} is least similar and becomes 0, {high:g} is most similar and becomes 1"
    span = f"scores {low:g}–{high:g}"
    if (low, high) == (0.0, 1.0):
        return f"{span}, taken as they are"
    if low == 0.0:
        return f"{span}, divided by {high:g}"
    return f"{span}, rescaled so that {low:g} becomes 0 and {high:g} becomes 1"


def find_outliers(scores: np.ndarray) -> np.ndarray:
    """Return the distinct numbers that would stretch the scale, so far from all others that they may stand for no answer.

    Args:
        scores: (n,) finite numbers, n ≥ 1.
    """
    known = without_codes(scores)
    low, high = detect_scale(known)
    if (low, high) == _fit_scale(known):
        return np.array([])
    outliers = np.setdiff1d(known, without_outliers(known))
    return outliers[(outliers < low) | (outliers > high)]


def off_scale(numbers: np.ndarray) -> np.ndarray:
    """Return (n,) bool, which of some numbers (NaN where there is none) are codes for no answer or may be."""
    good = numbers[~np.isnan(numbers)]
    if not len(good):
        return np.zeros(len(numbers), dtype=bool)
    codes = np.setdiff1d(good, without_codes(good))
    return np.isin(numbers, np.concatenate([codes, find_outliers(good)]))


def without_codes(scores: np.ndarray) -> np.ndarray:
    """Remove the numbers that stand for no answer: usual codes, far from all other scores.

    Args:
        scores: (n,) finite numbers.
    """
    values = np.unique(scores)
    for code in values[np.isin(values, MISSING_CODES)][::-1]:
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


def without_outliers(scores: np.ndarray) -> np.ndarray:
    """Remove codes and numbers that may be codes: farther from all other scores than these are from each other.

    Up to three distinct numbers on a side may be codes if each is a usual one or occurs more than once; a single one may be a typing
    error as well. Whether they are is for the texts, or the owner, to decide.

    Args:
        scores: (n,) finite numbers.
    """
    scores = without_codes(scores)
    values = np.unique(scores)
    sizes = range(1, min(_MOST_OUTLIERS, len(values) - 1) + 1)
    for outliers in (part for size in sizes for part in (values[-size:], values[:size])):
        rest = np.setdiff1d(scores, outliers)
        usual = is_usual_code(outliers)
        if len(rest) < 2 or (not usual and np.isin(scores, outliers).sum() > _MOST_OUTLIER_ROWS * len(scores)):
            continue
        low, high = float(rest.min()), float(rest.max())
        gap = outliers.min() - high if outliers[0] > high else low - outliers.max()
        repeated = len(outliers) == 1 or all((scores == one).sum() > 1 for one in outliers)
        negative = usual and len(rest) > 3 and outliers.max() < 0 <= low
        if negative or ((usual or (len(rest) >= _VARIED and repeated)) and gap > high - low > 0):
            return without_outliers(scores[~np.isin(scores, outliers)])
    return scores


def is_usual_code(numbers: np.ndarray) -> bool:
    """Return True if all numbers are usual codes for no answer."""
    return bool(np.isin(numbers, MISSING_CODES).all())


def _fit_scale(scores: np.ndarray) -> tuple[float, float]:
    for low, high in _KNOWN_SCALES:
        slack = SCALE_TOLERANCE * (high - low)
        inside = scores[(scores >= low - slack) & (scores <= high + slack)].clip(low, high)
        if len(inside) >= _INSIDE * len(scores):
            return _narrow_scale(inside, low, high)
    return float(scores.min()), float(scores.max())


def _narrow_scale(inside: np.ndarray, low: float, high: float) -> tuple[float, float]:
    top, bottom = float(inside.max()), float(inside.min())
    whole = bool((inside % 1 == 0).all())
    at_top = int((inside == top).sum())
    is_end = top % 1 == 0 and at_top >= max(_FREQUENT_ROWS, _FREQUENT * len(inside))
    if high in (5.0, 10.0) and 2 <= top < high and (whole or (high > 5 and is_end)):
        high = top  # 0–2, 0–3, 0–4, 1–6, 1–7
    if high in (5.0, 10.0, top) and low == 0.0 and bottom == 1.0 and high > 1:
        low = 1.0
    elif whole and low == 0.0 and bottom > 1 and 3 <= high <= 7:
        # Marks of 2 to 5 have no 1; if 2 is rare, a file of this size could merely lack 1.
        low = bottom if bottom == 2 and (inside == bottom).sum() >= max(20, _FREQUENT * len(inside)) else 1.0
    return low, high
