"""Text files: CSV, TSV and similar, with repair of stray quotes and decimal commas; and plain text with one text per line, optionally
labelled.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress
from ..cells import LONGEST_CELL
from ..findings import ExampleRow, Finding, Question
from ..schema.names import SCORE, normalize
from ..schema.numbers import parse_number
from ..schema.roles import option
from .content import ColumnBuilder, Content, Record, RowLog, check_cell_length
from .dialect import (
    DELIMITER_BY_SUFFIX,
    DELIMITER_NAMES,
    NAMED_HEADER,
    NO_DELIMITER,
    PLAIN_HEADER,
    Dialect,
    DialectCandidate,
    ask_columns,
    detect_dialect,
    find_candidates,
)
from .headers import filled_cells, mostly_numbers
from .layout import Layout, build_content, find_layout, join_split_texts, take_sample
from .source import Lines, TableFile

_MOST_DECIMAL_COLUMNS = 3
_INTEGER_PART = re.compile(r"[+-]?\d{1,3}")
_DECIMAL_PART = re.compile(r"\d{1,8}")


_FASTTEXT_LABELS = re.compile(r"(?:__label__\S+\s+)+")
_LABEL_AT_END = re.compile(r"(.*\S)@(\w[\w-]{0,30})", re.DOTALL)  # after a space, it is a mention
_MOST_LABELS = 20


def read_csv(source: TableFile, progress: Progress | None = None) -> Content:
    """Read a delimited text file in a single pass, in bounded memory.

    Rows are numbered by record, as in a spreadsheet: line breaks inside quotes do not count; blank lines do.

    Raises:
        StudioError: the file is binary, has no rows or two tables, or a cell is too long.
    """
    csv.field_size_limit(LONGEST_CELL)  # the default limit of the csv module is 131,072
    start = source.first_lines()
    if not any(line.strip() for line in start):
        raise StudioError(_("{name} contains no text", name=source.path.name), "use a file with at least one row of text")
    declared = _declared_delimiter(start[0])
    skip = int(declared is not None)
    dialect, questions = detect_dialect(start[skip:], source.suffix, source.delimiter or declared)
    log = RowLog()
    notes: list[Finding] = []
    with Lines(source, progress) as lines:
        records = _records(lines, dialect, log, _RecordShape.measure(start[skip:], dialect), skip)
        if dialect.delimiter == "," and dialect.decimals is not False:
            sample, filled = take_sample(records)
            records = chain(sample, records)
            layout = find_layout(filled, source.header) if filled else None
            halved = _decimal_columns(layout, dialect.decimals) if layout else ()
            if layout and dialect.decimals is None:
                questions = (*questions, *_ask_decimals(layout, halved))
            if layout and halved:
                width = len(layout.header) or max(len(cells) for _, cells in layout.body) - len(halved)
                names = ", ".join(repr(layout.names[column]) for column in halved)
                message = _("decimal commas are not in quotation marks; the two halves of each number in {names} were joined", names=names)
                notes.append(Finding("info", message))
                records = _join_decimals(records, width, halved)
        separator = " " if dialect.character == NO_DELIMITER else dialect.character
        content = build_content(records, log, header=source.header, separator=separator)
    notes = [*source.encoding_notes(), *_dialect_notes(dialect, source.suffix, len(content.names)), *notes, *content.notes]
    return replace(content, notes=tuple(notes), doubts=(*source.ask_encoding(), *questions, *content.doubts))


def _dialect_notes(dialect: Dialect, suffix: str, width: int) -> Iterator[Finding]:
    if width > 1 and dialect.delimiter != DELIMITER_BY_SUFFIX.get(suffix, dialect.delimiter):
        yield Finding(
            "info",
            _(
                "the columns are separated by {delimiter_names}",
                delimiter_names=DELIMITER_NAMES.get(dialect.delimiter, repr(dialect.delimiter)),
            ),
        )
    if dialect.quote != '"':
        yield Finding("info", "single quotation marks around cells were removed")
    if dialect.curly:
        yield Finding("info", "typographic quotation marks around cells were removed")
    if dialect.strip and dialect.delimiter != "|":
        yield Finding("info", "spaces around the separators were removed")


def _declared_delimiter(line: str) -> str | None:
    text = line.strip().strip('"')  # such as sep=; in the first line of a file for Excel
    return text[4] if len(text) == 5 and text.lower().startswith("sep=") and text[4] in DELIMITER_NAMES else None


# Stray quotation marks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RecordShape:
    """Number of cells of complete records, and the positions of cells that are numbers in nearly all records."""

    dialect: Dialect
    width: int
    numeric: tuple[int, ...] = ()

    @classmethod
    def measure(cls, start: Sequence[str], dialect: Dialect) -> _RecordShape:
        rows = [join_split_texts(cells, "") for line in start if len(cells := dialect.split(line)) > 1]
        if not rows:
            return cls(dialect, 0)
        widths = [len(row) for row in rows]
        width = max(set(widths), key=lambda one: (widths.count(one), one))
        columns = filled_cells([row for row in rows if len(row) == width], width)
        return cls(dialect, width, tuple(at for at, texts in enumerate(columns) if len(texts) > 3 and mostly_numbers(texts)))

    def fits(self, line: str) -> bool:
        for cells in (self.dialect.split(line), self.dialect.split(line, strict=True)):
            whole = cells if len(cells) == self.width else join_split_texts(cells, "") if cells else []
            if len(whole) == self.width > 1:
                return all(not whole[at].strip() or not math.isnan(parse_number(whole[at])) for at in self.numeric)
        return False

    def are_records(self, lines: Sequence[str]) -> bool:
        """Return whether the lines of one record are separate records that were joined by a stray quotation mark."""
        fitting = sum(map(self.fits, lines))
        if self.numeric:
            return fitting >= max(2, 0.6 * len(lines))
        # Without numbers the evidence is weaker, especially for two cells, which any sentence with a comma has.
        return len(lines) >= (4 if self.width > 2 else 6) and fitting >= 0.8 * len(lines)

    def may_be_records(self, lines: Sequence[str]) -> bool:
        return sum(map(self.fits, lines)) >= (3 if self.width == 2 else 2)


def _records(lines: Lines, dialect: Dialect, log: RowLog, shape: _RecordShape, skip: int) -> Iterator[Record]:
    """Yield records with their numbers. If quotes are unbalanced, the record's first line is split again with literal quotes."""
    stream = iter(lines)
    for _unused in range(skip):
        next(stream)
        lines.pending.clear()
    number = width = 0
    pending = lines.pending
    reader = dialect.reader(stream)
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error:  # a cell is too long, or a quote is still open after a million characters
            _check_first_line(pending, dialect, width, number)
            cells, unclosed = [], True
        else:
            unclosed = lines.exhausted
        if cells is None:
            return
        if len(pending) > 1 or unclosed or (len(cells) != width and dialect.quote in pending[0]):
            literal = _cut_literally(pending, dialect, width, unclosed, shape)
            if literal is not None:
                log.add("quote" if unclosed else "literal", number)
                cells = literal
                lines.put_back(pending[1:])
                reader = dialect.reader(iter(lines))
            elif len(pending) > 1 and shape.may_be_records(pending):
                log.spans[number] = len(pending)
        width = width or len(cells)
        lines.end_record(number, log)
        yield number, dialect.cells(cells)


