"""Word embeddings, and the weight of each word in the mean of a text."""

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
from .base import MODULES, WEIGHTING, Module, load_weights, make_embedding, read_weights, write_weights
from .static_embedding import TokenTable

if TYPE_CHECKING:
    from typing import Self

    from ..static.vectors import WordVectors


PADDING = "PADDING_TOKEN"
_CONFIG = "wordembedding_config.json"
_TOKENIZER = "WhitespaceTokenizer"
_MAX_TOKENS = 1_000_000


@MODULES.register("WordEmbeddings")
class WordEmbeddings(TokenTable):
    """Ids (b, t) → vectors (b, t, d). Row 0 is padding: zeros that are never trained.

    Args:
        words: tokenizer; :data:`PADDING` is prepended if it is not its first word.
        matrix: (V, d), a row per word.
        trainable: train the table with the rest of the encoder.
        max_length: maximum number of words per text.

    Raises:
        StudioError: the numbers of words and rows differ.
    """

    def __init__(self, words: WordTokens, matrix: np.ndarray | Tensor, *, trainable: bool = False, max_length: int = _MAX_TOKENS) -> None:
        table = torch.as_tensor(matrix, dtype=torch.float32)
        if table.ndim != 2 or len(table) != len(words):
            raise StudioError(f"the table has {len(words)} words, but vectors of shape {tuple(table.shape)}", "copy the folder again")
        if not len(words) or words.words[0] != PADDING:
            words = WordTokens((PADDING, *words.words), words.stop_words, lowercase=words.lowercase)
            table = torch.cat([table.new_zeros(1, table.shape[1]), table])
        super().__init__(table, trainable=trainable, max_length=max_length)
        self.words = words

    @classmethod
    def from_vectors(cls, vectors: WordVectors, *, trainable: bool = False) -> Self:
        return cls(vectors.tokens, vectors.matrix, trainable=trainable)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the rows of each text's known words, truncated; the padding row for a text without any."""
        return [self.words.ids(text)[: self.max_length] or [0] for text in texts]

    @classmethod
    def read(cls, folder: Path) -> Self:
        config = read_json(folder / _CONFIG, dict)
        kind = str(config.get("tokenizer_class", "")).rsplit(".", 1)[-1]
        if kind != _TOKENIZER:
            raise StudioError(f"this model's tokenizer {kind or '(unnamed)'} is not supported", f"models with a {_TOKENIZER} can be read")
        table = read_weights(folder).get("emb_layer.weight")
        if table is None:
            raise StudioError("the model's word embeddings are missing", "copy the folder again")
        length = read_length(config, folder / _CONFIG) or _MAX_TOKENS
        return cls(WordTokens.read(folder), table, trainable=bool(config.get("update_embeddings")), max_length=length)

    def write(self, folder: Path, inputs: int) -> None:
        kind = f"sentence_transformers.models.tokenizer.{_TOKENIZER}.{_TOKENIZER}"
        write_json(folder / _CONFIG, {"tokenizer_class": kind, "update_embeddings": self.is_trainable, "max_seq_length": self.max_length})
        self.words.write(folder)
        write_weights(self, folder)


@MODULES.register("WordWeights")
class WordWeights(Module):
    """Ids (b, t) → weights (b, t) of the tokens in pooling: Σ w·h / Σ w.

    Args:
        words: words of the table, in its order.
        weights: (V,), one per word.
    """

    stage = WEIGHTING

    def __init__(self, words: Sequence[str], weights: np.ndarray | Tensor) -> None:
        super().__init__()
        table = torch.as_tensor(weights, dtype=torch.float32).reshape(-1, 1)
        if len(table) != len(words):
            raise StudioError(f"{len(words)} words have {len(table)} weights", "copy the folder again")
        self.words = tuple(words)
        self.emb_layer = make_embedding(table)

    def forward(self, ids: Tensor) -> Tensor:
        return self.emb_layer(ids).squeeze(-1)  # type: ignore[no-any-return]

    @classmethod
    def read(cls, folder: Path) -> Self:
        words = read_json(folder / "config.json", dict).get("vocab")
        if not isinstance(words, list):
            raise StudioError("the words of the model's word weights are missing", "copy the folder again")
        found = cls(words, np.ones(len(words), np.float32))
        load_weights(found, read_weights(folder), folder)
        return found

    def write(self, folder: Path, inputs: int) -> None:
        weights = self.emb_layer.weight.squeeze(1).tolist()
        config = {"vocab": list(self.words), "word_weights": dict(zip(self.words, weights, strict=True)), "unknown_word_weight": 1.0}
        write_json(folder / "config.json", config)
        write_weights(self, folder)
