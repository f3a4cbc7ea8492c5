"""What every reader hands on: records, the content of a file, and the ledger of what happened to its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..findings import Finding, Severity, count, drop_rows
from ..questions import Question

Record = tuple[int, Sequence[str]]
"""(row number as the spreadsheet shows it, cells); a record without cells is a blank row."""

MOST_COLUMNS = 1_000
MOST_ROWS = 10_000_000
_SPANS_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Content:
    """What a reader found: column names, a pyarrow table of strings, row numbers (n,) int64, what to tell and what to ask."""

    names: tuple[str, ...]
    data: Any
    lines: np.ndarray
    notes: tuple[Finding, ...]
    doubts: tuple[Question, ...] = ()


@dataclass
class Ledger:
    """The rows that something happened to, by what happened."""

    rows: dict[str, list[int]] = field(default_factory=dict)
    spans: dict[int, int] = field(default_factory=dict)
    """How many lines of the file went into a row, for rows of several lines of which some look like rows themselves."""

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
        if self.spans:
            each = ", ".join(f"row {row} from {lines:,} lines" for row, lines in list(self.spans.items())[:_SPANS_SHOWN])
            more = " and so on" if len(self.spans) > _SPANS_SHOWN else ""
            message = f"{count(len(self.spans), 'row')} read from several lines that may be rows of their own, within quotes: {each}{more}"
            found.append(Finding("warning", message, rows := tuple(self.spans), drop_rows(rows)))
        return tuple(found)


def glued(cells: Sequence[str], joiner: str) -> list[str]:
    """The cells of a row with those put back behind the one before that belong to it: a comma before a blank belongs to a sentence.

    So does one before a closing quotation mark and a blank, as in ``"I will," she said``.
    """
    whole = [cells[0]]
    for cell in cells[1:]:
        if cell.startswith((" ", '" ')):
            whole[-1] += joiner + cell
        else:
            whole.append(cell)
    return whole


_HAPPENED: dict[str, tuple[Severity, str, bool, str]] = {
    "short": ("warning", "with fewer cells than there are columns; the missing cells were left empty", True, ""),
    "long": ("warning", "with more cells than there are columns; the surplus was joined to the last column", True, ""),
    "glued": (
        "warning",
        "with unquoted separators inside texts; those before a blank were read as part of the text",
        True,
        "",
    ),
    "blank": ("info", "without any cell, left out", False, "blank"),
    "header": ("info", "that repeat the header, left out", False, "repeats the header"),
    "nul": ("warning", "that held NUL characters, which were taken out", True, ""),
    "broken": ("warning", "that held bytes which do not fit the file's encoding; they read as \ufffd", True, ""),
    "quote": ("warning", "with a quotation mark that is never closed; it was read as part of the text", True, ""),
    "literal": ("info", "with quotation marks that do not pair up; they were read as part of the text", False, ""),
}
