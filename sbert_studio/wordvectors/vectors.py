"""A table of word vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .tokens import WordTokens

_CASED = 0.01  # of the words that hold a capital


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and a vector for each.

    Attributes:
        words: each once, the commonest first as far as that is known.
        matrix: (V, d) float32.
        counts: (V,) int64, how often each occurs in what the table was learned from; None where that is not told.
        name: as it should be shown.
    """

    words: tuple[str, ...]
    matrix: np.ndarray
    counts: np.ndarray | None
    name: str

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words) or self.matrix.dtype != np.float32:
            raise ValueError(f"{len(self.words)} words, but vectors {self.matrix.shape} {self.matrix.dtype}")
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise ValueError(f"{len(self.words)} words, but counts {self.counts.shape}")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """d, the components of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def tokens(self) -> WordTokens:
        """The tokenizer of this table: it lowers texts unless more than one word of a hundred holds a capital."""
        cased = sum(word != word.lower() for word in self.words)
        return WordTokens(self.words, lowercase=cased <= _CASED * len(self.words))
