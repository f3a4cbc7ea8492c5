"""A name and plain settings → an objective, as a training spec has them; and which architecture learns by which.

Vectors and targets become a loss. An objective never holds an encoder.

Every module of this folder and of those in it is imported, so that adding an objective is adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

from ..registry import Registry, parse_params
from .base import OBJECTIVES, Objective, objectives_for
from .cached import cached_backward
from .cross_encoder import PAIR_OBJECTIVES, build_pair_objective
from .matryoshka import Matryoshka
from .poly_encoder import POLY_OBJECTIVES, build_poly_objective

ARCHITECTURES: Mapping[str, Registry[Objective]] = {"siamese": OBJECTIVES, "cross": PAIR_OBJECTIVES, "poly": POLY_OBJECTIVES}
"""An architecture's name → the objectives that it learns by: those of vectors, of whole pairs, of a query's vectors and a candidate's."""


def objectives_of(architecture: str) -> Registry[Objective]:
    """The objectives that an architecture learns by."""
    return ARCHITECTURES[architecture]


def build_objective(name: str, values: Mapping[str, Any], *, dim: int, labels: int = 0, matryoshka_dims: Sequence[int] = ()) -> Objective:
    """The registered objective ``name`` with ``values`` for its ``Params``, wrapped in ``Matryoshka`` where widths are given.

    Raises:
        StudioError: an unknown name or setting, a value out of bounds, fewer than two labels for ``softmax``, a width beyond ``dim``.
    """
    chosen = OBJECTIVES[name]
    params = parse_params(chosen.Params, values)
    if not matryoshka_dims:
        return chosen(params, dim, labels)
    return Matryoshka(lambda width: chosen(params, width, labels), dim, matryoshka_dims)


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
