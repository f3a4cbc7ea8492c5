from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sbert_studio.errors import StudioError
from sbert_studio.models.modules.pooling import POOLINGS, Pooling


def naive(tokens: list[Tensor], mode: str, skipped: int = 0) -> Tensor:
    """The pooled vector of one text's real tokens, written out as the docstring defines it. Those before them were ``skipped``."""
    if mode == "cls":
        return tokens[0]
    if mode == "last":
        return tokens[-1]
    if mode == "max":
        return torch.stack([max(column) for column in torch.stack(tokens).T])
    weights = [skipped + place + 1 if mode == "weighted_mean" else 1 for place in range(len(tokens))]
    total = sum(weight * token for weight, token in zip(weights, tokens, strict=True))
    return total / (len(tokens) ** 0.5 if mode == "mean_sqrt_len" else sum(weights))


def batch(side: str) -> tuple[Tensor, Tensor, list[list[Tensor]]]:
    torch.manual_seed(0)
    lengths, longest = [1, 3, 5, 4], 5
    hidden = torch.randn(4, longest, 6) * 3
    mask = torch.zeros(4, longest, dtype=torch.int64)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    if side == "left":
        mask = mask.flip(1)
    return hidden, mask, [[hidden[row, place] for place in range(longest) if mask[row, place]] for row in range(4)]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("mode", POOLINGS)
def test_pooling_equals_a_loop_over_real_tokens(mode: str, side: str) -> None:
    hidden, mask, tokens = batch(side)
    expected = torch.stack([naive(text, mode) for text in tokens])
    torch.testing.assert_close(Pooling(mode)(hidden, mask), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", POOLINGS)
def test_tokens_behind_a_prompt_keep_their_places(mode: str) -> None:
    hidden, mask, tokens = batch("right")
    rows = [row for row, text in enumerate(tokens) if len(text) > 2]
    expected = torch.stack([naive(tokens[row][2:], mode, 2) for row in rows])
    torch.testing.assert_close(Pooling(mode, skip=2)(hidden[rows], mask[rows]), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", POOLINGS)
def test_no_mask_means_that_every_token_is_real(mode: str) -> None:
    hidden, mask, _ = batch("right")
    torch.testing.assert_close(Pooling(mode)(hidden, None), Pooling(mode)(hidden, torch.ones_like(mask)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", POOLINGS)
def test_bfloat16_tokens_are_pooled_in_float32(mode: str) -> None:
    hidden, mask, _ = batch("right")
    half = hidden.bfloat16()
    pooled = Pooling(mode)(half, mask)
    assert pooled.dtype == torch.float32
    torch.testing.assert_close(pooled, Pooling(mode)(half.float(), mask), rtol=0, atol=0)


def test_joined_modes_stand_side_by_side() -> None:
    hidden, mask, _ = batch("right")
    joined = Pooling("cls+mean")(hidden, mask)
    torch.testing.assert_close(joined, torch.cat([Pooling("cls")(hidden, mask), Pooling("mean")(hidden, mask)], dim=1))


def test_an_unknown_mode_is_named() -> None:
    with pytest.raises(StudioError, match="'median'"):
        Pooling("median")
