"""How much of a tuning a model has, and what that costs: the words and the marks of the strength dial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cost_in_words(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What a tuning gains on the owner's rows and costs elsewhere, in points of a hundred: ``yours +6.1, general −0.4``.

    Only what was measured of both models is told; nothing where nothing was.
    """
    pairs = [("yours", before.get("score"), after.get("score"))]
    pairs += [("general", (before.get("general") or {}).get("score"), (after.get("general") or {}).get("score"))]
    known = [(name, 100 * (now - then)) for name, then, now in pairs if then is not None and now is not None]
    return ", ".join(f"{name} {change:+.1f}".replace("-", "−") for name, change in known)


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
