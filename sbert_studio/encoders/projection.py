"""The layer between the pooled vector and the output: Linear, then an activation."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..errors import StudioError

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "identity": nn.Identity,
    "relu": nn.ReLU,
    "sigmoid": nn.Sigmoid,
}


class Dense(nn.Module):
    """Linear, then an activation: (b, inputs) → (b, outputs).

    The weights are drawn as ``nn.Linear`` draws its own, but from a generator of their own: a model made in one thread
    must not move the random state of a training in another.

    Args:
        inputs, outputs: widths.
        activation: a name of :data:`ACTIVATIONS`.
        bias: whether the linear layer has one.
        seed: of the first weights.

    Raises:
        StudioError: the activation is unknown.
    """

    def __init__(self, inputs: int, outputs: int, activation: str = "gelu", *, bias: bool = True, seed: int = 12) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise StudioError(f"there is no activation {activation!r}", f"choose one of {', '.join(ACTIVATIONS)}")
        self.activation_name = activation
        self.outputs = outputs
        self.linear: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)  # type: ignore[no-untyped-call]
        self.activation = ACTIVATIONS[activation]()
        generator = torch.Generator().manual_seed(seed)
        bound = 1 / math.sqrt(inputs)
        for parameter in self.linear.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(self, vectors: Tensor) -> Tensor:
        """Project ``vectors``."""
        return self.activation(self.linear(vectors))  # type: ignore[no-any-return]
