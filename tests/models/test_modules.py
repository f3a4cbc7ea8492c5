"""Each module is read from the folder it wrote, and does what it did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from sbert_studio.errors import StudioError
from sbert_studio.models.modules import MODULES, Module
from sbert_studio.models.modules.dense import Dense
from sbert_studio.models.modules.normalize import LayerNorm, Normalize
from sbert_studio.models.modules.pooling import Pooling
from sbert_studio.models.modules.recurrent import GRU, LSTM, RNN, Recurrent
from sbert_studio.models.modules.static_embedding import StaticEmbedding
from sbert_studio.models.modules.word_embeddings import WordEmbeddings, WordWeights
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


def test_every_registered_module_is_tried_here() -> None:
    assert {module.name for module, _ in CASES} == set(MODULES)


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
    assert module.width(WIDTH) == width
    assert found.shape[-1] == width or (isinstance(module, WordWeights) and found.shape == given[0].shape)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    for name in ("Pooling", "Dense"):
        with pytest.raises(StudioError, match=r"config\.json"):
            MODULES[name].read(tmp_path / name)
    with pytest.raises(StudioError, match="there is no module 'CNN'"):
        MODULES["CNN"]


def test_a_module_that_cannot_be_written_cannot_be_made() -> None:
    class ReadOnly(Module):
        @classmethod
        def read(cls, folder: Path) -> ReadOnly:
            return cls()  # type: ignore[abstract]

    with pytest.raises(TypeError, match="write"):
        ReadOnly()  # type: ignore[abstract]
