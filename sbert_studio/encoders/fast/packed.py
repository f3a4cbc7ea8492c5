"""Linear layers whose weights lie as oneDNN reads them: products several times as fast, on many processors, as those of MKL.

PyTorch's float32 products call MKL, which uses the narrower half of the vector units of processors that are not Intel's. oneDNN, which
PyTorch carries too, uses what the processor has. Packed weights can neither be trained nor saved: only frozen models have them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..unpadded.sequences import Sequences, attend

_ROWS = 1_024  # about the tokens of a batch, for which the weights are laid out; any other number is computed as well


class PackedLinear(nn.Module):
    """x Wᵀ + b by oneDNN, and the same with what follows it in a transformer's layer, in one pass over the memory.

    Args:
        weight: (outputs, inputs), float32 or bfloat16, on the CPU.
        bias: (outputs,) of the same type, or None.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.shape, self.dtype = tuple(weight.shape), weight.dtype
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone(), requires_grad=False)
        # Of no registered kind: a layout of its own can neither be moved nor converted with the module.
        self._packed: Any = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), _ROWS)

    @property
    def weight(self) -> Tensor:
        """A tensor without numbers, of the weight's shape and type, for code that asks after these."""
        return torch.empty(self.shape, dtype=self.dtype, device="meta")

    @property
    def packed_bytes(self) -> int:
        """What the packed weights take in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def forward(self, x: Tensor) -> Tensor:
        """(…, inputs) → (…, outputs)."""
        return self._run(x, "none", "")

    def gelu(self, x: Tensor) -> Tensor:
        """GELU(x Wᵀ + b), the exact one (Hendrycks and Gimpel 2016, with erf)."""
        return self._run(x, "gelu", "none")

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """``residual`` + x Wᵀ + b."""
        found: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._packed, self.bias, "add")
        return found

    def _run(self, x: Tensor, follows: str, how: str) -> Tensor:
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, follows, [], how)
        return found

    def extra_repr(self) -> str:
        """What ``print`` shows of it."""
        return f"{self.shape[1]}, {self.shape[0]}, {self.dtype}"


def can_pack(dtype: torch.dtype) -> bool:
    """Whether this build of PyTorch and this processor have oneDNN's products of ``dtype``."""
    ops = torch.ops.mkldnn
    present: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not present or not hasattr(ops, "_linear_pointwise") or not hasattr(ops, "_reorder_linear_weight"):
        return False
    if dtype == torch.bfloat16:
        return bool(ops._is_mkldnn_bf16_supported())
    return dtype == torch.float32


class JoinedLinear(nn.Module):
    """What :class:`PackedLinear` says, by weights as they are, on any device.

    Args:
        weight: (outputs, inputs).
        bias: (outputs,), or None.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach(), requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.detach(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """(…, inputs) → (…, outputs)."""
        return functional.linear(x, self.weight, self.bias)

    def gelu(self, x: Tensor) -> Tensor:
        """GELU(x Wᵀ + b), the exact one."""
        return functional.gelu(self(x))

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        """``residual`` + x Wᵀ + b."""
        found: Tensor = self(x)
        return found.add_(residual)


class FusedLayer(nn.Module):
    """A layer of BERT (Devlin et al. 2019) and of its kin: queries, keys and values by one product, and what follows a product within it.

    Args:
        layer: a layer of the library's, laid out as BERT's; see :func:`fuses`.
        linear: what its products are computed by.
    """

    def __init__(self, layer: Any, linear: type[PackedLinear] | type[JoinedLinear] = PackedLinear) -> None:
        super().__init__()
        attention, of = layer.attention.self, layer.attention.output
        self.heads, self.scale = int(attention.num_attention_heads), float(attention.attention_head_size) ** -0.5
        parts = (attention.query, attention.key, attention.value)
        self.read = linear(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))
        self.write = linear(of.dense.weight, of.dense.bias)
        self.up = linear(layer.intermediate.dense.weight, layer.intermediate.dense.bias)
        self.down = linear(layer.output.dense.weight, layer.output.dense.bias)
        self.after_attention, self.after_feed_forward = of.LayerNorm, layer.output.LayerNorm

    def forward(self, hidden: Tensor, attention_mask: Tensor | Sequences | None = None, *_: Any, **__: Any) -> Tensor:
        """(b, t, d) → (b, t, d); the mask as PyTorch's attention takes it, None: every token is real.

        Of texts one behind the other (tokens, d) → (tokens, d), with :class:`Sequences` in the mask's place.
        """
        if isinstance(attention_mask, Sequences):
            queries, keys, values = self.read(hidden).view(len(hidden), 3, self.heads, -1).unbind(1)
            mixed = attend(queries, keys, values, attention_mask, scale=self.scale).reshape(hidden.shape)
        else:
            rows, length, width = hidden.shape
            queries, keys, values = self.read(hidden).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            found = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=attention_mask, scale=self.scale)
            mixed = found.transpose(1, 2).reshape(rows, length, width)
        hidden = self.after_attention(self.write.plus(mixed, hidden))
        ended: Tensor = self.after_feed_forward(self.down.plus(self.up.gelu(hidden), hidden))
        return ended


def fuses(layer: Any, config: Any) -> bool:
    """Whether ``layer`` is laid out as BERT's, without what only a decoder has, and attends by PyTorch's own attention."""
    parts = [
        getattr(getattr(layer, name, None), inner, None)
        for name, inner in (("attention", "self"), ("attention", "output"), ("intermediate", "dense"), ("output", "LayerNorm"))
    ]
    return (
        all(part is not None for part in parts)
        and all(type(getattr(parts[0], name, None)) is nn.Linear for name in ("query", "key", "value"))
        and getattr(config, "hidden_act", "") == "gelu"
        and not getattr(config, "is_decoder", False)
        and getattr(config, "position_embedding_type", "absolute") in ("absolute", None)
        and getattr(config, "_attn_implementation", None) in (None, "sdpa")
    )
