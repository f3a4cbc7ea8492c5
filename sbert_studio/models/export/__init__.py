"""Verified exports of sentence encoders for other runtimes. All modules of this folder are imported, so a new format is a new file."""

import importlib
import pkgutil

from .base import FORMATS, ExportedModel, ExportFormat, export_encoder

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["FORMATS", "ExportFormat", "ExportedModel", "export_encoder"]
