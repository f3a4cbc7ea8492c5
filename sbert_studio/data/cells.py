"""Conversion of values to text cells, and CSV and XLSX output without live formulas."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from ..i18n import ngettext
from ..workspace import atomic_file
from .schema.numbers import NUMBER

_FORMULA_STARTS = tuple("=+-@＝＋－＠")
# ASCII punctuation that can start or end markup and that CommonMark allows to be escaped with a backslash; a colon can start a link.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#!|~&@:$^]")
_WEB = re.compile(r"(?i)\b(www)\.")
_SURROGATES = re.compile("[\ud800-\udfff]")
_EXACT_NUMBER = re.compile(r"(?!-0(\.0+)?$)-?(0|[1-9]\d*)(?:\.(?P<decimals>\d+))?")  # no leading zeros, which a number would lose
_CODE = re.compile(r"0\d+|\d{16,}")  # digits that are no number: a postal code, a long identifier
_ISO_DATE = re.compile(
    r"(19(?!00)|[2-9]\d)\d\d-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?"
)  # a spreadsheet has no dates before 1900, and no time zones
_GENERAL_DIGITS = 11  # spreadsheets show longer whole numbers as 1.2E+11, unless their format says otherwise
_LONGEST_XLSX_CELL = 32_767
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

    Texts whose first character apart from spaces, tabs and line breaks is one of ``= + - @`` or of their full-width forms get a leading
    apostrophe. Plain numbers such as ``-0.5`` are unchanged. See OWASP, "CSV Injection".
    """
    text = clean(text)
    return "'" + text if text.lstrip().startswith(_FORMULA_STARTS) and not NUMBER.fullmatch(text) else text


def write_rows(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]], *, guarded: bool = True) -> None:
    """Write a UTF-8 CSV file (RFC 4180) atomically. It starts with a byte-order mark, without which Excel garbles letters beyond ASCII.

    If ``guarded``, every text and column name is passed through :func:`safe_cell`; use this for files that people open in a spreadsheet.
    Otherwise cells are written unchanged, so that a program can read them back exactly. Numbers are always written as numbers.
    """
    guard = safe_cell if guarded else clean
    with atomic_file(path) as part, part.open("w", encoding="utf-8-sig", newline="") as target:
        csv.writer(target).writerow([guard(name) for name in names])
        # Quoting every cell makes quotation marks inside cells unambiguous.
        writer = csv.writer(target, quoting=csv.QUOTE_MINIMAL if guarded else csv.QUOTE_ALL)
        for row in rows:
            writer.writerow([value if isinstance(value, (int, float)) else guard(cell_text(value)) for value in row])


def write_csv(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length as a CSV file without live formulas; see :func:`write_rows`."""
    write_rows(path, list(columns), zip(*columns.values(), strict=True))


def write_spreadsheet(path: Path, columns: Mapping[str, Sequence[Any]], notes: Sequence[str] = ()) -> None:
    """Write columns of equal length as an XLSX workbook (:func:`write_xlsx`) if the file's suffix is .xlsx, otherwise as CSV."""
    if path.suffix.lower() == ".xlsx":
        write_xlsx(path, columns, notes)
    else:
        write_csv(path, columns)


def write_xlsx(path: Path, columns: Mapping[str, Sequence[Any]], notes: Sequence[str] = ()) -> None:
    """Write columns of equal length as an XLSX workbook; ``notes`` are lines of a second sheet.

    Column names are kept. Texts are never formulas; those that are plain numbers are stored as numbers that show all their digits
    (12.50), unless the column has codes such as 00501: then its other cells are codes too. A column of ISO 8601 dates, with or without
    a time of day, is stored as dates. Texts that are too long for a cell are cut off, and counted in the notes.
    """
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Texts")
    sheet.freeze_panes = "A2"
    sheet.append([xlsx_cell(sheet, name, is_header=True) for name in columns])
    read = [_converter(cells) for cells in columns.values()]
    too_long = 0
    for row in zip(*columns.values(), strict=True):
        too_long += sum(isinstance(value, str) and len(value) > _LONGEST_XLSX_CELL for value in row)
        values = [value if isinstance(value, (int, float)) else convert(value) for convert, value in zip(read, row, strict=True)]
        sheet.append([_written_cell(sheet, text, value) for text, value in zip(row, values, strict=True)])
    if too_long:
        notes = (*notes, _cut_off_note(too_long))
    if notes:
        sheet = book.create_sheet("Notes")  # as in topic reports
        for note in notes:
            sheet.append([xlsx_cell(sheet, note)])
    with atomic_file(path) as part:
        book.save(part)


def _cut_off_note(count: int) -> str:
    return ngettext(
        "{n} text is longer than {most} characters, the most that a cell can have, and is cut off. A CSV file has all of it.",
        "{n} texts are longer than {most} characters, the most that a cell can have, and are cut off. A CSV file has all of them.",
        count,
        most=f"{_LONGEST_XLSX_CELL:,}",
    )


def xlsx_cell(sheet: Any, value: Any, *, is_header: bool = False) -> Any:
    """Return a cell of a write-only worksheet; a text is never a formula."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    cell = WriteOnlyCell(sheet)
    set_xlsx_value(cell, value)
    if is_header:
        cell.font = Font(bold=True)
    return cell


def _written_cell(sheet: Any, text: Any, value: Any) -> Any:
    """Return a cell with ``value``; a number that was written with trailing zeros shows them."""
    cell = xlsx_cell(sheet, value)
    if isinstance(text, str) and isinstance(value, float) and text.endswith("0"):
        cell.number_format = "0." + "0" * len(text.partition(".")[2])
    return cell


def set_xlsx_value(cell: Any, value: Any) -> None:
    """Set the value of an openpyxl cell such that a text is never a formula, also after it was edited."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if value == "":
        cell.value = None  # an empty text is not blank: formulas would count it
    elif isinstance(value, str):
        cell.value = ILLEGAL_CHARACTERS_RE.sub("", clean(value))[:_LONGEST_XLSX_CELL]
        cell.data_type = "s"  # otherwise a text that starts with = would be a formula
        cell.quotePrefix = safe_cell(value) != value  # and would become one when the cell is edited
    else:
        cell.value = value
        if isinstance(value, (int, float)) and float(value).is_integer() and abs(value) >= 10**_GENERAL_DIGITS:
            cell.number_format = "0"


def _converter(cells: Sequence[Any]) -> Callable[[Any], Any]:
    """Return the function that converts the texts of a column to the values of a spreadsheet."""
    filled = [value for value in cells if value is not None and value != ""]
    if any(isinstance(value, str) and _CODE.fullmatch(value) for value in filled):
        return cell_text
    if filled and all(_is_date(value) for value in filled):
        return _as_date
    return _as_number


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and _ISO_DATE.fullmatch(value) is not None and bool(datetime.fromisoformat(value))
    except ValueError:  # a 31st of February
        return False


def _as_date(value: Any) -> Any:
    if not value:
        return cell_text(value)
    return date.fromisoformat(value) if len(value) == len("2024-01-31") else datetime.fromisoformat(value)


def _as_number(value: Any) -> Any:
    """Return the number that a text is, if it is written as a spreadsheet writes it; otherwise the value."""
    if isinstance(value, str) and len(value) <= 15 and _EXACT_NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return cell_text(value)


def markdown_cell(text: str) -> str:
    """Escape ``text`` for a cell of a Markdown table: one line, without links, pipes or tags."""
    flat = " ".join(clean(text).split())
    return _WEB.sub(r"\1\\.", _MARKUP.sub(r"\\\g<0>", flat))
