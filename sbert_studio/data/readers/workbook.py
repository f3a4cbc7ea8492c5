"""Excel workbooks (.xlsx), row by row."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ..cells import cell_text
from ..findings import OF_SHEETS, Finding
from ..progress import Progress
from .archive import MOST_ROWS, examine
from .gather import gather, take_filled
from .headers import familiar_name
from .layout import lay_out
from .rows import MOST_COLUMNS, Content, Ledger, Record

_REPORT_EVERY = 5_000
_MOST_TITLES = 5
_FEW = 30  # rows: a sheet without names that has more of them is no legend
# What openpyxl and the zip and XML readers below it raise on a file that is damaged.
_DAMAGE: tuple[type[Exception], ...] = (
    *(LookupError, ValueError, TypeError, AttributeError, OSError, EOFError, SyntaxError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)


def read_workbook(path: Path, *, progress: Progress | None = None, header: bool | None = None) -> Content:
    """Read the first sheet that holds a table; row numbers are the sheet's own, values are those last calculated.

    That is the first one with something in it, unless it holds no table (remarks, a legend) and a later one does.

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
            chosen = _with_table(sheets, path.name) if len(sheets) > 1 else sheets[0]
            others = [sheet for sheet in sheets if sheet is not chosen]
            _refuse_torn(chosen, torn, path.name)
            try:
                content = gather(_rows(chosen, path.name, progress), Ledger(), header=header, joiner=" ", aligned=True)
            except StudioError as error:
                if not others:
                    raise
                hint = f"{error.hint}; it is the sheet {chosen.title!r} that was read, the workbook also holds {_titles(others)}"
                raise StudioError(error.message, hint, error.rows) from error
        except _DAMAGE as error:
            raise StudioError(f"{path.name} is not a workbook that can be read", "open it in a spreadsheet and save it again") from error
    notes = content.notes
    if others:
        why = f", for {sheets[0].title!r} holds no table" if chosen is not sheets[0] else ""
        told = f"{OF_SHEETS}{chosen.title!r} was read{why}; the workbook also holds {_titles(others)}"
        notes = (Finding("info", told), *notes)
    return replace(content, notes=notes)


def _titles(sheets: Sequence[Any]) -> str:
    return ", ".join(repr(sheet.title) for sheet in sheets[:_MOST_TITLES]) + (" …" if len(sheets) > _MOST_TITLES else "")


def _with_table(sheets: Sequence[Any], name: str) -> Any:
    """The first sheet, or a later one that looks like a table where the first does not and is a few lines beside it."""
    first = _looks(sheets[0], name)
    if first.named or first.rows > _FEW:
        return sheets[0]
    for sheet in sheets[1:]:
        if (found := _looks(sheet, name)).rows > first.rows and (found.named or (found.header and not first.header)):
            return sheet
    return sheets[0]


@dataclass(frozen=True)
class _Look:
    """What the first rows of a sheet look like.

    Attributes:
        rows: how many of them are whole rows of two cells or more, or texts below a name that people give to texts.
        header: whether names stand above them.
        named: whether people call columns by one of these names, or by that of a single column of texts.
    """

    rows: int
    header: bool
    named: bool


def _looks(sheet: Any, name: str) -> _Look:
    _, filled = take_filled(_rows(sheet, name, None))
    layout = lay_out(filled, aligned=True)
    header = [cell.strip() for cell in layout.header if cell.strip()]
    if len(layout.names) < 2:
        texts = len(header) == 1 and familiar_name(header[0]) and len(filled) > 1
        return _Look(len(filled) - 1 if texts else 0, texts, texts)
    whole = sum(sum(bool(cell.strip()) for cell in cells) > len(layout.names) / 2 for _, cells in layout.body)
    return _Look(whole, bool(header), whole > 1 and any(map(familiar_name, header)))


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
