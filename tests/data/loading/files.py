"""Write small files and read them as tables."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sbert_studio.data.loading.table import Table, read_table

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
ROWS_XML = '<row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c></row>'


def read(folder: Path, content: str | bytes | Sequence[Any], name: str = "f.csv", **choices: Any) -> Table:
    """Write a file of text, of bytes, or of one JSON value a line, and read it."""
    path = folder / name
    if not isinstance(content, str | bytes):
        content = "\n".join(map(json.dumps, content))
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **choices)


def read_parquet(folder: Path, columns: dict[str, Any]) -> Table:
    """Write columns as Parquet and read the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), folder / "f.parquet")
    return read_table(folder / "f.parquet")


def contents(table: Table) -> list[tuple[str, ...]]:
    return [tuple(row) for row in table.head(len(table))]


def write_book(path: Path, merged: Sequence[str] = (), **sheets: Sequence[Sequence[object]]) -> Path:
    """Write a workbook; a row without cells is blank."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        for cells in merged:
            sheet.merge_cells(cells)
    book.save(path)
    return path


def write_raw_book(
    path: Path, rows: str = ROWS_XML, strings: Iterable[bytes] = (b"<si><t>text</t></si>", b"<si><t>some words</t></si>")
) -> Path:
    """Write a workbook of one sheet from the XML of its rows and shared strings."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_SHEET_TYPE}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": sheet_xml(rows),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        with archive.open("xl/sharedStrings.xml", "w", force_zip64=True) as target:
            target.write(f'<sst xmlns="{_MAIN}">'.encode())
            for part in strings:
                target.write(part)
            target.write(b"</sst>")
    return path


def sheet_xml(rows: str) -> str:
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'


def replace_part(path: Path, part: str, text: str, encoding: str = "utf-8") -> Path:
    """Write a copy of a workbook with one part replaced or added, in an encoding."""
    copy = path.with_stem(f"{path.stem}_copy")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        for entry in source.infolist():
            if entry.filename != part:
                target.writestr(entry.filename, source.read(entry))
        target.writestr(part, f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    return copy
