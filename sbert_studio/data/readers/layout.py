"""Where the table begins in a sheet or file: the lines before it, its header rows, its width."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..findings import Finding, count
from ..questions import Option, Question, Shown
from ..schema.content import MISSING_LABELS
from ..schema.names import IDENTIFIER
from ..schema.numbers import parse_number
from ..schema.words import normalize
from .columns import too_wide
from .headers import familiar_name, has_header, import_ids, looks_like_names, mostly_numbers, name_columns, uncertain_header
from .rows import MOST_COLUMNS

Row = tuple[int, list[str]]
_COMMENT = ("#", "%", "//")
_SHOWN = 60


@dataclass(frozen=True)
class Layout:
    """The frame of a table.

    Attributes:
        first: rows of lower numbers are no data.
        header: the cells of the header, aligned with the columns; empty where there is none.
        names: the columns' names, one a column.
        numeric: the places of the columns that hold numbers.
        notes, doubts: what to tell, and what to ask.
        aligned: cells stand in their columns whatever their number, as in a workbook.
        body: the rows of the sample that are data.
    """

    first: int
    header: tuple[str, ...]
    names: tuple[str, ...]
    numeric: tuple[int, ...]
    notes: tuple[Finding, ...]
    doubts: tuple[Question, ...]
    aligned: bool
    body: tuple[Row, ...]


def lay_out(rows: Sequence[Row], header: bool | None = None, *, aligned: bool = False) -> Layout:
    """The frame of the table whose first rows these are.

    Args:
        rows: (row number, cells) of the first rows with something in them, at least one.
        header: whether there is a header; None: found out.
        aligned: cells stand in their columns whatever their number, as in a workbook.

    Raises:
        StudioError: there are too many columns.
    """
    cells = [row for _, row in rows]
    if min(map(len, cells)) > MOST_COLUMNS:
        raise too_wide()
    start = _before(rows, header)
    named = has_header(cells[start:]) if header is None else header
    if start and not named and not _set_apart(rows, start):
        start = 0
    at = start + 1 if named else start
    names, notes, doubts = list(cells[start]) if named else [], [], []
    if start:
        left = tuple(line for line, _ in rows[:start])
        words = " ".join(cell.strip() for cell in cells[0] if cell.strip())
        message = f"{count(start, 'row')} before the table ({words[:_SHOWN]!r}{'…' if start > 1 else ''}), left out"
        notes.append(Finding("info", message, left))
    if named:
        names[0] = names[0].lstrip("# ") if names[0].startswith("#") else names[0]
        while at < len(rows) - 1 and at - start < 4 and _second_header(cells, at):
            names, other = (names, cells[at]) if any(map(import_ids, cells[at : at + 2])) else _better(names, cells[at])
            said = ", ".join(cell.strip() for cell in other if cell.strip())
            notes.append(Finding("info", f"a second header row, left out: {said[:_SHOWN]}", (rows[at][0],)))
            at += 1
        while names and not names[-1].strip():
            names.pop()
    body = list(rows[at:])
    usual, raw = _usual_width([row for _, row in body], 0.6 if named else 0.5)
    if named and not aligned:
        names, said_of_width, asked = _align(names, usual, raw, rows[start], body, header)
        notes += said_of_width
        doubts += asked
    width = max(usual, len(names), 1)
    called, more = name_columns(names, width, rows[start][0])
    if header is None and width > 1 and uncertain_header(cells[start:]):
        doubts.append(_ask_header(rows[start:], named))
    first = rows[at - 1][0] + 1 if named else rows[start][0] if start else 0
    numeric = tuple(index for index in range(width) if _numeric(body, index))
    return Layout(first, tuple(names), tuple(called), numeric, (*notes, *more), tuple(doubts), aligned, tuple(body))


def _before(rows: Sequence[Row], header: bool | None) -> int:
    """How many rows stand before the table: remarks, a title, a date."""
    width = _usual_width([row for _, row in rows], 0.5)[0]
    if width < 2:
        return 0
    start = _remarks(rows, width)
    for index in range(start, min(len(rows), 30)):
        if _fills(rows[index][1]) > width / 2 or header is False:
            break
    else:
        return start
    cells = [row for _, row in rows[index:]]
    if header is None and not has_header(cells):
        full = (place for place, row in enumerate(cells[:30]) if _fills(row) >= width)
        index += next((place for place in full if has_header(cells[place:])), 0) if _fills(cells[0]) < width else 0
    return index


def _set_apart(rows: Sequence[Row], start: int) -> bool:
    """Whether the rows before ``start`` are marked as remarks, or end with a blank row."""
    remarks = all(row and row[0].lstrip().startswith(_COMMENT) for _, row in rows[:start])
    return remarks or (start < len(rows) and rows[start][0] - rows[start - 1][0] > 1)


def _fills(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _remarks(rows: Sequence[Row], width: int) -> int:
    """How many of the first rows are remarks behind a ``#``, ``%`` or ``//``; a header may stand behind such a sign too."""
    run = 0
    while run < len(rows) - 1 and rows[run][1] and rows[run][1][0].lstrip().startswith(_COMMENT):
        run += 1
    if run == 0 or has_header([row for _, row in rows[run:]]):
        return run
    return run if all(len(row) < width for _, row in rows[:run]) else 0


