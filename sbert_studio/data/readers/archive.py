"""The parts of an .xlsx workbook, looked at before any of them is loaded: no row, cell or text beyond what a spreadsheet can hold."""

from __future__ import annotations

import zipfile
import zlib
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
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError, expat.ExpatError)
_BROKEN = "open it in a spreadsheet and save it again"


def examine(path: Path) -> None:
    """Look through a workbook's parts, block by block, in memory that does not grow with them.

    Raises:
        StudioError: it is damaged, or a part, a text, a row or a row's number is larger than any spreadsheet writes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                _examine_entry(path, archive, entry)
    except _DAMAGE as error:
        raise StudioError(f"{path.name} is not a workbook that can be read", _BROKEN) from error


def _examine_entry(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    name = entry.filename.lower()
    strings, sheet = name.endswith("sharedstrings.xml"), "worksheets/" in name and name.endswith(".xml")
    largest = _LARGEST_STRINGS if strings else _LARGEST_SHEET if sheet else _LARGEST_OTHER
    if entry.file_size > largest:
        raise StudioError(f"{path.name} would unpack to {entry.file_size / 2**30:.1f} GiB", "save the sheet as CSV instead")
    with archive.open(entry) as source:
        block = source.read(_BLOCK)
        if not block.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
            return  # pictures and the like, which are never opened
        bounds = _Bounds(path.name, strings or sheet)
        while block:
            bounds.parser.Parse(block, False)
            block = source.read(_BLOCK)
        bounds.parser.Parse(b"", True)


class _Bounds:
    """Counts as the parser goes through a part, and refuses what is beyond all bounds."""

    def __init__(self, name: str, texts: bool) -> None:
        self.name = name
        self.parser: Any = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        if texts:
            self.parser.CharacterDataHandler = self.text
        self.parser.EntityDeclHandler = self.refuse_entities
        self.row = self.cells = self.characters = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins: a row, a cell, or a shared text."""
        tag = tag.rpartition(":")[2]
        if tag == "c":
            self.cells += 1
            self.characters = 0
            if self.cells > _MOST_CELLS:
                raise StudioError(
                    f"{self.name} has more than {_MOST_CELLS:,} columns", "keep the text, score and label columns only", [self.row]
                )
        elif tag == "row":
            number = attributes.get("r", "")
            self.row = int(number) if number.isdecimal() and len(number) < 16 else self.row + 1
            self.cells = 0
            if self.row > MOST_ROWS:
                raise StudioError(
                    f"{self.name} has a row of the number {self.row:,}; a sheet has at most {MOST_ROWS:,} rows",
                    "remove that row, or save the sheet as CSV",
                    [self.row],
                )
        elif tag == "si":
            self.characters = 0

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
