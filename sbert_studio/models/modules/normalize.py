"""Normalisation modules: unit length, and layer normalisation (Ba et al. 2016, arXiv:1607.06450)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.nn import functional

from ...workspace import write_json
from ..io.backbone import read_json
from .base import LENGTH, MODULES, Module, load_weights, read_weights, require_shape, write_weights

if TYPE_CHECKING:
    from typing import Self


@MODULES.register("LayerNorm")
class LayerNorm(Module):
    """(b, d) → (b, d).

    Args:
        dimension: d.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dimension)

    def forward(self, vectors: Tensor) -> Tensor:
        """Normalise ``vectors``."""
        return self.norm(vectors)  # type: ignore[no-any-return]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From ``config.json`` and ``model.safetensors``."""
        dimension = int(read_json(folder / "config.json", dict)["dimension"])
        weights = read_weights(folder)
        require_shape(weights, "norm.weight", (dimension,), folder)
        found = cls(dimension)
        load_weights(found, weights, folder)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        """``config.json`` and ``model.safetensors``."""
        write_json(folder / "config.json", {"dimension": self.norm.normalized_shape[0]})
        write_weights(self, folder)

    @property
    def takes(self) -> int | None:
        """As many as there are weights."""
        return int(self.norm.normalized_shape[0])


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
