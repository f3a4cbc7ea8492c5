"""Vectors and targets become a loss. An objective never holds an encoder.

Every module of this folder is imported, so that adding an objective is adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil

from .base import OBJECTIVES, Objective, objectives_for
from .build import build_objective
from .cached import cached_backward
from .matryoshka import Matryoshka
from .pair_scores import PAIR_OBJECTIVES, build_pair_objective, objectives_of

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = [
    "OBJECTIVES",
    "PAIR_OBJECTIVES",
    "Matryoshka",
    "Objective",
    "build_objective",
    "build_pair_objective",
    "cached_backward",
    "objectives_for",
    "objectives_of",
]
