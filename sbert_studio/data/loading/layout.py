"""Conversion of records to columns: find the start of the table, its header rows and its width, and fit rows of other widths."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile, zip_longest
from typing import NoReturn

from ...errors import StudioError
from ...i18n import _
from ..cells import LONGEST_CELL
from ..findings import ExampleRow, Finding, Question, count
from ..schema.content import MISSING_LABELS, have_code_form
from ..schema.names import IDENTIFIER, normalize
from ..schema.numbers import parse_number
from ..schema.roles import option
from .annotations import read_conventions
from .content import WORDS, ColumnBuilder, Content, Record, RowLog, check_cell_length, check_width
from .headers import (
    counts_columns,
    filled_cells,
    has_header,
    has_import_ids,
    is_comment,
    is_familiar,
    is_uncertain_header,
    looks_like_names,
    mostly_numbers,
    name_columns,
    names_one_column,
)

Row = tuple[int, list[str]]

_SAMPLE_ROWS = 200
_SAMPLE_CHARACTERS = 1 << 25
_MOST_LEADING_BLANKS = 1 << 21
_MOST_PREAMBLE = 30
_MOST_HEADER_ROWS = 4
_NEAR_GAP = 4  # rows after a blank one in which a second table may begin
_SHOWN = 60


@dataclass(frozen=True)
class Layout:
    """Position of the table within its file.

    Attributes:
        first: the number of the first data row.
        header: the cells of the header, aligned with the columns; empty without a header.
        names: the column names.
        numeric: the positions of numeric columns.
        notes, doubts: observations to report, and questions to ask.
        aligned: whether the position of a cell determines its column regardless of the row's length, as in a workbook.
        body: the data rows of the sample.
    """

    first: int
    header: tuple[str, ...]
    names: tuple[str, ...]
    numeric: tuple[int, ...]
    notes: tuple[Finding, ...]
    doubts: tuple[Question, ...]
    aligned: bool
    body: tuple[Row, ...]


def build_content(
    records: Iterable[Record], log: RowLog, *, header: bool | None = None, separator: str = ",", aligned: bool = False
) -> Content:
    """Convert records to columns.

    Args:
        records: row numbers and cells, in order; blank rows have no cells.
        log: receives what the reader logs while the records are consumed.
        header: whether the first record contains the column names; None: detect it from the first 200 rows that are not blank.
        separator: joins the surplus cells of a row that is too long.
        aligned: whether the position of a cell determines its column regardless of the row's length, as in a workbook.

    Raises:
        StudioError: there are no rows or only a header, there are two tables, or a cell is too long.
    """
    source = iter(records)
    sample, filled = take_sample(source)
    if not filled:
        raise StudioError("the file contains no text", "use a file with at least one row of text")
    no_rows = StudioError("the file contains a header but no rows", "add rows below the header", [filled[0][0]])
    if header is None and len(filled) == 1 and len(filled[0][1]) > 1 and looks_like_names(filled[0][1]):
        raise no_rows
    layout = find_layout(filled, header, aligned=aligned)
    check_width(len(layout.names))
    columns = ColumnBuilder(len(layout.names))
    _append_rows(columns, dropwhile(lambda record: record[0] < layout.first, chain(sample, source)), log, separator, layout)
    data, lines = columns.finish(layout.names)
    if not len(lines):
        raise no_rows
    return read_conventions(Content(layout.names, data, lines, (*layout.notes, *log.findings()), layout.doubts))


def take_sample(source: Iterator[Record]) -> tuple[list[Record], list[Row]]:
    """Return the first records, up to 200 that are not blank, and separately those that are not blank."""
    sample: list[Record] = []
    filled: list[Row] = []
    characters = 0
    for line, cells in source:
        size = sum(map(len, cells))
        if size > LONGEST_CELL:
            check_cell_length(max(map(len, cells)), line)
        characters += size
        sample.append((line, cells))
        if any(cell.strip() for cell in cells):
            filled.append((line, list(cells)))
            if len(filled) >= _SAMPLE_ROWS or characters > _SAMPLE_CHARACTERS:
                break
        elif len(sample) - len(filled) > _MOST_LEADING_BLANKS:
            break
    return sample, filled


def find_layout(rows: Sequence[Row], header: bool | None = None, *, aligned: bool = False) -> Layout:
    """Find the table among the first non-blank rows of a file; ``header`` and ``aligned`` as in :func:`build_content`."""
    cells = [row for _, row in rows]
    check_width(min(map(len, cells)))
    start = _skip_preamble(rows, header)
    named = has_header(cells[start:]) if header is None else header
    if start and not named and not _is_set_apart(rows, start):
        start = 0
    names: list[str] = []
    notes: list[Finding] = []
    doubts: list[Question] = []
    if start:
        words = " ".join(cell.strip() for cell in cells[0] if cell.strip())
        message = (
            _("{rows} before the table ({words}…), skipped", rows=count(start, "row"), words=repr(words[:_SHOWN]))
            if start > 1
            else _("{rows} before the table ({words}), skipped", rows=count(start, "row"), words=repr(words[:_SHOWN]))
        )
        notes.append(Finding("info", message, tuple(line for line, _ in rows[:start])))
    at = start
    if named:
        names, at, more = _read_header_rows(rows, start)
        notes += more
    body = rows[at:]
    usual, raw = _usual_width([row for _, row in body], 0.6 if named else 0.5)
    if named and not aligned:
        names, more, doubts = _align(names, usual, raw, rows[start], body, header)
        notes += more
    width = max(usual, len(names), 1)
    called, more = name_columns(names, width, rows[start][0])
    if header is None and width > 1 and is_uncertain_header(cells[start:]):
        doubts.append(_ask_header(rows[start:], named))
    first = rows[at - 1][0] + 1 if named else rows[start][0] if start else 0
    return Layout(first, tuple(names), tuple(called), _numeric_columns(body, width), (*notes, *more), tuple(doubts), aligned, tuple(body))


def join_split_texts(cells: Sequence[str], separator: str) -> list[str]:
    """Rejoin cells that were split inside a text: at a separator before a space, or before ``" `` as in ``"I will," she replied``."""
    joined = [cells[0]]
    for cell in cells[1:]:
        if cell.startswith((" ", '" ')):
            joined[-1] += separator + cell
        else:
            joined.append(cell)
    return joined