def _cut_literally(pending: Sequence[str], dialect: Dialect, width: int, unclosed: bool, shape: _RecordShape) -> list[str] | None:
    """Return the cells of the first pending line, with literal quotes, if the quotes of the record cannot be delimiters; else None.

    They cannot be if a quote is never closed, or if the lines of the record are complete records. If the first line is complete when
    quotes are literal, they also cannot be if they make the record too short or too long, if text follows a closing quote, or if every
    line of a tab-separated record is complete.
    """
    cells = dialect.split(pending[0])
    if unclosed or (len(pending) > 1 and shape.are_records(pending)):
        return cells
    if len(cells) != width or width < 2:
        return None
    if len(pending) == 1 or (dialect.delimiter == "\t" and all(len(dialect.split(line)) == width for line in pending)):
        return cells
    try:
        next(dialect.reader(pending, strict=True))
    except csv.Error:
        return cells
    return None


def _check_first_line(pending: Sequence[str], dialect: Dialect, width: int, row: int) -> None:
    # The cell is too long, unless its first line is a complete row with literal quotes.
    for line in pending[:1]:
        cells = [] if len(line) > LONGEST_CELL else dialect.split(line)
        if not cells or (width > 1 and len(cells) != width):
            check_cell_length(max(LONGEST_CELL + 1, sum(map(len, pending))), row)


