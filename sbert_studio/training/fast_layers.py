"""Faster linear layers, dropout and embedding gradients for training on a CPU."""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..models.quantized import QuantizedEmbedding

_CPUINFO = Path("/proc/cpuinfo")


class OneDNNLinear(nn.Linear):
    """Linear layer that uses oneDNN for float32 products on a CPU, forward and backward.

    A layer is converted by changing its class only, so that weights, names and hooks stay.
    """

    def forward(self, input: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        if not _is_supported(input, self.weight):
            return super().forward(input)
        rows = input.reshape(-1, input.shape[-1])
        found: Tensor = _Linear.apply(rows, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return found.view(*input.shape[:-1], -1)


def use_onednn_linear(network: nn.Module) -> None:
    """Convert the plain linear layers of ``network`` where oneDNN is faster on this machine."""
    if not onednn_is_faster():
        return
    for module in network.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDNNLinear


def restore_linear(network: nn.Module) -> None:
    """Convert the layers of ``network`` back to plain linear layers."""
    for module in network.modules():
        if type(module) is OneDNNLinear:
            module.__class__ = nn.Linear  # type: ignore[assignment]


@functools.cache
def onednn_is_faster() -> bool:
    """Return True if oneDNN is faster than MKL here; decided by the processor model, not by timing.

    So that resumed runs compute the same.
    """
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return both and torch.cpu._is_avx512_supported() and hasattr(torch.ops.mkldnn, "_linear_pointwise") and not _is_intel()


def _is_intel() -> bool:
    try:
        return "GenuineIntel" in _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "GenuineIntel" in platform.processor()


def _is_supported(input: Tensor, weight: Tensor) -> bool:
    return (
        input.device.type == "cpu"
        and input.dtype == weight.dtype == torch.float32
        and input.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return found


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows if weight.requires_grad else None, weight)
        return _product(rows, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (rows, weight), gradient = ctx.saved_tensors, gradients[0].contiguous()
        wanted = ctx.needs_input_grad
        return (
            _product(gradient, weight.t()) if wanted[0] else None,
            _product(gradient.t(), rows.t()) if wanted[1] else None,
            gradient.sum(0) if wanted[2] else None,
        )


_STEPS = 1 << 16


class FastDropout(nn.Dropout):
    """Dropout with a mask from 16 random bits per element, instead of slow Bernoulli draws on a CPU (about 14 ns each).

    The bits derive from one number of torch's generator, so that torch's random state determines the mask.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Set a share ``p`` of the elements to 0 and scale the others by 1 / (1 − p)."""
        if not self.training or self.p == 0 or input.device.type != "cpu":
            return super().forward(input)
        seed = int(torch.randint(2**62, ()))
        words = -(-input.numel() // 4)
        bits = np.random.SFC64(seed).random_raw(words).view(np.uint16)[: input.numel()]
        keep = torch.from_numpy(bits >= round(self.p * _STEPS)).view(input.shape).to(input.dtype)
        return input * keep.mul_(1 / (1 - self.p))


def speed_up_backbone(backbone: nn.Module) -> None:
    """Use fast dropout and linear layers in ``backbone``, and sparse gradients for its embeddings."""
    use_onednn_linear(backbone)
    for module in list(backbone.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                module.add_module(name, FastDropout(child.p).train(child.training))
        if isinstance(module, nn.Embedding | QuantizedEmbedding):
            module.sparse = True


class RowGradient:
    """Gradient of an embedding in a persistent buffer: only the rows of a batch are written, and cleared afterwards.

    A dense gradient of 30,522 words would be allocated, zeroed and summed at each step.
    """

    def __init__(self, parameter: nn.Parameter) -> None:
        self._buffer = torch.zeros_like(parameter)
        self._rows = torch.empty(0, dtype=torch.int64)

    def fill(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Write the sparse ``gradient`` into the buffer; return it and its values."""
        whole = gradient.coalesce()
        self._rows = whole.indices()[0]
        self._buffer.index_copy_(0, self._rows, whole.values())
        return self._buffer, whole.values()

    def clear(self) -> None:
        """Clear the written rows."""
        self._buffer.index_fill_(0, self._rows, 0.0)
