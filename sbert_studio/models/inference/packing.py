"""Linear layers with weights packed for oneDNN, fused BERT layers, and their installation in a frozen network."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .int8 import Int8Layer, Int8Linear, record_activation_ranges, supports_int8
from .varlen import Sequences, varlen_attention

_PACKED_ROWS = 1_024  # typical tokens per batch, for which oneDNN lays out the weights
log = logging.getLogger(__name__)
# Maximum difference of the output with packed weights, relative to its largest value.
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}
_MIN_COSINE = 0.97  # minimum mean cosine between token vectors in int8 and in float32
_Replacement = tuple[Any, str, Any]


class PackedLinear(nn.Module):
    """x Wᵀ + b by oneDNN, optionally fused with a following GELU or addition.

    Args:
        weight: (outputs, inputs), float32 or bfloat16, on the CPU.
        bias: (outputs,) of the same dtype, or ``None``.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.shape, self.dtype = tuple(weight.shape), weight.dtype
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone(), requires_grad=False)
        # Neither parameter nor buffer: the packed layout cannot be moved or converted with the module.
        self._packed: Any = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), _PACKED_ROWS)

    @property
    def weight(self) -> Tensor:
        """Meta tensor of the weight's shape and dtype, for code that inspects them."""
        return torch.empty(self.shape, dtype=self.dtype, device="meta")

    @property
    def packed_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def forward(self, x: Tensor) -> Tensor:
        return self._run(x, "none", "")

    def forward_gelu(self, x: Tensor) -> Tensor:
        """Return GELU(x Wᵀ + b), the exact one (Hendrycks and Gimpel 2016, with erf)."""
        return self._run(x, "gelu", "none")

    def forward_add(self, x: Tensor, residual: Tensor) -> Tensor:
        """Return ``residual`` + x Wᵀ + b."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._packed, self.bias, "add")
        return result

    def _run(self, x: Tensor, operation: str, algorithm: str) -> Tensor:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, operation, [], algorithm)
        return result

    def extra_repr(self) -> str:
        return f"{self.shape[1]}, {self.shape[0]}, {self.dtype}"


def supports_packing(dtype: torch.dtype) -> bool:
    """Return True if this build of PyTorch and this processor have oneDNN's products of ``dtype``."""
    ops = torch.ops.mkldnn
    is_available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not is_available or not hasattr(ops, "_linear_pointwise") or not hasattr(ops, "_reorder_linear_weight"):
        return False
    if dtype == torch.bfloat16:
        return bool(ops._is_mkldnn_bf16_supported())
    return dtype == torch.float32


