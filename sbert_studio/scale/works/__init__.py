"""What is done to a shard: each file adds one work."""

import importlib
import pkgutil

from .base import WORKS as WORKS
from .base import Work as Work

for _one in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_one.name}")
