"""8-bit and packed layers: linear layers for oneDNN in float32, bfloat16 or int8, fused BERT layers, and their installation.

int8: weights have a scale per channel, activations static ranges observed on a few texts. Each input component is divided by its own
factor before quantization, and the weights are multiplied by it, so that a few large components do not dominate the common scale
(SmoothQuant, Xiao et al. 2023, equation 4, α = ½). Because the ranges are static, the vector of a text does not depend on its batch.
For 4-bit weights, see :mod:`sbert_studio.models.quantized`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...errors import StudioError
from .varlen import Sequences, varlen_attention

_PACKED_ROWS = 1_024  # typical number of tokens per batch, for which oneDNN optimizes the layout of the weights
log = logging.getLogger(__name__)
# Maximum difference of the output with packed weights, relative to its largest value.
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}
_MIN_COSINE = 0.97  # minimum mean cosine between int8 and float32 token vectors
_MAX_ACTIVATION, _MAX_WEIGHT = 255, 127  # maximum values of unsigned activations and signed weights
_Replacement = tuple[Any, str, Any]


def supports_packing(dtype: torch.dtype) -> bool:
    """Return True if this build of PyTorch and this CPU support oneDNN matrix products of ``dtype``."""
    ops = torch.ops.mkldnn
    is_available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not is_available or not hasattr(ops, "_linear_pointwise") or not hasattr(ops, "_reorder_linear_weight"):
        return False
    return bool(ops._is_mkldnn_bf16_supported()) if dtype == torch.bfloat16 else dtype == torch.float32


def supports_int8() -> bool:
    """Return True if this build of PyTorch and this CPU support oneDNN int8 matrix products."""
    ops = torch.ops.onednn
    is_available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return is_available and hasattr(ops, "qlinear_pointwise") and hasattr(ops, "qlinear_prepack") and torch.cpu._is_avx512_supported()


class PackedLinear(nn.Module):
    """x Wᵀ + b computed by oneDNN, optionally fused with a following GELU or addition.

    Args:
        weight: (outputs, inputs), float32 or bfloat16, on the CPU.
        bias: (outputs,) of the same dtype, or ``None``.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.shape, self.dtype = tuple(weight.shape), weight.dtype
        self.packed_bytes = self.shape[0] * self.shape[1] * self.dtype.itemsize
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone(), requires_grad=False)
        # Neither parameter nor buffer: the packed layout cannot be moved or converted with the module.
        self._packed: Any = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), _PACKED_ROWS)

    @property
    def weight(self) -> Tensor:
        """Meta tensor with the shape and dtype of the weight, for code that inspects them."""
        return torch.empty(self.shape, dtype=self.dtype, device="meta")

    def forward(self, x: Tensor) -> Tensor:
        return self._run(x, "none", "")

    def forward_gelu(self, x: Tensor) -> Tensor:
        """Return the exact GELU(x Wᵀ + b) (Hendrycks and Gimpel 2016, with erf)."""
        return self._run(x, "gelu", "none")

    def forward_add(self, x: Tensor, residual: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise.binary(x, residual, self._packed, self.bias, "add")  # type: ignore[no-any-return]

    def _run(self, x: Tensor, operation: str, algorithm: str) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, operation, [], algorithm)  # type: ignore[no-any-return]


