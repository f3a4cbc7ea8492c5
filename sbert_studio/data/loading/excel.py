"""Excel workbooks (.xlsx): read the first sheet with a table, after checking that no part exceeds the limits of a spreadsheet."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from functools import reduce
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress, checkpoint
from ..cells import LONGEST_CELL, cell_text
from ..findings import Finding
from .content import Content, Record, RowLog, check_cell_length, check_width
from .headers import is_familiar
from .layout import build_content, find_layout, take_sample
from .source import TableFile

_MOST_ROWS = 1 << 20  # columns of a sheet; no spreadsheet has more
_MOST_CELLS = 1 << 14
_MOST_MERGES = 1 << 17
_LARGEST_STRINGS, _LARGEST_SHEET, _LARGEST_OTHER = 1 << 30, 1 << 32, 1 << 26
_BLOCK = 1 << 18
# Bytes of a tag or comment. The parser reads an unfinished one again with each block, and keeps it in memory.
_LONGEST_TAG = 1 << 20
_REPORT_EVERY = 5_000
_MOST_TITLES = 5
_FEW_ROWS = 30  # a sheet without well-known names is a legend only up to this size
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ROW, _STRING, _MERGE = (f"{_MAIN} {tag}" for tag in ("row", "si", "mergeCell"))
_COLUMN_LETTERS = re.compile("[^0-9]*")
_MERGED_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})")
_SAVE_AGAIN = "open it in a spreadsheet and save it again"
# Exceptions that openpyxl and the underlying zip and XML readers raise for damaged files.
_DAMAGE: tuple[type[Exception], ...] = (
    *(LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, SyntaxError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, expat.ExpatError),
)


@dataclass
class SheetShape:
    """Number of the first row that is out of order (readers would silently skip it), or 0; and the cells merged across rows.

    ``merges`` maps the first row of merged cells to (column index from 0, last row).
    """

    disordered: int = 0
    merges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


def is_workbook(path: Path) -> bool:
    """Return whether a zip archive is a workbook, or a damaged one according to its name."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError):
        return path.suffix.lower() in {".xlsx", ".xlsm"}


def read_workbook(source: TableFile, progress: Progress | None = None) -> Content:
    """Read the first sheet that contains a table; row numbers are those of the sheet, and formulas have their last calculated value.

    This is the first sheet that is not empty, unless it has no table (remarks, a legend) and a later sheet does.

    Raises:
        StudioError: the workbook is damaged, password-protected, far too large when unpacked, or empty.
    """
    name = source.path.name
    shapes = scan_workbook(source.path)
    from openpyxl import load_workbook

    filled: list[int] = []
    with source.path.open("rb") as file:  # given a path, openpyxl checks the extension
        try:
            book = load_workbook(file, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if _holds_anything(sheet)]
            if not sheets:
                raise StudioError(_("{name} contains no text", name=name), "use a workbook with at least one row of text")
            chosen = _choose_sheet(sheets)
            shape = shapes.get(str(getattr(chosen, "_worksheet_path", "")).lstrip("/"), SheetShape())
            if row := shape.disordered:
                message = _(
                    "the rows of {name} are out of order: row {row} occurs twice, or after a row with a higher number", name=name, row=row
                )
                raise StudioError(message, _SAVE_AGAIN, [row])
            titles = [repr(sheet.title) for sheet in sheets if sheet is not chosen]
            others = ", ".join(titles[:_MOST_TITLES]) + (" …" if len(titles) > _MOST_TITLES else "")
            try:
                rows = _fill_merged(_rows(chosen, progress), shape.merges, filled)
                content = build_content(rows, RowLog(), header=source.header, separator=" ", aligned=True)
            except StudioError as error:
                if not others:
                    raise
                hint = _(
                    "{hint}; the sheet {title} was read, and the workbook also contains {others}",
                    hint=error.hint,
                    title=repr(chosen.title),
                    others=others,
                )
                raise StudioError(error.message, hint, error.rows) from error
        except _DAMAGE as error:
            raise StudioError(_("{name} is not a readable workbook", name=name), _SAVE_AGAIN) from error
    notes = content.notes
    if filled:
        notes = (Finding("info", "merged cells were filled with their value in every row", tuple(filled)), *notes)
    if others:
        read = {"title": repr(chosen.title), "others": others}
        message = (
            _("the sheet {title} was read; the workbook also contains {others}", **read)
            if chosen is sheets[0]
            else _(
                "the sheet {title} was read, because {first} contains no table; the workbook also contains {others}",
                first=repr(sheets[0].title),
                **read,
            )
        )
        notes = (
            Finding("info", message),
            *notes,
        )
    return replace(content, notes=notes)


