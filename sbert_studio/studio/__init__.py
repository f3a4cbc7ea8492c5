"""The verbs that the page, the command line and the API share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tuning.plans import TrainPlan, TrainRequest
from .tuning.questions import Unanswered

if TYPE_CHECKING:
    from .facade import Studio

__all__ = ["Studio", "TrainPlan", "TrainRequest", "Unanswered"]


def __getattr__(name: str) -> Any:
    """``Studio``, loaded when it is asked for: the command line shows its help without NumPy."""
    if name == "Studio":
        from .facade import Studio

        return Studio
    raise AttributeError(name)
