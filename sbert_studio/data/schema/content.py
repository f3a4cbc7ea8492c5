"""Content of cells and columns: words, dates, codes, tags and missing texts; and column statistics."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..findings import Finding, count
from .labels import inference_class
from .names import (
    ANCHOR,
    FIRST,
    GROUP,
    IDENTIFIER,
    LABEL,
    NEGATIVE,
    POSITIVE,
    SCORE,
    SECOND,
    SPLIT_NAME,
    SPLIT_PARTS,
    TEXT,
    normalize,
    rate_target_name,
    split_words,
    word_lists,
    word_set,
)
from .numbers import numbers_of, off_scale, parse_number

if TYPE_CHECKING:
    from ..loading.table import Table


_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\uac00-\ud7a3]")
_SOUTH_EAST_ASIAN = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # words of about five characters, without spaces between them
_MACHINE_MADE = re.compile(
    r"(https?://|www\.)\S+|\S+@\S+\.\w+|[0-9a-f]{12,}|[0-9a-f-]{32,36}|(/|[A-Za-z]:\\)\S+"
    r"|\S+\.(txt|csv|json|jpg|jpeg|png|pdf|html?|xml|mp3|wav)"
    r"|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ]\d{1,2}:\d{2}\S*)?|(\d{1,2}\.? \w{3,9}\.?,? \d{4}|\w{3,9}\.? \d{1,2},? \d{4})|@\w+",
    re.IGNORECASE,
)
_NESTED = re.compile(r"\[\s*(?:[\"'{\[].*|[\d.,\s-]*)\]|\{\s*[\"'].*\}", re.DOTALL)
_LISTS = {key: word_set(words) for key, words in word_lists("cells").items()}
TAG_SEPARATORS = ";|,、，；"
_LONGEST_TAG, _WORDS_OF_A_TAG = 50, 4.0
_DATE_FORM = re.compile(r"\d{1,4}\s?[-./年년]\s?\d{1,2}\s?[-./月월]\s?\d{1,4}|\d{1,2}[:时時点點시]\d{2}")
_LONGEST_DATE = 50


def is_date(text: str) -> bool:
    """Return True for a date or time in a format used by people or programs: ``3/1/2023 9:00 PM``, ``Wed Mar 01 10:00:00 +0000 2023``."""
    if len(text) > _LONGEST_DATE or sum(map(str.isdigit, text)) < 3:
        return False
    words = re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", text).casefold())
    months = [word for word in words if word[:3] in _LISTS["month"] and len(word) < 10]
    if not all(word in _LISTS["date"] or word in months for word in words):
        return False
    return bool(_DATE_FORM.search(text)) or (bool(months) and len(re.findall(r"\d+", text)) > 1)


def count_words(text: str) -> float:
    """Estimate the number of words: two Chinese, Japanese or Korean characters, or five Thai, Lao, Burmese or Khmer ones, make a word."""
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
    """Return True for a single word that contains a digit but is not a number."""
    return " " not in text and not _UNSPACED.search(text) and any(map(str.isdigit, text)) and math.isnan(parse_number(text))


def are_machine_made(texts: Sequence[str], most: int = 500) -> bool:
    """Return True if nearly all cells are machine-generated: dates, URLs, file names, hashes and the like."""
    head = texts[:most]
    return bool(head) and sum(bool(_MACHINE_MADE.fullmatch(text)) or is_date(text) for text in head) > 0.8 * len(head)


def have_code_form(texts: Sequence[str]) -> bool:
    """Return True if cells are machine-generated or one-word codes, unlike the column name above them."""
    return are_machine_made(texts) or (bool(texts) and sum(map(is_code, texts)) > 0.9 * len(texts))


def are_nested(texts: Sequence[str], most: int = 500) -> bool:
    """Return True if nearly all cells are JSON or Python lists or objects."""
    head = texts[:most]
    return bool(head) and sum(text[:1] in "[{" and bool(_NESTED.fullmatch(text)) for text in head) > 0.8 * len(head)


def are_tags(cells: Sequence[str]) -> bool:
    """Return True if cells contain one or more short tags with a single separator, and a few distinct tags recur across cells.

    Cells that all have the same number of parts are not tags (``Bonn, Germany``), nor are categories whose names contain a comma.
    """
    return bool(find_tag_separator(cells))


def find_tag_separator(cells: Sequence[str]) -> str:
    """Return the separator of the tags in some cells (see :func:`are_tags`); empty if they are not tags."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return next((sign for sign in TAG_SEPARATORS if _are_separated_by(filled, sign)), "")


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
_MISSING = _LISTS["missing_label"] | _LISTS["missing_sign"] | _LISTS["missing_word"]
_MISSING_SIGNS = (_LISTS["missing_label"] | _LISTS["missing_sign"]) - _LISTS["missing_word"]
_KEPT = "kept as text because the other texts are just as short"
_LONGEST_MISSING = 40
_BLOCK = 8_192
_FRAMES = re.compile(r"[\s(\[{<«\"'“„]*(.*?)[\s)\]}>»\"'”“]*", re.DOTALL)
_ONE_WORD, _FEW_WORDS = 1.5, 3.0


