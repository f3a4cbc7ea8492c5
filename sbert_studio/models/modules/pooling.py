"""Token vectors → one vector a text, by the attention mask, so that padding on either side changes nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...errors import StudioError
from ...workspace import write_json
from ..io.backbone import read_json
from .base import MODULES, POOLING, Module

if TYPE_CHECKING:
    from typing import Self

POOLINGS = ("mean", "cls", "max", "last", "weighted_mean", "mean_sqrt_len")
# Where a folder asks for several at once, their vectors stand side by side: "cls+mean".
JOIN = "+"
# Our name → the key of the old layout. In the order in which readers concatenate several.
_OLD_POOLING = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
    "weighted_mean": "pooling_mode_weightedmean_tokens",
    "last": "pooling_mode_lasttoken",
}
# The two of them that readers before 2.3 do not know, and would refuse.
_LATER = ("weighted_mean", "last")
_NEW_POOLING = {
    "cls": "cls",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean": "weighted_mean",
    "lasttoken": "last",
}


@MODULES.register("Pooling")
class Pooling(Module):
    """One pooling mode of :data:`POOLINGS`, or several joined by ``+`` whose vectors are concatenated.

    - ``mean``: the average over real tokens (Reimers and Gurevych 2019, section 3).
    - ``cls``: the first real token. ``last``: the last one.
    - ``max``: the component-wise maximum over real tokens.
    - ``weighted_mean``: Σ i·hᵢ / Σ i over real tokens i = 1…n (Muennighoff 2022, equation 1).
    - ``mean_sqrt_len``: the sum over real tokens divided by the root of their number.

    Where tokens have weights, each vector is multiplied by its own, and numbers of tokens are sums of weights.

    Args:
        skip: how many of the first real tokens are left out: those of a prompt.

    Raises:
        StudioError: the mode is unknown.
    """

    stage = POOLING

    def __init__(self, mode: str = "mean", skip: int = 0) -> None:
        super().__init__()
        self.mode, self.skip, self.skips_prompt = mode, skip, skip > 0
        self.modes = tuple(mode.split(JOIN))
        for part in self.modes:
            if part not in POOLINGS:
                raise StudioError(f"there is no pooling {part!r}", f"choose one of {', '.join(POOLINGS)}")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From ``config.json``, in the old layout or the new one; ``skips_prompt`` says whether a prompt's tokens are to be left out.

        Raises:
            StudioError: the file is missing or damaged, or a mode is unknown.
        """
        config = read_json(folder / "config.json", dict)
        found = cls(read_mode(config))
        found.skips_prompt = not config.get("include_prompt", True)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        """The old keys; the new ones only where several modes stand in an order that the old ones cannot express."""
        write_json(folder / "config.json", _settings(self.modes, inputs) | ({"include_prompt": False} if self.skips_prompt else {}))

    def width(self, inputs: int) -> int:
        """One width for each mode."""
        return inputs * len(self.modes)

    def forward(self, hidden: Tensor, mask: Tensor | None, skip: Tensor | None = None) -> Tensor:
        """Pool ``hidden`` (b, t, d) by ``mask`` (b, t; 1, or its weight: a real token; None: all are) to (b, d · modes) float32.

        Args:
            skip: (b,), in the place of :attr:`skip` where it differs from text to text.
        """
        # Sums of bfloat16 lose the third digit; the pooled vector is what is compared, so it is computed in float32.
        hidden = hidden.float()
        if skip is not None or self.skip:
            real = torch.ones(hidden.shape[:2], dtype=torch.int64, device=hidden.device) if mask is None else mask.to(torch.int64)
            places = real.cumsum(dim=1)
            mask = real * (places > (self.skip if skip is None else skip[:, None]))
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
    """By the mask, in which a word's weight may stand; ``places`` number the tokens where they do not begin with the first one."""
    real, there = mask.to(hidden.dtype), mask > 0
    rows = torch.arange(hidden.shape[0], device=hidden.device)
    if mode in ("cls", "last", "max") and mask.is_floating_point():
        hidden = hidden * real.unsqueeze(-1)
    if mode == "cls":
        return hidden[rows, there.to(torch.int32).argmax(dim=1)]
    if mode == "last":
        # A position's own number where real, 0 where padding: the largest is the last real token on either side.
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        return hidden[rows, (positions * there).argmax(dim=1)]
    if mode == "max":
        highest = hidden.masked_fill(~there.unsqueeze(-1), float("-inf")).amax(dim=1)
        return highest.masked_fill(highest == float("-inf"), 0.0)  # of a text without a token
    if mode == "weighted_mean":
        real = real * (there.cumsum(dim=1) if places is None else places)
    total = torch.einsum("btd,bt->bd", hidden, real)
    weight = real.sum(dim=1, keepdim=True).clamp(min=1e-9)
    pooled: Tensor = total / (weight.sqrt() if mode == "mean_sqrt_len" else weight)
    return pooled


def read_mode(config: dict[str, Any]) -> str:
    """The mode that a pooling's ``config.json`` asks for, by the newer key, or by whichever of the older ones are set.

    Raises:
        StudioError: a mode is unknown.
    """
    mode = config.get("pooling_mode")
    if mode is None:
        unclear = [key for key in _OLD_POOLING.values() if not isinstance(config.get(key, False), bool)]
        if unclear:
            raise StudioError(f"{unclear[0]} in the model's pooling is neither true nor false", "copy the folder again")
        return JOIN.join(ours for ours, key in _OLD_POOLING.items() if config.get(key)) or "mean"
    modes = [mode] if isinstance(mode, str) else list(mode)
    unknown = [one for one in modes if one not in _NEW_POOLING]
    if unknown:
        raise StudioError(f"the model pools by {unknown[0]!r}, which is not known here", "update SBERT Studio")
    return JOIN.join(_NEW_POOLING[one] for one in modes)


def _settings(modes: tuple[str, ...], width: int) -> dict[str, Any]:
    if list(modes) != [name for name in _OLD_POOLING if name in modes]:
        theirs = {ours: name for name, ours in _NEW_POOLING.items()}
        return {"embedding_dimension": width, "pooling_mode": [theirs[mode] for mode in modes]}
    old = {key: name in modes for name, key in _OLD_POOLING.items() if name not in _LATER or name in modes}
    return {"word_embedding_dimension": width, **old}
