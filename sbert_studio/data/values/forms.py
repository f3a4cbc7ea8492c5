"""What no writer of texts puts into a cell: addresses, dates, times, codes of rows, names of files and codes of languages."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from .numbers import parse_number

UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\uac00-\ud7a3]")
"""A sign of a script that is written without blanks."""
MACHINE_MADE = re.compile(
    r"(https?://|www\.)\S+|\S+@\S+\.\w+|[0-9a-f]{12,}|[0-9a-f-]{32,36}|(/|[A-Za-z]:\\)\S+"
    r"|\S+\.(txt|csv|json|jpg|jpeg|png|pdf|html?|xml|mp3|wav)"
    r"|\d{1,4}[-./年]\d{1,2}[-./月]\d{1,4}日?([T ]\d{1,2}:\d{2}\S*)?( ?[AP]M)?|\d{1,2}:\d{2}(:\d{2})?"
    r"|(\d{1,2}\.? \w{3,9}\.?,? \d{4}|\w{3,9}\.? \d{1,2},? \d{4})(,? \d{1,2}:\d{2}\S*)?( ?[AP]M)?|@\w+",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer: words of about five signs, unparted
_NESTED = re.compile(r"\[\s*(?:[\"'{\[].*|[\d.,\s-]*)\]|\{\s*[\"'].*\}", re.DOTALL)
_BETWEEN_TAGS = ";|,、，；"
_WORDS_OF_A_TAG = 4.0
_LONGEST_TAG = 50
_LANGUAGES = """
en de fr es it pt nl pl ru zh ja ko ar tr cs sv da fi no nb el he hi th vi id uk ro hu bg eng deu ger fra fre spa
"""
LANGUAGES = frozenset(_LANGUAGES.split())
"""Codes of languages, as ISO 639 has them."""


def is_language(text: str) -> bool:
    """Whether a cell is the code of a language, with or without that of a country behind it: ``en``, ``pt-BR``, ``zh_cn``."""
    return re.split("[-_]", text.casefold(), maxsplit=1)[0] in LANGUAGES and len(text) <= 7


def is_code(text: str) -> bool:
    """Whether a cell is one word with a digit in it that is no number."""
    return " " not in text and not UNSPACED.search(text) and any(map(str.isdigit, text)) and math.isnan(parse_number(text))


def machine_made(texts: Sequence[str], most: int = 500) -> bool:
    """Whether nearly all of some cells are dates, addresses, codes and the like."""
    looked_at = texts[:most]
    return bool(looked_at) and sum(bool(MACHINE_MADE.fullmatch(text)) for text in looked_at) > 0.8 * len(looked_at)


def of_a_form(texts: Sequence[str]) -> bool:
    """Whether some cells are machine made, or codes of a word each: what a name above them is not."""
    return machine_made(texts) or (bool(texts) and sum(map(is_code, texts)) > 0.9 * len(texts))


def is_nested(texts: Sequence[str], most: int = 500) -> bool:
    """Whether nearly all of some cells are lists or objects, as JSON or Python writes them."""
    looked_at = texts[:most]
    return bool(looked_at) and sum(text[:1] in "[{" and bool(_NESTED.fullmatch(text)) for text in looked_at) > 0.8 * len(looked_at)


def count_words(text: str) -> float:
    """The words of a text; of Chinese, Japanese and Korean two signs count as one, of Thai, Lao, Burmese and Khmer five."""
    if text.isascii():
        return len(text.split())
    joined = len(_JOINED.findall(text))
    rest = _JOINED.sub(" ", text) if joined else text
    unspaced = len(UNSPACED.findall(rest))
    return joined / 5 + unspaced / 2 + len(UNSPACED.sub(" ", rest).split())


def are_tags(cells: Sequence[str]) -> bool:
    """Whether some cells hold one short tag or several, with one sign between them: few different ones, which come again in other cells.

    Cells that have the same number of parts each are no tags: ``Bonn, Germany``; nor are categories that hold a comma, whose
    parts come again in the same category only.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    return any(_tagged(filled, sign) for sign in _BETWEEN_TAGS)


def _tagged(cells: Sequence[str], sign: str) -> bool:
    if sum(sign in cell for cell in cells) < max(3, 0.05 * len(cells)):
        return False
    parts = {cell: [part.strip() for part in cell.split(sign) if part.strip()] for cell in set(cells)}
    if len({len(found) for found in parts.values()}) < 2:
        return False
    every = Counter(part for cell in cells for part in parts[cell])
    within = Counter(part for found in parts.values() for part in set(found))
    if any(len(part) > _LONGEST_TAG for part in every) or len(every) > 0.5 * every.total():
        return False
    words = sum(count_words(part) * times for part, times in every.items()) / every.total()
    again = sum(times for times in every.values() if times > 1)
    several = [cell for cell in cells if len(parts[cell]) > 1]
    shared = sum(any(within[part] > 1 for part in parts[cell]) for cell in several)
    return words <= _WORDS_OF_A_TAG and again >= 0.7 * every.total() and shared >= 0.5 * len(several)
