"""A frozen network with packed weights in the place of its linear layers, where it still says the same with them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .int8 import Int8Layer, Int8Linear, can_round, watched
from .packed import FusedLayer, JoinedLinear, PackedLinear, can_pack, fuses

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
