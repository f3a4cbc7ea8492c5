"""Plain text: one sentence a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ....errors import StudioError
from ...progress import Progress
from ..columns import Columns
from ..rows import Content, Ledger
from .delimited import consistent_tabs, encoding_notes, read_delimited
from .dialects import Survey, survey
from .doubts import encoding_doubts
from .encoding import Encoding, detect_encoding
from .lines import Lines, first_lines

COLUMN = "text"


def read_plain(path: Path, *, progress: Progress | None = None, encoding: Encoding | None = None, header: bool | None = None) -> Content:
    """Read a text file as one column called ``text``; a row's number is its line's. Blank lines are left out and noted.

    A file in which every line has the same number of tabs is a table, and read as one; so is one whose first line names
    well-known columns.

    Raises:
        StudioError: the file is binary or holds no text.
    """
    encoding = encoding or detect_encoding(path)
    start = first_lines(path, encoding)
    found = survey(start, ".txt")
    if consistent_tabs(start) or (found and _is_table(found[0])):
        return read_delimited(path, progress=progress, encoding=encoding, header=header)
    ledger = Ledger()
    columns = Columns(1)
    with Lines(path, encoding, progress) as lines:
        for number, text in _sentences(lines, ledger):
            columns.append(number, (text,))
    data, numbers = columns.finish([COLUMN])
    if not len(numbers):
        raise StudioError(f"{path.name} holds no text", "give a file with at least one sentence, one a line")
    notes = (*encoding_notes(encoding), *ledger.findings())
    return Content((COLUMN,), data, numbers, notes, encoding_doubts(path, encoding))


def _sentences(lines: Lines, ledger: Ledger) -> Iterator[tuple[int, str]]:
    blank: list[int] = []
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        lines.report(number, ledger)
        lines.pending.clear()
        if not text.strip():
            blank.append(number)
            continue
        ledger.enter_all("blank", blank)
        yield number, text


def _is_table(found: Survey) -> bool:
    """Whether a file called text is a table all the same: known names stand first, or no text would hold its separators."""
    return found.score >= 1.6 or (found.dialect.delimiter in ("|||", "||", "::") and found.share > 0.98)