def _second_header(cells: Sequence[Sequence[str]], at: int) -> bool:
    """Whether the row at ``at``, below a header, is one too: names or words above what is numbers from there on."""
    row, rest = [cell.strip() for cell in cells[at]], cells[at + 1 :]
    if any(map(import_ids, cells[at : at + 2])):
        return True
    if len(rest) < 3 or any(cell.lower() in MISSING_LABELS or cell == "?" for cell in row):
        return False
    if looks_like_names(row) and sum(map(familiar_name, row)) >= 2:
        return True
    columns = [[line[index].strip() for line in rest if len(line) > index and line[index].strip()] for index in range(len(row))]
    numeric = [index for index, texts in enumerate(columns) if len(texts) >= 3 and mostly_numbers(texts)]
    texts = [len(cell) for index, column in enumerate(columns) if index not in numeric for cell in column]
    wordy = sorted(texts)[len(texts) // 2] if texts else 0
    short = all(len(cell) <= 30 for cell in row) and 2 * max(map(len, row)) < max(wordy, 1)
    return bool(numeric) and short and all(row[index] and math.isnan(parse_number(row[index])) for index in numeric)


def _better(first: list[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the header row with more well-known names, its gaps filled from the other; the other)."""
    known = [(sum(familiar_name(cell.strip()) for cell in row if cell.strip()), _fills(row)) for row in (first, second)]
    chosen, other = (list(second), first) if known[1] > known[0] else (first, list(second))
    longest = max(len(chosen), len(other))
    padded, spare = chosen + [""] * (longest - len(chosen)), other + [""] * (longest - len(other))
    return [name if name.strip() else more for name, more in zip(padded, spare, strict=True)], other


def _align(
    names: list[str], usual: int, raw: int, header: Row, body: Sequence[Row], asked: bool | None
) -> tuple[list[str], list[Finding], list[Question]]:
    """The header's names above the columns that they mean, where it has more or fewer of them than the rows have cells."""
    line = header[0]
    more = raw - len(names)
    if more == 1 and normalize(names[0]) not in IDENTIFIER and _counts_rows(body):
        note = "the header has one name less than the rows have cells; the first column, of row numbers, is taken to have none"
        return ["", *names], [Finding("info", note, (line,))], []
    if more > 0 and usual > len(names):
        note = f"the rows have {raw} cells, the header {count(len(names), 'name')}; the last columns are taken to have no name"
        return names, [Finding("warning", note, (line,))], []
    filled = [name for name in names if name.strip()]
    if more < 0 and raw > 1 and len(filled) == raw:
        note = f"the header has {len(names)} cells, the rows {raw}; its empty cells are left out"
        return filled, [Finding("warning", note, (line,))], []
    if more < 0 and raw > 1 and len(body) > 1 and asked is None:
        why = f"the first row has {len(names)} cells, the rows below have {raw}"
        shown = tuple(Shown(number, tuple(cells)) for number, cells in (header, *body[:1]))
        options = (Option("yes, the last columns are empty", "--header", {"header": True}), Option("no", "--no-header", {"header": False}))
        return names, [], [Question("header", "Does the first row name the columns, from the left?", options, why, shown)]
    return names, [], []


def _counts_rows(body: Sequence[Row]) -> bool:
    """Whether the first cells count the rows, from 0 or 1."""
    first = [row[0].strip() for _, row in body if row]
    return len(first) > 1 and first[0] in ("0", "1") and all(cell == str(int(first[0]) + place) for place, cell in enumerate(first))


def _ask_header(rows: Sequence[Row], named: bool) -> Question:
    names, row = Option("yes", "--header", {"header": True}), Option("no, it is a row like the others", "--no-header", {"header": False})
    shown = tuple(Shown(line, tuple(cell[:_SHOWN] for cell in cells)) for line, cells in rows[:2])
    why = "nothing tells its words from those of the rows below"
    return Question("header", "Does the first row name the columns?", (names, row) if named else (row, names), why, shown)


def _numeric(body: Sequence[Row], index: int) -> bool:
    texts = [row[index].strip() for _, row in body if len(row) > index and row[index].strip()]
    return len(texts) >= 3 and mostly_numbers(texts)


def _usual_width(rows: Sequence[Sequence[str]], share: float) -> tuple[int, int]:
    """(the most frequent width less the columns at its end that are blank in all rows, the most frequent width itself).

    Both are 1 if fewer rows than ``share`` have it.
    """
    if not rows:
        return 1, 1
    widths = Counter(len(row) for row in rows)
    raw, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    if times < share * len(rows):
        return 1, 1
    usual = raw
    while usual > 1 and all(len(row) < usual or not row[usual - 1].strip() for row in rows):
        usual -= 1
    return usual, raw
