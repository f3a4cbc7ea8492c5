"""The literature's sets as they are handed out: which files make a set, and how each is read.

Every module of this folder is imported, so that adding a distribution is adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil

from .base import DISTRIBUTIONS, SPLITS, Distribution, Folder, Part, Split, known_distributions

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["DISTRIBUTIONS", "SPLITS", "Distribution", "Folder", "Part", "Split", "known_distributions"]
