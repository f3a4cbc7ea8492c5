"""Content of single cells: words, dates and codes, tags, nested data, or no answer at all."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..findings import Finding, count
from .numbers import parse_number
from .words import word_lists, word_set

_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\uac00-\ud7a3]")
_SOUTH_EAST_ASIAN = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # words of about five signs, without blanks between them
_MACHINE_MADE = re.compile(
    r"(https?://|www\.)\S+|\S+@\S+\.\w+|[0-9a-f]{12,}|[0-9a-f-]{32,36}|(/|[A-Za-z]:\\)\S+"
    r"|\S+\.(txt|csv|json|jpg|jpeg|png|pdf|html?|xml|mp3|wav)"
    r"|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ]\d{1,2}:\d{2}\S*)?|(\d{1,2}\.? \w{3,9}\.?,? \d{4}|\w{3,9}\.? \d{1,2},? \d{4})|@\w+",
    re.IGNORECASE,
)
_NESTED = re.compile(r"\[\s*(?:[\"'{\[].*|[\d.,\s-]*)\]|\{\s*[\"'].*\}", re.DOTALL)
_LISTS = {key: word_set(words) for key, words in word_lists("cells").items()}
_TAG_SEPARATORS = ";|,、，；"
_LONGEST_TAG, _WORDS_OF_A_TAG = 50, 4.0


_DATE_FORM = re.compile(r"\d{1,4}\s?[-./年년]\s?\d{1,2}\s?[-./月월]\s?\d{1,4}|\d{1,2}[:时時点點시]\d{2}")
_LONGEST_DATE = 50


def is_date(text: str) -> bool:
    """Return True for a date or a time as people and programs write it: ``3/1/2023 9:00 PM``, ``Wed Mar 01 10:00:00 +0000 2023``."""
    if len(text) > _LONGEST_DATE or sum(map(str.isdigit, text)) < 3:
        return False
    words = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", text).casefold())
    months = [word for word in words if word[:3] in _LISTS["month"] and len(word) < 10]
    if not all(word in _LISTS["date"] or word in months for word in words):
        return False
    return bool(_DATE_FORM.search(text)) or (bool(months) and len(re.findall(r"\d+", text)) > 1)


def count_words(text: str) -> float:
    """Count words; two signs of Chinese, Japanese and Korean count as one, five of Thai, Lao, Burmese and Khmer."""
    if text.isascii():
        return len(text.split())
    joined = len(_SOUTH_EAST_ASIAN.findall(text))
    rest = _SOUTH_EAST_ASIAN.sub(" ", text) if joined else text
    unspaced = len(_UNSPACED.findall(rest))
    return joined / 5 + unspaced / 2 + len(_UNSPACED.sub(" ", rest).split())


def is_language_code(text: str) -> bool:
    """Return True for a language code, with or without a country: ``en``, ``pt-BR``, ``zh_cn``."""
    return re.split("[-_]", text.casefold(), maxsplit=1)[0] in _LISTS["language_code"] and len(text) <= 7


def is_code(text: str) -> bool:
    """Return True for a single word that has a digit in it but is not a number."""
    return " " not in text and not _UNSPACED.search(text) and any(map(str.isdigit, text)) and math.isnan(parse_number(text))


def are_machine_made(texts: Sequence[str], most: int = 500) -> bool:
    """Return True if nearly all cells are dates, addresses, file names, hashes and the like."""
    head = texts[:most]
    return bool(head) and sum(bool(_MACHINE_MADE.fullmatch(text)) or is_date(text) for text in head) > 0.8 * len(head)


def have_code_form(texts: Sequence[str]) -> bool:
    """Return True if cells are machine made or one-word codes, which a name above them is not."""
    return are_machine_made(texts) or (bool(texts) and sum(map(is_code, texts)) > 0.9 * len(texts))


def are_nested(texts: Sequence[str], most: int = 500) -> bool:
    """Return True if nearly all cells are lists or objects as JSON or Python writes them."""
    head = texts[:most]
    return bool(head) and sum(text[:1] in "[{" and bool(_NESTED.fullmatch(text)) for text in head) > 0.8 * len(head)


def are_tags(cells: Sequence[str]) -> bool:
    """Return True if cells hold one or several short tags with one separator, few distinct ones that recur in other cells.

    Cells with the same number of parts each are not tags (``Bonn, Germany``), nor are categories whose names hold a comma.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    return any(_are_separated_by(filled, sign) for sign in _TAG_SEPARATORS)


def _are_separated_by(cells: Sequence[str], sign: str) -> bool:
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


