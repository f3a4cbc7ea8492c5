"""Records of any format → columns: the header, the width, the row numbers, and what did not fit."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from ...errors import StudioError
from ..cells import clean
from ..findings import Finding, Severity, count, drop_rows
from .headers import has_header, name_columns

Record = tuple[int, Sequence[str]]
"""(row number as the spreadsheet shows it, cells); a record without cells is a blank row."""

MOST_COLUMNS = 1_000
_SAMPLE = 200
_CHUNK_ROWS = 8_192
_CHUNK_CHARACTERS = 1 << 24


@dataclass(frozen=True, eq=False)
class Content:
    """What a reader found: column names, a pyarrow table of strings, row numbers (n,) int64, and what to tell."""

    names: tuple[str, ...]
    data: Any
    lines: np.ndarray
    notes: tuple[Finding, ...]


class Columns:
    """Rows in, chunked pyarrow string columns out; never more than one chunk is held as Python strings."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines = array("q")
        self._rows: list[Sequence[str]] = []
        self._characters = 0
        self._chunks: list[list[Any]] = []

    def append(self, line: int, cells: Sequence[str]) -> None:
        """Take a row of ``width`` cells."""
        rows = self._rows
        rows.append(cells)
        self.lines.append(line)
        self._characters += sum(map(len, cells))
        if len(rows) >= _CHUNK_ROWS or self._characters >= _CHUNK_CHARACTERS:
            self._flush()

    def widen(self, width: int) -> None:
        """From here on rows have ``width`` cells; the rows so far are blank in the new columns.

        Raises:
            StudioError: there are too many columns.
        """
        if width > MOST_COLUMNS:
            raise StudioError(f"the table has more than {MOST_COLUMNS:,} columns", "keep the text, score and label columns only")
        self._flush()
        self.width = width

    def finish(self, names: Sequence[str]) -> tuple[Any, np.ndarray]:
        """The pyarrow table and the row numbers."""
        import pyarrow as pa

        self._flush()
        blank = {size: pa.array([""] * size, pa.string()) for size in {len(chunk[0]) for chunk in self._chunks if chunk}}
        columns = []
        for index in range(len(names)):
            parts = [chunk[index] if index < len(chunk) else blank[len(chunk[0])] for chunk in self._chunks]
            columns.append(pa.chunked_array(parts, type=pa.string()))
        return pa.table(columns, names=list(names)), np.array(self.lines, dtype=np.int64)

    def _flush(self) -> None:
        if self._rows and self.width:
            self._chunks.append([string_array(cells) for cells in zip(*self._rows, strict=True)])
        self._rows = []
        self._characters = 0


def string_array(cells: Sequence[str]) -> Any:
    """A pyarrow string array; lone surrogates become U+FFFD."""
    import pyarrow as pa

    try:
        return pa.array(cells, pa.string())
    except UnicodeEncodeError:
        return pa.array([clean(cell) for cell in cells], pa.string())


@dataclass
class Ledger:
    """The rows that something happened to, by what happened."""

    rows: dict[str, list[int]] = field(default_factory=dict)

    def enter(self, what: str, row: int) -> None:
        """Note that ``what`` happened to ``row``."""
        self.rows.setdefault(what, []).append(row)

    def enter_all(self, what: str, rows: list[int]) -> None:
        """Note that ``what`` happened to ``rows``, and empty that list."""
        if rows:
            self.rows.setdefault(what, []).extend(rows)
            rows.clear()

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each thing that happened, with all its rows."""
        found = []
        for what, (severity, text, removable, left_out) in _HAPPENED.items():
            if rows := tuple(self.rows.get(what, ())):
                message = f"{count(len(rows), 'row')} {text}"
                found.append(Finding(severity, message, rows, drop_rows(rows) if removable else None, left_out))
        return tuple(found)


_HAPPENED: dict[str, tuple[Severity, str, bool, str]] = {
    "short": ("warning", "with fewer cells than there are columns; the missing cells were left empty", True, ""),
    "long": ("warning", "with more cells than there are columns; the surplus was joined to the last column", True, ""),
    "blank": ("info", "without any cell, left out", False, "blank"),
    "nul": ("warning", "that held NUL characters, which were taken out", True, ""),
    "broken": ("warning", "that held bytes which do not fit the file's encoding; they read as \ufffd", True, ""),
    "quote": ("warning", "with a quotation mark that is never closed; it was read as part of the text", True, ""),
    "literal": ("info", "with quotation marks that do not pair up; they were read as part of the text", False, ""),
}


def gather(records: Iterable[Record], ledger: Ledger, *, header: bool | None = None, joiner: str = ",") -> Content:
    """Turn records into columns.

    Args:
        records: row numbers and cells, in order; blank rows have no cells.
        ledger: what the reader notes as it goes; read once the records are spent.
        header: whether the first record names the columns; None: found out from the first 200 rows.
        joiner: what stands between the surplus cells of a row that is too long.

    Raises:
        StudioError: there is no row at all, or only a header.
    """
    source = iter(records)
    sample = list(islice(source, _SAMPLE))
    filled = [list(cells) for _, cells in sample if any(cell.strip() for cell in cells)]
    if not filled:
        raise StudioError("the file holds no text", "give a file with at least one row of text")
    named = has_header(filled) if header is None else header
    body = filled[1:] if named else filled
    width = max(_usual_width(body, 0.6 if named else 0.5), len(filled[0]) if named else 1)
    names, notes = name_columns(filled[0] if named else [], width)
    columns = Columns(width)
    if width > MOST_COLUMNS:
        columns.widen(width)
    records = chain(sample, source)
    if named:
        for _, cells in records:
            if any(cell.strip() for cell in cells):
                break
    _fill(columns, records, ledger, joiner)
    data, lines = columns.finish(names)
    if not len(lines):
        raise StudioError("the file holds a header but no rows", "add rows below the header", [1])
    return Content(tuple(names), data, lines, (*notes, *ledger.findings()))


def _usual_width(rows: Sequence[Sequence[str]], share: float) -> int:
    """The most frequent width, less the columns at its end that are blank in all rows; 1 if fewer rows than ``share`` have it."""
    if not rows:
        return 1
    widths = Counter(len(row) for row in rows)
    usual, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    if times < share * len(rows):
        return 1
    while usual > 1 and all(len(row) < usual or not row[usual - 1].strip() for row in rows):
        usual -= 1
    return usual


def _fill(columns: Columns, records: Iterable[Record], ledger: Ledger, joiner: str) -> None:
    """Take every record, cut to the columns' width; blank rows are left out, and noted unless they end the file."""
    append, width = columns.append, columns.width
    blank: list[int] = []
    for line, cells in records:
        if len(cells) == width:
            if blank:
                ledger.enter_all("blank", blank)
            append(line, cells)
        elif not cells or (len(cells) == 1 and not cells[0].strip()):
            blank.append(line)
        else:
            ledger.enter_all("blank", blank)
            append(line, _fit(line, list(cells), width, ledger, joiner))


def _fit(line: int, cells: list[str], width: int, ledger: Ledger, joiner: str) -> list[str]:
    if len(cells) < width:
        ledger.enter("short", line)
        return cells + [""] * (width - len(cells))
    if any(cell.strip() for cell in cells[width:]):
        if width > 1:
            ledger.enter("long", line)
        return [*cells[: width - 1], joiner.join(cells[width - 1 :])]
    return cells[:width]
