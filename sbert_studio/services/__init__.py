"""The verbs that the page, the command line and the API share.

Tables of words: made, kept, told of.

What there is to judge by, the judging, and what is remembered of it.

Asked for → planned → started → followed → settled: a training as the studio sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .questions import OpenQuestionsError
from .training_plan import TrainPlan, TrainRequest

if TYPE_CHECKING:
    from .studio import Studio


def __getattr__(name: str) -> Any:
    """``Studio``, loaded when it is asked for: the command line shows its help without NumPy."""
    if name == "Studio":
        from .studio import Studio

        return Studio
    raise AttributeError(name)


__all__ = ["Studio", "TrainPlan", "TrainRequest", "OpenQuestionsError"]