class PlainLinear(nn.Module):
    """The interface of :class:`PackedLinear` with unpacked weights, on any device.

    Args:
        weight: (outputs, inputs).
        bias: (outputs,), or ``None``.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach(), requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.detach(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    def forward_gelu(self, x: Tensor) -> Tensor:
        return functional.gelu(self(x))

    def forward_add(self, x: Tensor, residual: Tensor) -> Tensor:
        result: Tensor = self(x)
        return result.add_(residual)


class FusedLayer(nn.Module):
    """A layer of BERT (Devlin et al. 2019) or its relatives with one product for queries, keys and values, and fused operations.

    Args:
        layer: a layer of transformers with BERT's structure; see :func:`is_fusible`.
        linear: class of its linear layers.
    """

    def __init__(self, layer: Any, linear: type[PackedLinear] | type[PlainLinear] = PackedLinear) -> None:
        super().__init__()
        attention, output = layer.attention.self, layer.attention.output
        self.heads, self.scale = int(attention.num_attention_heads), float(attention.attention_head_size) ** -0.5
        parts = (attention.query, attention.key, attention.value)
        self.qkv = linear(torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts]))
        self.output = linear(output.dense.weight, output.dense.bias)
        self.up = linear(layer.intermediate.dense.weight, layer.intermediate.dense.bias)
        self.down = linear(layer.output.dense.weight, layer.output.dense.bias)
        self.after_attention, self.after_feed_forward = output.LayerNorm, layer.output.LayerNorm

    def forward(self, hidden: Tensor, attention_mask: Tensor | Sequences | None = None, *_: Any, **__: Any) -> Tensor:
        """Return (b, t, d) for (b, t, d); the mask is that of PyTorch's attention, ``None`` if all tokens are real.

        For concatenated sequences (tokens, d), pass :class:`Sequences` as the mask.
        """
        if isinstance(attention_mask, Sequences):
            queries, keys, values = self.qkv(hidden).view(len(hidden), 3, self.heads, -1).unbind(1)
            mixed = varlen_attention(queries, keys, values, attention_mask, scale=self.scale).reshape(hidden.shape)
        else:
            rows, length, width = hidden.shape
            queries, keys, values = self.qkv(hidden).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=attention_mask, scale=self.scale)
            mixed = mixed.transpose(1, 2).reshape(rows, length, width)
        hidden = self.after_attention(self.output.forward_add(mixed, hidden))
        return self.after_feed_forward(self.down.forward_add(self.up.forward_gelu(hidden), hidden))  # type: ignore[no-any-return]


def is_fusible(layer: Any, config: Any) -> bool:
    """Return True if ``layer`` has BERT's structure, no decoder parts, and uses PyTorch's attention."""
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


def pack_layers(network: Any, probe: Callable[[], Tensor]) -> bool:
    """Replace linear layers by packed ones, and whole layers by fused ones if they fit.

    The network is restored if it then fails or its output differs.

    Args:
        network: for inference only, on the CPU.
        probe: returns the network's output for a few texts.

    Returns:
        True if the network now has packed layers.
    """
    dtype = next((parameter.dtype for parameter in network.parameters() if parameter.is_floating_point()), None)
    if dtype is None or not supports_packing(dtype):
        return False
    before = probe()
    for fused in (True, False):
        replacements = _packed_replacements(network, fused=fused)
        if not replacements:
            continue
        old = [(holder, name, holder._modules[name]) for holder, name, _ in replacements]
        _install(replacements)
        if _agrees(before, probe, _TOLERANCE[dtype]):
            return True
        _install(old)
    return False


def fuse_layers(network: Any, before: Tensor, probe: Callable[[], Tensor]) -> bool:
    """Replace layers by fused ones with unpacked weights.

    They are restored if the network then fails or its output differs from ``before``.

    Args:
        network: for inference only, on any device.
        before: output for a few texts.
        probe: returns the output for the same texts as concatenated sequences.

    Returns:
        True if concatenated sequences have the same output, with fused layers or without.
    """
    dtype = next((parameter.dtype for parameter in network.parameters() if parameter.is_floating_point()), None)
    if dtype not in _TOLERANCE:
        return False
    layers = _fusible_layers(network)
    for fused in (True, False):
        _install([(holder, name, FusedLayer(layer, PlainLinear)) for holder, name, layer in layers] if fused else layers)
        if _agrees(before, probe, _TOLERANCE[dtype]):
            return True
    return False


def quantize_layers(network: Any, read: Callable[[], object], probe: Callable[[], Tensor]) -> bool:
    """Replace BERT layers by int8 ones; the unused pooler stays.

    The network is restored if it has no such layers or its output differs too much.

    Args:
        network: for inference only, in float32, on the CPU.
        read: encodes varied texts, on which activation ranges are observed.
        probe: returns the output for a few texts, (tokens, hidden size).

    Returns:
        True if the layers are now in int8.
    """
    layers = _fusible_layers(network)
    if not layers or not supports_int8():
        return False
    before = probe()
    with torch.inference_mode():
        ranges = record_activation_ranges([layer for *_, layer in layers], read)
        try:
            _install([(holder, name, Int8Layer(layer, observed)) for (holder, name, layer), observed in zip(layers, ranges, strict=True)])
            if float(functional.cosine_similarity(probe(), before, dim=-1).mean()) >= _MIN_COSINE:
                return True
        except RuntimeError as error:
            log.info("int8 layers do not fit this network: %s", error)
    _install(layers)
    return False


def _fusible_layers(network: nn.Module) -> list[_Replacement]:
    config = getattr(network, "config", None)
    return [(holder, name, child) for holder in network.modules() for name, child in holder.named_children() if is_fusible(child, config)]


def packed_bytes(network: nn.Module) -> int:
    """Return the bytes of packed weights, which are not parameters."""
    return sum(module.packed_bytes for module in network.modules() if isinstance(module, PackedLinear | Int8Linear))


def _packed_replacements(network: nn.Module, *, fused: bool) -> list[_Replacement]:
    replacements: list[_Replacement] = []
    _collect_replacements(network, getattr(network, "config", None), fused, replacements)
    return replacements if not fused or any(isinstance(new, FusedLayer) for *_, new in replacements) else []


def _collect_replacements(holder: nn.Module, config: Any, fused: bool, replacements: list[_Replacement]) -> None:
    for name, child in holder.named_children():
        if fused and config is not None and is_fusible(child, config):
            replacements.append((holder, name, FusedLayer(child)))
        elif type(child) is nn.Linear and child.weight.dtype in _TOLERANCE:
            replacements.append((holder, name, PackedLinear(child.weight, child.bias)))
        elif not hasattr(child, "base_layer"):  # an adapter reads the weights of the layer it wraps
            _collect_replacements(child, config, fused, replacements)


def _install(replacements: list[_Replacement]) -> None:
    for holder, name, module in replacements:
        holder._modules[name] = module


def _agrees(before: Tensor, probe: Callable[[], Tensor], tolerance: float) -> bool:
    try:
        after = probe()
    except (RuntimeError, TypeError, AttributeError, NotImplementedError) as error:
        log.info("packed weights do not fit this network: %s", error)
        return False
    worst = float((after.float() - before.float()).abs().max()) if before.numel() else 0.0
    largest = float(before.float().abs().max()) if before.numel() else 1.0
    return worst <= tolerance * max(largest, 1e-6)