@dataclass(frozen=True)
class MissingTexts:
    """Cells of a text column that mean "no answer", such as ``N/A``.

    Attributes:
        places: (k,) int64, row indices that count as blank, from 0.
        values: their distinct values, most frequent first.
        kept: (m,) int64, row indices with such a value in a column of equally short texts, where it may be an answer; they count as texts.
        kept_values: their distinct values.
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
        return (
            Finding(
                "info",
                _(
                    "{rows} with only {cells} in {column}, {kept}",
                    rows=count(len(rows), "row"),
                    cells=quote_cells(self.kept_values),
                    column=repr(column),
                    kept=_KEPT,
                ),
                rows,
            ),
        )


def kept_as_texts(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the values reported by :meth:`MissingTexts.note` among ``findings``."""
    return tuple(finding.describe() for finding in findings if finding.message.endswith(_KEPT))


def quote_cells(cells: Sequence[str], most: int = 4) -> str:
    """Return the first ``most`` cells in quotation marks."""
    return ", ".join(map(repr, cells[:most])) + (" …" if len(cells) > most else "")


def is_missing(cell: str) -> bool:
    """Return True for a cell that contains only a symbol or word for "no answer"."""
    return len(cell) <= _LONGEST_MISSING and bool(found := _missing_keys(cell)) and not found.isdisjoint(_MISSING)


