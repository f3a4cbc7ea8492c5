"""Search: find texts by meaning, by words or by both; and near-duplicates of a corpus."""

from .handlers import TITLE
from .view import ORDER, build

__all__ = ["ORDER", "TITLE", "build"]
