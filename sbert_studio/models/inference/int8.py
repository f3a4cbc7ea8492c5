"""BERT layers in int8: weights with a scale per channel, activations with static ranges observed on a few texts.

Each input component is divided by a factor of its own before quantization, and the weights are multiplied by it, so that a few large
components do not dominate the common scale (SmoothQuant, Xiao et al. 2023, equation 4, α = ½). As the ranges are static, a text's
vector does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_MAX_ACTIVATION, _MAX_WEIGHT = 255, 127  # of unsigned activations and signed weights
_PACKED_ROWS = 1_024  # typical tokens per batch, for which oneDNN lays out the weights


class ActivationRange:
    """Running minimum and maximum of each input component of a linear layer."""

    def __init__(self) -> None:
        self.low = self.high = torch.empty(0)

    def update(self, x: Tensor) -> None:
        rows = x.detach().float().reshape(-1, x.shape[-1])
        low, high = rows.amin(0), rows.amax(0)
        self.low = torch.minimum(self.low, low) if len(self.low) else low
        self.high = torch.maximum(self.high, high) if len(self.high) else high

    def absolute_max(self) -> Tensor:
        return torch.maximum(self.low.abs(), self.high.abs())


class Int8Linear(nn.Module):
    """x Wᵀ + b in int8 with int32 accumulation, by oneDNN.

    Args:
        weight: (outputs, inputs) float32.
        bias: (outputs,).
        observed: range of the layer's inputs.
        smooth: divide each input component by a factor of its own; without, inputs may come quantized from the previous layer.
    """

    factors: Tensor
    shift: Tensor
    steps: Tensor
    zeros: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, observed: ActivationRange, *, smooth: bool) -> None:
        super().__init__()
        divisors = _divisors(observed.absolute_max(), weight) if smooth else torch.ones(weight.shape[1])
        low = float((observed.low / divisors).amin().clamp(max=0))
        high = float((observed.high / divisors).amax().clamp(min=0))
        self.scale = max(high - low, 1e-6) / _MAX_ACTIVATION
        self.zero = round(-low / self.scale)
        smoothed = weight.detach().float() * divisors
        steps = smoothed.abs().amax(1).clamp(min=1e-9) / _MAX_WEIGHT
        integers = (smoothed / steps[:, None]).round().clamp(-_MAX_WEIGHT, _MAX_WEIGHT).to(torch.int8)
        self.register_buffer("factors", (1 / (divisors * self.scale)).contiguous(), persistent=False)
        # The conversion to integers truncates; adding ½ makes it round.
        self.register_buffer("shift", torch.full((weight.shape[1],), self.zero + 0.5), persistent=False)
        self.register_buffer("steps", steps.contiguous(), persistent=False)
        self.register_buffer("zeros", torch.zeros(len(steps), dtype=torch.int64), persistent=False)
        self.register_buffer("bias", bias.detach().float().clone(), persistent=False)
        self.packed_bytes = integers.numel()
        self._packed: Any = torch.ops.onednn.qlinear_prepack(integers, [_PACKED_ROWS, weight.shape[1]])

    def quantize(self, x: Tensor) -> Tensor:
        """Quantize ``x`` (…, inputs) float32 to (rows, inputs) uint8, clamped to the observed range."""
        rows = x.reshape(-1, x.shape[-1])
        return torch.addcmul(self.shift, rows, self.factors).clamp_(0, _MAX_ACTIVATION).to(torch.uint8)

    def forward(self, quantized: Tensor) -> Tensor:
        """Return (rows, outputs) float32 for (rows, inputs) uint8."""
        result: Tensor = torch.ops.onednn.qlinear_pointwise(*self._arguments(quantized), 1.0, 0, torch.float32, "none", [], "")
        return result

    def forward_gelu(self, quantized: Tensor, following: Int8Linear) -> Tensor:
        """Return GELU(x Wᵀ + b), quantized as the input of ``following``: (rows, outputs) uint8."""
        result: Tensor = torch.ops.onednn.qlinear_pointwise(
            *self._arguments(quantized), following.scale, following.zero, torch.uint8, "gelu", [], "none"
        )
        return result

    def forward_add(self, quantized: Tensor, residual: Tensor) -> Tensor:
        """Return ``residual`` (rows, outputs) float32 + x Wᵀ + b."""
        x, scale, zero, packed, steps, zeros, bias = self._arguments(quantized)
        result: Tensor = torch.ops.onednn.qlinear_pointwise.binary(
            x, scale, zero, packed, steps, zeros, residual, bias, 1.0, 0, torch.float32, 1.0, 0, "add", 1.0, "none", [], ""
        )
        return result

    def _arguments(self, quantized: Tensor) -> tuple[Any, ...]:
        return quantized, self.scale, self.zero, self._packed, self.steps, self.zeros, self.bias


def _divisors(largest: Tensor, weight: Tensor) -> Tensor:
    largest_weight = weight.detach().float().abs().amax(0).clamp(min=1e-5)
    return (largest.clamp(min=1e-5) / largest_weight).sqrt()


class Int8Layer(nn.Module):
    """A BERT layer with its four matrix products in int8; attention, norms and sums are in float32.

    Args:
        layer: a float32 layer with BERT's structure.
        observed: input ranges of its linear layers: ``qkv``, ``output``, ``up`` and ``down``.
    """

    def __init__(self, layer: Any, observed: dict[str, ActivationRange]) -> None:
        super().__init__()
        attention, output = layer.attention.self, layer.attention.output
        self.heads, self.scale = int(attention.num_attention_heads), float(attention.attention_head_size) ** -0.5
        parts = (attention.query, attention.key, attention.value)
        weight, bias = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        self.qkv = Int8Linear(weight, bias, observed["qkv"], smooth=True)
        self.output = Int8Linear(output.dense.weight, output.dense.bias, observed["output"], smooth=True)
        self.up = Int8Linear(layer.intermediate.dense.weight, layer.intermediate.dense.bias, observed["up"], smooth=True)
        self.down = Int8Linear(layer.output.dense.weight, layer.output.dense.bias, observed["down"], smooth=False)
        self.after_attention, self.after_feed_forward = output.LayerNorm, layer.output.LayerNorm

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any) -> Tensor:
        """Return (b, t, d) float32 for (b, t, d); the mask is that of PyTorch's attention, ``None`` if all tokens are real."""
        rows, length, width = hidden.shape
        flat = hidden.reshape(-1, width)
        qkv = self.qkv(self.qkv.quantize(flat)).view(rows, length, 3, self.heads, -1)
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=attention_mask, scale=self.scale)
        mixed = mixed.transpose(1, 2).reshape(-1, width)
        flat = self.after_attention(self.output.forward_add(self.output.quantize(mixed), flat))
        flat = self.after_feed_forward(self.down.forward_add(self.up.forward_gelu(self.up.quantize(flat), self.down), flat))
        return flat.view(rows, length, width)  # type: ignore[no-any-return]


def record_activation_ranges(layers: list[Any], run: Callable[[], object]) -> list[dict[str, ActivationRange]]:
    """Return the input ranges of the linear layers of each of ``layers`` while ``run`` runs the network."""
    observed: list[dict[str, ActivationRange]] = []
    handles = []
    for layer in layers:
        ranges = {name: ActivationRange() for name in ("qkv", "output", "up", "down")}
        observed.append(ranges)
        linears = {
            "qkv": layer.attention.self.query,
            "output": layer.attention.output.dense,
            "up": layer.intermediate.dense,
            "down": layer.output.dense,
        }
        for name, linear in linears.items():
            handles.append(linear.register_forward_pre_hook(lambda _, inputs, activation=ranges[name]: activation.update(inputs[0])))
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    return observed


def supports_int8() -> bool:
    """Return True if this build of PyTorch and this processor have oneDNN's int8 products."""
    ops = torch.ops.onednn
    is_available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return is_available and hasattr(ops, "qlinear_pointwise") and hasattr(ops, "qlinear_prepack") and torch.cpu._is_avx512_supported()