def find_missing(cells: Sequence[str]) -> MissingTexts:
    """Find the cells of a text column that mean "no answer".

    If the other texts are single words, a symbol may be an answer; if they have at most three words, so may a word such as ``none``.
    """
    found: set[str] = set()
    for start in range(0, len(cells), _BLOCK):  # a set of the whole column would double the memory
        found.update(cell for cell in set(cells[start : start + _BLOCK]) if cell.strip() and is_missing(cell))
    blank: set[str] = set()
    if found:
        words = sorted(count_words(cell) for cell in cells if cell.strip() and cell not in found)
        typical = words[len(words) // 2] if words else 0.0
        signs = {cell for cell in found if not _missing_keys(cell).isdisjoint(_MISSING_SIGNS)}
        blank = set() if typical <= _ONE_WORD else signs if typical <= _FEW_WORDS else found
    times = Counter(cell for cell in cells if cell in found)
    parts: list[tuple[np.ndarray, tuple[str, ...]]] = []
    for which in (blank, found - blank):
        places = np.array([at for at, cell in enumerate(cells) if cell in which] if which else [], np.int64)
        parts.append((places, tuple(dict.fromkeys(cell.strip() for cell, _ in times.most_common() if cell in which))))
    return MissingTexts(*parts[0], *parts[1])


def blank_missing(cells: Sequence[str]) -> list[str]:
    """Return the cells of a text column, with missing answers replaced by blanks."""
    texts = list(cells)
    for place in find_missing(cells).places.tolist():
        texts[place] = ""
    return texts


def _missing_keys(cell: str) -> frozenset[str]:
    plain = "".join(unicodedata.normalize("NFKC", cell.strip()).casefold().split())
    framed = _FRAMES.fullmatch(plain)
    bare = framed[1] if framed else plain
    return frozenset(key for key in (plain, bare, bare.rstrip(".!")) if key)


WORDS_OF_A_NAME = 3
_PATH = re.compile(r"[^/>→»|\\]+?(?:\s*(?:>|→|»|::|/|\||\\|›|＞)\s*[^/>→»|\\]+)+")
_SAMPLE_ROWS = 20_000
_MOST_VALUES = 300
_MANY_NUMBERS = 4
_BOILERPLATE_ROWS = 500
_WORDS_OF_TEXT = 4.0
_MOSTLY_IN_PARTS = 0.8


@dataclass(frozen=True)
class ColumnProfile:
    """Statistics of a column, computed on at most 20,000 rows.

    Attributes:
        name: the name of the column.
        filled: the number of non-blank cells.
        numeric: the share of filled cells that are numbers.
        distinct: the number of distinct filled cells.
        words: the mean number of words of a filled cell (see :func:`~.content.count_words`).
        is_sequence: integers that increase from row to row, such as row numbers or ids.
        is_consecutive: each number is one greater than the previous one.
        is_inference: every filled cell is an inference label.
        is_code: nearly every cell is a single word with a digit, a date or a URL.
        is_nested: the cells are JSON or Python lists or objects.
        is_boilerplate: nearly all words are the same in every cell, as in credit lines.
        is_tags: some cells contain several short tags, which recur.
        is_marked: there are many distinct numbers, and all other cells are one or two markers, such as ``n/a``.
        is_whole: all numbers are integers.
        in_parts: the share of filled cells that name a split of a dataset, such as ``train``.
        values: the distinct filled cells, case-folded, if there are at most 300; else empty.
        least, most: the smallest and the largest number, without missing-value codes; NaN without numbers.
    """

    name: str
    filled: int
    numeric: float
    distinct: int
    words: float
    is_sequence: bool
    is_inference: bool
    is_code: bool
    is_consecutive: bool = False
    is_boilerplate: bool = False
    is_nested: bool = False
    is_tags: bool = False
    is_marked: bool = False
    is_whole: bool = False
    in_parts: float = 0.0
    values: frozenset[str] = frozenset()
    least: float = math.nan
    most: float = math.nan

    @property
    def key(self) -> str:
        """Normalized name."""
        return normalize(self.name)

    @property
    def is_number(self) -> bool:
        """True if 90 % of filled cells are numbers, or 60 % if the rest are one or two markers, or 50 % in a column named like a score."""
        return self.filled > 0 and self.numeric >= (0.5 if self.key in SCORE else 0.6 if self.is_marked else 0.9)

    @cached_property
    def has_paths(self) -> bool:
        """True if nearly all values are paths in a topic hierarchy: ``Location > City``, ``a/b``, ``A::B``."""
        paths = [value for value in self.values if _PATH.fullmatch(value)]
        return len(paths) >= max(2, 0.8 * len(self.values)) and not any("://" in path for path in paths)

    @property
    def is_category(self) -> bool:
        """True if there are few distinct short texts or paths, each occurring many times."""
        if self.filled == 0 or self.is_number or self.is_nested or (self.words > _WORDS_OF_TEXT and not self.has_paths):
            return False
        few = self.distinct <= max(2, min(0.2 * self.filled, 1000))
        return self.is_inference or few or (self.distinct <= self.filled / 2 and self.words <= 1.5)

    @property
    def is_identifier(self) -> bool:
        """True if the column contains row numbers or keys, which are not useful for training."""
        is_key = self.key in IDENTIFIER and not self.has_few_answers and (self.is_number or self.words <= 1.5)
        return self.is_sequence or self.is_code or is_key

    @property
    def is_split(self) -> bool:
        """True if nearly all cells name splits of a dataset, several in total, or if half of them do in a column named like a split."""
        parts = {SPLIT_PARTS[value] for value in self.values & SPLIT_PARTS.keys()}
        if SPLIT_NAME.isdisjoint(split_words(self.name)):
            return len(parts) > 1 and self.in_parts >= _MOSTLY_IN_PARTS
        return bool(parts) and self.in_parts >= 0.5

    @property
    def is_language(self) -> bool:
        return bool(self.values) and all(map(is_language_code, self.values)) and self.filled > len(self.values)

    @property
    def is_year(self) -> bool:
        return self.is_number and self.is_whole and self.least >= 1900 and self.most <= 2100 and self.most > self.least

    @property
    def has_few_values(self) -> bool:
        """True if there are two to twenty distinct values, each occurring several times."""
        return 2 <= self.distinct <= min(20, max(3, self.filled / 3))

    @property
    def has_few_answers(self) -> bool:
        """True if there are two to five recurring values, which cannot be row numbers."""
        return 2 <= self.distinct <= 5 and self.filled >= 4 * self.distinct

    @property
    def is_named_text(self) -> bool:
        return self.key in FIRST | SECOND | ANCHOR | POSITIVE | TEXT or bool(NEGATIVE.fullmatch(self.key))

    @property
    def is_named_target(self) -> bool:
        return self.key in SCORE | LABEL | GROUP

    @property
    def is_text(self) -> bool:
        """True if the column contains texts that differ from row to row."""
        if self.filled == 0 or self.is_number or self.is_identifier or self.is_inference or self.is_nested:
            return False
        if self.is_named_target and not (self.is_named_text and not self.is_category) and self.words <= _WORDS_OF_TEXT:
            return False
        return self.is_named_text or not self.is_category

    @property
    def is_entity(self) -> bool:
        """True if cells have a few words and the column name suggests people, places or the like."""
        return self.words <= WORDS_OF_A_NAME and not self.is_named_text and rate_target_name(self.name) == "never"


def profile_column(name: str, cells: Sequence[str]) -> ColumnProfile:
    """Return the statistics of one column."""
    step = max(1, len(cells) // _SAMPLE_ROWS)
    filled = [text for cell in cells[::step] if (text := cell.strip())]
    count = len(filled)
    numbers = numbers_of(filled)
    values = numbers[~np.isnan(numbers)]
    scores = values[~off_scale(values)]
    whole = bool((values % 1 == 0).all())
    distinct = set(filled)
    codes = count > 0 and sum(is_code(text) for text in filled) > 0.9 * count and len(distinct) > max(12, 0.1 * count)
    marks = {text for text, number in zip(filled, numbers.tolist(), strict=True) if math.isnan(number)}
    return ColumnProfile(
        name=name,
        filled=count,
        numeric=len(values) / count if count else 0.0,
        distinct=len(distinct),
        words=sum(count_words(text) for text in filled) / count if count else 0.0,
        is_sequence=count > 10 and len(values) == count and whole and bool((np.diff(values) > 0).all()),
        is_consecutive=count > 10 and len(values) == count and bool((np.diff(values) == 1).all()),
        is_boilerplate=_are_boilerplate(filled[:_BOILERPLATE_ROWS]),
        is_inference=1 < len(distinct) <= 12 and all(inference_class(text) or text == "-" for text in distinct),
        is_code=(codes or are_machine_made(filled)) and len(values) < count,
        is_nested=are_nested(filled),
        is_tags=len(values) < 0.5 * count and are_tags(filled),
        is_marked=0 < len(marks) <= 2 and len(np.unique(values)) > _MANY_NUMBERS,
        is_whole=whole if len(values) else False,
        in_parts=sum(text.casefold() in SPLIT_PARTS for text in filled) / count if count else 0.0,
        values=frozenset(text.casefold() for text in distinct) if len(distinct) <= _MOST_VALUES else frozenset(),
        least=float(scores.min()) if len(values) else math.nan,
        most=float(scores.max()) if len(values) else math.nan,
    )


def _are_boilerplate(cells: Sequence[str]) -> bool:
    words = [set(re.findall(r"[^\W\d_]+", cell.casefold())) for cell in cells]
    times = Counter(word for found in words for word in found)
    common = {word for word, number in times.items() if number >= 0.9 * len(cells)}
    return len(cells) > 4 and len(common) > 3 and all(len(found & common) >= 0.6 * len(found) for found in words)


_PROFILES: WeakKeyDictionary[Table, tuple[ColumnProfile, ...]] = WeakKeyDictionary()  # a wide table takes seconds, and several ask for them


def profile_table(table: Table) -> tuple[ColumnProfile, ...]:
    """Return the statistics of every column, in the table's order."""
    found = _PROFILES.get(table)
    if found is None:
        found = _PROFILES[table] = tuple(profile_column(name, table.texts(name)) for name in table.columns)
    return found


def no_text_error(table: Table, profiles: Sequence[ColumnProfile], hint: str) -> StudioError:
    """Return the error for a table without a text column; ``hint`` is the fix, unless its texts are inside lists or objects."""
    nested = [profile.name for profile in profiles if profile.is_nested]
    if not nested:
        return StudioError(
            _("no column of {name} looks like text", name=table.name), _("{hint}{elsewhere}", hint=hint, elsewhere=table.elsewhere)
        )
    return StudioError(
        _("{nested} of {name} contains lists or objects, not texts", nested=", ".join(map(repr, nested[:3])), name=table.name),
        'write each text as a separate value, such as {"question": "…", "answer": "…"}',
    )
