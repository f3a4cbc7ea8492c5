"""Passages as a table, so that they are searched, mapped and encoded like the rows of any other file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from ...i18n import _, ngettext
from ...progress import Progress
from ...serialization import Internal, JsonResult, doc
from ...workspace import atomic_file
from ..findings import Finding
from ..loading.table import Table, table_from_columns
from .document import Documents
from .passages import OVERLAP, TokenBudget, make_passages

TEXT = "text"
"""Column of the passages, each below its headings."""

_BETWEEN_HEADINGS = " › "


@dataclass(frozen=True)
class PassagePlace(JsonResult):
    """Place of a passage in its document.

    Attributes:
        number: index of the document among those that were read.
        context: number of characters of the text that are its headings, with the line break after them.
    """

    number: Internal[int]
    context: Internal[int]
    document: Annotated[str, doc("id of the document: the path of its file, or its id in a table")]
    title: Annotated[str, doc("title of the document")]
    file: Annotated[str, doc("path of its file, relative to the folder or archive")]
    heading: Annotated[tuple[str, ...], doc("headings above the passage, outermost first")]
    page: Annotated[int | None, doc("page that it begins on; null if the format has no pages")]
    start: Annotated[int, doc("first character of the passage in the text of the document, from 0")]
    end: Annotated[int, doc("the character after its last one")]

    def describe(self) -> str:
        """Return the place in one line: document, heading, page and characters."""
        headings = [heading for heading in self.heading if heading != self.title]
        words = _BETWEEN_HEADINGS.join([self.title or self.document, *headings])
        characters = f"{self.start:,}–{self.end:,}"
        if self.page is None:
            return _("{file}: {headings}, characters {range}", file=self.file, headings=words, range=characters)
        return _("{file}: {headings}, page {page}, characters {range}", file=self.file, headings=words, page=self.page, range=characters)


def passage_table(documents: Documents, budget: TokenBudget, overlap: float = OVERLAP, progress: Progress | None = None) -> Table:
    """Return a table with a row for each passage: its text below its headings, and columns for title, heading, page and file.

    Columns without any value, and a file that is the same for all, are left out. Notes list the files that were skipped.
    """
    texts, places = [], []
    for passage in make_passages(documents.documents, budget, overlap, progress):
        document = documents.documents[passage.document]
        texts.append(passage.encoded_text)
        context = len(passage.encoded_text) - len(passage.text)
        where = document.id, document.title, document.source, passage.heading_path, passage.page, passage.start, passage.end
        places.append(PassagePlace(passage.document, context, *where))
    columns = {
        TEXT: texts,
        "title": [place.title for place in places],
        "heading": [_BETWEEN_HEADINGS.join(heading for heading in place.heading if heading != place.title) for place in places],
        "page": ["" if place.page is None else str(place.page) for place in places],
        "file": [place.file for place in places],
    }
    kept = {name: cells for name, cells in columns.items() if any(cells) and (name != "file" or len(set(cells)) > 1)}
    count = ngettext("{n} passage", "{n} passages", len(places))
    of = ngettext("{n} document", "{n} documents", len(documents))
    notes = [
        Finding("info", _("{passages} of {documents}, each with at most {limit} tokens", passages=count, documents=of, limit=budget.limit))
    ]
    notes += [Finding("warning", note.rstrip(".")) for note in documents.notes()]
    return replace(table_from_columns(documents.name, kept), notes=tuple(notes), places=tuple(places))


def write_passages(table: Table, path: Path) -> Path:
    """Write the passages of a table as JSON Lines, in the order of its rows: the text, and its place in the document."""
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as target:
        for text, place in zip(table.texts(TEXT), table.places, strict=True):
            target.write(json.dumps({"text": text, **place.to_json()}, ensure_ascii=False) + "\n")
    return path
