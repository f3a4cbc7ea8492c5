"""A tab-separated file with a header, all of its columns, in which a quotation mark is a character like any other."""

from __future__ import annotations

from pathlib import Path

from ..loading.content import Content
from .lines import BLANK, Rows, encoding_note, text_lines


def as_it_stands(path: Path, codec: str) -> Content | None:
    """Every column under the name that the file gives it; ``None`` of a file that has been changed: a line is not as wide as its header."""
    lines = text_lines(path, codec)
    names = next(lines, (0, ""))[1].split("\t")
    rows = Rows(*names)
    rows.begin(path)
    for number, line in lines:
        cells = line.split("\t")
        if not line.strip():
            rows.leave_out(number, BLANK)
        elif len(cells) != len(names):
            return None
        else:
            rows.add(number, *cells)
    return rows.content(encoding_note(codec))