def _numeric_columns(body: Sequence[Row], width: int) -> tuple[int, ...]:
    columns = filled_cells([row for _, row in body], width)
    return tuple(place for place, texts in enumerate(columns) if len(texts) >= 3 and mostly_numbers(texts))


# The rows above the table -----------------------------------------------------------------------------------------------


def _skip_preamble(rows: Sequence[Row], header: bool | None) -> int:
    """Return the number of rows above the table: remarks, a title, a date."""
    cells = [row for _, row in rows]
    width = _usual_width(cells, 0.5)[0]
    if width < 2:
        return 0
    start = 0
    while start < len(cells) - 1 and is_comment(cells[start]):
        start += 1
    if start and not has_header(cells[start:]) and any(len(row) >= width for row in cells[:start]):
        start = 0  # a header may start with such a mark too
    for index in range(start, min(len(rows), _MOST_PREAMBLE)):
        if _count_filled(cells[index]) > width / 2 or header is False or names_one_column(cells[index:]):
            break
    else:
        return start
    if header is None and not has_header(cells[index:]) and _count_filled(cells[index]) < width:
        full = (at for at in range(index, min(len(rows), index + _MOST_PREAMBLE)) if _count_filled(cells[at]) >= width)
        return next((at for at in full if has_header(cells[at:])), index)
    return index


def _is_set_apart(rows: Sequence[Row], start: int) -> bool:
    """Return whether the rows above ``start`` are marked as remarks or end with a blank row."""
    remarks = all(is_comment(row) for _, row in rows[:start])
    return remarks or (start < len(rows) and rows[start][0] - rows[start - 1][0] > 1)


def _read_header_rows(rows: Sequence[Row], start: int) -> tuple[list[str], int, list[Finding]]:
    """Return the names from one or more header rows, the position of the first row below them, and notes."""
    cells = [row for _, row in rows]
    names, at = list(cells[start]), start + 1
    notes = []
    if counts_columns(cells[start:]):
        message = "the first row only numbers the columns, as pandas does for unnamed columns; it was read as the header"
        notes.append(Finding("info", message, (rows[start][0],)))
        names[0] = names[0] or "index"
    if names[0].startswith("#"):
        names[0] = names[0].lstrip("# ")
    while at < len(rows) - 1 and at - start < _MOST_HEADER_ROWS:
        row, other = cells[at], cells[at]
        if has_import_ids(cells[at : at + 2]):
            pass
        elif _is_survey_subheader(names, row, cells[at + 1 :]):
            names = _fill_gaps(names, row)
        elif _is_second_header(row, rows[at + 1 :]):
            if _rank_names(row) > _rank_names(names):
                names, other = list(row), names
            names = _fill_gaps(names, other)
        else:
            break
        words = ", ".join(cell.strip() for cell in other if cell.strip())
        notes.append(Finding("info", _("a second header row, skipped: {words}", words=words[:_SHOWN]), (rows[at][0],)))
        at += 1
    while names and not names[-1].strip():
        names.pop()
    return names, at, notes


