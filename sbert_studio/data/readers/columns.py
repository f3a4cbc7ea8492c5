"""Rows → columns, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import StudioError
from ..cells import LONGEST_CELL, clean
from .rows import MOST_COLUMNS

MOST_CHARACTERS = 500_000_000
"""Of all cells together, each row counted; a small file can repeat one text until it takes all memory."""
_CHUNK_ROWS = 8_192
_CHUNK_CHARACTERS = 1 << 24


class Columns:
    """Rows in, chunked pyarrow string columns out; never more than one chunk is held as Python strings."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines = array("q")
        self._rows: list[Sequence[str]] = []
        self._characters = self._read = 0
        self._chunks: list[list[Any]] = []

    def append(self, line: int, cells: Sequence[str]) -> None:
        """Take a row of ``width`` cells.

        Raises:
            StudioError: a cell, or what has been read so far, is beyond all bounds.
        """
        rows = self._rows
        rows.append(cells)
        self.lines.append(line)
        size = sum(map(len, cells))
        if size > LONGEST_CELL:
            refuse_long(max(map(len, cells)), line)
        self._read += size
        refuse_much(self._read, line)
        self._characters += size
        if len(rows) >= _CHUNK_ROWS or self._characters >= _CHUNK_CHARACTERS:
            self._flush()

    def widen(self, width: int) -> None:
        """From here on rows have ``width`` cells; the rows so far are blank in the new columns.

        Raises:
            StudioError: there are too many columns.
        """
        if width > MOST_COLUMNS:
            raise too_wide()
        self._flush()
        self.width = width

    def finish(self, names: Sequence[str]) -> tuple[Any, np.ndarray]:
        """The pyarrow table and the row numbers."""
        import pyarrow as pa

        self._flush()
        blank = {size: pa.array([""] * size, pa.string()) for size in {len(chunk[0]) for chunk in self._chunks if chunk}}
        columns = []
        for index in range(len(names)):
            parts = [chunk[index] if index < len(chunk) else blank[len(chunk[0])] for chunk in self._chunks]
            columns.append(pa.chunked_array(parts, type=pa.string()))
        return pa.table(columns, names=list(names)), np.array(self.lines, dtype=np.int64)

    def _flush(self) -> None:
        if self._rows and self.width:
            self._chunks.append([string_array(cells) for cells in zip(*self._rows, strict=True)])
        self._rows = []
        self._characters = 0


def string_array(cells: Sequence[str]) -> Any:
    """A pyarrow string array; lone surrogates become U+FFFD."""
    import pyarrow as pa

    try:
        return pa.array(cells, pa.string())
    except UnicodeEncodeError:
        return pa.array([clean(cell) for cell in cells], pa.string())


def refuse_long(characters: int, row: int) -> None:
    """Raise a StudioError that names the row, if a cell of it has more characters than ``LONGEST_CELL``."""
    if characters > LONGEST_CELL:
        message = f"a cell holds {characters:,} characters; at most {LONGEST_CELL:,} are read"
        raise StudioError(message, "cut that text, or check that its quotation marks pair up", [row])


def refuse_much(characters: int, row: int) -> None:
    """Raise a StudioError, if the rows up to ``row`` have more than :data:`MOST_CHARACTERS` characters together."""
    if characters > MOST_CHARACTERS:
        message = f"the texts come to {characters:,} characters by row {row:,}; at most {MOST_CHARACTERS:,} are read from one file"
        raise StudioError(message, "keep the rows and columns that are needed, or split the file")


def too_wide() -> StudioError:
    """There are too many columns."""
    return StudioError(f"the table has more than {MOST_COLUMNS:,} columns", "keep the text, score and label columns only")
