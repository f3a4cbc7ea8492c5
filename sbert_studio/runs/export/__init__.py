"""Export formats of a run: one file each."""

from . import bundle, model
from .base import EXPORTS, Export, write_zip

__all__ = ["EXPORTS", "Export", "bundle", "model", "write_zip"]
