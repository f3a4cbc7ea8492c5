"""Excel workbooks (.xlsx), row by row."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ..cells import cell_text
from ..findings import Finding
from ..progress import Progress
from .archive import MOST_ROWS, examine
from .gather import gather
from .rows import MOST_COLUMNS, Content, Ledger, Record

_REPORT_EVERY = 5_000
# What openpyxl and the zip and XML readers below it raise on a file that is damaged.
_DAMAGE: tuple[type[Exception], ...] = (
    *(LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, SyntaxError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)


def read_workbook(path: Path, *, progress: Progress | None = None, header: bool | None = None) -> Content:
    """Read the first sheet that holds anything; row numbers are the sheet's own, values are those last calculated.

    Raises:
        StudioError: the workbook is damaged, locked, far too large once unpacked, or empty.
    """
    torn = examine(path)
    from openpyxl import load_workbook

    with path.open("rb") as source:  # by its content: given a path, openpyxl goes by the ending of the name
        try:
            book = load_workbook(source, read_only=True, data_only=True)
            sheets = [sheet for sheet in book.worksheets if _holds_anything(sheet)]
            if not sheets:
                raise StudioError(f"{path.name} holds no text", "give a workbook with at least one row of text")
            _refuse_torn(sheets[0], torn, path.name)
            content = gather(_rows(sheets[0], path.name, progress), Ledger(), header=header, joiner=" ", aligned=True)
        except _DAMAGE as error:
            raise StudioError(f"{path.name} is not a workbook that can be read", "open it in a spreadsheet and save it again") from error
    notes = content.notes
    if len(sheets) > 1:
        others = ", ".join(repr(sheet.title) for sheet in sheets[1:4])
        notes = (Finding("info", f"the sheet {sheets[0].title!r} was read; the workbook also holds {others}"), *notes)
    return replace(content, notes=notes)


def _refuse_torn(sheet: Any, torn: Mapping[str, int], name: str) -> None:
    """Refuse a sheet of which rows would be passed over in silence."""
    part = str(getattr(sheet, "_worksheet_path", "")).lstrip("/")
    if row := torn.get(part, 0):
        raise StudioError(
            f"the rows of {name} are not in order: row {row} stands twice, or below one of a higher number",
            "open it in a spreadsheet and save it again",
            [row],
        )


def _holds_anything(sheet: Any) -> bool:
    sheet.reset_dimensions()  # the stated size is often wrong
    return any(value is not None and str(value).strip() for row in sheet.iter_rows(values_only=True) for value in row)


def _rows(sheet: Any, name: str, progress: Progress | None) -> Iterator[Record]:
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:
            raise StudioError(f"{name} has more than {MOST_ROWS:,} rows", "remove what stands far below, or save the sheet as CSV")
        if len(row) > MOST_COLUMNS and any(value is not None for value in row[MOST_COLUMNS:]):
            raise StudioError(f"{name} has more than {MOST_COLUMNS:,} columns", "keep the text, score and label columns only", [number])
        cells = [cell_text(value) for value in row[:MOST_COLUMNS]]
        while cells and not cells[-1].strip():
            cells.pop()
        if progress and number % _REPORT_EVERY == 0:
            progress(number, 0)
        yield number, cells
