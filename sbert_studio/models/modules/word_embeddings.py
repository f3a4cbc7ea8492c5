"""Word embeddings and the weight of each word in the mean of a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...errors import StudioError
from ...workspace import write_json
from ..io.backbone import read_json, read_length
from ..static.tokens import WordTokens
from .base import MODULES, WEIGHTS, Module, load_weights, read_weights, table_of, write_weights
from .static_embedding import TokenTable

if TYPE_CHECKING:
    from typing import Self

    from ..static.vectors import WordVectors


PADDING = "PADDING_TOKEN"
_CONFIG = "wordembedding_config.json"
_TOKENIZER = "WhitespaceTokenizer"
_MOST_TOKENS = 1_000_000


@MODULES.register("WordEmbeddings")
class WordEmbeddings(TokenTable):
    """Ids (b, t) → vectors (b, t, d). Row 0 is that of padding, zeros that never learn; no word of a text is found there.

    Args:
        words: the tokenizer; its first word is :data:`PADDING`, or one is put before all.
        matrix: (V, d), a row a word.
        learns: whether the table is tuned with the rest; a large one of others is better left as it is.
        max_length: the most words of a text that are read.

    Raises:
        StudioError: words and rows are not as many.
    """

    def __init__(self, words: WordTokens, matrix: np.ndarray | Tensor, *, learns: bool = False, max_length: int = _MOST_TOKENS) -> None:
        table = torch.as_tensor(matrix, dtype=torch.float32)
        if table.ndim != 2 or len(table) != len(words):
            raise StudioError(f"the table has {len(words)} words, but vectors of shape {tuple(table.shape)}", "copy the folder again")
        if not len(words) or words.words[0] != PADDING:
            words = WordTokens((PADDING, *words.words), words.stop_words, lowercase=words.lowercase)
            table = torch.cat([table.new_zeros(1, table.shape[1]), table])
        super().__init__(table, learns=learns, max_length=max_length)
        self.words = words

    @classmethod
    def of(cls, vectors: WordVectors, *, learns: bool = False) -> Self:
        """The table of ``vectors``."""
        return cls(vectors.tokens, vectors.matrix, learns=learns)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The rows of each text's known words, cut to the maximum length; of a text without one, padding's alone."""
        return [self.words.ids(text)[: self.max_length] or [0] for text in texts]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From ``wordembedding_config.json``, the tokenizer's file and ``model.safetensors``.

        Raises:
            StudioError: a file is missing or damaged, or the tokenizer is of another kind.
        """
        config = read_json(folder / _CONFIG, dict)
        kind = str(config.get("tokenizer_class", "")).rsplit(".", 1)[-1]
        if kind != _TOKENIZER:
            raise StudioError(
                f"this model's words are told apart by a {kind or 'nameless'} tokenizer", f"models with a {_TOKENIZER} can be read"
            )
        table = read_weights(folder).get("emb_layer.weight")
        if table is None:
            raise StudioError("the model's table of words is missing", "copy the folder again")
        length = read_length(config, folder / _CONFIG) or _MOST_TOKENS
        return cls(WordTokens.read(folder), table, learns=bool(config.get("update_embeddings")), max_length=length)

    def write(self, folder: Path, inputs: int) -> None:
        """The three files."""
        kind = f"sentence_transformers.models.tokenizer.{_TOKENIZER}.{_TOKENIZER}"
        write_json(folder / _CONFIG, {"tokenizer_class": kind, "update_embeddings": self.learns, "max_seq_length": self.max_length})
        self.words.write(folder)
        write_weights(self, folder)


@MODULES.register("WordWeights")
class WordWeights(Module):
    """Ids (b, t) → weights (b, t), by which the tokens count in pooling: Σ w·h / Σ w.

    Args:
        words: of the table before, in its order.
        weights: (V,), one for each.
    """

    stage = WEIGHTS

    def __init__(self, words: Sequence[str], weights: np.ndarray | Tensor) -> None:
        super().__init__()
        table = torch.as_tensor(weights, dtype=torch.float32).reshape(-1, 1)
        if len(table) != len(words):
            raise StudioError(f"{len(words)} words have {len(table)} weights", "copy the folder again")
        self.words = tuple(words)
        self.emb_layer = table_of(table)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ``ids``."""
        return self.emb_layer(ids).squeeze(-1)  # type: ignore[no-any-return]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From ``config.json`` and ``model.safetensors``.

        Raises:
            StudioError: a file is missing or damaged.
        """
        words = read_json(folder / "config.json", dict).get("vocab")
        if not isinstance(words, list):
            raise StudioError("the words of the model's weights are missing", "copy the folder again")
        found = cls(words, np.ones(len(words), np.float32))
        load_weights(found, read_weights(folder), folder)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        """``config.json`` and ``model.safetensors``."""
        weights = self.emb_layer.weight.squeeze(1).tolist()
        config = {"vocab": list(self.words), "word_weights": dict(zip(self.words, weights, strict=True)), "unknown_word_weight": 1.0}
        write_json(folder / "config.json", config)
        write_weights(self, folder)
