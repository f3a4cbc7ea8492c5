"""The words that occur in texts, with how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..data.progress import checkpoint
from ..errors import StudioError, is_text
from .tokens import split_words

_TEXTS = 4096  # between two questions whether to go on


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
