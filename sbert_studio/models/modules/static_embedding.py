"""Static embeddings: a vector per token; a text is their mean (model2vec, sentence-transformers)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...errors import StudioError
from .base import EMBEDDING, MODULES, Module, make_embedding, read_weights

if TYPE_CHECKING:
    from typing import Self

_TOKENIZER = "tokenizer.json"
_MAX_TOKENS = 1_000_000


class TokenTable(Module):
    """Ids (b, t) → vectors (b, t, d). Row 0 is padding: zeros that are never trained.

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
        tokenizer: of the package tokenizers; used without special tokens and truncation.
        matrix: (V, d), a row per token.
        trainable: train the table with the rest of the encoder.
        max_length: maximum number of tokens per text.

    Raises:
        StudioError: the tokenizer has more tokens than there are rows.
    """

    def __init__(self, tokenizer: Any, matrix: Tensor, *, trainable: bool = True, max_length: int = _MAX_TOKENS) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if matrix.ndim != 2 or tokenizer.get_vocab_size() > len(matrix):
            raise StudioError(
                f"the tokenizer has {tokenizer.get_vocab_size()} tokens, but the table the shape {tuple(matrix.shape)}",
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
        except Exception as error:  # tokenizers raises a bare Exception
            raise StudioError(f"the model's file {_TOKENIZER} is missing or damaged", "copy the folder again") from error
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
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        save_file({"embedding.weight": self.emb_layer.weight.detach()[1:].cpu().contiguous()}, folder / "model.safetensors")
        self.tokenizer.save(str(folder / _TOKENIZER))


class StaticTokens:
    """Texts → rows of a :class:`StaticEmbedding`."""

    prompt = ""
    pad = 0

    def __init__(self, embeddings: StaticEmbedding) -> None:
        self._embeddings = embeddings

    @property
    def max_length(self) -> int:
        return self._embeddings.max_length

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the rows of each text's tokens; the padding row for a text without any."""
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
