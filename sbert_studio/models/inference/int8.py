"""Layers of BERT in eight bits: weights once, with a scale a channel; activations between fixed limits, seen on a few texts.

Where some components of a hidden state are far larger than the others, one scale for all of them leaves the small ones a few steps only.
So each component is divided by a number of its own before it is rounded, and the weights that read it are multiplied by that number
(SmoothQuant, Xiao et al. 2023, equation 4, with α = ½). Since the limits are fixed, a text's vector does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_LEVELS, _STEPS = 255, 127  # of an activation without sign, and of a weight to either side of zero
_ROWS = 1_024  # about the tokens of a batch


class Limits:
    """The least and the largest value of each component that a linear layer read, over all texts seen."""

    def __init__(self) -> None:
        self.low = self.high = torch.empty(0)

    def see(self, x: Tensor) -> None:
        """Take in ``x`` (…, inputs)."""
        rows = x.detach().float().reshape(-1, x.shape[-1])
        low, high = rows.amin(0), rows.amax(0)
        self.low = torch.minimum(self.low, low) if len(self.low) else low
        self.high = torch.maximum(self.high, high) if len(self.high) else high

    def largest(self) -> Tensor:
        """The largest size of each component."""
        return torch.maximum(self.low.abs(), self.high.abs())


class Int8Linear(nn.Module):
    """x Wᵀ + b of eight-bit numbers, summed in 32 bits, by oneDNN.

    Args:
        weight: (outputs, inputs) float32. bias: (outputs,).
        seen: what the layer read.
        smooth: whether each input gets a divisor of its own; without, the numbers may come rounded from the layer before.
    """

    factors: Tensor
    shift: Tensor
    steps: Tensor
    zeros: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, seen: Limits, *, smooth: bool) -> None:
        super().__init__()
        divisors = _divisors(seen.largest(), weight) if smooth else torch.ones(weight.shape[1])
        low = float((seen.low / divisors).amin().clamp(max=0))
        high = float((seen.high / divisors).amax().clamp(min=0))
        self.scale = max(high - low, 1e-6) / _LEVELS
        self.zero = round(-low / self.scale)
        evened = weight.detach().float() * divisors
        steps = evened.abs().amax(1).clamp(min=1e-9) / _STEPS
        whole = (evened / steps[:, None]).round().clamp(-_STEPS, _STEPS).to(torch.int8)
        self.register_buffer("factors", (1 / (divisors * self.scale)).contiguous(), persistent=False)
        # Half a step more, since turning it into a whole number cuts off what follows the point.
        self.register_buffer("shift", torch.full((weight.shape[1],), self.zero + 0.5), persistent=False)
        self.register_buffer("steps", steps.contiguous(), persistent=False)
        self.register_buffer("zeros", torch.zeros(len(steps), dtype=torch.int64), persistent=False)
        self.register_buffer("bias", bias.detach().float().clone(), persistent=False)
        self.packed_bytes = whole.numel()
        self._packed: Any = torch.ops.onednn.qlinear_prepack(whole, [_ROWS, weight.shape[1]])

    def rounded(self, x: Tensor) -> Tensor:
        """``x`` (…, inputs) float32 in eight bits, (rows, inputs) uint8; what lies beyond the limits becomes the limit."""
        rows = x.reshape(-1, x.shape[-1])
        return torch.addcmul(self.shift, rows, self.factors).clamp_(0, _LEVELS).to(torch.uint8)

    def forward(self, rounded: Tensor) -> Tensor:
        """(rows, inputs) uint8 → (rows, outputs) float32."""
        found: Tensor = torch.ops.onednn.qlinear_pointwise(*self._of(rounded), 1.0, 0, torch.float32, "none", [], "")
        return found

    def gelu(self, rounded: Tensor, then: Int8Linear) -> Tensor:
        """GELU(x Wᵀ + b), rounded as ``then`` reads it: (rows, outputs) uint8."""
        found: Tensor = torch.ops.onednn.qlinear_pointwise(*self._of(rounded), then.scale, then.zero, torch.uint8, "gelu", [], "none")
        return found

    def plus(self, rounded: Tensor, residual: Tensor) -> Tensor:
        """``residual`` (rows, outputs) float32 + x Wᵀ + b."""
        x, scale, zero, packed, steps, zeros, bias = self._of(rounded)
        found: Tensor = torch.ops.onednn.qlinear_pointwise.binary(
            x, scale, zero, packed, steps, zeros, residual, bias, 1.0, 0, torch.float32, 1.0, 0, "add", 1.0, "none", [], ""
        )
        return found

    def _of(self, rounded: Tensor) -> tuple[Any, ...]:
        return rounded, self.scale, self.zero, self._packed, self.steps, self.zeros, self.bias


def _divisors(largest: Tensor, weight: Tensor) -> Tensor:
    """√(largest input ÷ largest weight) of each input, (inputs,)."""
    reach = weight.detach().float().abs().amax(0).clamp(min=1e-5)
    return (largest.clamp(min=1e-5) / reach).sqrt()


class Int8Layer(nn.Module):
    """A layer of BERT whose four products are in eight bits; attention, norms and sums are in float32.

    Args:
        layer: a layer laid out as BERT's, in float32.
        seen: what its linear layers read, by the names ``read``, ``write``, ``up`` and ``down``.
    """

    def __init__(self, layer: Any, seen: dict[str, Limits]) -> None:
        super().__init__()
        attention, of = layer.attention.self, layer.attention.output
        self.heads, self.scale = int(attention.num_attention_heads), float(attention.attention_head_size) ** -0.5
        parts = (attention.query, attention.key, attention.value)
        weight, bias = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
        self.read = Int8Linear(weight, bias, seen["read"], smooth=True)
        self.write = Int8Linear(of.dense.weight, of.dense.bias, seen["write"], smooth=True)
        self.up = Int8Linear(layer.intermediate.dense.weight, layer.intermediate.dense.bias, seen["up"], smooth=True)
        self.down = Int8Linear(layer.output.dense.weight, layer.output.dense.bias, seen["down"], smooth=False)
        self.after_attention, self.after_feed_forward = of.LayerNorm, layer.output.LayerNorm

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any) -> Tensor:
        """(b, t, d) → (b, t, d) float32; the mask as PyTorch's attention takes it, None: every token is real."""
        rows, length, width = hidden.shape
        flat = hidden.reshape(-1, width)
        three = self.read(self.read.rounded(flat)).view(rows, length, 3, self.heads, -1)
        queries, keys, values = three.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=attention_mask, scale=self.scale)
        mixed = mixed.transpose(1, 2).reshape(-1, width)
        flat = self.after_attention(self.write.plus(self.write.rounded(mixed), flat))
        flat = self.after_feed_forward(self.down.plus(self.up.gelu(self.up.rounded(flat), self.down), flat))
        found: Tensor = flat.view(rows, length, width)
        return found


def watched(layers: list[Any], said: Callable[[], object]) -> list[dict[str, Limits]]:
    """What the linear layers of each of ``layers`` read while ``said`` runs the network."""
    seen: list[dict[str, Limits]] = []
    handles = []
    for layer in layers:
        limits = {name: Limits() for name in ("read", "write", "up", "down")}
        seen.append(limits)
        of = {
            "read": layer.attention.self.query,
            "write": layer.attention.output.dense,
            "up": layer.intermediate.dense,
            "down": layer.output.dense,
        }
        for name, linear in of.items():
            handles.append(linear.register_forward_pre_hook(lambda _, inputs, one=limits[name]: one.see(inputs[0])))
    try:
        said()
    finally:
        for handle in handles:
            handle.remove()
    return seen


def can_round() -> bool:
    """Whether this build of PyTorch and this processor have oneDNN's products of eight-bit numbers."""
    ops = torch.ops.onednn
    present: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return present and hasattr(ops, "qlinear_pointwise") and hasattr(ops, "qlinear_prepack") and torch.cpu._is_avx512_supported()
