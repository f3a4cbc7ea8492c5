"""Scores as a person reads them: with how far chance may have moved them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def scores_in_words(scores: Mapping[str, Any]) -> str:
    """The main score with its 95% interval, or a mean of several trainings with its standard deviation."""
    if "sd" in scores:
        return f"{scores['score']:.4f} ± {scores['sd']:.4f}"
    return f"{scores['score']:.4f}{interval_in_words(scores)}"


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