def _is_second_header(row: Sequence[str], rest: Sequence[Row]) -> bool:
    """Return whether a row below a header is a header too: names, or short words above numbers."""
    row = [cell.strip() for cell in row]
    if len(rest) < 3 or any(cell.lower() in MISSING_LABELS or cell == "?" for cell in row):
        return False
    if looks_like_names(row) and sum(map(is_familiar, row)) >= 2:
        return True
    numeric = _numeric_columns(rest, len(row))
    columns = filled_cells([cells for _, cells in rest], len(row))
    lengths = sorted(len(cell) for place, texts in enumerate(columns) if place not in numeric for cell in texts)
    median = lengths[len(lengths) // 2] if lengths else 0
    short = all(len(cell) <= 30 for cell in row) and 2 * max(map(len, row)) < max(median, 1)
    return bool(numeric) and short and all(row[place] and math.isnan(parse_number(row[place])) for place in numeric)


def _is_survey_subheader(names: Sequence[str], row: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether a row is the second header row of a survey export, such as SurveyMonkey's.

    It contains kinds of answers ("Open-Ended Response"), or the options of a question that is named above the first option only. It is
    blank in columns that always contain a respondent, a date or the like.
    """
    row = [cell.strip() for cell in row]
    columns = filled_cells(rest, len(row))
    skipped = [place for place, cell in enumerate(row) if not cell and len(columns[place]) >= 0.9 * len(rest)]
    if len(rest) < 3 or not skipped:
        return False
    kinds = sum(normalize(cell) in WORDS["survey_subheaders"] for cell in row if cell)
    unnamed = [place for place, name in enumerate(names) if not name.strip() and place < len(row)]
    respondents = [place for place in skipped if mostly_numbers(columns[place]) or have_code_form(columns[place])]
    options = bool(unnamed) and all(row[place] and math.isnan(parse_number(row[place])) for place in unnamed)
    return (options and len(respondents) > 1) or 0 < _count_filled(row) <= 2 * kinds


def _rank_names(row: Sequence[str]) -> tuple[int, int]:
    return sum(is_familiar(cell.strip()) for cell in row if cell.strip()), _count_filled(row)


def _fill_gaps(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return [name if name.strip() else other for name, other in zip_longest(names, others, fillvalue="")]


# The width of the rows --------------------------------------------------------------------------------------------------


def _align(
    names: list[str], usual: int, raw: int, header: Row, body: Sequence[Row], chosen: bool | None
) -> tuple[list[str], list[Finding], list[Question]]:
    """Align the names with the columns if the header has more or fewer cells than the rows; return the names, notes and questions."""
    line = header[0]
    surplus = raw - len(names)
    filled = [name for name in names if name.strip()]
    if surplus == 1 and normalize(names[0]) not in IDENTIFIER and _counts_rows(body):
        note = "the header has one cell fewer than the rows; the first column contains row numbers and has no name"
        return ["", *names], [Finding("info", note, (line,))], []
    if surplus > 0 and usual > len(names):
        note = _(
            "the rows have {raw} cells, the header has {names}; the last columns have no name", raw=raw, names=count(len(names), "name")
        )
        return names, [Finding("warning", note, (line,))], []
    if surplus < 0 and raw > 1 and len(filled) == raw:
        note = _("the header has {names} cells, the rows have {raw}; its empty cells are ignored", names=len(names), raw=raw)
        return filled, [Finding("warning", note, (line,))], []
    if surplus < 0 and raw > 1 and len(body) > 1 and chosen is None:
        why = _("the first row has {names} cells, the rows below have {raw}", names=len(names), raw=raw)
        shown = tuple(ExampleRow(number, tuple(cells)) for number, cells in (header, *body[:1]))
        options = (option("yes, the last columns are empty", header=True), option("no", header=False))
        return names, [], [Question("header", "Does the first row name the leftmost columns?", options, why, shown)]
    return names, [], []


def _counts_rows(body: Sequence[Row]) -> bool:
    first = [row[0].strip() for _, row in body if row]
    return len(first) > 1 and first[0] in ("0", "1") and first == [str(int(first[0]) + place) for place in range(len(first))]


def _ask_header(rows: Sequence[Row], named: bool) -> Question:
    yes = option("yes", header=True)
    no = option("no, it is data", header=False)
    shown = tuple(ExampleRow(line, tuple(cell[:_SHOWN] for cell in cells)) for line, cells in rows[:2])
    why = "its words look like those of the rows below"
    return Question("header", "Does the first row contain the column names?", (yes, no) if named else (no, yes), why, shown)


def _usual_width(rows: Sequence[Sequence[str]], share: float) -> tuple[int, int]:
    """Return the most frequent width, without and with trailing columns that are blank in all rows.

    Both are 1 if less than ``share`` of the rows have it.
    """
    raw, times = max(Counter(map(len, rows)).items(), key=lambda item: (item[1], item[0]), default=(1, 0))
    if not rows or times < share * len(rows):
        return 1, 1
    usual = raw
    while usual > 1 and all(len(row) < usual or not row[usual - 1].strip() for row in rows):
        usual -= 1
    return usual, raw


def _count_filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


# The rows of the table --------------------------------------------------------------------------------------------------


def _append_rows(columns: ColumnBuilder, records: Iterable[Record], log: RowLog, separator: str, layout: Layout) -> None:
    """Append every record, fitted to the width. Blank rows are skipped, and logged unless they are at the end of the file."""
    append, width = columns.append, columns.width
    detector = _SecondTableDetector(layout)
    names = detector.names
    for line, cells in records:
        if not cells or (len(cells) == 1 and not cells[0].strip()):
            log.add_blank(line)
            continue
        if log.end_gap():
            detector.enter_gap()
        if names and (cells[0] in names or detector.near) and detector.repeats_header(line, cells):
            log.add("header", line)
        else:
            append(line, cells if len(cells) == width else _fit(line, list(cells), width, log, separator, is_padded=layout.aligned))


def _fit(line: int, cells: list[str], width: int, log: RowLog, separator: str, *, is_padded: bool) -> list[str]:
    if len(cells) < width:
        if not is_padded:  # a workbook does not store the blank cells at the end of a row
            log.add("short", line)
        return cells + [""] * (width - len(cells))
    if not any(cell.strip() for cell in cells[width:]):
        return cells[:width]
    if width > 1:
        whole = join_split_texts(cells, separator)
        log.add("joined" if len(whole) == width else "long", line)
        if len(whole) == width:
            return whole
    return [*cells[: width - 1], separator.join(cells[width - 1 :])]


class _SecondTableDetector:
    """Detect a second table: a repeated header anywhere, or other names or another width soon after a blank row."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.names = frozenset(cell for cell in layout.header if cell.strip()) if len(layout.names) > 1 else frozenset()
        self.near = 0
        self._previous = (0, 0)  # width and row number

    def enter_gap(self) -> None:
        self.near, self._previous = _NEAR_GAP, (0, 0)

    def repeats_header(self, line: int, cells: Sequence[str]) -> bool:
        """Return whether a row repeats the header; raise a StudioError if it begins a different table."""
        filled = [cell for cell in cells if cell.strip()]
        if len(self.names) > 1 and set(filled) == self.names:
            if filled != [cell for cell in self.layout.header if cell.strip()]:
                _refuse_second_table(line, cells)
            return True
        if self.near:
            self.near -= 1
            if _begins_table(cells, self.layout):
                _refuse_second_table(line, cells)
            if not self.layout.aligned and 1 < len(cells) == self._previous[0] != len(self.layout.names):
                _refuse_second_table(self._previous[1], cells)
            self._previous = (len(cells), line)
        return False


def _begins_table(cells: Sequence[str], layout: Layout) -> bool:
    """Return whether a row soon after a blank one contains column names: well-known names, or a name in every cell.

    A word instead of a number is a missing score, not a header. Without well-known names, every cell therefore has to be a word in a
    numeric column, or far shorter than the texts of its column.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    if len(filled) < 2 or not looks_like_names(cells):
        return False
    if sum(map(is_familiar, filled)) >= 2:
        return True
    numeric = [place for place in layout.numeric if place < len(cells)]
    if not numeric or len(filled) < len(cells) or any(not math.isnan(parse_number(cells[place])) for place in numeric):
        return False
    columns = filled_cells([row for _, row in layout.body], min(len(cells), len(layout.names)))
    return all(_is_short_for_column(cells[place].strip(), texts) for place, texts in enumerate(columns) if place not in numeric)


def _is_short_for_column(cell: str, texts: Sequence[str]) -> bool:
    sizes = (len, lambda text: len(text.split()))  # half the usual number of letters or words
    return bool(texts) and any(2 * size(cell) <= sorted(map(size, texts))[len(texts) // 2] for size in sizes)


def _refuse_second_table(line: int, cells: Sequence[str]) -> NoReturn:
    words = ", ".join(cell.strip() for cell in cells if cell.strip())
    raise StudioError(
        _("a second table seems to start within the file ({words})", words=words[:80]), "put each table into a separate file", [line]
    )
