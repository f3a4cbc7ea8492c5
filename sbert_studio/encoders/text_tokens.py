"""What a sentence encoder asks of whatever turns its texts into tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TextTokens(Protocol):
    """Texts → token ids."""

    @property
    def max_length(self) -> int:
        """The most ids of a text."""

    @property
    def prompt(self) -> str:
        """What is put before every text."""

    @property
    def pad(self) -> int:
        """The id that fills a row; masked wherever it stands."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, cut to the maximum length, not padded, never none."""

    def spans(self, text: str) -> list[tuple[int, int] | None] | None:
        """For each id of a text where in it the word stands that it is part of, ``None`` for marks; ``None`` where that cannot be said."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has when nothing is cut."""

    def unread(self, texts: Sequence[str]) -> float:
        """The share of the tokens of ``texts`` that stand for something unknown, in [0, 1]."""

    def words(self) -> list[str]:
        """The whole words of the vocabulary, in its order."""
