"""Command line: thin commands over the services."""

from .main import main

__all__ = ["main"]
