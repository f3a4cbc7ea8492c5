"""Vectors of unit length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn import functional

from ...workspace import write_json
from .base import LENGTH, MODULES, Module

if TYPE_CHECKING:
    from typing import Self


@MODULES.register("Normalize")
class Normalize(Module):
    """(b, d) → (b, d), each divided by its Euclidean length; a vector of zeros stays one."""

    stage = LENGTH

    @classmethod
    def read(cls, folder: Path) -> Self:
        """There is nothing to read."""
        return cls()

    def write(self, folder: Path, inputs: int) -> None:
        """An empty ``config.json``: readers look for the folder."""
        write_json(folder / "config.json", {})

    def forward(self, vectors: Tensor) -> Tensor:
        """Scale ``vectors``."""
        return functional.normalize(vectors, dim=-1)
