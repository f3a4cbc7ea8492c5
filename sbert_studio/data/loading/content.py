"""Text columns with row numbers, as returned by every reader, and a log of the rows that needed repair."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import StudioError
from ...i18n import _, join
from ..cells import LONGEST_CELL, clean
from ..findings import Finding, Question, Severity, count, drop_rows_fix
from ..schema.names import word_lists, word_set

Record = tuple[int, Sequence[str]]
"""(row number as a spreadsheet shows it, cells). A record without cells is a blank row."""

WORDS = {name: word_set(words) for name, words in word_lists("readers").items()}
"""Word lists used by the readers."""

MOST_COLUMNS = 1_000
MOST_ROWS = 10_000_000
MOST_CHARACTERS = 500_000_000
"""Maximum number of characters in all cells together, counting every row: a small file can repeat one text until memory is full."""

_CHUNK_ROWS = 8_192
_CHUNK_CHARACTERS = 1 << 24
_SPANS_SHOWN = 5

_EVENTS: dict[str, tuple[Severity, str, bool, str]] = {
    "short": ("warning", "with fewer cells than there are columns; the missing cells are empty", True, ""),
    "long": ("warning", "with more cells than there are columns; the surplus cells were joined to the last column", True, ""),
    "joined": ("warning", "with unquoted separators inside texts; those before a space were read as part of the text", True, ""),
    "blank": ("info", "without any cells, skipped", False, "blank"),
    "header": ("info", "that repeat the header, skipped", False, "repeats the header"),
    "nul": ("warning", "that contained NUL characters, which were removed", True, ""),
    "broken": ("warning", "with bytes that are invalid in the file's encoding; they are shown as �", True, ""),
    "quote": ("warning", "with a quotation mark that is never closed; it was read as part of the text", True, ""),
    "literal": ("info", "with unbalanced quotation marks; they were read as part of the text", False, ""),
}
"""Event → severity, message after "n rows", whether a fix to skip the rows is offered, and why the rows are already skipped."""


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a file.

    Attributes:
        names: the column names, all distinct.
        data: a pyarrow table of strings.
        lines: (n,) int64, the row numbers.
        notes: observations about the file.
        doubts: questions for the user.
    """

    names: tuple[str, ...]
    data: Any
    lines: np.ndarray
    notes: tuple[Finding, ...]
    doubts: tuple[Question, ...] = ()


@dataclass
class RowLog:
    """Log of events while rows are read.

    Attributes:
        rows: the row numbers of each event of ``_EVENTS``.
        spans: the number of lines that a row was read from, for rows whose lines could be separate rows.
    """

    rows: dict[str, list[int]] = field(default_factory=dict)
    spans: dict[int, int] = field(default_factory=dict)
    _gap: range = range(0)

    def add(self, event: str, row: int) -> None:
        self.rows.setdefault(event, []).append(row)

    def add_blank(self, row: int) -> None:
        """Log a blank row. It is reported only if :meth:`end_gap` follows, because trailing blank rows are ignored."""
        self._gap = range(self._gap.start if self._gap else row, row + 1)

    def end_gap(self) -> bool:
        """Report the blank rows logged since the last call. Return whether there were any."""
        gap, self._gap = self._gap, range(0)
        if gap:
            self.rows.setdefault("blank", []).extend(gap)
        return bool(gap)

    def findings(self) -> tuple[Finding, ...]:
        """Return one finding for each kind of event, with all its rows."""
        found = []
        for event, (severity, text, removable, left_out) in _EVENTS.items():
            if rows := tuple(self.rows.get(event, ())):
                message = f"{count(len(rows), 'row')} {text}"
                found.append(Finding(severity, message, rows, drop_rows_fix(rows) if removable else None, left_out))
        if self.spans:
            each = join(
                ", ",
                (_("row {row} from {lines} lines", row=row, lines=f"{lines:,}") for row, lines in list(self.spans.items())[:_SPANS_SHOWN]),
            )
            more = " and so on" if len(self.spans) > _SPANS_SHOWN else ""
            message = _(
                "{rows} read from several lines within quotes that may be separate rows: {each}{more}",
                rows=count(len(self.spans), "row"),
                each=each,
                more=more,
            )
            found.append(Finding("warning", message, rows := tuple(self.spans), drop_rows_fix(rows)))
        return tuple(found)


