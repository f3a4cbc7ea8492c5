"""Token and word embeddings, their tokenization, and word weights for pooling."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from ...errors import StudioError
from ...i18n import _
from ...workspace import write_json
from ..io.backbone import read_json, read_length, write_tensors
from ..static.tokens import WordTokens
from .base import EMBEDDING, MODULES, WEIGHTING, Module, load_weights, make_embedding, read_weights, write_weights

if TYPE_CHECKING:
    from ..static.vectors import WordVectors


_TOKENIZER = "tokenizer.json"
_MAX_TOKENS = 1_000_000


class TokenTable(Module):
    """Maps ids (b, t) to vectors (b, t, d). Row 0 is padding: zeros that are never trained.

    Args:
        rows: (V, d), the padding row first.
        trainable: train the table with the rest of the encoder.
        max_length: maximum number of tokens per text.
    """

    stage = EMBEDDING

    def __init__(self, rows: Tensor, *, trainable: bool, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.emb_layer = make_embedding(rows, trainable=trainable, padding=0)

    @property
    def is_trainable(self) -> bool:
        return bool(self.emb_layer.weight.requires_grad)

    @property
    def dim(self) -> int:
        return int(self.emb_layer.embedding_dim)

    def forward(self, ids: Tensor) -> Tensor:
        return self.emb_layer(ids)  # type: ignore[no-any-return]

    def output_width(self, inputs: int) -> int:
        return self.dim


@MODULES.register("StaticEmbedding")
class StaticEmbedding(TokenTable):
    """Static embeddings with a tokenizer; row 0 is padding, and token i is row i + 1.

    Args:
        tokenizer: a tokenizer of the package tokenizers; used without special tokens and truncation.
        matrix: (V, d), one row per token.
        trainable: train the table with the rest of the encoder.
        max_length: maximum number of tokens per text.
    """

    def __init__(self, tokenizer: Any, matrix: Tensor, *, trainable: bool = True, max_length: int = _MAX_TOKENS) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if matrix.ndim != 2 or tokenizer.get_vocab_size() > len(matrix):
            raise StudioError(
                _(
                    "the tokenizer has {vocab_size} tokens, but the table has the shape {shape}",
                    vocab_size=tokenizer.get_vocab_size(),
                    shape=tuple(matrix.shape),
                ),
                "copy the folder again",
            )
        super().__init__(torch.cat([matrix.new_zeros(1, matrix.shape[1]), matrix]), trainable=trainable, max_length=max_length)
        self.tokenizer = tokenizer

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Load a folder of sentence-transformers or model2vec."""
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # tokenizers raises a plain Exception
            raise StudioError(
                _("the model's file {tokenizer} is missing or damaged", tokenizer=_TOKENIZER), "copy the folder again"
            ) from error
        weights = read_weights(folder, integer_tensors=("mapping",))
        table = weights.get("embedding.weight", weights.get("embeddings"))
        if table is None:
            raise StudioError("the model's token embeddings are missing", "copy the folder again")
        if "mapping" in weights:
            table = table[weights["mapping"].long()]
        if "weights" in weights:
            table = table * weights["weights"][:, None]
        return cls(tokenizer, table)

    def write(self, folder: Path, inputs: int) -> None:
        write_tensors({"embedding.weight": self.emb_layer.weight[1:]}, folder / "model.safetensors")
        self.tokenizer.save(str(folder / _TOKENIZER))


class _TableTokens:
    prompt = ""
    pad = 0

    def __init__(self, embeddings: TokenTable) -> None:
        self._embeddings: Any = embeddings

    @property
    def max_length(self) -> int:
        return int(self._embeddings.max_length)


