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


class QuickLinear(nn.Linear):
    """A linear layer whose products, forward and backward, are oneDNN's where they are float32 on a CPU; else it is a plain one.

    A layer becomes one by its class alone, and a plain one again: weights, names and hooks stay.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``input`` (…, in) → (…, out)."""
        if not _takes(input, self.weight):
            return super().forward(input)
        rows = input.reshape(-1, input.shape[-1])
        found: Tensor = _Linear.apply(rows, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return found.view(*input.shape[:-1], -1)


def quicken_linear(network: nn.Module) -> None:
    """Make each plain linear layer of ``network`` a quick one, where that is quicker on this machine."""
    if not quicker():
        return
    for module in network.modules():
        if type(module) is nn.Linear:
            module.__class__ = QuickLinear


def plain_linear(network: nn.Module) -> None:
    """Make each quick linear layer of ``network`` a plain one again."""
    for module in network.modules():
        if type(module) is QuickLinear:
            module.__class__ = nn.Linear  # type: ignore[assignment]


@functools.cache
def quicker() -> bool:
    """Whether oneDNN multiplies faster here than MKL: by what the processor is, not by the clock, so that resumed runs compute the same."""
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return both and torch.cpu._is_avx512_supported() and hasattr(torch.ops.mkldnn, "_linear_pointwise") and not _intel()


def _intel() -> bool:
    try:
        return "GenuineIntel" in _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "GenuineIntel" in platform.processor()


def _takes(input: Tensor, weight: Tensor) -> bool:
    return (
        input.device.type == "cpu"
        and input.dtype == weight.dtype == torch.float32
        and input.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """left · rightᵀ + bias, (m, k), (n, k), (n,) → (m, n)."""
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


class QuickDropout(nn.Dropout):
    """Dropout whose mask, on a CPU, comes from 16 random bits an element instead of a slow Bernoulli draw (about 14 ns each).

    The bits follow from one number of torch's generator, so that setting torch's random state sets the mask.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``input`` with a part ``p`` of its elements at 0 and the others divided by 1 − p."""
        if not self.training or self.p == 0 or input.device.type != "cpu":
            return super().forward(input)
        seed = int(torch.randint(2**62, ()))
        words = -(-input.numel() // 4)
        bits = np.random.SFC64(seed).random_raw(words).view(np.uint16)[: input.numel()]
        keep = torch.from_numpy(bits >= round(self.p * _STEPS)).view(input.shape).to(input.dtype)
        return input * keep.mul_(1 / (1 - self.p))


def quicken(backbone: nn.Module) -> None:
    """Make dropout and linear layers of ``backbone`` quick, and let its embeddings tell only of the rows that a batch has touched."""
    quicken_linear(backbone)
    for module in list(backbone.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                module.add_module(name, QuickDropout(child.p).train(child.training))
        if isinstance(module, nn.Embedding | QuantizedEmbedding):
            module.sparse = True


class RowGradient:
    """The gradient of an embedding in a buffer that stays: only the rows of a batch are written, and wiped afterwards.

    A dense gradient of 30,522 words would be allocated, filled with zeros and summed up anew at each step.
    """

    def __init__(self, parameter: nn.Parameter) -> None:
        self._buffer = torch.zeros_like(parameter)
        self._rows = torch.empty(0, dtype=torch.int64)

    def fill(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The sparse ``gradient`` as a dense one, and its values alone."""
        whole = gradient.coalesce()
        self._rows = whole.indices()[0]
        self._buffer.index_copy_(0, self._rows, whole.values())
        return self._buffer, whole.values()

    def wipe(self) -> None:
        """Zeros again."""
        self._buffer.index_fill_(0, self._rows, 0.0)
