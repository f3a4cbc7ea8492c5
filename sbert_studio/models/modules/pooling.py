"""Pooling of token vectors into one vector per text, using the attention mask; padding on either side has no effect."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from ...errors import StudioError
from ...i18n import _
from ...workspace import write_json
from ..io.backbone import read_json
from .base import MODULES, POOLING, Module

POOLINGS = ("mean", "cls", "max", "last", "weighted_mean", "mean_sqrt_len")
# Separator of several modes whose vectors are concatenated: "cls+mean".
JOIN = "+"
# Mode → key of the old layout, in the order in which several modes are concatenated.
_OLD_POOLING = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
    "weighted_mean": "pooling_mode_weightedmean_tokens",
    "last": "pooling_mode_lasttoken",
}
# Modes that sentence-transformers before 2.3 rejects.
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
    """A pooling mode of :data:`POOLINGS`, or several joined by ``+`` whose vectors are concatenated.

    - ``mean``: average over real tokens (Reimers and Gurevych 2019, section 3).
    - ``cls``: first real token. ``last``: last real token.
    - ``max``: component-wise maximum over real tokens.
    - ``weighted_mean``: Σ i·hᵢ / Σ i over real tokens i = 1…n (Muennighoff 2022, equation 1).
    - ``mean_sqrt_len``: sum over real tokens divided by the square root of their number.

    With token weights, each vector is multiplied by its weight, and token counts are sums of weights.

    Args:
        skip: number of leading real tokens to ignore: those of a prompt.
    """

    stage = POOLING

    def __init__(self, mode: str = "mean", skip: int = 0) -> None:
        super().__init__()
        self.mode, self.skip, self.skips_prompt = mode, skip, skip > 0
        self.modes = tuple(mode.split(JOIN))
        for part in self.modes:
            if part not in POOLINGS:
                raise StudioError(
                    _("there is no pooling {part}", part=repr(part)), _("choose one of {poolings}", poolings=", ".join(POOLINGS))
                )

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Load from ``config.json`` in the old or the new layout; ``skips_prompt`` is set if prompt tokens are not pooled."""
        config = read_json(folder / "config.json", dict)
        found = cls(read_mode(config))
        found.skips_prompt = not config.get("include_prompt", True)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        """Write the old keys; write the new keys only if the order of several modes cannot be expressed by the old ones."""
        write_json(folder / "config.json", _settings(self.modes, inputs) | ({"include_prompt": False} if self.skips_prompt else {}))

    def output_width(self, inputs: int) -> int:
        return inputs * len(self.modes)

    def forward(self, hidden: Tensor, mask: Tensor | None, skip: Tensor | None = None) -> Tensor:
        """Pool ``hidden`` (b, t, d) by ``mask`` (b, t): (b, d · modes) float32.

        Args:
            mask: 1 or a weight for real tokens, 0 for padding; ``None`` if all tokens are real.
            skip: (b,), overrides :attr:`skip` if it differs between texts.
        """
        # Compute pooling in float32: sums in bfloat16 lose the third digit.
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


def _masked(hidden: Tensor, mask: Tensor, mode: str, positions: Tensor | None = None) -> Tensor:
    weights, is_real = mask.to(hidden.dtype), mask > 0
    rows = torch.arange(hidden.shape[0], device=hidden.device)
    if mode in ("cls", "last", "max") and mask.is_floating_point():
        hidden = hidden * weights.unsqueeze(-1)
    if mode == "cls":
        return hidden[rows, is_real.to(torch.int32).argmax(dim=1)]
    if mode == "last":
        # Position of real tokens, 0 for padding: the largest is the last real token with padding on either side.
        indices = torch.arange(hidden.shape[1], device=hidden.device)
        return hidden[rows, (indices * is_real).argmax(dim=1)]
    if mode == "max":
        highest = hidden.masked_fill(~is_real.unsqueeze(-1), float("-inf")).amax(dim=1)
        return highest.masked_fill(highest == float("-inf"), 0.0)  # texts without tokens
    if mode == "weighted_mean":
        weights = weights * (is_real.long().cumsum(dim=1) if positions is None else positions)  # ONNX cannot sum booleans
    total = torch.einsum("btd,bt->bd", hidden, weights)
    weight = weights.sum(dim=1, keepdim=True).clamp(min=1e-9)
    pooled: Tensor = total / (weight.sqrt() if mode == "mean_sqrt_len" else weight)
    return pooled


def read_mode(config: dict[str, Any]) -> str:
    """Return the mode in a pooling's ``config.json``, from the new key or the old ones."""
    mode = config.get("pooling_mode")
    if mode is None:
        unclear = [key for key in _OLD_POOLING.values() if not isinstance(config.get(key, False), bool)]
        if unclear:
            raise StudioError(_("{unclear} in the model's pooling is neither true nor false", unclear=unclear[0]), "copy the folder again")
        return JOIN.join(ours for ours, key in _OLD_POOLING.items() if config.get(key)) or "mean"
    modes = [mode] if isinstance(mode, str) else list(mode)
    unknown = [one for one in modes if one not in _NEW_POOLING]
    if unknown:
        raise StudioError(_("the model's pooling mode {unknown} is not supported", unknown=repr(unknown[0])), "update SBERT Studio")
    return JOIN.join(_NEW_POOLING[one] for one in modes)


def _settings(modes: tuple[str, ...], width: int) -> dict[str, Any]:
    if list(modes) != [name for name in _OLD_POOLING if name in modes]:
        theirs = {ours: name for name, ours in _NEW_POOLING.items()}
        return {"embedding_dimension": width, "pooling_mode": [theirs[mode] for mode in modes]}
    old = {key: name in modes for name, key in _OLD_POOLING.items() if name not in _LATER or name in modes}
    return {"word_embedding_dimension": width, **old}
