"""Linear layers with weights packed for oneDNN, put in place of those of a frozen network."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .int8 import Int8Layer, Int8Linear, can_round, watched
from .varlen import Sequences, attend

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


log = logging.getLogger(__name__)
# How far what it says with packed weights may lie from what it said before, as a part of the largest number.
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}
_ROUNDED = 0.97  # the least mean cosine of a token's vectors by rounded and by whole weights
_Swap = tuple[Any, str, Any]


def pack(network: Any, said: Callable[[], Tensor]) -> bool:
    """Put packed linear layers, and fused layers where they fit, into ``network``; its own weights are let go.

    Where the network fails with them, or says something else, it is left as it was.

    Args:
        network: for inference only, on the CPU.
        said: what it says of a few texts.

    Returns:
        Whether it has packed layers now.
    """
    dtype = next((parameter.dtype for parameter in network.parameters() if parameter.is_floating_point()), None)
    if dtype is None or not can_pack(dtype):
        return False
    before = said()
    for fused in (True, False):
        swaps = _swaps(network, fused=fused)
        if not swaps:
            continue
        old = [(holder, name, holder._modules[name]) for holder, name, _ in swaps]
        _put(swaps)
        if _alike(before, said, _TOLERANCE[dtype]):
            return True
        _put(old)
    return False


def join(network: Any, before: Tensor, said: Callable[[], Tensor]) -> bool:
    """Put fused layers into ``network``, where they fit, which compute by its weights as they are.

    Where it fails with them, or then says something else than ``before``, it is left as it was.

    Args:
        network: for inference only, on any device.
        before: what was said of a few texts.
        said: what is said of them with texts one behind the other.

    Returns:
        Whether the same is said so, with such layers or without.
    """
    dtype = next((parameter.dtype for parameter in network.parameters() if parameter.is_floating_point()), None)
    if dtype not in _TOLERANCE:
        return False
    config = getattr(network, "config", None)
    places = [(holder, name, child) for holder in network.modules() for name, child in holder.named_children() if fuses(child, config)]
    for fused in (True, False):
        _put([(holder, name, FusedLayer(layer, JoinedLinear)) for holder, name, layer in places] if fused else places)
        if _alike(before, said, _TOLERANCE[dtype]):
            return True
    return False


def round_layers(network: Any, read: Callable[[], object], said: Callable[[], Tensor]) -> bool:
    """Put layers in eight bits into the place of those of ``network`` that are laid out as BERT's; the pooler, which nothing reads, stays.

    Where it has none, or says something else with them, it is left as it was.

    Args:
        network: for inference only, in float32, on the CPU.
        read: has it read texts of many kinds, which tell how large its activations get.
        said: what it says of a few texts, (tokens, hidden size).

    Returns:
        Whether its layers are in eight bits now.
    """
    config = getattr(network, "config", None)
    places = [(holder, name, child) for holder in network.modules() for name, child in holder.named_children() if fuses(child, config)]
    if not places or not can_round():
        return False
    before = said()
    with torch.inference_mode():
        seen = watched([layer for *_, layer in places], read)
        try:
            _put([(holder, name, Int8Layer(layer, limits)) for (holder, name, layer), limits in zip(places, seen, strict=True)])
            if float(functional.cosine_similarity(said(), before, dim=-1).mean()) >= _ROUNDED:
                return True
        except RuntimeError as error:
            log.info("layers in eight bits do not fit this network: %s", error)
    _put(places)
    return False


def packed_bytes(network: nn.Module) -> int:
    """What packed weights take, which are no parameters."""
    return sum(module.packed_bytes for module in network.modules() if isinstance(module, PackedLinear | Int8Linear))


def _swaps(network: nn.Module, *, fused: bool) -> list[_Swap]:
    """(holder, name, what comes to stand there)."""
    found: list[_Swap] = []
    _collect(network, getattr(network, "config", None), fused, found)
    return found if not fused or any(isinstance(new, FusedLayer) for *_, new in found) else []


def _collect(holder: nn.Module, config: Any, fused: bool, found: list[_Swap]) -> None:
    for name, child in holder.named_children():
        if fused and config is not None and fuses(child, config):
            found.append((holder, name, FusedLayer(child)))
        elif type(child) is nn.Linear and child.weight.dtype in _TOLERANCE:
            found.append((holder, name, PackedLinear(child.weight, child.bias)))
        elif not hasattr(child, "base_layer"):  # an adapter reads the weights of the layer that it stands on
            _collect(child, config, fused, found)


def _put(swaps: list[_Swap]) -> None:
    for holder, name, module in swaps:
        holder._modules[name] = module


def _alike(before: Tensor, said: Callable[[], Tensor], tolerance: float) -> bool:
    try:
        after = said()
    except (RuntimeError, TypeError, AttributeError, NotImplementedError) as error:
        log.info("packed weights do not fit this network: %s", error)
        return False
    worst = float((after.float() - before.float()).abs().max()) if before.numel() else 0.0
    largest = float(before.float().abs().max()) if before.numel() else 1.0
    return worst <= tolerance * max(largest, 1e-6)
