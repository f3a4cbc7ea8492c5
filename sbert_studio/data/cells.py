"""Cells as text, and CSV files that no spreadsheet runs as formulas."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from ..workspace import atomic_file
from .schema.numbers import NUMBER

_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
# The ASCII punctuation that begins or ends markup, which CommonMark lets a backslash escape; a colon begins links.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#!|~&@:$^]")
_WEB = re.compile(r"(?i)\b(www)\.")
_SURROGATES = re.compile("[\ud800-\udfff]")
LONGEST_CELL = 1 << 20
"""Characters; longer cells are refused with their row, so that one file cannot take all memory."""


def cell_text(value: Any) -> str:
    """Return a value of any reader as the text of a cell: whole floats lose their ``.0``, None and NaN are ``""``."""
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
    """Remove NULs and replace lone surrogates (which UTF-8 cannot hold) by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def safe_cell(text: str) -> str:
    """Return ``text`` as a CSV cell that no spreadsheet takes for a formula.

    An apostrophe is put before what starts (after blanks) with ``= + - @``, their full-width forms, a tab or a line break; plain
    numbers such as ``-0.5`` stay as they are. See OWASP, "CSV Injection".
    """
    text = clean(text)
    if text.startswith(_FORMULA_STARTS) or text.lstrip().startswith(_FORMULA_STARTS):
        return text if NUMBER.fullmatch(text) else "'" + text
    return text


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], *, guarded: bool = True) -> None:
    """Write a UTF-8 CSV file (RFC 4180) atomically.

    ``guarded`` passes every text, column names too, through :func:`safe_cell`, as files for spreadsheets must be; a file that a program
    reads again is written without it, every cell exactly as it is. Numbers stay numbers.
    """
    guard = safe_cell if guarded else clean
    with atomic_file(path) as part, part.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerow([guard(name) for name in names])
        # Quotation marks around every cell leave no doubt about the quotation marks within it.
        writer = csv.writer(target, quoting=csv.QUOTE_MINIMAL if guarded else csv.QUOTE_ALL)
        for row in rows:
            writer.writerow([value if isinstance(value, (int, float)) else guard(cell_text(value)) for value in row])


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length as a CSV file without live formulas; see :func:`write_rows`."""
    write_rows(path, list(columns), zip(*columns.values(), strict=True))


def markdown_cell(text: str) -> str:
    """Return ``text`` as a cell of a Markdown table: one line, without links, bars or tags."""
    flat = " ".join(clean(text).split())
    return _WEB.sub(r"\1\\.", _MARKUP.sub(r"\\\g<0>", flat))
