"""A batch without its padding: all real tokens in one row, spread out again for the attention alone, by groups of like length.

On a CPU every token costs, real or not, and even among rows of like length one in nine is padding. Linear layers,
normalisations and dropout then work on real tokens only, and nothing else changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from .fast_layers import QuickDropout

_NAME = "sbert_studio_packed"
# Architectures whose tokens meet in the attention only, and whose positions can be given.
_PACKABLE = ("bert", "roberta", "xlm-roberta")
_GROUP = 8  # rows at least, so that a group's own overhead stays small
_SHORTER = 0.6  # of a group's longest: where its padding begins to cost more than another group


@dataclass(frozen=True)
class Group:
    """Rows of like length, next to each other in the packing, whose attention is computed at once.

    Attributes:
        tokens: which of the packed ones are theirs.
        places: (theirs,) int64, into their own flattened (rows, longest) part.
        bias: (rows, 1, 1, longest), 0 where a token is real and −∞ elsewhere: what is added before the softmax.
    """

    tokens: slice
    rows: int
    longest: int
    places: Tensor
    bias: Tensor


@dataclass(frozen=True)
class Packing:
    """Where the real tokens of a (rows, longest) batch stand; packed, the shortest rows come first.

    Attributes:
        places: (tokens,) int64, into the flattened batch.
        groups: of rows of like length, for the attention, which costs their longest squared.
    """

    rows: int
    longest: int
    places: Tensor
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, mask: Tensor) -> Packing:
        """The packing of a batch by its attention mask (rows, longest)."""
        rows, longest = mask.shape
        lengths, order = mask.sum(dim=1).sort(stable=True)
        real = mask[order] != 0
        flat = torch.arange(rows * longest).view(rows, longest)
        groups, start = [], 0
        for low, high in _alike(lengths.tolist()):
            part = real[low:high]
            part = part[:, : max(1, int((part.any(dim=0) * torch.arange(1, longest + 1)).max()))]
            bias = torch.zeros(part.shape).masked_fill_(~part, -math.inf)[:, None, None, :]
            places = part.reshape(-1).nonzero().squeeze(1)
            groups.append(Group(slice(start, start + len(places)), high - low, part.shape[1], places, bias))
            start += len(places)
        return cls(rows, longest, flat[order][real], tuple(groups))

    def spread(self, tokens: Tensor) -> Tensor:
        """(tokens, width) → (rows, longest, width), with zeros for padding."""
        return _spread(tokens, self.places, self.rows, self.longest)

    def pack(self, batch: Tensor) -> Tensor:
        """(rows, longest, width) → (tokens, width)."""
        return _pack(batch, self.places)


def _alike(lengths: list[int]) -> list[tuple[int, int]]:
    """Ascending lengths, cut where rows get much shorter than the longest of their group."""
    cuts = [len(lengths)]
    for at in range(len(lengths) - 1, _GROUP - 1, -1):
        if cuts[-1] - at >= _GROUP and lengths[at - 1] < _SHORTER * lengths[cuts[-1] - 1]:
            cuts.append(at)
    bounds = [0, *cuts[::-1]]
    return list(pairwise(bounds))


def _spread(tokens: Tensor, places: Tensor, rows: int, longest: int) -> Tensor:
    spread: Tensor = _Spread.apply(tokens, places, rows * longest)  # type: ignore[no-untyped-call]
    return spread.view(rows, longest, -1)


def _pack(batch: Tensor, places: Tensor) -> Tensor:
    packed: Tensor = _Pack.apply(batch.reshape(-1, batch.shape[-1]), places)  # type: ignore[no-untyped-call]
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
        packing = Packing.of(mask)
        offset = 0 if config.model_type == "bert" else int(config.pad_token_id) + 1
        by_token = {"input_ids": ids, "position_ids": mask.cumsum(dim=1) - 1 + offset}
        if options.get("token_type_ids") is not None:
            by_token["token_type_ids"] = options["token_type_ids"]
        packed = {name: of.reshape(-1)[packing.places][None] for name, of in by_token.items()}
        return (), {**options, **packed, "attention_mask": None, "packing": packing}

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
    query, key, value = (states.transpose(1, 2).reshape(-1, heads * width) for states in (query, key, value))
    mixed = [
        _of_group(group, query[group.tokens], key[group.tokens], value[group.tokens], heads, dropout=dropout, scaling=scaling)
        for group in packing.groups
    ]
    return torch.cat(mixed).view(1, -1, heads, width)


def _of_group(group: Group, query: Tensor, key: Tensor, value: Tensor, heads: int, *, dropout: float, scaling: float) -> Tensor:
    """The same of (tokens, heads · d) each → (tokens, heads · d)."""

    def apart(states: Tensor) -> Tensor:
        spread = _spread(states, group.places, group.rows, group.longest)
        return spread.view(group.rows, group.longest, heads, -1).transpose(1, 2).reshape(group.rows * heads, group.longest, -1)

    bias = group.bias.to(query.dtype).expand(-1, heads, -1, -1).reshape(-1, 1, group.longest)
    weights = torch.softmax(torch.baddbmm(bias, apart(query), apart(key).transpose(1, 2), alpha=scaling), dim=-1)
    if dropout:
        weights = QuickDropout(dropout)(weights)
    mixed = torch.bmm(weights, apart(value)).view(group.rows, heads, group.longest, -1)
    return _pack(mixed.transpose(1, 2).reshape(group.rows, group.longest, -1), group.places)
