"""Command line: thin wrappers around the services."""

from .main import main

__all__ = ["main"]
