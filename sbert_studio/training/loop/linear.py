"""Linear layers by the library that multiplies fastest on this processor, in float32 as before.

PyTorch leaves float32 products to Intel's MKL, which on an AMD processor takes its narrower AVX2 kernels. oneDNN, which PyTorch brings
along too, takes those of AVX-512, and was seen to need less than half the time for the same products on a Zen 5.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

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
