"""Application services shared by the page, the command line and the API."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .questions import OpenQuestionsError
    from .studio import Studio
    from .training_plan import TrainPlan, TrainRequest

_MODULES = {"OpenQuestionsError": "questions", "Studio": "studio", "TrainPlan": "training_plan", "TrainRequest": "training_plan"}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that the command line can print its help without NumPy and pydantic.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = ["OpenQuestionsError", "Studio", "TrainPlan", "TrainRequest"]
