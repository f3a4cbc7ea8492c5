"""Plain text: one sentence a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ....errors import StudioError
from ...progress import Progress
from ..columns import Columns
from ..rows import Content, Ledger
from .delimited import consistent_tabs, encoding_notes, read_delimited
from .dialects import Survey, survey
from .doubts import encoding_doubts, one_column_doubt
from .encoding import Encoding, detect_encoding
from .lines import Lines, first_lines

COLUMN = "text"
_FASTTEXT = re.compile(r"(?:__label__\S+\s+)+")


def read_plain(path: Path, *, progress: Progress | None = None, encoding: Encoding | None = None, header: bool | None = None) -> Content:
    """Read a text file as one column called ``text``; a row's number is its line's. Blank lines are left out and noted.

    A file in which every line has the same number of tabs is a table, and read as one; so is one whose first line names
    well-known columns. Where every line begins with ``__label__…``, as fastText writes them, the labels are a column.

    Raises:
        StudioError: the file is binary or holds no text.
    """
    encoding = encoding or detect_encoding(path)
    start = first_lines(path, encoding)
    found = survey(start, ".txt")
    if consistent_tabs(start) or (found and _is_table(found[0])):
        return read_delimited(path, progress=progress, encoding=encoding, header=header)
    ledger = Ledger()
    labelled = all(_FASTTEXT.match(line) for line in start if line.strip())
    names = ("label", COLUMN) if labelled else (COLUMN,)
    columns = Columns(len(names))
    with Lines(path, encoding, progress) as lines:
        for number, text in _sentences(lines, ledger):
            columns.append(number, _take_label(text) if labelled else (text,))
    data, numbers = columns.finish(names)
    if not len(numbers):
        raise StudioError(f"{path.name} holds no text", "give a file with at least one sentence, one a line")
    notes = (*encoding_notes(encoding), *ledger.findings())
    doubts = one_column_doubt(start, found[0]) if found and found[0].share > 0.98 and len(numbers) > 2 else ()
    return Content(names, data, numbers, notes, (*encoding_doubts(path, encoding), *doubts))


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


def _take_label(line: str) -> tuple[str, str]:
    """``__label__a __label__b some words`` → ``("a, b", "some words")``."""
    found = _FASTTEXT.match(line)
    labels = found.group().split() if found else []
    return ", ".join(label.removeprefix("__label__") for label in labels), line[found.end() :] if found else line


def _is_table(found: Survey) -> bool:
    """Whether a file called text is a table all the same: names stand first, or no text would hold its separators."""
    rare = found.dialect.delimiter in ("|||", "||", "::")
    return found.score >= 1.6 or (found.share > 0.98 and (rare or (found.score >= 1.28 and found.dialect.delimiter != ",")))
