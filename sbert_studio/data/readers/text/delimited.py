"""CSV, TSV, semicolons, bars and the like: the dialect found, quotes that do not pair up survived."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ....errors import StudioError
from ...cells import LONGEST_CELL
from ...findings import Finding
from ...progress import Progress
from ...questions import Question
from ..columns import refuse_long
from ..gather import gather, take_filled
from ..layout import lay_out
from ..rows import Content, Ledger, Record
from . import decimals
from .dialects import NONE, WORDS, Dialect, named_dialect, rivals, survey
from .doubts import delimiter_doubts, encoding_doubts, one_column_doubt
from .encoding import Encoding, detect_encoding
from .lines import Lines, first_lines
from .runs import Frame, plain

_USUAL = {".tsv": "\t", ".tab": "\t", ".csv": ",", ".txt": "\t"}


def read_delimited(
    path: Path,
    *,
    progress: Progress | None = None,
    encoding: Encoding | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Content:
    """Read a delimited text file in one pass, in bounded memory.

    A row's number is the number of its record, as a spreadsheet counts: line breaks in quotes do not advance it, blank
    lines do. What is None is detected; a delimiter that is one character is taken at its word (see
    :func:`~sbert_studio.data.readers.text.dialects.named_dialect`).

    Raises:
        StudioError: the file is binary, holds no rows, two tables or a cell beyond all bounds.
    """
    csv.field_size_limit(LONGEST_CELL)  # the module's own limit is 131,072
    encoding = encoding or detect_encoding(path)
    start = first_lines(path, encoding)
    if not any(line.strip() for line in start):
        raise StudioError(f"{path.name} holds no text", "give a file with at least one row of text")
    declared = _declared(start[0])
    skip = int(declared is not None)
    dialect, asked = detect_dialect(start[skip:], path.suffix.lower(), delimiter or declared)
    ledger = Ledger()
    with Lines(path, encoding, progress) as lines:
        records = _records(lines, dialect, ledger, Frame.of(start[skip:], dialect), skip=skip > 0)
        notes: list[Finding] = []
        if dialect.delimiter == "," and dialect.decimals is not False:
            sample, filled = take_filled(records)
            records = chain(sample, records)
            if filled:
                layout = lay_out(filled, header)
                places = decimals.decimal_places(layout, dialect.decimals)
                if dialect.decimals is None:
                    asked = (*asked, *decimals.doubts(layout, places))
                if places:
                    width = len(layout.header) or max(len(cells) for _, cells in layout.body) - len(places)
                    notes.append(decimals.note(layout, places))
                    records = decimals.joined(records, width, places)
        content = gather(records, ledger, header=header, joiner=" " if dialect.character == NONE else dialect.character)
    notes = [*encoding_notes(encoding), *_dialect_notes(dialect, path.suffix.lower(), len(content.names)), *notes]
    doubts = (*encoding_doubts(path, encoding), *asked, *content.doubts)
    return replace(content, notes=(*notes, *content.notes), doubts=doubts)


def detect_dialect(start: Sequence[str], suffix: str, delimiter: str | None = None) -> tuple[Dialect, tuple[Question, ...]]:
    """The dialect of a file by its first lines, and what is to be asked of it.

    Args:
        start: the first lines.
        suffix: the ending of the file's name.
        delimiter: what a person says: one character, taken at its word, or a name such as ``semicolon`` or ``none``.
    """
    if delimiter is not None:
        named = named_dialect(delimiter)
        if len(delimiter) == 1 and delimiter != "|":
            return named, ()
        fitting = [one for one in survey(start, suffix) if one.dialect.delimiter == named.delimiter]
        return (replace(fitting[0].dialect, decimals=named.decimals) if fitting else named), ()
    found = survey(start, suffix)
    if not found:
        return Dialect(NONE), ()
    best = found[0]
    if best.dialect.strip and best.dialect.delimiter == "," and best.width == 2 and best.score < 1.6:
        return Dialect(NONE), one_column_doubt(start, best)
    return best.dialect, delimiter_doubts(start, rivals(found))


def encoding_notes(encoding: Encoding) -> list[Finding]:
    """What to tell about an encoding that is not UTF-8."""
    if encoding.label.startswith("UTF-8"):
        return []
    return [Finding("info", f"the file is in {encoding.label}, not UTF-8; it was converted")]


def _dialect_notes(dialect: Dialect, suffix: str, width: int) -> list[Finding]:
    notes = []
    if width > 1 and dialect.delimiter != _USUAL.get(suffix, dialect.delimiter):
        notes.append(Finding("info", f"the columns are separated by {WORDS.get(dialect.delimiter, repr(dialect.delimiter))}"))
    if dialect.quote != '"':
        notes.append(Finding("info", "single quotation marks around cells were taken off"))
    if dialect.curly:
        notes.append(Finding("info", "typographic quotation marks around cells were taken off"))
    if dialect.strip and dialect.delimiter != "|":
        notes.append(Finding("info", "blanks beside the separators were taken off"))
    return notes


def _declared(line: str) -> str | None:
    """The delimiter of Excel's own first line, ``sep=;``."""
    text = line.strip().strip('"')
    return text[4] if len(text) == 5 and text.lower().startswith("sep=") and text[4] in WORDS else None


