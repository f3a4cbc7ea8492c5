"""Page objects: what a visitor can do and see, by name, so that the flows read like the visitor's steps."""

from .app import TABS, App

__all__ = ["TABS", "App"]
