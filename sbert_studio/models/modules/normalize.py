"""Normalization modules: unit length, and layer normalization (Ba et al. 2016, arXiv:1607.06450)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional

from ...workspace import write_json
from ..io.backbone import read_json
from .base import MODULES, NORMALIZATION, Module, load_weights, read_weights, require_shape, write_weights

if TYPE_CHECKING:
    from typing import Self


@MODULES.register("LayerNorm")
class LayerNorm(Module):
    """Layer normalization of vectors, (b, d) → (b, d).

    Args:
        dimension: d.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dimension)

    def forward(self, vectors: Tensor) -> Tensor:
        return self.norm(vectors)  # type: ignore[no-any-return]

    @classmethod
    def read(cls, folder: Path) -> Self:
        dimension = int(read_json(folder / "config.json", dict)["dimension"])
        weights = read_weights(folder)
        require_shape(weights, "norm.weight", (dimension,), folder)
        found = cls(dimension)
        load_weights(found, weights, folder)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        write_json(folder / "config.json", {"dimension": self.norm.normalized_shape[0]})
        write_weights(self, folder)

    @property
    def input_width(self) -> int | None:
        return int(self.norm.normalized_shape[0])


@MODULES.register("Normalize")
class Normalize(Module):
    """Scale vectors to unit length, (b, d) → (b, d); zero vectors stay zero."""

    stage = NORMALIZATION

    @classmethod
    def read(cls, folder: Path) -> Self:
        return cls()

    def write(self, folder: Path, inputs: int) -> None:
        """Write an empty ``config.json``, since readers expect the folder."""
        write_json(folder / "config.json", {})

    def forward(self, vectors: Tensor) -> Tensor:
        return functional.normalize(vectors, dim=-1)
