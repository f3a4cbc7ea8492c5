"""Single cells: values as text, and text written so that no spreadsheet runs it, or exactly as it is."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from ...workspace import atomic_file
from .numbers import NUMBER, number_form, parse_number

__all__ = ["LONGEST_CELL", "cell_text", "clean", "markdown_cell", "number_form", "parse_number", "safe_cell", "write_csv", "write_rows"]

_LIVE = tuple("=+-@\t\r\n＝＋－＠")
# Of the ASCII punctuation, each of which CommonMark lets a backslash make plain, what can begin or end markup; a colon, a link.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#!|~&@:$^]")
_WEB = re.compile(r"(?i)\b(www)\.")
_SURROGATES = re.compile("[\ud800-\udfff]")
LONGEST_CELL = 1 << 20
"""Characters; a cell beyond it is refused with its row, so that one file cannot take all memory."""


def cell_text(value: Any) -> str:
    """A value of any reader as the text of a cell: whole floats lose their ``.0``, nothing at all is ``""``."""
    if isinstance(value, str):
        text = value
    elif value is None or (isinstance(value, float) and math.isnan(value)):
        text = ""
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, float):
        text = str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    elif isinstance(value, (datetime, date, time)):
        text = value.isoformat()
    elif isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
    elif isinstance(value, (dict, list, tuple)):
        text = json.dumps(value, ensure_ascii=False, default=str)
    else:
        text = str(value)
    return clean(text)


def clean(text: str) -> str:
    """``text`` without NULs, and with lone surrogates (which UTF-8 cannot hold) replaced by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def safe_cell(text: str) -> str:
    """``text`` as a CSV cell that no spreadsheet takes for a formula.

    A leading apostrophe is put before what starts (after blanks) with ``= + - @``, their full-width forms, a tab or a
    line break; plain numbers such as ``-0.5`` stay as they are. See OWASP, "CSV Injection".
    """
    text = clean(text)
    if text.startswith(_LIVE) or text.lstrip().startswith(_LIVE):
        return text if NUMBER.fullmatch(text) else "'" + text
    return text


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], *, guarded: bool = True) -> None:
    """Write a UTF-8 CSV (RFC 4180), atomically.

    Args:
        path: the file to make or replace.
        names: the column names.
        rows: the cells, a sequence a row; numbers stay numbers.
        guarded: whether every text, column names too, passes :func:`safe_cell`, as a file for people's spreadsheets must;
            a file that is read again by a program is written without it, every cell exactly as it is.
    """
    guard = safe_cell if guarded else clean
    with atomic_file(path) as part, part.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerow([guard(name) for name in names])
        # Quotation marks around every cell leave no doubt what the others in it are.
        writer = csv.writer(target, quoting=csv.QUOTE_MINIMAL if guarded else csv.QUOTE_ALL)
        for row in rows:
            writer.writerow([value if isinstance(value, (int, float)) else guard(cell_text(value)) for value in row])


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length as a CSV that holds no live formula, atomically.

    Args:
        path: the file to make or replace.
        columns: the column names and their values; numbers stay numbers.
    """
    write_rows(path, list(columns), zip(*columns.values(), strict=True))


def markdown_cell(text: str) -> str:
    """``text`` as a cell of a Markdown table that holds no markup: one line, no link, no bar, no tag."""
    flat = " ".join(clean(text).split())
    return _WEB.sub(r"\1\\.", _MARKUP.sub(r"\\\g<0>", flat))
