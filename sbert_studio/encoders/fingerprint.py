"""What tells a model from every other one: 16 hex digits of its weights and of what else decides its answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn


def fingerprint_of(module: nn.Module, parts: Iterable[bytes]) -> str:
    """16 hex digits of ``parts`` and of every weight, by name."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    for name, tensor in sorted(module.state_dict().items()):
        state.update(name.encode())
        if isinstance(tensor, Tensor):
            state.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()[:16]


def identity_of(network: Any, tokenizer: Any) -> Iterator[bytes]:
    """A transformer's configuration, but for the folder that it was read from, and its tokenizer."""
    config = json.loads(network.config.to_json_string(use_diff=False))
    yield json.dumps({**config, "_name_or_path": ""}, sort_keys=True).encode()
    yield (tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else repr(sorted(tokenizer.get_vocab().items()))).encode()
