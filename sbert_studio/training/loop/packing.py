"""A batch without its padding: all real tokens in one row, spread out again for the attention alone.

On a CPU every token costs, real or not, and even among rows of like length one in nine is padding. Linear layers,
normalisations and dropout then work on real tokens only, and nothing else changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .quick import QuickDropout

_NAME = "sbert_studio_packed"
# Architectures whose tokens meet in the attention only, and whose positions can be given.
_PACKABLE = ("bert", "roberta", "xlm-roberta")


@dataclass(frozen=True)
class Packing:
    """Where the real tokens of a (rows, longest) batch stand.

    Attributes:
        places: (tokens,) int64, into the flattened batch.
        bias: (rows, 1, 1, longest), 0 where a token is real and −∞ elsewhere: what is added before the softmax.
    """

    rows: int
    longest: int
    places: Tensor
    bias: Tensor

    @classmethod
    def of(cls, mask: Tensor) -> Packing:
        """The packing of a batch by its attention mask (rows, longest)."""
        bias = torch.zeros(mask.shape).masked_fill_(mask == 0, -math.inf)[:, None, None, :]
        return cls(mask.shape[0], mask.shape[1], mask.reshape(-1).nonzero().squeeze(1), bias)

    def spread(self, tokens: Tensor) -> Tensor:
        """(tokens, width) → (rows, longest, width), with zeros for padding."""
        spread: Tensor = _Spread.apply(tokens, self.places, self.rows * self.longest)  # type: ignore[no-untyped-call]
        return spread.view(self.rows, self.longest, -1)

    def pack(self, batch: Tensor) -> Tensor:
        """(rows, longest, width) → (tokens, width)."""
        packed: Tensor = _Pack.apply(batch.reshape(self.rows * self.longest, -1), self.places)  # type: ignore[no-untyped-call]
        return packed


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, places: Tensor, size: int) -> Tensor:
        ctx.places = places
        return tokens.new_zeros(size, tokens.shape[1]).index_copy_(0, places, tokens)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0].index_select(0, ctx.places), None, None


class _Pack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, batch: Tensor, places: Tensor) -> Tensor:
        ctx.places, ctx.size = places, len(batch)
        return batch.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].new_zeros(ctx.size, gradients[0].shape[1]).index_copy_(0, ctx.places, gradients[0]), None


def pack_batches(backbone: nn.Module) -> Callable[[], None]:
    """Let ``backbone`` drop the padding of each batch while it trains; a no-op for an architecture that is not known to allow it.

    Returns:
        What undoes it.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    config: Any = getattr(backbone, "config", None)
    if config is None or config.model_type not in _PACKABLE or config._attn_implementation != "sdpa" or config.is_decoder:
        return lambda: None

    def attend(module: nn.Module, *states: Tensor, packing: Packing | None = None, **options: Any) -> tuple[Tensor, None]:
        if packing is None:
            return sdpa_attention_forward(module, *states, **options)  # type: ignore[no-any-return]
        return _attention(packing, *states[:3], dropout=options["dropout"], scaling=options["scaling"]), None

    def before(module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        mask = options.get("attention_mask")
        if not module.training or mask is None:
            return arguments, options
        ids = arguments[0] if arguments else options["input_ids"]  # a model with a head gives them by place
        real = mask.bool()
        offset = 0 if config.model_type == "bert" else int(config.pad_token_id) + 1
        positions = (mask.cumsum(dim=1) - 1 + offset)[real]
        packed = {"input_ids": ids[real][None], "position_ids": positions[None], "attention_mask": None}
        if options.get("token_type_ids") is not None:
            packed["token_type_ids"] = options["token_type_ids"][real][None]
        return (), {**options, **packed, "packing": Packing.of(mask)}

    def after(module: Any, arguments: tuple[Any, ...], options: dict[str, Any], output: Any) -> Any:
        if "packing" in options:
            output.last_hidden_state = options["packing"].spread(output.last_hidden_state[0])
            if getattr(output, "pooler_output", None) is not None:  # what it pooled was the first token of all
                output.pooler_output = module.pooler(output.last_hidden_state)
        return output

    AttentionInterface.register(_NAME, attend)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    config._attn_implementation = _NAME
    hooks = (backbone.register_forward_pre_hook(before, with_kwargs=True), backbone.register_forward_hook(after, with_kwargs=True))

    def undo() -> None:
        for hook in hooks:
            hook.remove()
        config._attn_implementation = "sdpa"

    return undo


def _attention(packing: Packing, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, scaling: float) -> Tensor:
    """softmax(q kᵀ · scaling + bias) v of (1, heads, tokens, d) each → (1, tokens, heads, d)."""
    heads, width = query.shape[1], query.shape[3]
    size = (packing.rows, packing.longest, heads, width)

    def apart(states: Tensor) -> Tensor:
        flat = states.transpose(1, 2).reshape(-1, heads * width)
        return packing.spread(flat).view(size).transpose(1, 2).reshape(-1, packing.longest, width)

    bias = packing.bias.to(query.dtype).expand(-1, heads, -1, -1).reshape(-1, 1, packing.longest)
    weights = torch.softmax(torch.baddbmm(bias, apart(query), apart(key).transpose(1, 2), alpha=scaling), dim=-1)
    if dropout:
        weights = QuickDropout(dropout)(weights)
    mixed = torch.bmm(weights, apart(value)).view(packing.rows, heads, packing.longest, width)
    return packing.pack(mixed.transpose(1, 2)).view(1, -1, heads, width)
