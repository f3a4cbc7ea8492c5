"""Vectors and targets become a loss. An objective never holds an encoder.

Every module of this folder and of those in it is imported, so that adding an objective is adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil

from .base import OBJECTIVES, Objective, objectives_for
from .build import ARCHITECTURES, build_objective, objectives_of
from .cached import cached_backward
from .matryoshka import Matryoshka
from .scorers.pair_scores import PAIR_OBJECTIVES, build_pair_objective
from .scorers.poly_scores import POLY_OBJECTIVES, build_poly_objective

for _module in sorted(module.name for module in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)


def title_of(name: str) -> str:
    """What people call the objective; its name where it is none of this version's."""
    return next((known[name].title for known in ARCHITECTURES.values() if name in known), name)


__all__ = [
    "ARCHITECTURES",
    "OBJECTIVES",
    "PAIR_OBJECTIVES",
    "POLY_OBJECTIVES",
    "Matryoshka",
    "Objective",
    "build_objective",
    "build_pair_objective",
    "build_poly_objective",
    "cached_backward",
    "objectives_for",
    "objectives_of",
    "title_of",
]
