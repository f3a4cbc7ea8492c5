"""What kind of thing each column of a table holds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .cells import parse_number
from .tables import Table
from .vocabulary import ANCHOR, FIRST, GROUP, IDENTIFIER, LABEL, NEGATIVE, POSITIVE, SCORE, SECOND, SPLITS, TEXT, nli_class, squeeze

_SAMPLE = 20_000
_FEW_CELLS = 500
_MOST_VALUES = 300
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\uac00-\ud7a3]")
_WORDS_OF_TEXT = 4.0
_MACHINE_MADE = re.compile(
    r"(https?://|www\.)\S+|\S+@\S+\.\w+|[0-9a-f]{12,}|[0-9a-f-]{32,36}|(/|[A-Za-z]:\\)\S+"
    r"|\S+\.(txt|csv|json|jpg|jpeg|png|pdf|html?|xml|mp3|wav)"
    r"|\d{1,4}[-./年]\d{1,2}[-./月]\d{1,4}日?([T ]\d{1,2}:\d{2}\S*)?( ?[AP]M)?|\d{1,2}:\d{2}(:\d{2})?"
    r"|\d{1,2}\.? \w{3,9}\.?,? \d{4}|\w{3,9}\.? \d{1,2},? \d{4}",
    re.IGNORECASE,
)
_LANGUAGES = frozenset(
    [
        "en",
        "de",
        "fr",
        "es",
        "it",
        "pt",
        "nl",
        "pl",
        "ru",
        "zh",
        "ja",
        "ko",
        "ar",
        "tr",
        "cs",
        "sv",
        "da",
        "fi",
        "no",
        "nb",
        "el",
        "he",
        "hi",
        "th",
        "vi",
        "id",
        "uk",
        "ro",
        "hu",
        "bg",
        "eng",
        "deu",
        "ger",
        "fra",
        "fre",
        "spa",
    ]
)


@dataclass(frozen=True)
class ColumnProfile:
    """A column in figures, taken over at most 20,000 of its rows.

    Attributes:
        name: the column.
        filled: cells that are not blank.
        numeric: the share of filled cells that are numbers.
        distinct: how many different filled cells there are.
        words: the mean number of words a filled cell; two characters of Chinese, Japanese, Korean or Thai count as one.
        sequence: whole numbers that rise from row to row: row numbers or ids.
        nli: every filled cell is an entailment label.
        codes: one word with a digit in it, nearly everywhere: file names, ids, dates.
        values: the different filled cells, case aside, where they are at most 300; else empty.
        least, most: the smallest and the largest number; NaN where there is none.
        whole: every number is a whole one.
    """

    name: str
    filled: int
    numeric: float
    distinct: int
    words: float
    sequence: bool
    nli: bool
    codes: bool
    values: frozenset[str] = frozenset()
    least: float = math.nan
    most: float = math.nan
    whole: bool = False

    @property
    def key(self) -> str:
        """The name without case, blanks and punctuation."""
        return squeeze(self.name)

    @property
    def is_number(self) -> bool:
        """Nearly all cells are numbers; half of them do in a column that is called a score, where people write n/a too."""
        return self.filled > 0 and self.numeric >= (0.5 if self.key in SCORE else 0.9)

    @property
    def is_category(self) -> bool:
        """Few different short texts, each many times."""
        if self.filled == 0 or self.is_number or self.words > _WORDS_OF_TEXT:
            return False
        return self.nli or self.distinct <= max(2, min(0.2 * self.filled, 1000)) or (self.distinct <= self.filled / 2 and self.words <= 1.5)

    @property
    def is_identifier(self) -> bool:
        """Numbers or names of rows, of no use to training."""
        return self.sequence or self.codes or (self.key in IDENTIFIER and (self.is_number or self.words <= 1.5))

    @property
    def is_split(self) -> bool:
        """It says which part of a set a row belongs to: train, dev, test."""
        return len(self.values) > 1 and self.values <= SPLITS

    @property
    def is_language(self) -> bool:
        """It holds language codes."""
        return bool(self.values) and self.values <= _LANGUAGES and self.filled > len(self.values)

    @property
    def is_year(self) -> bool:
        """It holds years."""
        return self.is_number and self.whole and self.least >= 1900 and self.most <= 2100 and self.most > self.least

    @property
    def few(self) -> bool:
        """It holds between two and twenty different values, each several times."""
        return 2 <= self.distinct <= min(20, max(3, self.filled / 3))

    @property
    def named_text(self) -> bool:
        """Its name is one that people give to texts."""
        return self.key in FIRST | SECOND | ANCHOR | POSITIVE | TEXT or bool(NEGATIVE.fullmatch(self.key))

    @property
    def named_target(self) -> bool:
        """Its name is one that people give to scores, labels or groups."""
        return self.key in SCORE | LABEL | GROUP

    @property
    def is_text(self) -> bool:
        """It holds sentences: words that differ from row to row."""
        if self.filled == 0 or self.is_number or self.is_identifier or self.nli:
            return False
        if self.named_target and not (self.named_text and not self.is_category) and self.words <= _WORDS_OF_TEXT:
            return False
        return self.named_text or not self.is_category


def profile_column(name: str, cells: Sequence[str]) -> ColumnProfile:
    """Look at the cells of one column."""
    step = max(1, len(cells) // _SAMPLE)
    filled = [text for cell in cells[::step] if (text := cell.strip())]
    numbers = np.array([parse_number(text) for text in filled], dtype=np.float64)
    count = len(filled)
    values = numbers[~np.isnan(numbers)]
    sequence = count > 10 and len(values) == count and bool((values % 1 == 0).all()) and bool((np.diff(values) > 0).all())
    words = sum(_count_words(text) for text in filled) / count if count else 0.0
    codes = count > 0 and sum(_is_code(text) for text in filled) > 0.9 * count
    machine = count > 0 and sum(bool(_MACHINE_MADE.fullmatch(text)) for text in filled[:_FEW_CELLS]) > 0.8 * min(count, _FEW_CELLS)
    kinds = set(filled)
    return ColumnProfile(
        name=name,
        filled=count,
        numeric=len(values) / count if count else 0.0,
        distinct=len(kinds),
        words=words,
        sequence=sequence,
        nli=1 < len(kinds) <= 12 and all(nli_class(text) or text == "-" for text in kinds),
        codes=((codes and len(kinds) > max(12, 0.1 * count)) or machine) and len(values) < count,
        values=frozenset(text.casefold() for text in kinds) if len(kinds) <= _MOST_VALUES else frozenset(),
        least=float(values.min()) if len(values) else math.nan,
        most=float(values.max()) if len(values) else math.nan,
        whole=bool((values % 1 == 0).all()) if len(values) else False,
    )


def profile_table(table: Table) -> tuple[ColumnProfile, ...]:
    """Look at every column, in the table's order."""
    return tuple(profile_column(name, table.column(name)) for name in table.columns)


def numbers_of(cells: Sequence[str]) -> np.ndarray:
    """(n,) float64: the number in each cell, NaN where there is none. Each different cell is parsed once."""
    known: dict[str, float] = {}
    for cell in cells:
        if cell not in known:
            known[cell] = parse_number(cell)
    return np.fromiter((known[cell] for cell in cells), dtype=np.float64, count=len(cells))


def _count_words(text: str) -> float:
    if text.isascii():
        return len(text.split())
    unspaced = len(_UNSPACED.findall(text))
    return unspaced / 2 + len(_UNSPACED.sub(" ", text).split())


def _is_code(text: str) -> bool:
    return (
        " " not in text and not _UNSPACED.search(text) and any(character.isdigit() for character in text) and math.isnan(parse_number(text))
    )
