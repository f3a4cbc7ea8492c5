"""How much of a tuning a model has, and what that costs: the marks of the strength dial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dial(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the dial shows: the marks that were judged and where it stands; ``None`` where there is nothing between two models.

    Args:
        before, after: a run's scores; of several trainings, those of the one whose model was kept.
    """
    kept = after.get("kept") or after
    marks = kept.get("strengths") or after.get("strengths")
    if not marks:
        return None
    shown = [{"strength": mark["strength"], "score": mark["score"], "general": mark.get("general")} for mark in marks]
    return {"marks": shown, "strength": kept.get("strength", after.get("strength", 1.0))}
