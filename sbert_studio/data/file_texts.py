"""One column of a file's texts, and where they stand in it: what encoding a million rows needs of them, and no more."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ..workspace import digest_texts
from .accounts import RowAccount
from .corpus import places_in_file, rows_with_text
from .loading.table import Table, TextColumn


@dataclass(frozen=True)
class FileTexts:
    """The texts of a file.

    Attributes:
        texts: the n that are not blank, in the order of the file.
        places: (n,) int64, ascending: which of the file's rows each stands in, from 0; see :meth:`Corpus.places`.
        rows: how many rows the file has, those without text counted.
        account: what became of them.
    """

    texts: TextColumn
    places: np.ndarray
    rows: int
    account: RowAccount

    def digest(self) -> str:
        """32 hex digits that name the texts and their places."""
        places = hashlib.sha256(self.places.astype("<i8").tobytes()).hexdigest()
        return digest_texts((f"{self.rows}", places, digest_texts(self.texts)))


def texts_of_table(table: Table, column: str | None = None) -> FileTexts:
    """The texts of one column (found out if None), the other columns let go.

    Raises:
        StudioError: there is no such column, none holds text, or all its cells are blank.
    """
    column, kept, _, account = rows_with_text(table, column)
    places, rows = places_in_file(table.lines[kept], account)
    order = np.argsort(places, kind="stable")
    return FileTexts(table.texts(column).at(kept[order]), places[order], rows, account)
