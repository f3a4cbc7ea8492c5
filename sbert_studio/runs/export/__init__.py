"""The ways to hand on a run; each file adds one."""

from __future__ import annotations

import importlib
import pkgutil

from .base import EXPORTS, Export, write_zip

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["EXPORTS", "Export", "write_zip"]
