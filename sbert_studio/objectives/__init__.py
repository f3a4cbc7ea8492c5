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


def title_of(name: str) -> str:
    """What people call the objective; its name where it is none of this version's."""
    return next((known[name].title for known in (OBJECTIVES, PAIR_OBJECTIVES) if name in known), name)


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
    "title_of",
]
