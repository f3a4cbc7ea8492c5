"""Export formats of a run. All modules of this folder are imported, so a new format is a new file."""

import importlib
import pkgutil

from .base import EXPORTS, Export, write_zip

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["EXPORTS", "Export", "write_zip"]
