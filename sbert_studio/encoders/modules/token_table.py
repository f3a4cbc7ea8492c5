"""The part that word embeddings and static embeddings share: a trainable table with a vector for each token."""

from __future__ import annotations

from torch import Tensor

from .base import WORDS, Module
from .weights import table_of


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
