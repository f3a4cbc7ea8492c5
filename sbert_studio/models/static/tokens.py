"""Word tokenization, and the vocabulary of a corpus."""

from __future__ import annotations

import json
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from ...errors import StudioError, is_valid_utf8
from ...i18n import _
from ...progress import checkpoint
from ...workspace import write_json

CONFIG = "whitespacetokenizer_config.json"
_UNKNOWN, _STOP_WORD = -1, -2
_TEXTS = 4096  # texts between two checks for a stop


def split_words(text: str) -> list[str]:
    """Split a text into lowercase words at whitespace, without leading and trailing punctuation, as for training vectors."""
    return [word for piece in text.lower().split() if (word := piece.strip(string.punctuation))]


@dataclass(frozen=True)
class Coverage:
    """Counts of known and unknown words in some texts.

    Attributes:
        known: words with a vector.
        unknown: words without a vector, except stop words and pieces without a letter or digit.
        empty: texts without known words, whose vector is zero.
    """

    known: int
    unknown: int
    empty: int

    @property
    def share(self) -> float:
        """Share of known words, 0 to 1; 0 without words."""
        return self.known / max(1, self.known + self.unknown)


class WordTokens:
    """A tokenizer over a fixed list of words.

    Args:
        words: distinct words in the order of the table's rows.
        stop_words: ignored in texts.
        lowercase: lowercase texts first; not for case-sensitive tables.
    """

    def __init__(self, words: Iterable[str], stop_words: Iterable[str] = (), *, lowercase: bool = True) -> None:
        self.words = tuple(words)
        self.stop_words = frozenset(stop_words)
        self.lowercase = lowercase
        self._indices = {word: index for index, word in enumerate(self.words)}
        if len(self._indices) < len(self.words):
            twice = next(word for index, word in enumerate(self.words) if self._indices[word] != index)
            raise StudioError(_("the word {twice} occurs twice in the table", twice=repr(twice)), "keep one of its rows")

    def __len__(self) -> int:
        return len(self.words)

    def index(self, word: str) -> int | None:
        """Return the row of one word, normalized as in a text; ``None`` if unknown."""
        index = self._find(word.lower() if self.lowercase else word)
        return index if index >= 0 else None

    def ids(self, text: str) -> list[int]:
        return [index for piece in self._split(text) if (index := self._find(piece)) >= 0]

    def flat(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of all texts, (n,) int32, and the start of each text, (texts + 1,) int64."""
        parts: list[np.ndarray] = []
        ends = np.zeros(len(texts) + 1, np.int64)
        for number, text in enumerate(texts):
            if number % _TEXTS == 0:
                checkpoint()
            parts.append(np.array(self.ids(text), np.int32))
            ends[number + 1] = len(parts[-1])
        return np.concatenate(parts) if parts else np.zeros(0, np.int32), np.cumsum(ends)

    def coverage(self, texts: Iterable[str]) -> Coverage:
        known = unknown = empty = 0
        for number, text in enumerate(texts):
            if number % _TEXTS == 0:
                checkpoint()
            indices = [(piece, self._find(piece)) for piece in self._split(text)]
            known_here = sum(index >= 0 for _, index in indices)
            known += known_here
            unknown += sum(index == _UNKNOWN and any(map(str.isalnum, piece)) for piece, index in indices)
            empty += known_here == 0
        return Coverage(known, unknown, empty)

    def write(self, folder: Path) -> None:
        config = {"vocab": list(self.words), "stop_words": sorted(self.stop_words), "do_lower_case": self.lowercase}
        write_json(folder / CONFIG, config)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a file written by :meth:`write` or sentence-transformers."""
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            words, stop_words = config["vocab"], config.get("stop_words", [])
            if not all(isinstance(entries, list) and all(isinstance(word, str) for word in entries) for entries in (words, stop_words)):
                raise TypeError(CONFIG)
            lowercase = bool(config.get("do_lower_case", False))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StudioError(
                _("the list of words in {name}/{config} is missing or damaged", name=folder.name, config=CONFIG), "copy the folder again"
            ) from error
        return cls(words, stop_words, lowercase=lowercase)

    def _split(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()

    def _find(self, piece: str) -> int:
        bare = piece.strip(string.punctuation)
        for form in (piece, bare, bare.lower()):
            if form in self.stop_words:
                return _STOP_WORD
            if (index := self._indices.get(form)) is not None:
                return index
        return _UNKNOWN


@dataclass(frozen=True)
class Vocabulary:
    """Words by descending count, ties in alphabetical order.

    Attributes:
        words: distinct words.
        counts: (V,) int64 occurrences.
        skipped: occurrences of words that were too rare or beyond the maximum size.
    """

    words: tuple[str, ...]
    counts: np.ndarray
    skipped: int

    def __len__(self) -> int:
        return len(self.words)


def count_words(texts: Iterable[str], min_count: int = 2, most: int = 50_000) -> Vocabulary:
    """Count the words of ``texts`` that occur at least ``min_count`` times, keeping the ``most`` most frequent ones."""
    counter: Counter[str] = Counter()
    for number, text in enumerate(texts):
        if number % _TEXTS == 0:
            checkpoint()
        counter.update(split_words(text))
    frequent = [(-count, word) for word, count in counter.items() if count >= min_count and is_valid_utf8(word)]
    kept = sorted(frequent)[:most]
    if not kept:
        raise StudioError(
            _("no word occurs {min_count} times in these texts", min_count=min_count)
            if min_count > 1
            else "there are no words in these texts",
            "use more text, or keep rarer words; words are split at spaces, which does not work for Chinese, Japanese and Thai",
        )
    counts = -np.array([count for count, _ in kept], np.int64)
    return Vocabulary(tuple(word for _, word in kept), counts, counter.total() - int(counts.sum()))
