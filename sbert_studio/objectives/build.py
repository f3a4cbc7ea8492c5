"""A name and plain settings → an objective, as a training spec has them; and which architecture learns by which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..registry import Registry, parse_params
from .base import OBJECTIVES, Objective
from .matryoshka import Matryoshka
from .scorers.pair_scores import PAIR_OBJECTIVES
from .scorers.poly_scores import POLY_OBJECTIVES

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
