"""What kind of thing each column of a table holds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import StudioError
from ..lexicon.label_words import nli_class, squeeze
from ..lexicon.name_lexicon import ANCHOR, FIRST, GROUP, IDENTIFIER, LABEL, NEGATIVE, POSITIVE, SCORE, SECOND, SPLITS, TEXT
from ..loading.table import Table
from .forms import are_tags, count_words, is_code, is_language, is_nested, machine_made
from .scales import off_scale
from .written import numbers_written

_PATH = re.compile(r"[^/>→»|\\]+?(?:\s*(?:>|→|»|::|/|\||\\|›|＞)\s*[^/>→»|\\]+)+")
_SAMPLE = 20_000
_MOST_VALUES = 300
_MANY_NUMBERS = 4
_WORDS_OF_TEXT = 4.0


@dataclass(frozen=True)
class ColumnProfile:
    """A column in figures, taken over at most 20,000 of its rows.

    Attributes:
        name: the column.
        filled: cells that are not blank.
        numeric: the share of filled cells that are numbers.
        distinct: how many different filled cells there are.
        words: the mean number of words a filled cell; of Chinese, Japanese and Korean two characters
            count as one, of Thai, Lao, Burmese and Khmer five.
        sequence: whole numbers that rise from row to row: row numbers or ids.
        nli: every filled cell is an entailment label.
        codes: one word with a digit in it, nearly everywhere: file names, ids, dates.
        values: the different filled cells, case aside, where they are at most 300; else empty.
        least, most: the smallest and the largest number but for codes that stand for no answer; NaN where there is none.
        whole: every number is a whole one.
        tags: some cells hold several short tags of a few that come again and again.
        nested: the cells hold lists or objects, as JSON or Python writes them.
        marked: the cells that are no numbers hold a mark or two, such as ``n/a``, among many different numbers.
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
    marked: bool = False
    nested: bool = False
    tags: bool = False

    @property
    def key(self) -> str:
        """The name without case, blanks and punctuation."""
        return squeeze(self.name)

    @property
    def is_number(self) -> bool:
        """Nearly all cells are numbers; fewer do where one mark or two stand for the others, and half in a column called a score."""
        return self.filled > 0 and self.numeric >= (0.5 if self.key in SCORE else 0.6 if self.marked else 0.9)

    @cached_property
    def paths(self) -> bool:
        """Nearly all values are ways down a tree of topics: ``Location > City``, ``a/b``, ``A::B``."""
        ways = [value for value in self.values if _PATH.fullmatch(value)]
        return len(ways) >= max(2, 0.8 * len(self.values)) and not any("://" in way for way in ways)

    @property
    def is_category(self) -> bool:
        """Few different short texts, or ways down a tree, each many times."""
        if self.filled == 0 or self.is_number or self.nested or (self.words > _WORDS_OF_TEXT and not self.paths):
            return False
        return self.nli or self.distinct <= max(2, min(0.2 * self.filled, 1000)) or (self.distinct <= self.filled / 2 and self.words <= 1.5)

    @property
    def is_identifier(self) -> bool:
        """Numbers or names of rows, of no use to training."""
        return self.sequence or self.codes or (self.key in IDENTIFIER and not self.answers and (self.is_number or self.words <= 1.5))

    @property
    def is_split(self) -> bool:
        """It says which part of a set a row belongs to: train, dev, test."""
        return len(self.values) > 1 and self.values <= SPLITS

    @property
    def is_language(self) -> bool:
        """It holds language codes."""
        return bool(self.values) and all(map(is_language, self.values)) and self.filled > len(self.values)

    @property
    def is_year(self) -> bool:
        """It holds years."""
        return self.is_number and self.whole and self.least >= 1900 and self.most <= 2100 and self.most > self.least

    @property
    def few(self) -> bool:
        """It holds between two and twenty different values, each several times."""
        return 2 <= self.distinct <= min(20, max(3, self.filled / 3))

    @property
    def answers(self) -> bool:
        """It holds two to five different values over and over, so that it cannot number rows."""
        return 2 <= self.distinct <= 5 and self.filled >= 4 * self.distinct

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
        if self.filled == 0 or self.is_number or self.is_identifier or self.nli or self.nested:
            return False
        if self.named_target and not (self.named_text and not self.is_category) and self.words <= _WORDS_OF_TEXT:
            return False
        return self.named_text or not self.is_category


def profile_column(name: str, cells: Sequence[str]) -> ColumnProfile:
    """Look at the cells of one column."""
    step = max(1, len(cells) // _SAMPLE)
    filled = [text for cell in cells[::step] if (text := cell.strip())]
    numbers = numbers_of(filled)
    count = len(filled)
    values = numbers[~np.isnan(numbers)]
    scores = values[~off_scale(values)]
    sequence = count > 10 and len(values) == count and bool((values % 1 == 0).all()) and bool((np.diff(values) > 0).all())
    words = sum(count_words(text) for text in filled) / count if count else 0.0
    codes = count > 0 and sum(is_code(text) for text in filled) > 0.9 * count
    machine = machine_made(filled)
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
        least=float(scores.min()) if len(values) else math.nan,
        most=float(scores.max()) if len(values) else math.nan,
        whole=bool((values % 1 == 0).all()) if len(values) else False,
        marked=_marked(filled, numbers),
        nested=is_nested(filled),
        tags=len(values) < 0.5 * count and are_tags(filled),
    )


def _marked(filled: Sequence[str], numbers: np.ndarray) -> bool:
    """Whether one or two marks stand among more than a few different numbers."""
    marks = {text for text, number in zip(filled, numbers.tolist(), strict=True) if math.isnan(number)}
    return 0 < len(marks) <= 2 and len(np.unique(numbers[~np.isnan(numbers)])) > _MANY_NUMBERS


def profile_table(table: Table) -> tuple[ColumnProfile, ...]:
    """Look at every column, in the table's order."""
    return tuple(profile_column(name, table.texts(name)) for name in table.columns)


def no_text(table: Table, profiles: Sequence[ColumnProfile], hint: str) -> StudioError:
    """What to say where no column of a table looks like text.

    Args:
        table: the file.
        profiles: its columns.
        hint: how to mend it, unless the texts are there, in lists and objects.
    """
    nested = [profile.name for profile in profiles if profile.nested]
    if not nested:
        return StudioError(f"no column of {table.name} looks like text", f"{hint}{table.elsewhere}")
    return StudioError(
        f"{', '.join(map(repr, nested[:3]))} of {table.name} holds lists or objects, not texts",
        'write each text of them as a value of its own, such as {"question": "…", "answer": "…"} for what was said in turns',
    )


def numbers_of(cells: Sequence[str], *, as_written: bool = False) -> np.ndarray:
    """(n,) float64: the number in each cell, NaN where there is none; see :func:`~.written.numbers_written`."""
    known = numbers_written(cells, as_written=as_written)
    return np.fromiter((known[cell] for cell in cells), dtype=np.float64, count=len(cells))
