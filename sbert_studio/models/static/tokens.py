"""Words of a text, and the vocabulary of a corpus."""

from __future__ import annotations

import json
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import StudioError, is_text
from ...progress import checkpoint
from ...workspace import write_json

if TYPE_CHECKING:
    from typing import Self


CONFIG = "whitespacetokenizer_config.json"
_UNKNOWN, _DROPPED = -1, -2
_TEXTS = 4096  # between two questions whether to go on


def split_words(text: str) -> list[str]:
    """The words of a text that a table is learned from: lower-cased pieces between white space, without punctuation at their ends."""
    return [word for piece in text.lower().split() if (word := piece.strip(string.punctuation))]


@dataclass(frozen=True)
class Coverage:
    """How much of some texts a table knows.

    Attributes:
        known: words that have a vector.
        unknown: words that have none; pieces without a letter or digit are not counted, nor are stop words.
        empty: texts without a known word, whose vector will be zero.
    """

    known: int
    unknown: int
    empty: int

    @property
    def share(self) -> float:
        """Known words of all words, 0 to 1; 0 where there are none."""
        return self.known / max(1, self.known + self.unknown)


class WordTokens:
    """A tokenizer over a fixed list of words.

    Args:
        words: in the order of the rows of the table, each once.
        stop_words: left out of every text.
        lowercase: whether a text is put in lower case first; not so for tables that tell upper case from lower.

    Raises:
        StudioError: a word stands twice.
    """

    def __init__(self, words: Iterable[str], stop_words: Iterable[str] = (), *, lowercase: bool = True) -> None:
        self.words = tuple(words)
        self.stop_words = frozenset(stop_words)
        self.lowercase = lowercase
        self._places = {word: place for place, word in enumerate(self.words)}
        if len(self._places) < len(self.words):
            twice = next(word for place, word in enumerate(self.words) if self._places[word] != place)
            raise StudioError(f"the word {twice!r} stands twice in the table", "keep one of its rows")

    def __len__(self) -> int:
        return len(self.words)

    def place(self, word: str) -> int | None:
        """The row of one word, found as in a text; None where it is unknown."""
        found = self._place(word.lower() if self.lowercase else word)
        return found if found >= 0 else None

    def ids(self, text: str) -> list[int]:
        """The rows of the known words of a text, in order; none where none is known."""
        return [place for piece in self._pieces(text) if (place := self._place(piece)) >= 0]

    def flat(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """The rows of all texts in one (n,) int32 array, and where each text begins in it, (texts + 1,) int64."""
        parts: list[np.ndarray] = []
        ends = np.zeros(len(texts) + 1, np.int64)
        for number, text in enumerate(texts):
            if number % _TEXTS == 0:
                checkpoint()
            parts.append(np.array(self.ids(text), np.int32))
            ends[number + 1] = len(parts[-1])
        return np.concatenate(parts) if parts else np.zeros(0, np.int32), np.cumsum(ends)

    def coverage(self, texts: Iterable[str]) -> Coverage:
        """How many words of ``texts`` are known."""
        known = unknown = empty = 0
        for number, text in enumerate(texts):
            if number % _TEXTS == 0:
                checkpoint()
            found = [(piece, self._place(piece)) for piece in self._pieces(text)]
            here = sum(place >= 0 for _, place in found)
            known += here
            unknown += sum(place == _UNKNOWN and any(map(str.isalnum, piece)) for piece, place in found)
            empty += here == 0
        return Coverage(known, unknown, empty)

    def write(self, folder: Path) -> None:
        """``whitespacetokenizer_config.json``, which sentence-transformers reads."""
        config = {"vocab": list(self.words), "stop_words": sorted(self.stop_words), "do_lower_case": self.lowercase}
        write_json(folder / CONFIG, config)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """From the file that :meth:`write` or sentence-transformers has written.

        Raises:
            StudioError: the file is missing or damaged.
        """
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
            words, stop_words = config["vocab"], config.get("stop_words", [])
            if not all(isinstance(entries, list) and all(isinstance(word, str) for word in entries) for entries in (words, stop_words)):
                raise TypeError(CONFIG)
            lowercase = bool(config.get("do_lower_case", False))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StudioError(f"the list of words in {folder.name}/{CONFIG} is missing or damaged", "copy the folder again") from error
        return cls(words, stop_words, lowercase=lowercase)

    def _pieces(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()

    def _place(self, piece: str) -> int:
        bare = piece.strip(string.punctuation)
        for form in (piece, bare, bare.lower()):
            if form in self.stop_words:
                return _DROPPED
            if (place := self._places.get(form)) is not None:
                return place
        return _UNKNOWN


@dataclass(frozen=True)
class Vocabulary:
    """Words by falling count, equal counts by alphabet.

    Attributes:
        words: each once.
        counts: (V,) int64, how often each occurs.
        left_out: occurrences of words that were too rare, or too many.
    """

    words: tuple[str, ...]
    counts: np.ndarray
    left_out: int

    def __len__(self) -> int:
        return len(self.words)


def count_words(texts: Iterable[str], min_count: int = 2, most: int = 50_000) -> Vocabulary:
    """The words of ``texts``.

    Args:
        min_count: a rarer word is left out.
        most: no more words are kept, the commonest first.

    Raises:
        StudioError: no word is left.
    """
    found: Counter[str] = Counter()
    for number, text in enumerate(texts):
        if number % _TEXTS == 0:
            checkpoint()
        found.update(split_words(text))
    enough = [(-count, word) for word, count in found.items() if count >= min_count and is_text(word)]
    kept = sorted(enough)[:most]
    if not kept:
        raise StudioError(
            f"no word occurs {min_count} times in these texts" if min_count > 1 else "there is no word in these texts",
            "give more text, or keep rarer words; words are told apart by spaces, so Chinese, Japanese and Thai cannot be learned from",
        )
    counts = -np.array([count for count, _ in kept], np.int64)
    return Vocabulary(tuple(word for _, word in kept), counts, found.total() - int(counts.sum()))
