"""A folder's weights → a backbone for inference, where nothing about them is out of the ordinary."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch

from ..quantized import load_quantized
from ..storage.digests import stamp
from . import bert
from .base import NETWORKS, LeanNetwork

_WEIGHTS = "model.safetensors"
# Places and kinds of tokens, which older releases wrote beside the weights: they are what every model has.
_WRITTEN_ONCE = {"embeddings.position_ids", "embeddings.token_type_ids"}
_POOLER = {"pooler.dense.weight", "pooler.dense.bias"}
__all__ = ["bert", "lean_backbone", "reopen"]


def lean_backbone(folder: Path, config: Any, *, quantized: bool = False) -> LeanNetwork | None:
    """The backbone in float32, its weights mapped from the file where they are float32 there; ``None``: the library must read it.

    A pooler that the file lacks, which nothing reads, is made of zeros.

    Args:
        config: the library's configuration, read from ``folder``.
        quantized: whether the weights are of four bits.

    Raises:
        Exception: whatever a damaged file comes to.
    """
    network = NETWORKS.get(config.model_type)
    if network is None or [path.name for path in folder.glob("*.safetensors")] != [_WEIGHTS] or not network.fits(config):
        return None
    if quantized:
        return cast(LeanNetwork, load_quantized(folder, config, network))
    from safetensors.torch import load_file

    with torch.device("meta"):
        model = network(config)
    asked = model.state_dict()
    path = folder / _WEIGHTS
    weights = {name: weight for name, weight in load_file(path).items() if name not in _WRITTEN_ONCE}
    if absent := asked.keys() - weights.keys():
        if absent != _POOLER:
            return None
        weights |= {name: torch.zeros(asked[name].shape) for name in absent}
    if weights.keys() != asked.keys() or any(weights[name].shape != asked[name].shape for name in asked):
        return None
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.origin = path, stamp(path)
    config.dtype = torch.float32
    return model.eval()


def reopen(model: LeanNetwork) -> None:
    """Map the weights anew from their file: of all that was read to check them, only what is used from now on stays in memory."""
    from safetensors.torch import load_file

    if model.origin is None:
        return
    path, known = model.origin
    with suppress(OSError):  # the file is gone: what was mapped of it stays
        again = load_file(path)
        if stamp(path) != known:
            return
        for name, parameter in model.named_parameters():
            same = again.get(name)
            if same is not None and parameter.device.type == "cpu" and same.dtype == parameter.dtype:
                parameter.data = same
