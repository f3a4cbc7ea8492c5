"""The verbs that the page, the command line and the API share."""

from .facade import Studio

__all__ = ["Studio"]
