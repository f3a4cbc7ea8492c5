"""The command line: thin commands over the studio's verbs."""

from .main import main

__all__ = ["main"]
