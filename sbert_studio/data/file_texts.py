"""The texts of one column with their positions, in little memory even for millions of rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ..workspace import digest_texts
from .corpus import find_text_rows, positions_in_file
from .loading.table import Table, TextColumn
from .row_report import RowReport


@dataclass(frozen=True)
class FileTexts:
    """Texts of a file and their positions.

    Attributes:
        texts: the n texts that are not blank, in file order.
        places: (n,) int64, ascending: the row of each text, from 0; see :meth:`Corpus.places`.
        rows: the number of rows of the file, including those without text.
        account: which rows are used, and why others are not.
    """

    texts: TextColumn
    places: np.ndarray
    rows: int
    account: RowReport

    def digest(self) -> str:
        """Return 32 hex digits that identify the texts and their positions."""
        places = hashlib.sha256(self.places.astype("<i8").tobytes()).hexdigest()
        return digest_texts((f"{self.rows}", places, digest_texts(self.texts)))


def texts_of_table(table: Table, column: str | None = None) -> FileTexts:
    """Return the texts of one column (detected if None) without the other columns.

    Raises:
        StudioError: there is no such column, none holds text, or all its cells are blank.
    """
    column, kept, _, account = find_text_rows(table, column)
    places, rows = positions_in_file(table.lines[kept], account)
    order = np.argsort(places, kind="stable")
    return FileTexts(table.texts(column).at(kept[order]), places[order], rows, account)
