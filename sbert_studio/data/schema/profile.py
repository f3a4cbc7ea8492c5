"""Statistics of the values in each column of a table."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...errors import StudioError
from .content import are_machine_made, are_nested, are_tags, count_words, is_code, is_language_code
from .labels import inference_class
from .names import ANCHOR, FIRST, GROUP, IDENTIFIER, LABEL, NEGATIVE, POSITIVE, SCORE, SECOND, SPLIT, TEXT, rate_target_name
from .numbers import numbers_of
from .scales import off_scale
from .words import normalize

if TYPE_CHECKING:
    from ..loading.table import Table

WORDS_OF_A_NAME = 3
_PATH = re.compile(r"[^/>→»|\\]+?(?:\s*(?:>|→|»|::|/|\||\\|›|＞)\s*[^/>→»|\\]+)+")
_SAMPLE_ROWS = 20_000
_MOST_VALUES = 300
_MANY_NUMBERS = 4
_BOILERPLATE_ROWS = 500
_WORDS_OF_TEXT = 4.0


@dataclass(frozen=True)
class ColumnProfile:
    """Statistics of a column, taken over at most 20,000 of its rows.

    Attributes:
        name: the column.
        filled: the number of cells that are not blank.
        numeric: the share of filled cells that are numbers.
        distinct: the number of distinct filled cells.
        words: the mean number of words of a filled cell (see :func:`~.content.count_words`).
        is_sequence: whole numbers that rise from row to row, such as row numbers or ids.
        is_consecutive: each is one more than the number before.
        is_inference: every filled cell is an inference label.
        is_code: nearly every cell is one word with a digit in it, a date or an address.
        is_nested: the cells are lists or objects as JSON or Python writes them.
        is_boilerplate: nearly all words are the same in every cell, as in credit lines.
        is_tags: some cells hold several short tags, which recur.
        is_marked: the cells that are not numbers hold one or two marks, such as ``n/a``, among many distinct numbers.
        is_whole: every number is a whole one.
        values: the distinct filled cells, case folded, if they are at most 300; else empty.
        least, most: the smallest and the largest number except for missing-value codes; NaN if there is none.
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
    values: frozenset[str] = frozenset()
    least: float = math.nan
    most: float = math.nan

    @property
    def key(self) -> str:
        """The normalized name."""
        return normalize(self.name)

    @property
    def is_number(self) -> bool:
        """Nearly all cells are numbers; fewer are if one or two marks stand for the others, half in a column called a score."""
        return self.filled > 0 and self.numeric >= (0.5 if self.key in SCORE else 0.6 if self.is_marked else 0.9)

    @cached_property
    def has_paths(self) -> bool:
        """Nearly all values are paths in a tree of topics: ``Location > City``, ``a/b``, ``A::B``."""
        paths = [value for value in self.values if _PATH.fullmatch(value)]
        return len(paths) >= max(2, 0.8 * len(self.values)) and not any("://" in path for path in paths)

    @property
    def is_category(self) -> bool:
        """Few distinct short texts or paths, each many times."""
        if self.filled == 0 or self.is_number or self.is_nested or (self.words > _WORDS_OF_TEXT and not self.has_paths):
            return False
        few = self.distinct <= max(2, min(0.2 * self.filled, 1000))
        return self.is_inference or few or (self.distinct <= self.filled / 2 and self.words <= 1.5)

    @property
    def is_identifier(self) -> bool:
        """Row numbers or keys, of no use to training."""
        is_key = self.key in IDENTIFIER and not self.has_few_answers and (self.is_number or self.words <= 1.5)
        return self.is_sequence or self.is_code or is_key

    @property
    def is_split(self) -> bool:
        """The parts of a data set: train, dev, test."""
        return len(self.values) > 1 and self.values <= SPLIT

    @property
    def is_language(self) -> bool:
        """Language codes."""
        return bool(self.values) and all(map(is_language_code, self.values)) and self.filled > len(self.values)

    @property
    def is_year(self) -> bool:
        """Years."""
        return self.is_number and self.is_whole and self.least >= 1900 and self.most <= 2100 and self.most > self.least

    @property
    def has_few_values(self) -> bool:
        """Between two and twenty distinct values, each several times."""
        return 2 <= self.distinct <= min(20, max(3, self.filled / 3))

    @property
    def has_few_answers(self) -> bool:
        """Two to five distinct values over and over, which cannot number rows."""
        return 2 <= self.distinct <= 5 and self.filled >= 4 * self.distinct

    @property
    def is_named_text(self) -> bool:
        """The name is a usual one for texts."""
        return self.key in FIRST | SECOND | ANCHOR | POSITIVE | TEXT or bool(NEGATIVE.fullmatch(self.key))

    @property
    def is_named_target(self) -> bool:
        """The name is a usual one for scores, labels or groups."""
        return self.key in SCORE | LABEL | GROUP

    @property
    def is_text(self) -> bool:
        """Words that differ from row to row."""
        if self.filled == 0 or self.is_number or self.is_identifier or self.is_inference or self.is_nested:
            return False
        if self.is_named_target and not (self.is_named_text and not self.is_category) and self.words <= _WORDS_OF_TEXT:
            return False
        return self.is_named_text or not self.is_category

    @property
    def is_entity(self) -> bool:
        """A few words a cell under the name of persons, places and the like."""
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
        values=frozenset(text.casefold() for text in distinct) if len(distinct) <= _MOST_VALUES else frozenset(),
        least=float(scores.min()) if len(values) else math.nan,
        most=float(scores.max()) if len(values) else math.nan,
    )


def _are_boilerplate(cells: Sequence[str]) -> bool:
    words = [set(re.findall(r"[^\W\d_]+", cell.casefold())) for cell in cells]
    times = Counter(word for found in words for word in found)
    common = {word for word, number in times.items() if number >= 0.9 * len(cells)}
    return len(cells) > 4 and len(common) > 3 and all(len(found & common) >= 0.6 * len(found) for found in words)


def profile_table(table: Table) -> tuple[ColumnProfile, ...]:
    """Return the statistics of every column, in the table's order."""
    return tuple(profile_column(name, table.texts(name)) for name in table.columns)


def no_text_error(table: Table, profiles: Sequence[ColumnProfile], hint: str) -> StudioError:
    """Return the error for a table without a column of text; ``hint`` is the fix unless its texts are in lists or objects."""
    nested = [profile.name for profile in profiles if profile.is_nested]
    if not nested:
        return StudioError(f"no column of {table.name} looks like text", f"{hint}{table.elsewhere}")
    return StudioError(
        f"{', '.join(map(repr, nested[:3]))} of {table.name} holds lists or objects, not texts",
        'write each text as a separate value, such as {"question": "…", "answer": "…"}',
    )
