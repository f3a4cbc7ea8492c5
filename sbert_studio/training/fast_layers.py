"""Faster training on a CPU: linear layers, dropout, embedding gradients, and batches without padding."""

from __future__ import annotations

import functools
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..models.quantized import QuantizedEmbedding

_CPUINFO = Path("/proc/cpuinfo")


class OneDNNLinear(nn.Linear):
    """Linear layer that uses oneDNN for float32 products on a CPU, forward and backward.

    A layer is converted only by changing its class, so that weights, names and hooks are preserved.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Map (…, in) to (…, out)."""
        if not _is_supported(input, self.weight):
            return super().forward(input)
        rows = input.reshape(-1, input.shape[-1])
        found: Tensor = _Linear.apply(rows, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return found.view(*input.shape[:-1], -1)


def use_onednn_linear(network: nn.Module) -> None:
    """Convert the plain linear layers of ``network`` where oneDNN is faster on this machine."""
    if not onednn_is_faster():
        return
    for module in network.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDNNLinear


def restore_linear(network: nn.Module) -> None:
    """Convert the layers of ``network`` back to plain linear layers."""
    for module in network.modules():
        if type(module) is OneDNNLinear:
            module.__class__ = nn.Linear  # type: ignore[assignment]


@functools.cache
def onednn_is_faster() -> bool:
    """Return True if oneDNN is faster than MKL on this machine.

    Decided by the CPU model, not by timing, so that resumed runs compute the same result.
    """
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return both and torch.cpu._is_avx512_supported() and hasattr(torch.ops.mkldnn, "_linear_pointwise") and not _is_intel()


def _is_intel() -> bool:
    try:
        return "GenuineIntel" in _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "GenuineIntel" in platform.processor()


def _is_supported(input: Tensor, weight: Tensor) -> bool:
    return (
        input.device.type == "cpu"
        and input.dtype == weight.dtype == torch.float32
        and input.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, bias, "none", [], "")
    return found


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows if weight.requires_grad else None, weight)
        return _product(rows, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (rows, weight), gradient = ctx.saved_tensors, gradients[0].contiguous()
        wanted = ctx.needs_input_grad
        return (
            _product(gradient, weight.t()) if wanted[0] else None,
            _product(gradient.t(), rows.t()) if wanted[1] else None,
            gradient.sum(0) if wanted[2] else None,
        )


_STEPS = 1 << 16


class FastDropout(nn.Dropout):
    """Dropout with a mask from 16 random bits per element, instead of slow Bernoulli draws on a CPU (about 14 ns each).

    The bits are derived from a single number of torch's generator, so that torch's random state determines the mask.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Set a share ``p`` of the elements to 0 and scale the others by 1 / (1 − p)."""
        if not self.training or self.p == 0 or input.device.type != "cpu":
            return super().forward(input)
        seed = int(torch.randint(2**62, ()))
        words = -(-input.numel() // 4)
        bits = np.random.SFC64(seed).random_raw(words).view(np.uint16)[: input.numel()]
        keep = torch.from_numpy(bits >= round(self.p * _STEPS)).view(input.shape).to(input.dtype)
        return input * keep.mul_(1 / (1 - self.p))


def speed_up_backbone(backbone: nn.Module) -> None:
    """Use fast dropout and linear layers in ``backbone``, and sparse gradients for its embeddings."""
    use_onednn_linear(backbone)
    for module in list(backbone.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                module.add_module(name, FastDropout(child.p).train(child.training))
        if isinstance(module, nn.Embedding | QuantizedEmbedding):
            module.sparse = True


class RowGradient:
    """Gradient of an embedding in a persistent buffer: only the rows of a batch are written, and cleared afterwards.

    A dense gradient for 30,522 words would have to be allocated, zeroed and summed at each step.
    """

    def __init__(self, parameter: nn.Parameter) -> None:
        self._buffer = torch.zeros_like(parameter)
        self._rows = torch.empty(0, dtype=torch.int64)

    def fill(self, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Write the sparse ``gradient`` into the buffer; return it and its values."""
        whole = gradient.coalesce()
        self._rows = whole.indices()[0]
        self._buffer.index_copy_(0, self._rows, whole.values())
        return self._buffer, whole.values()

    def clear(self) -> None:
        self._buffer.index_fill_(0, self._rows, 0.0)


_NAME = "sbert_studio_packed"
# Architectures whose tokens interact only in attention, and whose positions can be passed explicitly.
_PACKABLE = ("bert", "roberta", "xlm-roberta")
_GROUP_ROWS = 8  # minimum number of rows, so that the overhead per group stays small
_GROUP_RATIO = 0.6  # minimum length relative to a group's longest row; below it, padding costs more than another group


@dataclass(frozen=True)
class LengthGroup:
    """Adjacent rows of similar length whose attention is computed together.

    Attributes:
        tokens: slice of the packed tokens.
        indices: (tokens,) int64 indices into the flattened (rows, longest) group.
        bias: (rows, 1, 1, longest) attention bias: 0 for tokens, −∞ for padding.
    """

    tokens: slice
    rows: int
    longest: int
    indices: Tensor
    bias: Tensor


@dataclass(frozen=True)
class BatchPacking:
    """Positions of the real tokens of a (rows, longest) batch, shortest rows first.

    Attributes:
        indices: (tokens,) int64 indices into the flattened batch.
        groups: groups of rows of similar length.
    """

    rows: int
    longest: int
    indices: Tensor
    groups: tuple[LengthGroup, ...]

    @classmethod
    def from_mask(cls, mask: Tensor) -> BatchPacking:
        """Create the packing from an attention mask (rows, longest)."""
        rows, longest = mask.shape
        lengths, order = mask.sum(dim=1).sort(stable=True)
        real = mask[order] != 0
        flat = torch.arange(rows * longest).view(rows, longest)
        groups, start = [], 0
        for low, high in _length_groups(lengths.tolist()):
            part = real[low:high]
            part = part[:, : max(1, int((part.any(dim=0) * torch.arange(1, longest + 1)).max()))]
            bias = torch.zeros(part.shape).masked_fill_(~part, -math.inf)[:, None, None, :]
            indices = part.reshape(-1).nonzero().squeeze(1)
            groups.append(LengthGroup(slice(start, start + len(indices)), high - low, part.shape[1], indices, bias))
            start += len(indices)
        return cls(rows, longest, flat[order][real], tuple(groups))

    def unpack(self, tokens: Tensor) -> Tensor:
        """Unpack (tokens, width) to (rows, longest, width), padded with zeros."""
        return _unpack_rows(tokens, self.indices, self.rows, self.longest)

    def pack(self, batch: Tensor) -> Tensor:
        """Pack (rows, longest, width) to (tokens, width)."""
        return _pack_rows(batch, self.indices)


def _length_groups(lengths: list[int]) -> list[tuple[int, int]]:
    cuts = [len(lengths)]
    for at in range(len(lengths) - 1, _GROUP_ROWS - 1, -1):
        if cuts[-1] - at >= _GROUP_ROWS and lengths[at - 1] < _GROUP_RATIO * lengths[cuts[-1] - 1]:
            cuts.append(at)
    bounds = [0, *cuts[::-1]]
    return list(pairwise(bounds))


def _unpack_rows(tokens: Tensor, indices: Tensor, rows: int, longest: int) -> Tensor:
    spread: Tensor = _Unpack.apply(tokens, indices, rows * longest)  # type: ignore[no-untyped-call]
    return spread.view(rows, longest, -1)


def _pack_rows(batch: Tensor, indices: Tensor) -> Tensor:
    packed: Tensor = _Pack.apply(batch.reshape(-1, batch.shape[-1]), indices)  # type: ignore[no-untyped-call]
    return packed


class _Unpack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, indices: Tensor, size: int) -> Tensor:
        ctx.indices = indices
        return tokens.new_zeros(size, tokens.shape[1]).index_copy_(0, indices, tokens)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0].index_select(0, ctx.indices), None, None


class _Pack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, batch: Tensor, indices: Tensor) -> Tensor:
        ctx.indices, ctx.size = indices, len(batch)
        return batch.index_select(0, indices)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0].new_zeros(ctx.size, gradients[0].shape[1]).index_copy_(0, ctx.indices, gradients[0]), None


def pack_batches(backbone: nn.Module) -> Callable[[], None]:
    """Train ``backbone`` without padding, if its architecture is supported.

    Returns:
        A function that undoes the change.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    config: Any = getattr(backbone, "config", None)
    if config is None or config.model_type not in _PACKABLE or config._attn_implementation != "sdpa" or config.is_decoder:
        return lambda: None

    def attend(module: nn.Module, *states: Tensor, packing: BatchPacking | None = None, **options: Any) -> tuple[Tensor, None]:
        if packing is None:
            return sdpa_attention_forward(module, *states, **options)  # type: ignore[no-any-return]
        return _attention(packing, *states[:3], dropout=options["dropout"], scaling=options["scaling"]), None

    def before(module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        mask = options.get("attention_mask")
        if not module.training or mask is None:
            return arguments, options
        ids = arguments[0] if arguments else options["input_ids"]  # a model with a head passes them by position
        packing = BatchPacking.from_mask(mask)
        offset = 0 if config.model_type == "bert" else int(config.pad_token_id) + 1
        by_token = {"input_ids": ids, "position_ids": mask.cumsum(dim=1) - 1 + offset}
        if options.get("token_type_ids") is not None:
            by_token["token_type_ids"] = options["token_type_ids"]
        packed = {name: of.reshape(-1)[packing.indices][None] for name, of in by_token.items()}
        return (), {**options, **packed, "attention_mask": None, "packing": packing}

    def after(module: Any, arguments: tuple[Any, ...], options: dict[str, Any], output: Any) -> Any:
        if "packing" in options:
            output.last_hidden_state = options["packing"].unpack(output.last_hidden_state[0])
            if getattr(output, "hidden_states", None) is not None:
                output.hidden_states = tuple(options["packing"].unpack(states[0]) for states in output.hidden_states)
            if getattr(output, "pooler_output", None) is not None:  # it pooled the first token of the whole batch
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


def _attention(packing: BatchPacking, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, scaling: float) -> Tensor:
    heads, width = query.shape[1], query.shape[3]
    query, key, value = (states.transpose(1, 2).reshape(-1, heads * width) for states in (query, key, value))
    mixed = [
        _group_attention(group, query[group.tokens], key[group.tokens], value[group.tokens], heads, dropout=dropout, scaling=scaling)
        for group in packing.groups
    ]
    return torch.cat(mixed).view(1, -1, heads, width)


def _group_attention(
    group: LengthGroup, query: Tensor, key: Tensor, value: Tensor, heads: int, *, dropout: float, scaling: float
) -> Tensor:
    def by_head(states: Tensor) -> Tensor:
        spread = _unpack_rows(states, group.indices, group.rows, group.longest)
        return spread.view(group.rows, group.longest, heads, -1).transpose(1, 2).reshape(group.rows * heads, group.longest, -1)

    bias = group.bias.to(query.dtype).expand(-1, heads, -1, -1).reshape(-1, 1, group.longest)
    weights = torch.softmax(torch.baddbmm(bias, by_head(query), by_head(key).transpose(1, 2), alpha=scaling), dim=-1)
    if dropout:
        weights = FastDropout(dropout)(weights)
    mixed = torch.bmm(weights, by_head(value)).view(group.rows, heads, group.longest, -1)
    return _pack_rows(mixed.transpose(1, 2).reshape(group.rows, group.longest, -1), group.indices)
