"""Single cells: numbers in them, and how they are written so that no spreadsheet runs them."""

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

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?")
_LIVE = tuple("=+-@\t\r\n＝＋－＠")
_SURROGATES = re.compile("[\ud800-\udfff]")


def parse_number(text: str) -> float:
    """The number that ``text`` shows, or NaN.

    A decimal comma and a percent sign are understood (``3,5`` → 3.5, ``85%`` → 85.0); ``nan`` and ``inf`` are no numbers.
    """
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        return math.nan
    value = float(stripped.rstrip("%").replace(",", "."))
    return value if math.isfinite(value) else math.nan


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
        return text if _NUMBER.fullmatch(text) else "'" + text
    return text


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a UTF-8 CSV (RFC 4180), atomically; every text, column names too, passes :func:`safe_cell`."""
    with atomic_file(path) as part, part.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow([safe_cell(name) for name in names])
        for row in rows:
            writer.writerow([value if isinstance(value, (int, float)) else safe_cell(cell_text(value)) for value in row])


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length as a CSV that holds no live formula, atomically.

    Args:
        path: the file to make or replace.
        columns: the column names and their values; numbers stay numbers.
    """
    write_rows(path, list(columns), zip(*columns.values(), strict=True))
