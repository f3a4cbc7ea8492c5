"""Models: all models and runs, what can be done with each, and training static embeddings."""

from .view import ORDER, TITLE, build

__all__ = ["ORDER", "TITLE", "build"]
