"""Evaluate: models compared on the same rows, the leaderboard, and the differences between two models."""

from .view import ORDER, TITLE, build

__all__ = ["ORDER", "TITLE", "build"]
