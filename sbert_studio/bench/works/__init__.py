"""What is measured; each file adds one work."""

from __future__ import annotations

import importlib
import pkgutil

from ..base import BENCHMARKS

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["BENCHMARKS"]
