"""Fine-tune: a file of examples, settings that fit it, and the run as it trains."""

from .view import ORDER, TITLE, build

__all__ = ["ORDER", "TITLE", "build"]
