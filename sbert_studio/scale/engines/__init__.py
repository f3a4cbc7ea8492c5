"""Who carries out the shards of a job: each file adds one engine."""

import importlib
import pkgutil

from .base import ENGINES as ENGINES
from .base import Engine as Engine
from .base import How as How

for _one in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_one.name}")
