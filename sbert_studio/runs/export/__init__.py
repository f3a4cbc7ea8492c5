"""Export formats of a run. A format is one file here, imported below."""

from . import bundle, model
from .base import EXPORTS, Export, write_zip

__all__ = ["EXPORTS", "Export", "bundle", "model", "write_zip"]
