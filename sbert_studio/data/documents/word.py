"""Extraction from Word files (DOCX).

The XML is walked here because python-docx leaves out tracked insertions, content controls, nested tables, text boxes and notes.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .sections import Extracted, ExtractionError, SectionBuilder, as_title

_MAX_UNPACKED, _MAX_RATIO = 1 << 29, 500  # bytes, and bytes per compressed byte
_OLE_HEADER = b"\xd0\xcf\x11\xe0"
_MAX_BASES = 20

# Deleted text, field codes, and the pronunciation above a word; elements that end with "Pr" are properties.
_LEFT_OUT = re.compile(r"del|moveFrom|delText|instrText|delInstrText|rt|\w*Pr")
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SEPARATORS = frozenset(("separator", "continuationSeparator", "continuationNotice"))


def extract_docx(path: Path) -> Extracted:
    """Return the content of a Word file: its body, then its footnotes and endnotes."""
    from docx import Document

    _check_container(path)
    document = Document(str(path))
    title = as_title(document.core_properties.title or "")
    reader = _BodyReader(document)
    reader.read(document.element.body)
    reader.builder.add_heading(0, "")  # the notes are below no heading
    for line in _lines(_notes(document)):
        reader.builder.add_block(line)
    return Extracted(title or reader.builder.first_heading, reader.builder.finish())


def _check_container(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(_OLE_HEADER):
        raise ExtractionError("encrypted")  # a protected document is stored in this container, as are documents of Word 97
    with zipfile.ZipFile(path) as archive:
        sizes = [(entry.file_size, max(1, entry.compress_size)) for entry in archive.infolist()]
    if sum(size for size, _ in sizes) > _MAX_UNPACKED or any(size > 1 << 20 and size > _MAX_RATIO * packed for size, packed in sizes):
        raise ExtractionError("too_large")


def _notes(document: Any) -> Iterator[Any]:
    from docx.oxml import parse_xml

    for kind in ("footnote", "endnote"):
        for relation in document.part.rels.values():
            if not relation.is_external and relation.reltype.endswith(f"/{kind}s"):
                for note in parse_xml(relation.target_part.blob):
                    if _name(note) == kind and _attribute(note, "type") not in _SEPARATORS:
                        yield note


class _BodyReader:
    """Add the blocks of the XML of a document to a section builder."""

    def __init__(self, document: Any) -> None:
        self.builder = SectionBuilder()
        self._document = document
        self._levels: dict[str, int] = {}

    def read(self, parent: Any) -> None:
        """Add the paragraphs and tables below an element; of tables, a block for each row."""
        for element in _parts(parent):
            name = _name(element)
            if name == "p":
                boxes: list[Any] = []
                text = _inline_text(element, boxes)
                if level := self._heading_level(element):
                    self.builder.add_heading(level, text)
                else:
                    self.builder.add_block(text)
                for line in _lines(boxes):  # a heading in a text box does not apply to the text after the box
                    self.builder.add_block(line)
            elif name == "tbl":
                for line in _table_lines(element):
                    self.builder.add_block(line)
            else:
                self.read(element)

    def _heading_level(self, paragraph: Any) -> int:
        """Return the level of a heading from 1, or 0; a title counts as a heading of level 1 above the others."""
        properties = next((child for child in paragraph if _name(child) == "pPr"), None)
        style = None if properties is None else next((child for child in properties if _name(child) == "pStyle"), None)
        key = "" if style is None else _attribute(style, "val")
        if key not in self._levels:
            self._levels[key] = self._find_level(paragraph)
        return self._levels[key]

    def _find_level(self, paragraph: Any) -> int:
        from docx.text.paragraph import Paragraph

        style: Any = Paragraph(paragraph, self._document._body).style
        for _ in range(_MAX_BASES):  # a damaged file may have a style that is based on itself
            if style is None:
                break
            if found := re.fullmatch(r"(?i)heading (\d)", style.name or ""):
                return int(found[1]) + 1
            if (style.name or "").casefold() == "title":
                return 1
            style = style.base_style
        return 0


def _lines(parents: Iterable[Any]) -> Iterator[str]:
    """Yield the text of the paragraphs and of the rows of tables below elements."""
    for parent in parents:
        for element in _parts(parent):
            if _name(element) == "p":
                boxes: list[Any] = []
                yield _inline_text(element, boxes)
                yield from _lines(boxes)
            elif _name(element) == "tbl":
                yield from _table_lines(element)
            else:
                yield from _lines([element])


def _table_lines(table: Any) -> Iterator[str]:
    for row in _descendants(table, "tr"):
        if any(_name(mark) == "del" for properties in row if _name(properties) == "trPr" for mark in properties):
            continue
        cells = [" ".join(" ".join(_lines([cell])).split()) for cell in _descendants(row, "tc")]
        yield " | ".join(cell for cell in cells if cell)


def _descendants(parent: Any, name: str) -> Iterator[Any]:
    """Yield the nearest elements of a name below an element, through content controls and tracked changes."""
    for element in _parts(parent):
        if _name(element) == name:
            yield element
        else:
            yield from _descendants(element, name)


def _inline_text(parent: Any, boxes: list[Any]) -> str:
    """Return the text of a paragraph, and add its text boxes to ``boxes``."""
    found = []
    for element in _parts(parent):
        name = _name(element)
        if name == "t":
            found.append(element.text or "")
        elif name in _CHARACTERS:
            found.append(_CHARACTERS[name])
        elif name == "txbxContent":
            boxes.append(element)
        else:
            found.append(("\n" if name == "p" else "") + _inline_text(element, boxes))  # a paragraph of a drawing
    return "".join(found)


def _parts(parent: Any) -> Iterator[Any]:
    """Yield the children that belong to the document; of alternative contents only one."""
    for element in parent:
        name = _name(element)
        if name == "AlternateContent":
            branches = [branch for branch in element if _name(branch) in ("Choice", "Fallback")]
            yield from next((branch for branch in branches if any(_name(node) == "t" for node in branch.iter())), branches[:1])
        elif name and not _LEFT_OUT.fullmatch(name):
            yield element


def _name(element: Any) -> str:
    """Return the name of an element without its namespace, which differs between transitional and strict files."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: Any, name: str) -> str:
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
