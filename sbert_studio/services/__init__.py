"""Application services shared by the page, the command line and the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .questions import OpenQuestionsError
from .training_plan import TrainPlan, TrainRequest

if TYPE_CHECKING:
    from .studio import Studio


def __getattr__(name: str) -> Any:
    # Import Studio lazily, so that the command line can print its help without NumPy.
    if name == "Studio":
        from .studio import Studio

        return Studio
    raise AttributeError(name)


__all__ = ["OpenQuestionsError", "Studio", "TrainPlan", "TrainRequest"]
