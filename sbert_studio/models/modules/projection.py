"""Modules after pooling: dense layer, layer normalization (Ba et al. 2016, arXiv:1607.06450) and normalization to unit length."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...errors import StudioError
from ...i18n import _
from ...workspace import write_json
from ..io.backbone import read_json
from .base import MODULES, NORMALIZATION, Module, load_weights, read_weights, require_shape, write_weights

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
    # Elementwise activations of torch without weights.
    **{
        kind.__name__.lower(): kind
        for kind in (
            nn.SiLU, nn.Mish, nn.ELU, nn.SELU, nn.CELU, nn.LeakyReLU, nn.ReLU6, nn.Softplus, nn.Softsign, nn.Softshrink, nn.Hardshrink,
            nn.Hardsigmoid, nn.Hardswish, nn.Hardtanh, nn.LogSigmoid, nn.Tanhshrink,
        )
    },
}  # fmt: skip
# A file can only select one of these; no other class is ever imported.
_ACTIVATION_PATHS = {
    name: f"torch.nn.modules.{'linear' if kind is nn.Identity else 'activation'}.{kind.__name__}" for name, kind in ACTIVATIONS.items()
}


@MODULES.register("Dense")
class Dense(Module):
    """Linear layer with an activation: (b, inputs) → (b, outputs).

    Weights are initialized like those of ``nn.Linear``, but from a separate generator, so that creating a model in one thread does not
    change the random state of training in another.

    Args:
        inputs, outputs: widths.
        activation: a key of :data:`ACTIVATIONS`.
        bias: whether the layer has a bias.
        seed: seed of the initial weights.
        residual: add the inputs, linearly mapped if the widths differ (He et al. 2016, arXiv:1512.03385).
    """

    def __init__(
        self, inputs: int, outputs: int, activation: str = "gelu", *, bias: bool = True, seed: int = 12, residual: bool = False
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise StudioError(
                _("there is no activation {activation}", activation=repr(activation)),
                _("choose one of {activations}", activations=", ".join(ACTIVATIONS)),
            )
        self.activation_name = activation
        self.outputs = outputs
        self.linear: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)  # type: ignore[no-untyped-call]
        self.activation = ACTIVATIONS[activation]()
        generator = torch.Generator().manual_seed(seed)
        bound = 1 / math.sqrt(inputs)
        self.use_residual = residual
        if residual and inputs != outputs:
            self.residual: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=False)  # type: ignore[no-untyped-call]
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(self, vectors: Tensor) -> Tensor:
        found: Tensor = self.activation(self.linear(vectors))
        if not self.use_residual:
            return found
        return found + (self.residual(vectors) if hasattr(self, "residual") else vectors)

    def extra_repr(self) -> str:
        return "residual" if self.use_residual else ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        config = read_json(folder / "config.json", dict)
        activation = {path: ours for ours, path in _ACTIVATION_PATHS.items()}.get(str(config.get("activation_function")))
        names = {config.get(key, "sentence_embedding") for key in ("module_input_name", "module_output_name")}
        if activation is None:
            asked = str(config.get("activation_function"))[:80]
            raise StudioError(
                _("the projection {name} has the activation {asked}, which is not supported", name=folder.name, asked=repr(asked)),
                _("supported, from torch: {activations}", activations=", ".join(ACTIVATIONS)),
            )
        if None in names:
            names = {"sentence_embedding"} if names <= {None, "sentence_embedding"} else names
        if names != {"sentence_embedding"}:
            raise StudioError(
                _("the projection {name} is applied to something other than a text's vector", name=folder.name), "choose another model"
            )
        inputs, outputs = int(config["in_features"]), int(config["out_features"])
        weights = read_weights(folder)
        require_shape(weights, "linear.weight", (outputs, inputs), folder)
        dense = cls(inputs, outputs, activation, bias=bool(config.get("bias", True)), residual=bool(config.get("use_residual")))
        load_weights(dense, weights, folder)
        return dense

    def write(self, folder: Path, inputs: int) -> None:
        config = {
            "in_features": self.linear.in_features,
            "out_features": self.linear.out_features,
            "bias": self.linear.bias is not None,
            "activation_function": _ACTIVATION_PATHS[self.activation_name],
            **({"use_residual": True} if self.use_residual else {}),
        }
        write_json(folder / "config.json", config)
        write_weights(self, folder)

    @property
    def input_width(self) -> int | None:
        return int(self.linear.in_features)

    def output_width(self, inputs: int) -> int:
        return self.outputs


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
        """Write an empty ``config.json``, because readers expect the folder."""
        write_json(folder / "config.json", {})

    def forward(self, vectors: Tensor) -> Tensor:
        return functional.normalize(vectors, dim=-1)