def _choose_sheet(sheets: Sequence[Any]) -> Any:
    """Return the first sheet, or a later one that looks like a table if the first has only a few lines that do not."""
    if len(sheets) > 1:
        rows, has_header, is_table = _preview(sheets[0])
        for sheet in sheets[1:] if not is_table and rows <= _FEW_ROWS else ():
            other_rows, other_header, other_is_table = _preview(sheet)
            if other_rows > rows and (other_is_table or (other_header and not has_header)):
                return sheet
    return sheets[0]


def _preview(sheet: Any) -> tuple[int, bool, bool]:
    """Return the number of rows with most cells filled, whether there is a header, and whether it has a well-known name.

    In a single column, only texts below a well-known name count.
    """
    filled = take_sample(_rows(sheet, None))[1]
    layout = find_layout(filled, aligned=True)
    header = [cell.strip() for cell in layout.header if cell.strip()]
    if len(layout.names) < 2:
        has_texts = len(header) == 1 and is_familiar(header[0]) and len(filled) > 1
        return len(filled) - 1 if has_texts else 0, has_texts, has_texts
    rows = sum(sum(bool(cell.strip()) for cell in cells) > len(layout.names) / 2 for _, cells in layout.body)
    return rows, bool(header), rows > 1 and any(map(is_familiar, header))


def _holds_anything(sheet: Any) -> bool:
    sheet.reset_dimensions()  # the stated size is often wrong
    return any(value is not None and str(value).strip() for row in sheet.iter_rows(values_only=True) for value in row)


def _rows(sheet: Any, progress: Progress | None) -> Iterator[Record]:
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = [cell_text(value.date() if _is_midnight(value) else value) for value in row]
        while cells and not cells[-1].strip():
            cells.pop()
        check_width(len(cells))
        if progress and number % _REPORT_EVERY == 0:
            progress(number, 0)
        yield number, cells


def _is_midnight(value: object) -> bool:
    # Workbooks have no dates without a time of day.
    return isinstance(value, datetime) and value.time() == time()


def _fill_merged(rows: Iterator[Record], merges: Mapping[int, Sequence[tuple[int, int]]], filled: list[int]) -> Iterator[Record]:
    """Repeat the value of merged cells in each of their rows that has other content; append the numbers of these rows to ``filled``."""
    active: dict[int, tuple[int, str]] = {}  # column → last row, value
    for number, row in rows:
        cells = list(row)
        active = {column: (last, value) for column, (last, value) in active.items() if last >= number}
        if active and cells:
            cells += [""] * (max(active) + 1 - len(cells))
            for column, (_unused, value) in active.items():
                cells[column] = cells[column] or value
            filled.append(number)
        for column, last in merges.get(number, ()):
            if column < len(cells) and cells[column].strip():
                active[column] = (last, cells[column])
        yield number, cells


