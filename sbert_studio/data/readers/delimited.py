"""CSV, TSV, semicolons, bars: the delimiter found, quotes that do not pair up survived."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import StudioError
from ..findings import Finding
from ..progress import Progress
from ..vocabulary import known
from .encoding import Encoding, detect_encoding
from .lines import LONGEST_LINE, Lines, first_lines
from .rows import Content, Ledger, Record, gather

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_EXPECTED = {".tsv": "\t", ".tab": "\t", ".csv": ",", ".txt": "\t"}
_CONSISTENT = 0.6


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
    lines do. What is None is detected.

    Raises:
        StudioError: the file is binary or holds no rows.
    """
    allow_long_cells()
    encoding = encoding or detect_encoding(path)
    start = first_lines(path, encoding)
    if not any(line.strip() for line in start):
        raise StudioError(f"{path.name} holds no text", "give a file with at least one row of text")
    declared = _declared(start[0])
    found = delimiter or declared or detect_delimiter(start, path.suffix.lower())
    ledger = Ledger()
    with Lines(path, encoding, progress) as lines:
        content = gather(_records(lines, found, ledger, skip=declared is not None), ledger, header=header, joiner=found)
    notes = encoding_notes(encoding)
    if found != _EXPECTED.get(path.suffix.lower(), found) and len(content.names) > 1:
        notes.append(Finding("info", f"the columns are separated by {DELIMITERS.get(found, repr(found))}"))
    return Content(content.names, content.data, content.lines, (*notes, *content.notes))


def encoding_notes(encoding: Encoding) -> list[Finding]:
    """What to tell about an encoding that is not UTF-8."""
    if encoding.label.startswith("UTF-8"):
        return []
    return [Finding("info", f"the file is in {encoding.label}, not UTF-8; it was converted")]


def allow_long_cells() -> None:
    """Let cells of up to 32 million characters through; the module's own limit is 131,072."""
    if csv.field_size_limit() < LONGEST_LINE:
        csv.field_size_limit(LONGEST_LINE)


def detect_delimiter(start: Sequence[str], suffix: str = ".csv") -> str:
    """The delimiter that gives the first lines of a file the same number (two or more) of cells most consistently."""
    best, best_rank = ",", (_CONSISTENT, 0)
    for delimiter in DELIMITERS:
        records = [row for row in _tolerant(start, delimiter) if row]
        widths = Counter(len(row) for row in records)
        width, times = max(((w, n) for w, n in widths.items() if w > 1), key=lambda item: (item[1], item[0]), default=(1, 0))
        if width == 1:
            continue
        share = times / len(records)
        if len(records[0]) == width and any(known(cell) for cell in records[0]):
            share += 1.0
        if delimiter == _EXPECTED.get(suffix):
            share += 0.05
        if (rank := (round(share, 2), width)) > best_rank:
            best, best_rank = delimiter, rank
    return best


def consistent_tabs(start: Sequence[str]) -> bool:
    """Whether every line has the same number of tabs, at least one: a table, although it is called text."""
    counts = {line.count("\t") for line in start if line.strip()}
    return len(counts) == 1 and counts != {0}


def _declared(line: str) -> str | None:
    """The delimiter of Excel's own first line, ``sep=;``."""
    text = line.strip().strip('"')
    return text[4] if len(text) == 5 and text.lower().startswith("sep=") and text[4] in DELIMITERS else None


def _tolerant(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Records of a sample; its last record is left out if it does not end with the sample's last line."""
    source = iter(lines)
    reader = csv.reader(source, delimiter=delimiter)
    try:
        for record in reader:
            if not (reader.line_num == len(lines) and '"' in lines[-1] and record and "\n" in record[-1]):
                yield record
    except csv.Error:
        return


def _records(lines: Lines, delimiter: str, ledger: Ledger, *, skip: bool) -> Iterator[Record]:
    """Records with their numbers. Where quotes do not pair up, the line is read again with its quotes as plain characters."""
    stream = iter(lines)
    if skip:
        next(stream)
        lines.pending.clear()
    number, width = 0, 0
    pending = lines.pending
    reader = csv.reader(stream, delimiter=delimiter)
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error:  # a cell beyond the limit: a quote that was opened and not closed for 32 million characters
            cells = []
            torn = True
        else:
            torn = lines.exhausted
        if cells is None:
            return
        if len(pending) > 1 or torn or (len(cells) != width and '"' in pending[0]):
            literal = _literal(pending, delimiter, width, torn)
            if literal is not None:
                ledger.enter("quote" if torn else "literal", number)
                cells = literal
                lines.put_back(pending[1:])
                stream = iter(lines)
                lines.exhausted = False
                reader = csv.reader(stream, delimiter=delimiter)
        width = width or len(cells)
        if lines.nul or lines.broken:
            lines.report(number, ledger)
        pending.clear()
        yield number, cells


def _literal(pending: Sequence[str], delimiter: str, width: int, torn: bool) -> list[str] | None:
    """The first pending line with its quotes as plain characters, if the record's quotes cannot be meant; else None.

    They cannot be where the quote is never closed; nor, if the first line without them is whole, where they make the
    record too short or too long, where text follows a closing quote, or where every line of a tabbed record is whole.
    """
    cells = _plain(pending[0], delimiter)
    if torn:
        return cells
    if len(cells) != width or width < 2:
        return None
    if len(pending) == 1:
        return cells
    if delimiter == "\t" and all(len(_plain(line, delimiter)) == width for line in pending):
        return cells
    try:
        next(csv.reader(iter(pending), delimiter=delimiter, strict=True))
    except csv.Error:
        return cells
    return None


def _plain(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