# --- cells without an answer: N/A, k.A., (empty), —

MISSING_LABELS = _LISTS["missing_label"] | _LISTS["rare_missing_label"]
"""Labels that may mean a missing label."""
CERTAINLY_MISSING_LABELS = _LISTS["missing_label"]
_MISSING = _LISTS["missing_label"] | _LISTS["missing_sign"] | _LISTS["missing_word"]
_MISSING_SIGNS = (_LISTS["missing_label"] | _LISTS["missing_sign"]) - _LISTS["missing_word"]
_KEPT = "kept as a text because the other texts are as short"
_LONGEST_MISSING = 40
_BLOCK = 8_192
_FRAMES = re.compile(r"[\s(\[{<«\"'“„]*(.*?)[\s)\]}>»\"'”“]*", re.DOTALL)
_ONE_WORD, _FEW_WORDS = 1.5, 3.0


@dataclass(frozen=True)
class MissingTexts:
    """Cells of a text column without an answer, such as ``N/A``.

    Attributes:
        places: (k,) int64, the rows (from 0) that count as blank.
        values: their distinct content, the most frequent first.
        kept: (m,) int64, rows of such content in a column whose texts are as short, so that it may be one; they count as texts.
        kept_values: their distinct content.
    """

    places: np.ndarray
    values: tuple[str, ...]
    kept: np.ndarray
    kept_values: tuple[str, ...]

    def note(self, column: str, lines: np.ndarray) -> tuple[Finding, ...]:
        """Return a finding on the rows that are kept, if any; ``lines`` are the row numbers of the table."""
        if not len(self.kept):
            return ()
        rows = tuple(lines[self.kept].tolist())
        return (Finding("info", f"{count(len(rows), 'row')} with only {quote_cells(self.kept_values)} in {column!r}, {_KEPT}", rows),)


def kept_as_texts(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return what :meth:`MissingTexts.note` reported among ``findings``."""
    return tuple(finding.describe() for finding in findings if finding.message.endswith(_KEPT))


def quote_cells(cells: Sequence[str], most: int = 4) -> str:
    """Return the first cells in quotation marks."""
    return ", ".join(map(repr, cells[:most])) + (" …" if len(cells) > most else "")


def is_missing(cell: str) -> bool:
    """Return True for a cell that is nothing but a sign or a word for "no answer"."""
    return len(cell) <= _LONGEST_MISSING and bool(found := _missing_keys(cell)) and not found.isdisjoint(_MISSING)


def find_missing(cells: Sequence[str]) -> MissingTexts:
    """Find the cells of a text column without an answer.

    If the other texts are single words, so may be a sign; if they have three words or fewer, so may be a word such as ``none``.
    """
    found: set[str] = set()
    for start in range(0, len(cells), _BLOCK):  # a set of the whole column would take its memory once more
        found.update(cell for cell in set(cells[start : start + _BLOCK]) if cell.strip() and is_missing(cell))
    if not found:
        return MissingTexts(np.array([], np.int64), (), np.array([], np.int64), ())
    words = np.sort(np.fromiter((count_words(cell) for cell in cells if cell.strip() and cell not in found), np.float64))
    typical = words[len(words) // 2] if len(words) else 0.0
    signs = {cell for cell in found if not _missing_keys(cell).isdisjoint(_MISSING_SIGNS)}
    blank = set() if typical <= _ONE_WORD else signs if typical <= _FEW_WORDS else found
    times = Counter(cell for cell in cells if cell in found)
    values = [[cell.strip() for cell, _ in times.most_common() if (cell in blank) == wanted] for wanted in (True, False)]
    places = [np.array([at for at, cell in enumerate(cells) if cell in which], np.int64) for which in (blank, found - blank)]
    return MissingTexts(places[0], tuple(dict.fromkeys(values[0])), places[1], tuple(dict.fromkeys(values[1])))


def blank_missing(cells: Sequence[str]) -> list[str]:
    """Return the cells of a text column, with those without an answer blank."""
    texts = list(cells)
    for place in find_missing(cells).places.tolist():
        texts[place] = ""
    return texts


def _missing_keys(cell: str) -> frozenset[str]:
    """Return a cell without case and blanks, and also without brackets around it or a mark behind it."""
    plain = "".join(unicodedata.normalize("NFKC", cell.strip()).casefold().split())
    framed = _FRAMES.fullmatch(plain)
    bare = framed[1] if framed else plain
    return frozenset(key for key in (plain, bare, bare.rstrip(".!")) if key)
