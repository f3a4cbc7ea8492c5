"""Token vectors of texts one behind the other → one vector a text, as :class:`~sbert_studio.encoders.modules.pooling.Pooling` has it."""

from __future__ import annotations

import torch
from torch import Tensor

from ..modules.pooling import Pooling
from .sequences import Sequences


def pooled(pooling: Pooling, hidden: Tensor, of: Sequences) -> Tensor:
    """(tokens, d) → (n, d · modes) float32; no value is read by the host, and sums have one order."""
    hidden = hidden.float()
    real = None if not pooling.skip else of.places >= pooling.skip
    parts = [_mode(mode, hidden, of, real, pooling.skip) for mode in pooling.modes]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def _mode(mode: str, hidden: Tensor, of: Sequences, real: Tensor | None, skip: int) -> Tensor:
    """By the tokens that are ``real`` (None: all); a text that has none of them is that of its first one, or zeros, as elsewhere."""
    begins, lengths = of.begins, of.lengths
    if mode == "cls":
        return hidden.index_select(0, torch.where(lengths > skip, begins + skip, begins))
    if mode == "last":
        return hidden.index_select(0, torch.where(lengths > skip, of.ends - 1, begins))
    if mode == "max":
        masked = hidden if real is None else hidden.masked_fill(~real.unsqueeze(1), float("-inf"))
        highest = _by_text("max", masked, of)
        return highest.masked_fill(highest == float("-inf"), 0.0)
    if mode == "weighted_mean":
        weights = (of.places + 1).float() if real is None else (of.places + 1) * real.float()
        total, weight = _by_text("sum", hidden * weights.unsqueeze(1), of), _by_text("sum", weights.unsqueeze(1), of)
    else:
        total = _by_text("sum", hidden if real is None else hidden * real.unsqueeze(1), of)
        weight = (lengths - skip).clamp(min=0).unsqueeze(1).float()
    weight = weight.clamp(min=1e-9)
    return total / (weight.sqrt() if mode == "mean_sqrt_len" else weight)


def _by_text(how: str, values: Tensor, of: Sequences) -> Tensor:
    """The ``sum`` or the ``max`` of the rows of each text: (tokens, d) → (n, d)."""
    return torch.segment_reduce(values, how, offsets=of.starts, axis=0, unsafe=True)  # unsafe: the host does not look first