# Decimal commas in comma-separated files -------------------------------------------------------------------


def _decimal_columns(layout: Layout, chosen: bool | None) -> tuple[int, ...]:
    """Return the positions of columns whose numbers were split at their decimal commas.

    These are the only columns for which joining the halves gives every row of the sample as many cells as the header; if several choices
    fit, a StudioError is raised. Without a header, they are searched only if the user chose decimal commas.
    """
    rows = [cells for _, cells in layout.body]
    if not rows or not (layout.header or chosen):
        return ()
    width = len(layout.header) or max(map(len, rows)) - 1
    surplus = [len(row) - width for row in rows]
    most = max(surplus)
    if not 0 < most <= _MOST_DECIMAL_COLUMNS or min(surplus) < 0 or width < 1 or sum(more > 0 for more in surplus) < 0.3 * len(rows):
        return ()
    fitting = [columns for columns in combinations(range(width), most) if all(_join_halves(row, width, columns) for row in rows)]
    if len(fitting) > 1:
        fitting = [columns for columns in fitting if _are_scores(layout, columns)] or fitting
    if len(fitting) > 1 and not layout.header:
        return fitting[-1]
    if len(fitting) > 1:
        raise StudioError(
            "the rows have more cells than the header has names, and more than one of their columns could hold decimal commas",
            "put numbers with a comma in quotation marks, or save the file with semicolons; use --delimiter , to treat "
            "every comma as a separator",
            [line for line, cells in layout.body if len(cells) > width],
        )
    return fitting[0] if fitting else ()


def _join_decimals(records: Iterator[Record], width: int, columns: tuple[int, ...]) -> Iterator[Record]:
    for line, cells in records:
        yield line, (_join_halves(cells, width, columns) or cells) if len(cells) > width else cells


def _join_halves(row: Sequence[str], width: int, columns: tuple[int, ...]) -> list[str] | None:
    """Return the row with as many of ``columns`` joined as it has surplus cells, or None if that is not possible."""
    surplus = len(row) - width
    if not 0 <= surplus <= len(columns):
        return None
    for cut in combinations(columns, surplus):
        cells: list[str] = []
        at = 0
        for column in range(width):
            whole = row[at].strip()
            if column in cut and _INTEGER_PART.fullmatch(whole) and _DECIMAL_PART.fullmatch(row[at + 1]):
                cells.append(f"{whole},{row[at + 1]}")
                at += 2
            elif column in cut or (column in columns and whole and not re.fullmatch(r"[+-]?\d+", whole)):
                break
            else:
                cells.append(row[at])
                at += 1
        else:
            return cells
    return None


def _ask_decimals(layout: Layout, columns: tuple[int, ...]) -> tuple[Question, ...]:
    """Ask whether two adjacent integers are one decimal number, unless the file is unambiguous."""
    rows = layout.body
    width = len(layout.names)
    if columns:
        decimals = [cells[-1].strip() for _, cells in rows] if columns == (len(layout.header) - 1,) else []
        uneven = len({len(cells) for _, cells in rows}) > 1 or len(set(map(len, decimals))) > 1
        leading_zeros = any(len(part) > 1 and part.startswith("0") for part in decimals)
        if uneven or leading_zeros or _are_scores(layout, columns):
            return ()
    elif layout.header or width < 3 or len(rows) < 2 or not all(_ends_in_two_numbers(cells, width) for _, cells in rows):
        return ()
    decimal = option("one number with a decimal comma", delimiter="decimal-comma")
    two = option("two columns", delimiter=",")
    first = rows[0][1]
    at = columns[0] if columns else len(first) - 2
    text = _("Is {first},{first2} one number or two columns?", first=first[at], first2=first[at + 1])
    why = "each row has either a decimal number with a comma or two adjacent integers"
    shown = tuple(ExampleRow(line, tuple(cells)) for line, cells in rows[:3])
    return (Question("delimiter", text, (decimal, two) if columns else (two, decimal), why, shown),)