class PlainLinear(nn.Module):
    """Linear layer with the interface of :class:`PackedLinear` and unpacked weights, on any device."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach(), requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.detach(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    def forward_gelu(self, x: Tensor) -> Tensor:
        return functional.gelu(self(x))

    def forward_add(self, x: Tensor, residual: Tensor) -> Tensor:
        return self(x).add_(residual)  # type: ignore[no-any-return]


class ActivationRange:
    """Running minimum and maximum of each input component of a linear layer."""

    def __init__(self) -> None:
        self.low = self.high = torch.empty(0)

    def update(self, x: Tensor) -> None:
        rows = x.detach().float().reshape(-1, x.shape[-1])
        low, high = rows.amin(0), rows.amax(0)
        self.low = torch.minimum(self.low, low) if len(self.low) else low
        self.high = torch.maximum(self.high, high) if len(self.high) else high


class Int8Linear(nn.Module):
    """x Wᵀ + b in int8 with int32 accumulation, computed by oneDNN.

    Args:
        weight: (outputs, inputs) float32.
        bias: (outputs,).
        observed: range of the layer's inputs.
        smooth: divide each input component by its own factor; otherwise, inputs may be quantized by the previous layer.
    """

    factors: Tensor
    shift: Tensor
    steps: Tensor
    zeros: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, observed: ActivationRange, *, smooth: bool) -> None:
        super().__init__()
        divisors = torch.ones(weight.shape[1])
        if smooth:
            largest = torch.maximum(observed.low.abs(), observed.high.abs()).clamp(min=1e-5)
            divisors = (largest / weight.detach().float().abs().amax(0).clamp(min=1e-5)).sqrt()
        low = float((observed.low / divisors).amin().clamp(max=0))
        high = float((observed.high / divisors).amax().clamp(min=0))
        self.scale = max(high - low, 1e-6) / _MAX_ACTIVATION
        self.zero = round(-low / self.scale)
        smoothed = weight.detach().float() * divisors
        steps = smoothed.abs().amax(1).clamp(min=1e-9) / _MAX_WEIGHT
        integers = (smoothed / steps[:, None]).round().clamp(-_MAX_WEIGHT, _MAX_WEIGHT).to(torch.int8)
        self.register_buffer("factors", (1 / (divisors * self.scale)).contiguous(), persistent=False)
        # The conversion to integers truncates, so add ½ to round.
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
        return self._run(quantized, 1.0, 0, torch.float32, "none", "")

    def forward_gelu(self, quantized: Tensor, following: Int8Linear) -> Tensor:
        """Return GELU(x Wᵀ + b), quantized as the input of ``following``: (rows, outputs) uint8."""
        return self._run(quantized, following.scale, following.zero, torch.uint8, "gelu", "none")

    def forward_add(self, quantized: Tensor, residual: Tensor) -> Tensor:
        inputs = (quantized, self.scale, self.zero, self._packed, self.steps, self.zeros, residual, self.bias)
        return torch.ops.onednn.qlinear_pointwise.binary(  # type: ignore[no-any-return]
            *inputs, 1.0, 0, torch.float32, 1.0, 0, "add", 1.0, "none", [], ""
        )

    def _run(self, quantized: Tensor, scale: float, zero: int, dtype: torch.dtype, operation: str, algorithm: str) -> Tensor:
        inputs = (quantized, self.scale, self.zero, self._packed, self.steps, self.zeros, self.bias)
        return torch.ops.onednn.qlinear_pointwise(  # type: ignore[no-any-return]
            *inputs, scale, zero, dtype, operation, [], algorithm
        )


class _BertLayer(nn.Module):
    def __init__(self, layer: Any) -> None:
        super().__init__()
        attention = layer.attention.self
        self.heads, self.scale = int(attention.num_attention_heads), float(attention.attention_head_size) ** -0.5
        self.after_attention, self.after_feed_forward = layer.attention.output.LayerNorm, layer.output.LayerNorm

    def _attend(self, qkv: Tensor, rows: int, length: int, mask: Tensor | None) -> Tensor:
        queries, keys, values = qkv.view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=self.scale)
        return mixed.transpose(1, 2).reshape(rows, length, qkv.shape[-1] // 3)


def _linears(layer: Any) -> dict[str, Any]:
    return {"output": layer.attention.output.dense, "up": layer.intermediate.dense, "down": layer.output.dense}


def _joint_qkv(layer: Any) -> tuple[Tensor, Tensor]:
    parts = (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value)
    return torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])


class FusedLayer(_BertLayer):
    """A layer of BERT (Devlin et al. 2019) or a similar model, with one product for queries, keys and values, and fused operations."""

    def __init__(self, layer: Any, linear: type[PackedLinear] | type[PlainLinear] = PackedLinear) -> None:
        super().__init__(layer)
        self.qkv = linear(*_joint_qkv(layer))
        self.output, self.up, self.down = (linear(part.weight, part.bias) for part in _linears(layer).values())

    def forward(self, hidden: Tensor, attention_mask: Tensor | Sequences | None = None, *_: Any, **__: Any) -> Tensor:
        """Return (b, t, d) for (b, t, d); the mask is that of PyTorch's attention, ``None`` if all tokens are real.

        For concatenated sequences (tokens, d), pass :class:`Sequences` as the mask.
        """
        if isinstance(attention_mask, Sequences):
            queries, keys, values = self.qkv(hidden).view(len(hidden), 3, self.heads, -1).unbind(1)
            mixed = varlen_attention(queries, keys, values, attention_mask, scale=self.scale).reshape(hidden.shape)
        else:
            mixed = self._attend(self.qkv(hidden), hidden.shape[0], hidden.shape[1], attention_mask)
        hidden = self.after_attention(self.output.forward_add(mixed, hidden))
        return self.after_feed_forward(self.down.forward_add(self.up.forward_gelu(hidden), hidden))  # type: ignore[no-any-return]


class Int8Layer(_BertLayer):
    """A BERT layer with its four matrix products in int8; attention, layer norms and sums are in float32."""

    def __init__(self, layer: Any, observed: dict[str, ActivationRange]) -> None:
        super().__init__(layer)
        self.qkv = Int8Linear(*_joint_qkv(layer), observed["qkv"], smooth=True)
        self.output, self.up, self.down = (
            Int8Linear(part.weight, part.bias, observed[name], smooth=name != "down") for name, part in _linears(layer).items()
        )

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any) -> Tensor:
        rows, length, width = hidden.shape
        flat = hidden.reshape(-1, width)
        mixed = self._attend(self.qkv(self.qkv.quantize(flat)), rows, length, attention_mask)
        flat = self.after_attention(self.output.forward_add(self.output.quantize(mixed), flat))
        flat = self.after_feed_forward(self.down.forward_add(self.up.forward_gelu(self.up.quantize(flat), self.down), flat))
        return flat.view(rows, length, width)  # type: ignore[no-any-return]


def is_fusible(layer: Any, config: Any) -> bool:
    """Return True if ``layer`` has BERT's structure, has no decoder parts, and uses PyTorch's attention."""
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
    """Replace linear layers with packed ones, and whole layers with fused ones where possible; return True on success.

    The network must be for inference on the CPU. It is restored if it fails, or if its output for the texts of ``probe`` differs.
    """
    dtype = _weight_dtype(network)
    if dtype is None or not supports_packing(dtype):
        return False
    before = probe()
    for fused in (True, False):
        replacements: list[_Replacement] = []
        _collect_replacements(network, getattr(network, "config", None), fused, replacements)
        if not replacements or (fused and not any(isinstance(new, FusedLayer) for *_, new in replacements)):
            continue
        old = [(holder, name, holder._modules[name]) for holder, name, _ in replacements]
        _install(replacements)
        if _agrees(before, probe, _TOLERANCE[dtype]):
            return True
        _install(old)
    return False


def fuse_layers(network: Any, before: Tensor, probe: Callable[[], Tensor]) -> bool:
    """Replace layers with fused ones with unpacked weights; restore them if the network fails or its output differs.

    ``before`` is its output for a few texts, and ``probe`` returns that for the same texts as concatenated sequences. Return True if both
    agree, with or without fused layers.
    """
    dtype = _weight_dtype(network)
    if dtype not in _TOLERANCE:
        return False
    layers = _fusible_layers(network)
    for fused in (True, False):
        _install([(holder, name, FusedLayer(layer, PlainLinear)) for holder, name, layer in layers] if fused else layers)
        if _agrees(before, probe, _TOLERANCE[dtype]):
            return True
    return False


def quantize_layers(network: Any, read: Callable[[], object], probe: Callable[[], Tensor]) -> bool:
    """Replace BERT layers with int8 ones; return True on success, and restore the network if its output differs too much.

    Args:
        network: for inference only, in float32, on the CPU; its unused pooler is kept.
        read: encodes varied texts, on which activation ranges are observed.
        probe: returns the output for a few texts, (tokens, hidden size).
    """
    layers = _fusible_layers(network)
    if not layers or not supports_int8():
        return False
    before = probe()
    with torch.inference_mode():
        ranges = _record_ranges([layer for *_, layer in layers], read)
        try:
            _install([(holder, name, Int8Layer(layer, observed)) for (holder, name, layer), observed in zip(layers, ranges, strict=True)])
            if float(functional.cosine_similarity(probe(), before, dim=-1).mean()) >= _MIN_COSINE:
                return True
        except RuntimeError as error:
            log.info("int8 layers do not fit this network: %s", error)
    _install(layers)
    return False


def quantize_dynamic_int8(backbone: Any) -> Any:
    """Return ``backbone`` with int8 linear layers: a scale per channel for weights, per batch for activations.

    For networks without BERT's layers. This reduces accuracy: all-MiniLM-L6-v2 loses 1.8 points of Spearman on a quarter of STSb's test
    pairs (0.825 → 0.807), with a mean cosine of 0.972 with the float32 vectors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic
        except ImportError:
            raise StudioError("this build of PyTorch cannot quantize to int8", "choose float32 or bfloat16") from None
        quantize: Any = quantize_dynamic
        return quantize(backbone, {nn.Linear: per_channel_dynamic_qconfig}, dtype=torch.qint8)


def packed_bytes(network: nn.Module) -> int:
    """Return the size in bytes of packed weights, which are not parameters."""
    return sum(module.packed_bytes for module in network.modules() if isinstance(module, PackedLinear | Int8Linear))


def _record_ranges(layers: list[Any], run: Callable[[], object]) -> list[dict[str, ActivationRange]]:
    observed: list[dict[str, ActivationRange]] = []
    handles = []
    for layer in layers:
        linears = {"qkv": layer.attention.self.query, **_linears(layer)}
        observed.append({name: ActivationRange() for name in linears})
        for name, linear in linears.items():
            handles.append(linear.register_forward_pre_hook(lambda _, inputs, seen=observed[-1][name]: seen.update(inputs[0])))
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    return observed


def _weight_dtype(network: nn.Module) -> torch.dtype | None:
    return next((parameter.dtype for parameter in network.parameters() if parameter.is_floating_point()), None)


def _fusible_layers(network: nn.Module) -> list[_Replacement]:
    config = getattr(network, "config", None)
    return [(holder, name, child) for holder in network.modules() for name, child in holder.named_children() if is_fusible(child, config)]


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
