"""Word lists (the TOML files in ``words/``) and the normal form in which names and labels are compared with them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

# Vowels and tones that combine with a letter (of Devanagari to Khmer) are parts of words, though not letters themselves.
_COMBINING = (
    "\u0300-\u036f\u0900-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0fbc\u102b-\u103e\u1056-\u109d\u17b4-\u17d3"
)
BETWEEN_WORDS = re.compile(rf"(?:(?![{_COMBINING}])[\W_])+")
CJK = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]")
"""A character of Chinese, Japanese or Korean."""
_WITH_ID = frozenset(
    ["answer", "question", "sentence", "text", "query", "doc", "document", "passage", "pair", "user", "row", "item", "caption"]
)
_VOWEL_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u0640\u064b-\u065f\u0670]")


@cache
def word_lists(file: str) -> dict[str, Any]:
    """Return the content of ``words/FILE.toml``."""
    return tomllib.loads((Path(__file__).parent / "words" / f"{file}.toml").read_text(encoding="utf-8"))


def word_set(text: str) -> frozenset[str]:
    """Return the words of one entry of a word list."""
    return frozenset(text.split())


def normalize(name: str) -> str:
    """Return a column name or label without case, blanks and punctuation: ``Sentence_1`` and ``sentence 1`` are the same."""
    return BETWEEN_WORDS.sub("", _without_vowel_points(unicodedata.normalize("NFKC", name))).casefold()


def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a column name: ``humanScore_2`` gives ``human, score, 2``."""
    text = _without_vowel_points(unicodedata.normalize("NFKC", name))
    text = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])", " ", text)
    text = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", text)
    words = [word.casefold() for word in BETWEEN_WORDS.split(text) if word]
    return tuple(part for word in words for part in ((word[:-2], "id") if word[:-2] in _WITH_ID and word.endswith("id") else (word,)))


def _without_vowel_points(text: str) -> str:
    # Hebrew and Arabic may be written with or without them.
    return text if text.isascii() else _VOWEL_POINTS.sub("", text)
