"""Token vectors → one vector a text, by the attention mask, so that padding on either side changes nothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..errors import StudioError

POOLINGS = ("mean", "cls", "max", "last", "weighted_mean", "mean_sqrt_len")
# Where a folder asks for several at once, their vectors stand side by side: "cls+mean".
JOIN = "+"


class Pooling(nn.Module):
    """One pooling mode of :data:`POOLINGS`, or several joined by ``+`` whose vectors are concatenated.

    - ``mean``: the average over real tokens (Reimers and Gurevych 2019, section 3).
    - ``cls``: the first real token. ``last``: the last one.
    - ``max``: the component-wise maximum over real tokens.
    - ``weighted_mean``: Σ i·hᵢ / Σ i over real tokens i = 1…n (Muennighoff 2022, equation 1).
    - ``mean_sqrt_len``: the sum over real tokens divided by the root of their number.

    Args:
        skip: how many of the first real tokens are left out: those of a prompt.

    Raises:
        StudioError: the mode is unknown.
    """

    def __init__(self, mode: str = "mean", skip: int = 0) -> None:
        super().__init__()
        self.mode, self.skip = mode, skip
        self.modes = tuple(mode.split(JOIN))
        for part in self.modes:
            if part not in POOLINGS:
                raise StudioError(f"there is no pooling {part!r}", f"choose one of {', '.join(POOLINGS)}")

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """Pool ``hidden`` (b, t, d) by ``mask`` (b, t; 1 = real token; None: all are) to (b, d · modes) float32."""
        # Sums of bfloat16 lose the third digit; the pooled vector is what is compared, so it is computed in float32.
        hidden = hidden.float()
        if self.skip:
            real = torch.ones(hidden.shape[:2], dtype=torch.int64, device=hidden.device) if mask is None else mask.to(torch.int64)
            places = real.cumsum(dim=1)
            mask = real * (places > self.skip)
            skipped = [_masked(hidden, mask, mode, places) for mode in self.modes]
            return skipped[0] if len(skipped) == 1 else torch.cat(skipped, dim=-1)
        parts = [_unmasked(hidden, mode) if mask is None else _masked(hidden, mask, mode) for mode in self.modes]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def _unmasked(hidden: Tensor, mode: str) -> Tensor:
    length = hidden.shape[1]
    if mode == "mean":
        return hidden.mean(dim=1)
    if mode == "cls":
        return hidden[:, 0]
    if mode == "last":
        return hidden[:, -1]
    if mode == "max":
        return hidden.amax(dim=1)
    if mode == "mean_sqrt_len":
        return hidden.sum(dim=1) / math.sqrt(length)
    weights = torch.arange(1, length + 1, device=hidden.device, dtype=hidden.dtype)
    return torch.einsum("btd,t->bd", hidden, weights / weights.sum())


def _masked(hidden: Tensor, mask: Tensor, mode: str, places: Tensor | None = None) -> Tensor:
    """By the mask; ``places`` number the tokens for ``weighted_mean`` where they do not begin with the first one that counts."""
    real = mask.to(hidden.dtype)
    rows = torch.arange(hidden.shape[0], device=hidden.device)
    if mode == "cls":
        return hidden[rows, mask.to(torch.int32).argmax(dim=1)]
    if mode == "last":
        # A position's own number where real, 0 where padding: the largest is the last real token on either side.
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        return hidden[rows, (positions * mask.to(torch.int64)).argmax(dim=1)]
    if mode == "max":
        return hidden.masked_fill(mask.unsqueeze(-1) == 0, float("-inf")).amax(dim=1)
    if mode == "weighted_mean":
        real = real * (real.cumsum(dim=1) if places is None else places)
    total = torch.einsum("btd,bt->bd", hidden, real)
    weight = real.sum(dim=1, keepdim=True).clamp(min=1e-9)
    pooled: Tensor = total / (weight.sqrt() if mode == "mean_sqrt_len" else weight)
    return pooled
