"""The formats of files that are read; each file adds one."""

from __future__ import annotations

import importlib
import pkgutil

from .base import FORMATS, Choices, FileFormat, Start

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["FORMATS", "Choices", "FileFormat", "Start"]
