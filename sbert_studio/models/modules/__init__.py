"""Modules of a sentence encoder, as listed in sentence-transformers' ``modules.json``.

All files of this folder are imported, so a new module is a new file.
"""

from __future__ import annotations

import importlib
import pkgutil

from .base import MODULES, Module

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["MODULES", "Module"]