class ColumnBuilder:
    """Collect rows of ``width`` cells into chunked pyarrow string columns; at most one chunk is kept as Python strings."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lines = array("q")
        self._rows: list[Sequence[str]] = []
        self._in_chunk = self._total = 0
        self._chunks: list[list[Any]] = []

    def append(self, line: int, cells: Sequence[str]) -> None:
        """Append a row; raise a StudioError if a cell, or the text read so far, is too long."""
        self._rows.append(cells)
        self._lines.append(line)
        size = sum(map(len, cells))
        if size > LONGEST_CELL:
            check_cell_length(max(map(len, cells)), line)
        self._total += size
        check_total_length(self._total, line)
        self._in_chunk += size
        if len(self._rows) >= _CHUNK_ROWS or self._in_chunk >= _CHUNK_CHARACTERS:
            self._flush()

    def widen(self, width: int) -> None:
        """Expect ``width`` cells per row from now on; earlier rows are blank in the new columns."""
        check_width(width)
        self._flush()
        self.width = width

    def finish(self, names: Sequence[str]) -> tuple[Any, np.ndarray]:
        """Return the pyarrow table and the row numbers."""
        import pyarrow as pa

        self._flush()
        blank = {size: pa.array([""] * size, pa.string()) for size in {len(chunk[0]) for chunk in self._chunks}}
        columns = [
            pa.chunked_array([chunk[at] if at < len(chunk) else blank[len(chunk[0])] for chunk in self._chunks], type=pa.string())
            for at in range(len(names))
        ]
        return pa.table(columns, names=list(names)), np.array(self._lines, dtype=np.int64)

    def _flush(self) -> None:
        if self._rows and self.width:
            self._chunks.append([string_array(cells) for cells in zip(*self._rows, strict=True)])
        self._rows, self._in_chunk = [], 0


def string_array(cells: Sequence[str]) -> Any:
    """Return a pyarrow string array; lone surrogates become U+FFFD."""
    import pyarrow as pa

    try:
        return pa.array(cells, pa.string())
    except UnicodeEncodeError:
        return pa.array([clean(cell) for cell in cells], pa.string())


def check_cell_length(characters: int, row: int) -> None:
    """Raise a StudioError with the row number if a cell has more than ``LONGEST_CELL`` characters."""
    if characters > LONGEST_CELL:
        message = _(
            "a cell has {characters} characters; the maximum is {longest_cell}",
            characters=f"{characters:,}",
            longest_cell=f"{LONGEST_CELL:,}",
        )
        raise StudioError(message, "shorten that text, or check that its quotation marks are balanced", [row])


def check_total_length(characters: int, row: int) -> None:
    """Raise a StudioError if the rows up to ``row`` have more than :data:`MOST_CHARACTERS` characters in total."""
    if characters > MOST_CHARACTERS:
        message = _(
            "the texts up to row {row} have {characters} characters; the maximum per file is {most_characters}",
            characters=f"{characters:,}",
            row=f"{row:,}",
            most_characters=f"{MOST_CHARACTERS:,}",
        )
        raise StudioError(message, "keep only the rows and columns you need, or split the file")


def check_width(columns: int) -> None:
    """Raise a StudioError if a table has more than :data:`MOST_COLUMNS` columns."""
    if columns > MOST_COLUMNS:
        raise StudioError(
            _("the table has more than {most_columns} columns", most_columns=f"{MOST_COLUMNS:,}"),
            "keep only the text, score and label columns",
        )
