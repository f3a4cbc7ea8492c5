"""Static embeddings: a vector for each token; a text is the mean of them (model2vec, sentence-transformers)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...errors import StudioError
from .base import MODULES, WORDS, Module, read_weights, table_of

if TYPE_CHECKING:
    from typing import Self


class TokenTable(Module):
    """Ids (b, t) → vectors (b, t, d). Row 0 is padding: zeros that are never trained.

    Args:
        rows: (V, d), the row of padding first.
        learns: train the table with the rest of the encoder.
        max_length: read at most this many tokens of a text.
    """

    stage = WORDS

    def __init__(self, rows: Tensor, *, learns: bool, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.emb_layer = table_of(rows, learns=learns, padding=0)

    @property
    def learns(self) -> bool:
        """Tell if the table is trained with the rest of the encoder."""
        return bool(self.emb_layer.weight.requires_grad)

    @property
    def dim(self) -> int:
        """Return the width of a token's vector."""
        return int(self.emb_layer.embedding_dim)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ``ids``, (b, t)."""
        return self.emb_layer(ids)  # type: ignore[no-any-return]

    def width(self, inputs: int) -> int:
        """Return the width of a token's vector."""
        return self.dim


_TOKENIZER = "tokenizer.json"
_MOST_TOKENS = 1_000_000


@MODULES.register("StaticEmbedding")
class StaticEmbedding(TokenTable):
    """Ids (b, t) → vectors (b, t, d). Row 0 is that of padding; the tokenizer's id i stands in row i + 1.

    Args:
        tokenizer: of the package tokenizers; it adds no special tokens here, and cuts nothing.
        matrix: (V, d), a row a token.
        max_length: the most tokens of a text that are read.

    Raises:
        StudioError: the tokenizer has more tokens than there are rows.
    """

    def __init__(self, tokenizer: Any, matrix: Tensor, *, learns: bool = True, max_length: int = _MOST_TOKENS) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if matrix.ndim != 2 or tokenizer.get_vocab_size() > len(matrix):
            raise StudioError(
                f"the tokenizer has {tokenizer.get_vocab_size()} tokens, but the table the shape {tuple(matrix.shape)}",
                "copy the folder again",
            )
        super().__init__(torch.cat([matrix.new_zeros(1, matrix.shape[1]), matrix]), learns=learns, max_length=max_length)
        self.tokenizer = tokenizer

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From ``tokenizer.json`` and ``model.safetensors``, which may be one of model2vec.

        Raises:
            StudioError: a file is missing or damaged.
        """
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        except Exception as error:  # a bare Exception, of Rust
            raise StudioError(f"the model's file {_TOKENIZER} is missing or damaged", "copy the folder again") from error
        weights = read_weights(folder, whole_numbers=("mapping",))
        table = weights.get("embedding.weight", weights.get("embeddings"))
        if table is None:
            raise StudioError("the model's table of tokens is missing", "copy the folder again")
        if "mapping" in weights:
            table = table[weights["mapping"].long()]
        if "weights" in weights:
            table = table * weights["weights"][:, None]
        return cls(tokenizer, table)

    def write(self, folder: Path, inputs: int) -> None:
        """The two files."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        save_file({"embedding.weight": self.emb_layer.weight.detach()[1:].cpu().contiguous()}, folder / "model.safetensors")
        self.tokenizer.save(str(folder / _TOKENIZER))


class StaticTokens:
    """Texts → rows of a :class:`StaticEmbedding`, cut to one maximum length."""

    prompt = ""
    pad = 0

    def __init__(self, embeddings: StaticEmbedding) -> None:
        self._embeddings = embeddings

    @property
    def max_length(self) -> int:
        """The most tokens of a text that are read."""
        return self._embeddings.max_length

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The rows of each text's tokens; of a text without one, padding's."""
        return [[one + 1 for one in row[: self.max_length]] or [0] for row in self._rows(texts)]

    def spans(self, text: str) -> list[tuple[int, int] | None]:
        """Where each token stands in the text."""
        offsets = self._embeddings.tokenizer.encode(text, add_special_tokens=False).offsets
        return [*offsets[: self.max_length]] or [None]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return [len(row) for row in self._rows(texts)]

    def unread(self, texts: Sequence[str]) -> float:
        """The share of the tokens of ``texts`` that stand for something unknown, in [0, 1]."""
        ids = [one for row in self._rows(texts) for one in row]
        return sum(one == self._unknown for one in ids) / max(1, len(ids))

    def words(self) -> list[str]:
        """The whole words of the vocabulary, in its order."""
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
