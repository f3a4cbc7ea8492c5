"""A name and plain settings → an objective, as a training spec has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..registry import parse_params
from .base import OBJECTIVES, Objective
from .matryoshka import Matryoshka


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
