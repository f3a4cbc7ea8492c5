"""Modules: reading, writing, and pooling against a loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor

from sbert_studio.errors import StudioError
from sbert_studio.models.modules import MODULES, Module
from sbert_studio.models.modules.embeddings import StaticEmbedding, WordEmbeddings, WordWeights
from sbert_studio.models.modules.pooling import POOLINGS, Pooling
from sbert_studio.models.modules.projection import Dense, LayerNorm, Normalize
from sbert_studio.models.modules.recurrent import GRU, LSTM, RNN, Recurrent
from sbert_studio.models.static.tokens import WordTokens

WIDTH = 6
WORDS = WordEmbeddings(WordTokens(["rain", "sun", "snow"]), np.arange(3 * WIDTH, dtype=np.float32).reshape(3, WIDTH))
CASES: list[tuple[Module, int]] = [
    (Pooling("cls+mean"), 12),
    (Pooling("mean+cls"), 12),
    (Dense(WIDTH, 3, "tanh"), 3),
    (Dense(WIDTH, WIDTH, "silu", residual=True), WIDTH),
    (Normalize(), WIDTH),
    (LayerNorm(WIDTH), WIDTH),
    (StaticEmbedding(Tokenizer(WordLevel({"rain": 0, "sun": 1, "snow": 2})), torch.arange(3.0 * WIDTH).reshape(3, WIDTH)), WIDTH),
    (WORDS, WIDTH),
    (WordWeights(WORDS.words.words, np.arange(4.0)), WIDTH),
    (RNN(WIDTH, 4), 4),
    (LSTM(WIDTH, 4, bidirectional=True), 8),
    (GRU(WIDTH, 4, layers=2), 4),
]
MASK = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])


def test_every_registered_module_is_tried_here_and_damaged_files_are_named(tmp_path: Path) -> None:
    missing = set(MODULES) - {module.name for module, _ in CASES}
    assert not missing, f"add an example of {', '.join(missing)} to CASES"
    for name in ("Pooling", "Dense"):
        with pytest.raises(StudioError, match=r"config\.json"):
            MODULES[name].read(tmp_path / name)
    with pytest.raises(StudioError, match="there is no module 'CNN'"):
        MODULES["CNN"]
    with pytest.raises(StudioError, match="'median'"):
        Pooling("median")

    class ReadOnly(Module):
        @classmethod
        def read(cls, folder: Path) -> ReadOnly:
            return cls()  # type: ignore[abstract]

    with pytest.raises(TypeError, match="write"):
        ReadOnly()  # type: ignore[abstract]


@pytest.mark.parametrize(("module", "width"), CASES)
def test_a_module_is_read_as_it_was_written(module: Module, width: int, tmp_path: Path) -> None:
    module.write(tmp_path / "it", WIDTH)
    read = MODULES[module.name].read(tmp_path / "it")
    torch.manual_seed(1)
    given: tuple[torch.Tensor, ...] = (torch.randn(2, WIDTH),)
    if isinstance(module, Pooling | Recurrent):
        given = (torch.randn(2, 5, WIDTH), MASK)
    elif isinstance(module, WordEmbeddings | WordWeights | StaticEmbedding):
        given = (torch.tensor([[1, 3, 0], [2, 2, 1]]),)
    found = module(*given)
    assert torch.equal(read(*given), found)
    assert module.output_width(WIDTH) == width
    assert found.shape[-1] == width or (isinstance(module, WordWeights) and found.shape == given[0].shape)


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
def test_tokens_behind_a_prompt_keep_their_places_and_modes_are_joined_in_float32(mode: str) -> None:
    hidden, mask, tokens = batch("right")
    rows = [row for row, text in enumerate(tokens) if len(text) > 2]
    expected = torch.stack([naive(tokens[row][2:], mode, 2) for row in rows])
    torch.testing.assert_close(Pooling(mode, skip=2)(hidden[rows], mask[rows]), expected, rtol=1e-5, atol=1e-6)
    hidden, mask, _ = batch("right")
    torch.testing.assert_close(Pooling(mode)(hidden, None), Pooling(mode)(hidden, torch.ones_like(mask)), rtol=1e-5, atol=1e-6)
    half = hidden.bfloat16()
    assert torch.equal(Pooling(mode)(half, mask), Pooling(mode)(half.float(), mask)), "pooled in float32"
    joined = Pooling(f"cls+{mode}")(hidden, mask)
    torch.testing.assert_close(joined, torch.cat([Pooling("cls")(hidden, mask), Pooling(mode)(hidden, mask)], dim=1))
