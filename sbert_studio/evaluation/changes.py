"""Rounding of scores, of their differences and of speeds, shared by the page, the command line and model cards.

Scores have three decimals. A fourth is added only where three would hide that two scores differ, or on which side of zero an end of
the interval of their difference lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCORE_DIGITS = 3
_MAX_DIGITS = 4
BETTER, WORSE, NO_DIFFERENCE = "better", "worse", "no difference beyond chance"


@dataclass(frozen=True)
class ScoreChange:
    """Two scores and their difference as texts with the same number of decimals.

    Attributes:
        interval: 95 % interval of the difference, (low, high); empty if it was not measured.
        verdict: ``better``, ``worse``, ``no difference beyond chance``, or empty without an interval.
    """

    before: str
    after: str
    gain: str
    interval: tuple[str, ...] = ()
    verdict: str = ""


def describe_change(before: float, after: float, interval: Sequence[float | None] | None = None) -> ScoreChange:
    """Format two scores, their difference and its 95 % interval with the same number of decimals."""
    bounds = [bound for bound in interval or () if bound is not None]
    digits = decimals(before, after, bounds)
    ends = tuple(format_difference(bound, digits) for bound in bounds) if len(bounds) == 2 else ()
    gain = format_difference(round(after, digits) - round(before, digits), digits)
    return ScoreChange(format_score(before, digits), format_score(after, digits), gain, ends, interval_verdict(bounds))


def decimals(before: float, after: float, bounds: Sequence[float] = ()) -> int:
    """Return the number of decimals needed to show that two scores differ, and the signs of the ends of an interval."""
    if before == after:
        return SCORE_DIGITS
    is_telling = round(before, SCORE_DIGITS) != round(after, SCORE_DIGITS) and all(round(bound, SCORE_DIGITS) for bound in bounds)
    return SCORE_DIGITS if is_telling else _MAX_DIGITS


def interval_verdict(bounds: Sequence[float]) -> str:
    """Return the verdict on a gain from its 95 % interval; empty without an interval."""
    if len(bounds) != 2:
        return ""
    low, high = bounds
    return BETTER if low > 0 else WORSE if high < 0 else NO_DIFFERENCE


def format_score(value: float, digits: int = SCORE_DIGITS) -> str:
    """Format a score, such as ``0.848``."""
    return f"{value:.{digits}f}"


def format_difference(value: float, digits: int = SCORE_DIGITS) -> str:
    """Format a difference of scores with its sign, such as ``+0.014``, ``-0.014`` or ``±0.000``."""
    words = f"{value:+.{digits}f}"
    return words if float(words) else f"±{0:.{digits}f}"


def format_speed(rate: float, spread: Sequence[float] | None) -> str:
    """Format sentences per second with the lowest and highest measurement, such as ``1,204 (1,150–1,260)``; empty if it is 0."""
    if not rate:
        return ""
    return f"{rate:,.0f}" if spread is None else f"{rate:,.0f} ({spread[0]:,.0f}–{spread[1]:,.0f})"


def is_faster(spread: Sequence[float] | None, other: Sequence[float] | None) -> bool | None:
    """Return whether a model is faster than another one beyond the spread of both speeds.

    Args:
        spread, other: lowest and highest measurement; ``None`` if a speed was measured only once, so that the answer is unknown.
    """
    return None if spread is None or other is None else spread[0] > other[1]


def change_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> ScoreChange | None:
    """Return the change of a run's main score; ``None`` unless both models were scored on held-out rows.

    It has no verdict for a strength that was chosen manually after seeing these scores.
    """
    if before.get("score") is None or after.get("score") is None:
        return None
    interval = None if "chosen" in after else after.get("gain_interval")
    return describe_change(float(before["score"]), float(after["score"]), interval)
