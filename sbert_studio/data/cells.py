"""Conversion of values to text cells, and CSV output without live formulas."""

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
# ASCII punctuation that can start or end markup and that CommonMark allows to be escaped with a backslash; a colon can start a link.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#!|~&@:$^]")
_WEB = re.compile(r"(?i)\b(www)\.")
_SURROGATES = re.compile("[\ud800-\udfff]")
LONGEST_CELL = 1 << 20
"""Maximum number of characters in a cell. Longer cells raise an error with their row, so that one file cannot exhaust memory."""


def cell_text(value: Any) -> str:
    """Convert a value from any reader to the text of a cell: integral floats lose their ``.0``; None and NaN become ``""``."""
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
    """Remove NULs and replace lone surrogates, which UTF-8 cannot encode, with U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def safe_cell(text: str) -> str:
    """Escape ``text`` so that no spreadsheet interprets it as a formula.

    Texts that start (after whitespace) with ``= + - @``, their full-width forms, a tab or a line break get a leading apostrophe. Plain
    numbers such as ``-0.5`` are unchanged. See OWASP, "CSV Injection".
    """
    text = clean(text)
    if text.startswith(_FORMULA_STARTS) or text.lstrip().startswith(_FORMULA_STARTS):
        return text if NUMBER.fullmatch(text) else "'" + text
    return text


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], *, guarded: bool = True) -> None:
    """Write a UTF-8 CSV file (RFC 4180) atomically.

    If ``guarded``, every text and column name is passed through :func:`safe_cell`; use this for files that people open in a spreadsheet.
    Otherwise cells are written unchanged, so that a program can read them back exactly. Numbers are always written as numbers.
    """
    guard = safe_cell if guarded else clean
    with atomic_file(path) as part, part.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerow([guard(name) for name in names])
        # Quoting every cell makes quotation marks inside cells unambiguous.
        writer = csv.writer(target, quoting=csv.QUOTE_MINIMAL if guarded else csv.QUOTE_ALL)
        for row in rows:
            writer.writerow([value if isinstance(value, (int, float)) else guard(cell_text(value)) for value in row])


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length as a CSV file without live formulas; see :func:`write_rows`."""
    write_rows(path, list(columns), zip(*columns.values(), strict=True))


def markdown_cell(text: str) -> str:
    """Escape ``text`` for a cell of a Markdown table: one line, without links, pipes or tags."""
    flat = " ".join(clean(text).split())
    return _WEB.sub(r"\1\\.", _MARKUP.sub(r"\\\g<0>", flat))
