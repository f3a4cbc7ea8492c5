"""Records of several lines: one text with line breaks in it, or records of their own that a stray quotation mark swallowed."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...schema.numbers import parse_number
from ..headers import mostly_numbers
from ..rows import glued
from .dialects import Dialect

_NUMBERED = 0.6  # the share of lines that are records, where a column of numbers has a number in each of them
_MOSTLY = 0.8
_LEAST_TOLD = 2


@dataclass(frozen=True)
class Frame:
    """What a line that is a whole record looks like.

    Attributes:
        dialect: the rules by which it is cut.
        width: how many cells it has.
        numeric: the places of the cells that are numbers in nearly every line.
    """

    dialect: Dialect
    width: int
    numeric: tuple[int, ...] = ()

    @classmethod
    def of(cls, start: Sequence[str], dialect: Dialect) -> Frame:
        """The frame of a file by its first lines, each cut on its own."""
        rows = [cells for line in start if len(cells := plain(line, dialect)) > 1]
        if not rows:
            return cls(dialect, 0)
        widths = [len(glued(cells, "")) for cells in rows]
        width = max(set(widths), key=lambda one: (widths.count(one), one))
        whole = [row for row, one in zip((glued(cells, "") for cells in rows), widths, strict=True) if one == width]
        columns = [[row[place].strip() for row in whole if row[place].strip()] for place in range(width)]
        return cls(dialect, width, tuple(place for place, texts in enumerate(columns) if len(texts) > 3 and mostly_numbers(texts)))

    def holds(self, line: str) -> bool:
        """Whether a line by itself has as many cells as the records have, with numbers where they have numbers."""
        for cells in (plain(line, self.dialect), _by_itself(line, self.dialect)):
            whole = cells if len(cells) == self.width else glued(cells, "") if cells else []
            if len(whole) == self.width > 1:
                return all(not whole[place].strip() or not math.isnan(parse_number(whole[place])) for place in self.numeric)
        return False

    def swallowed(self, lines: Sequence[str]) -> bool:
        """Whether the lines of one record are records of their own, as those are that follow a quotation mark nobody meant.

        Sure it is where a column of numbers has one in most lines; else where nearly all of four lines or more (of six, where
        a line has two cells, as many a sentence with a comma does) have as many cells as the records have.
        """
        held = sum(map(self.holds, lines))
        if self.numeric:
            return held >= max(2, _NUMBERED * len(lines))
        return len(lines) >= (4 if self.width > 2 else 6) and held >= _MOSTLY * len(lines)

    def may_have_swallowed(self, lines: Sequence[str]) -> bool:
        """Whether some of the lines that are read as one record look like records: of two cells, as a sentence with a comma does, more."""
        return sum(map(self.holds, lines)) >= _LEAST_TOLD + (self.width == 2)


def plain(line: str, dialect: Dialect) -> list[str]:
    """The cells of a line with its quotes as plain characters; none where one is too long."""
    try:
        return next(dialect.reader([line], quoting=csv.QUOTE_NONE), [])
    except csv.Error:
        return []


def _by_itself(line: str, dialect: Dialect) -> list[str]:
    """The cells of a line whose quotes are closed within it; none where they are not."""
    try:
        return next(dialect.reader([line], strict=True), [])
    except csv.Error:
        return []