def _ends_in_two_numbers(cells: Sequence[str], width: int) -> bool:
    return len(cells) == width and bool(_INTEGER_PART.fullmatch(cells[-2]) and re.fullmatch(r"\d{1,2}", cells[-1]))


def _are_scores(layout: Layout, columns: tuple[int, ...]) -> bool:
    return all(column < len(layout.header) and normalize(layout.header[column]) in SCORE for column in columns)


# One text a line --------------------------------------------------------------------------------------------------------


def read_text(source: TableFile, progress: Progress | None = None) -> Content:
    """Read a text file as a column ``text``. Rows are numbered by line; blank lines are skipped and reported.

    A file is read as a table if every line has the same number of tabs, or if its first line contains well-known column names. If every
    line starts with ``__label__…``, as in fastText files, or ends with ``@`` and one of a few words, the labels become a column.

    Raises:
        StudioError: the file is binary or contains no text.
    """
    start = source.first_lines()
    candidates = find_candidates(start, ".txt")
    if _has_consistent_tabs(start) or (candidates and _is_table(candidates[0])):
        return read_csv(source, progress)
    filled = [line for line in start if line.strip()]
    at_start, at_end = all(map(_FASTTEXT_LABELS.match, filled)), _have_labels_at_end(filled)
    log = RowLog()
    names = ("label", "text") if at_start else ("text", "label") if at_end else ("text",)
    columns = ColumnBuilder(len(names))
    unlabelled = []
    with Lines(source, progress) as lines:
        for number, line in lines.numbered(log):
            text = line.rstrip("\r\n")
            cells: tuple[str, ...] = (text,)
            if at_start:
                cells = _split_fasttext(text)
            elif at_end:
                found = _LABEL_AT_END.fullmatch(text.strip())
                cells = (found[1], found[2]) if found else (text, "")
                unlabelled += [] if found else [number]
            columns.append(number, cells)
    data, numbers = columns.finish(names)
    if not len(numbers):
        raise StudioError(_("{name} contains no text", name=source.path.name), "use a file with at least one sentence, one per line")
    notes = [*source.encoding_notes(), *log.findings()]
    if at_end and not at_start:
        notes.append(Finding("info", "each line ends with @ and a label; the labels became a column"))
    if unlabelled:
        notes.append(Finding("warning", "lines do not end with @ and a label; their label was left empty", tuple(unlabelled)))
    uncertain = candidates and candidates[0].share > 0.98 and len(numbers) > 2
    questions = (ask_columns(start, candidates[0]),) if uncertain else ()
    return Content(names, data, numbers, tuple(notes), (*source.ask_encoding(), *questions))


def _have_labels_at_end(lines: Sequence[str]) -> bool:
    """Return whether every line ends with ``@`` and a recurring word, as in the Financial PhraseBank."""
    found = [match[2] for line in lines if (match := _LABEL_AT_END.fullmatch(line.strip()))]
    labels = set(found)
    return len(found) == len(lines) and 1 < len(labels) <= min(_MOST_LABELS, len(lines) // 2)


def _split_fasttext(line: str) -> tuple[str, str]:
    # __label__a __label__b some words → a, b | some words
    found = _FASTTEXT_LABELS.match(line)
    if not found:
        return "", line
    return ", ".join(label.removeprefix("__label__") for label in found.group().split()), line[found.end() :]


def _has_consistent_tabs(lines: Sequence[str]) -> bool:
    counts = {line.count("\t") for line in lines if line.strip()}
    return len(counts) == 1 and counts != {0}


def _is_table(candidate: DialectCandidate) -> bool:
    """Return whether a .txt file is a table: it has a header, or its separators do not occur in ordinary text."""
    rare = candidate.dialect.delimiter in ("|||", "||", "::")
    consistent = candidate.share > 0.98 and (rare or (candidate.score >= PLAIN_HEADER and candidate.dialect.delimiter != ","))
    return consistent or candidate.score >= NAMED_HEADER
