"""Similarity: two texts, several texts, or a file of pairs."""

from .view import ORDER, TITLE, build

__all__ = ["ORDER", "TITLE", "build"]
