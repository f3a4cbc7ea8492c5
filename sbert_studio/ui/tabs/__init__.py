"""Tabs: a module each, or a folder with ``view.py``, with TITLE, ORDER and build(studio, page).

The docstring of a tab's module or folder describes it in the README, by its second paragraph if it has one.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def load_tabs() -> list[ModuleType]:
    """Import the modules of all tabs and return them in the order of the page."""
    names = [f"{item.name}.view" if item.ispkg else item.name for item in pkgutil.iter_modules(__path__)]
    return sorted((importlib.import_module(f"{__name__}.{name}") for name in names), key=lambda module: module.ORDER)
