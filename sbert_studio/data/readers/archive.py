"""The parts of an .xlsx workbook, looked at before any of them is loaded: no row, cell or text beyond what a spreadsheet can hold."""

from __future__ import annotations

import re
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ...errors import StudioError
from ..cells import LONGEST_CELL
from .columns import refuse_long

MOST_ROWS = 1 << 20
"""Rows of a sheet; no spreadsheet has more."""

_MOST_CELLS = 1 << 14
_LARGEST_STRINGS = 1 << 30
_LARGEST_SHEET = 1 << 32
_LARGEST_OTHER = 1 << 26
_BLOCK = 1 << 18
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ROW, _STRING = f"{_MAIN} row", f"{_MAIN} si"
_REFERENCE = re.compile("[^0-9]*")
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError, expat.ExpatError)
_BROKEN = "open it in a spreadsheet and save it again"


def examine(path: Path) -> dict[str, int]:
    """Look through a workbook's parts, block by block, in memory that does not grow with them.

    Returns:
        of each part with rows whose numbers do not rise, which readers pass over, the number of the first of them.

    Raises:
        StudioError: it is damaged, or a part, a text, a row or a row's number is larger than any spreadsheet writes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            torn = {entry.filename: _examine_entry(path, archive, entry) for entry in archive.infolist()}
    except _DAMAGE as error:
        raise StudioError(f"{path.name} is not a workbook that can be read", _BROKEN) from error
    return {name: row for name, row in torn.items() if row}


def _examine_entry(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    name = entry.filename.lower()
    strings, sheet = name.endswith("sharedstrings.xml"), "worksheets/" in name and name.endswith(".xml")
    largest = _LARGEST_STRINGS if strings else _LARGEST_SHEET if sheet else _LARGEST_OTHER
    if entry.file_size > largest:
        raise StudioError(f"{path.name} would unpack to {entry.file_size / 2**30:.1f} GiB", "save the sheet as CSV instead")
    bounds = _Bounds(path.name, strings or sheet)
    with archive.open(entry) as source, suppress(expat.ExpatError):
        # What is no XML (a picture, a macro) ends here at its first bytes, and a part that breaks off where it does: whoever opens it
        # has the same parser, in whatever encoding, and comes no further.
        while block := source.read(_BLOCK):
            bounds.parser.Parse(block, False)
        bounds.parser.Parse(b"", True)
    return bounds.torn


def _row_number(text: str) -> int:
    """A row's number as openpyxl understands it: ``+7``, `` 7 `` and ``7.0`` are 7.

    Raises:
        ValueError: it is no whole number.
    """
    try:
        return int(text)
    except ValueError:
        if not (number := float(text)).is_integer():
            raise
        return int(number)


class _Bounds:
    """Counts as the parser goes through a part, and refuses what is beyond all bounds."""

    def __init__(self, name: str, texts: bool) -> None:
        self.name = name
        self.parser: Any = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        if texts:
            self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.refuse_entities
        self.row = self.cells = self.characters = self.torn = 0
        self.depth = 0  # below the row that is open; 0: none is

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins: a row, a cell, or a shared text."""
        if self.depth:
            if self.depth == 1:
                self.cell(attributes.get("r", ""))
            self.depth += 1
        elif tag == _ROW:
            self.depth, self.cells, self.characters = 1, 0, 0
            number = self.bounded(_row_number(attributes["r"]) if "r" in attributes else self.row + 1)
            self.torn = self.torn or (number if number <= self.row else 0)
            self.row = number
        elif tag == _STRING:
            self.characters = 0

    def end(self, _: str) -> None:
        """An element ends."""
        self.depth = max(self.depth - 1, 0)

    def cell(self, reference: str) -> None:
        """A cell of a row begins."""
        self.cells += 1
        self.characters = 0
        if self.cells > _MOST_CELLS:
            raise StudioError(
                f"{self.name} has more than {_MOST_CELLS:,} columns", "keep the text, score and label columns only", [self.row]
            )
        if reference:
            self.bounded(int(_REFERENCE.sub("", reference, count=1)))

    def bounded(self, number: int) -> int:
        """A row's number that a sheet can have.

        Raises:
            ValueError: it is below 1.
        """
        if number < 1:
            raise ValueError(f"a row of the number {number}")
        if number > MOST_ROWS:
            said = f"{number:,}" if number < 10**15 else "a thousand million million or more"
            raise StudioError(
                f"{self.name} has a row of the number {said}; a sheet has at most {MOST_ROWS:,} rows",
                "remove that row, or save the sheet as CSV",
            )
        return number

    def text(self, text: str) -> None:
        """A piece of a text."""
        self.characters += len(text)
        if self.characters > LONGEST_CELL:
            if self.row:
                refuse_long(self.characters, self.row)
            raise StudioError(f"{self.name} holds a text of more than {LONGEST_CELL:,} characters", "cut that text")

    def refuse_entities(self, *_: object) -> None:
        """Entities of its own, which can unfold to gigabytes, stand in no workbook."""
        raise StudioError(f"{self.name} is not a workbook that can be read", _BROKEN)