def consistent_tabs(start: Sequence[str]) -> bool:
    """Whether every line has the same number of tabs, at least one: a table, although it is called text."""
    counts = {line.count("\t") for line in start if line.strip()}
    return len(counts) == 1 and counts != {0}


def _records(lines: Lines, dialect: Dialect, ledger: Ledger, frame: Frame, *, skip: bool) -> Iterator[Record]:
    """Records with their numbers. Where quotes do not pair up, the line is read again with its quotes as plain characters."""
    stream = iter(lines)
    if skip:
        next(stream)
        lines.pending.clear()
    number, width = 0, 0
    pending = lines.pending
    reader = dialect.reader(stream)
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error:  # a cell beyond the limit, or a quote that was opened and not closed for a million characters
            cells = []
            torn = True
            _refuse_long_cell(pending, dialect, width, number)
        else:
            torn = lines.exhausted
        if cells is None:
            return
        if len(pending) > 1 or torn or (len(cells) != width and dialect.quote in pending[0]):
            literal = _literal(pending, dialect, width, torn, frame)
            if literal is not None:
                ledger.enter("quote" if torn else "literal", number)
                cells = literal
                lines.put_back(pending[1:])
                stream = iter(lines)
                lines.exhausted = False
                reader = dialect.reader(stream)
            elif len(pending) > 1 and frame.may_have_swallowed(pending):
                ledger.spans[number] = len(pending)
        width = width or len(cells)
        if lines.nul or lines.broken:
            lines.report(number, ledger)
        pending.clear()
        yield number, dialect.cells(cells)


def _literal(pending: Sequence[str], dialect: Dialect, width: int, torn: bool, frame: Frame) -> list[str] | None:
    """The first pending line with its quotes as plain characters, if the record's quotes cannot be meant; else None.

    They cannot be where the quote is never closed, or the lines of the record are records of their own; nor, if the first
    line without them is whole, where they make the record too short or too long, where text follows a closing quote, or
    where every line of a tabbed record is whole.
    """
    cells = plain(pending[0], dialect)
    if torn or (len(pending) > 1 and frame.swallowed(pending)):
        return cells
    if len(cells) != width or width < 2:
        return None
    if len(pending) == 1:
        return cells
    if dialect.delimiter == "\t" and all(len(plain(line, dialect)) == width for line in pending):
        return cells
    try:
        next(dialect.reader(iter(pending), strict=True))
    except csv.Error:
        return cells
    return None


def _refuse_long_cell(pending: Sequence[str], dialect: Dialect, width: int, row: int) -> None:
    """Refuse a cell beyond all bounds, unless its first line is a whole row once its quotes are plain characters."""
    for line in pending[:1]:
        cells = [] if len(line) > LONGEST_CELL else plain(line, dialect)
        if not cells or (width > 1 and len(cells) != width):
            refuse_long(max(LONGEST_CELL + 1, sum(map(len, pending))), row)
