"""Page objects: what a visitor can do and see, by name, so that the flows read like the visitor's steps."""

from .app import App

__all__ = ["App"]