def scan_workbook(path: Path) -> dict[str, SheetShape]:
    """Return the shape of each part of a workbook by name, read block by block in constant memory.

    Raises:
        StudioError: the workbook is damaged, or a part, text, row or row number is larger than in any spreadsheet.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {entry.filename: _scan_part(path.name, archive, entry) for entry in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError, expat.ExpatError) as error:
        raise StudioError(_("{name} is not a readable workbook", name=path.name), _SAVE_AGAIN) from error


def _scan_part(workbook: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> SheetShape:
    name = entry.filename.lower()
    strings, sheet = name.endswith("sharedstrings.xml"), "worksheets/" in name and name.endswith(".xml")
    if entry.file_size > (_LARGEST_STRINGS if strings else _LARGEST_SHEET if sheet else _LARGEST_OTHER):
        raise StudioError(
            _("{workbook} would unpack to {file_size} GiB", workbook=workbook, file_size=f"{entry.file_size / 2**30:.1f}"),
            "save the sheet as CSV instead",
        )
    scanner = _PartScanner(workbook, strings or sheet)
    with archive.open(entry) as file, suppress(expat.ExpatError):
        # Parts that are not XML (pictures, macros) fail at their first bytes, and truncated parts where they end. openpyxl uses the same
        # parser and stops at the same place.
        done = 0
        while block := file.read(_BLOCK):
            checkpoint()
            scanner.parser.Parse(block, False)
            done += len(block)
            if done - scanner.parser.CurrentByteIndex > _LONGEST_TAG:
                raise ValueError("a tag as long as no spreadsheet writes it")
        scanner.parser.Parse(b"", True)
    return scanner.shape


class _PartScanner:
    """XML handler that measures a part of a workbook and rejects parts that are too large."""

    def __init__(self, workbook: str, has_texts: bool) -> None:
        self.workbook = workbook
        self.shape = SheetShape()
        self.parser: Any = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.EntityDeclHandler = self._refuse_entity
        if has_texts:
            self.parser.CharacterDataHandler = self._count_text
        self._row = self._cells = self._characters = self._merges = 0
        self._depth = 0  # nesting depth within the current row; 0 outside rows

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth:
            if self._depth == 1:
                self._start_cell(attributes.get("r", ""))
            self._depth += 1
        elif tag == _ROW:
            self._depth, self._cells, self._characters = 1, 0, 0
            number = self._check_row(_parse_row_number(attributes["r"]) if "r" in attributes else self._row + 1)
            self.shape.disordered = self.shape.disordered or (number if number <= self._row else 0)
            self._row = number
        elif tag == _STRING:
            self._characters = 0
        elif tag == _MERGE and (found := _MERGED_RANGE.fullmatch(attributes.get("ref", ""))) and found[2] != found[3]:
            self._merges += 1
            if self._merges > _MOST_MERGES:
                raise StudioError(
                    _("{workbook} has more than {most_merges} merged cells", workbook=self.workbook, most_merges=f"{_MOST_MERGES:,}"),
                    "save the sheet as CSV instead",
                )
            column = reduce(lambda place, letter: place * 26 + ord(letter) - 64, found[1], 0) - 1
            self.shape.merges.setdefault(int(found[2]), []).append((column, int(found[3])))

    def _end(self, _: str) -> None:
        self._depth = max(self._depth - 1, 0)

    def _start_cell(self, reference: str) -> None:
        self._cells += 1
        self._characters = 0
        if self._cells > _MOST_CELLS:
            message = _("{workbook} has more than {most_cells} columns", workbook=self.workbook, most_cells=f"{_MOST_CELLS:,}")
            raise StudioError(message, "keep only the text, score and label columns", [self._row])
        if reference:
            self._check_row(int(_COLUMN_LETTERS.sub("", reference, count=1)))

    def _check_row(self, number: int) -> int:
        if number < 1:
            raise ValueError(f"a row of the number {number}")
        if number > _MOST_ROWS:
            shown = f"{number:,}" if number < 10**15 else "10¹⁵ or more"
            message = _(
                "{workbook} has a row with the number {shown}; a sheet has at most {most_rows} rows",
                workbook=self.workbook,
                shown=shown,
                most_rows=f"{_MOST_ROWS:,}",
            )
            raise StudioError(message, "remove that row, or save the sheet as CSV")
        return number

    def _count_text(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > LONGEST_CELL:
            if self._row:
                check_cell_length(self._characters, self._row)
            raise StudioError(
                _(
                    "{workbook} contains a text of more than {longest_cell} characters",
                    workbook=self.workbook,
                    longest_cell=f"{LONGEST_CELL:,}",
                ),
                "shorten that text",
            )

    def _refuse_entity(self, *_: object) -> None:
        raise ValueError("entities can unfold to gigabytes, and no spreadsheet writes them")


def _parse_row_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # as openpyxl understands it: 7.0 is 7
        if not number.is_integer():
            raise
        return int(number)