class StaticTokens(_TableTokens):
    """Maps texts to rows of a :class:`StaticEmbedding`."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[one + 1 for one in row[: self.max_length]] or [0] for row in self._rows(texts)]

    def word_spans(self, text: str) -> list[tuple[int, int] | None]:
        offsets = self._embeddings.tokenizer.encode(text, add_special_tokens=False).offsets
        return [*offsets[: self.max_length]] or [None]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(row) for row in self._rows(texts)]

    def unknown_share(self, texts: Sequence[str]) -> float:
        ids = [one for row in self._rows(texts) for one in row]
        return sum(one == self._unknown for one in ids) / max(1, len(ids))

    def words(self) -> list[str]:
        vocabulary = sorted(self._embeddings.tokenizer.get_vocab().items(), key=lambda item: item[1])
        return [word for word, _ in vocabulary if word.isalpha()]

    @cached_property
    def _unknown(self) -> int | None:
        model = json.loads(self._embeddings.tokenizer.to_str())["model"]
        unknown = model.get("unk_token")
        found = self._embeddings.tokenizer.token_to_id(unknown) if unknown else model.get("unk_id")
        return None if found is None else int(found)

    def _rows(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._embeddings.tokenizer.encode_batch(list(texts), add_special_tokens=False)]


PADDING = "PADDING_TOKEN"
_CONFIG = "wordembedding_config.json"
_SPLITTER = "WhitespaceTokenizer"


@MODULES.register("WordEmbeddings")
class WordEmbeddings(TokenTable):
    """Maps ids (b, t) to vectors (b, t, d). Row 0 is padding: zeros that are never trained.

    Args:
        words: tokenizer; :data:`PADDING` is prepended if it is not its first word.
        matrix: (V, d), one row per word.
        trainable: train the table with the rest of the encoder.
        max_length: maximum number of words per text.
    """

    def __init__(self, words: WordTokens, matrix: np.ndarray | Tensor, *, trainable: bool = False, max_length: int = _MAX_TOKENS) -> None:
        table = torch.as_tensor(matrix, dtype=torch.float32)
        if table.ndim != 2 or len(table) != len(words):
            raise StudioError(
                _("the table has {words} words, but vectors with the shape {shape}", words=len(words), shape=tuple(table.shape)),
                "copy the folder again",
            )
        if not len(words) or words.words[0] != PADDING:
            words = WordTokens((PADDING, *words.words), words.stop_words, lowercase=words.lowercase)
            table = torch.cat([table.new_zeros(1, table.shape[1]), table])
        super().__init__(table, trainable=trainable, max_length=max_length)
        self.words = words

    @classmethod
    def from_vectors(cls, vectors: WordVectors, *, trainable: bool = False) -> Self:
        return cls(vectors.tokens, vectors.matrix, trainable=trainable)

    @classmethod
    def read(cls, folder: Path) -> Self:
        config = read_json(folder / _CONFIG, dict)
        kind = str(config.get("tokenizer_class", "")).rsplit(".", 1)[-1]
        if kind != _SPLITTER:
            raise StudioError(
                _("this model's tokenizer {kind} is not supported", kind=kind or "(unnamed)"),
                _("supported: models with a {splitter}", splitter=_SPLITTER),
            )
        table = read_weights(folder).get("emb_layer.weight")
        if table is None:
            raise StudioError("the model's word embeddings are missing", "copy the folder again")
        length = read_length(config, folder / _CONFIG) or _MAX_TOKENS
        return cls(WordTokens.read(folder), table, trainable=bool(config.get("update_embeddings")), max_length=length)

    def write(self, folder: Path, inputs: int) -> None:
        kind = f"sentence_transformers.models.tokenizer.{_SPLITTER}.{_SPLITTER}"
        write_json(folder / _CONFIG, {"tokenizer_class": kind, "update_embeddings": self.is_trainable, "max_seq_length": self.max_length})
        self.words.write(folder)
        write_weights(self, folder)


class WordTableTokens(_TableTokens):
    """Maps texts to rows of a :class:`WordEmbeddings`."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._embeddings.words.ids(text)[: self.max_length] or [0] for text in texts]

    def word_spans(self, text: str) -> list[tuple[int, int] | None]:
        words = self._embeddings.words
        spans = [match.span() for match in re.finditer(r"\S+", text) if words.index(match.group()) is not None]
        return [*spans[: self.max_length]] or [None]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(self._embeddings.words.ids(text)) for text in texts]

    def unknown_share(self, texts: Sequence[str]) -> float:
        coverage = self._embeddings.words.coverage(texts)
        return float(coverage.unknown / max(1, coverage.known + coverage.unknown))

    def words(self) -> list[str]:
        return list(self._embeddings.words.words[1:])


@MODULES.register("WordWeights")
class WordWeights(Module):
    """Maps ids (b, t) to the weights (b, t) of the tokens in pooling: Σ w·h / Σ w.

    Args:
        words: words of the table, in order.
        weights: (V,), one per word.
    """

    stage = WEIGHTING

    def __init__(self, words: Sequence[str], weights: np.ndarray | Tensor) -> None:
        super().__init__()
        table = torch.as_tensor(weights, dtype=torch.float32).reshape(-1, 1)
        if len(table) != len(words):
            raise StudioError(_("there are {table} weights for {words} words", words=len(words), table=len(table)), "copy the folder again")
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
