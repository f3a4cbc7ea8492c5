"""Python API for notebooks and scripts: ``from sbert_studio import Studio``.

Each method calls the service that the page and the command line use, and returns a :class:`.results.NotebookResult`, which is a table in a
notebook.
"""

from .studio import Studio

__all__ = ["Studio"]
