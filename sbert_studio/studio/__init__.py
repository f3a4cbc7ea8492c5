"""The verbs that the page, the command line and the API share."""

from .facade import Studio
from .plans import TrainPlan, TrainRequest
from .questions import Unanswered

__all__ = ["Studio", "TrainPlan", "TrainRequest", "Unanswered"]
