"""Scores as a person reads them: with how far chance may have moved them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def scores_in_words(scores: Mapping[str, Any]) -> str:
    """The main score with its 95% interval, or a mean of several trainings with its standard deviation."""
    if "sd" in scores:
        return f"{scores['score']:.4f} ± {scores['sd']:.4f}"
    return f"{scores['score']:.4f}{interval_in_words(scores)}"


def found_in_words(scores: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    """What the accuracy on texts with a category means: ``of 100 new texts, 85 → 91 land in the right category``.

    Args:
        scores: a report of ``categories`` with its ``score``, as a run keeps it; of any other task there is nothing to say.
        before: the same of the untuned model.
    """
    after = scores.get("score")
    if scores.get("task") != "categories" or after is None:
        return ""
    known = None if not before else before.get("score")

    def right(score: float) -> int:
        return int(of * score + 0.5)

    of = 100
    if known is not None and known != after and right(known) == right(after):
        of = 1_000  # a hundred would hide that the two differ
    counts = f"{right(after):,}" if known is None else f"{right(known):,} → {right(after):,}"
    return f"of {of:,} new texts, {counts} land in the right category"


def confused_in_words(scores: Mapping[str, Any]) -> list[str]:
    """The categories most often taken for each other, a line each with one of the texts; empty where no categories were judged."""
    lines = []
    for pair in scores.get("confused") or ():
        one, two = pair["categories"]
        times = "once" if pair["count"] == 1 else f"{pair['count']:,} times"
        shown = pair["texts"][0]
        lines.append(f"“{one}” and “{two}” are taken for each other {times}, such as “{shown['text']}” ({shown['category']})")
    return lines


def interval_in_words(scores: Mapping[str, Any]) -> str:
    """`` [0.8123, 0.8567]``; nothing where the scores, of an earlier version, hold no interval."""
    low, high = scores.get("interval") or (None, None)
    return "" if low is None or high is None else f" [{low:.4f}, {high:.4f}]"


def gain_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """By how much the tuned model is better, with its interval, and whether that may be chance; nothing where none was measured."""
    low, high = after.get("gain_interval") or (None, None)
    if low is None or high is None or not before:
        return ""
    found = f"gain {after['score'] - before['score']:+.4f} [{low:+.4f}, {high:+.4f}]"
    return f"{found}: the gain is within the noise" if low <= 0 <= high else found
