"""Tables of text that know the row numbers which a spreadsheet would show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import StudioError
from ..workspace import atomic_file
from .cells import cell_text, safe_cell, write_csv, write_rows
from .findings import OF_SHEETS, Finding
from .progress import Progress
from .questions import Question
from .text_column import TextColumn
from .unpack import unpack_cells

__all__ = ["Table", "read_table", "safe_cell", "table_from_columns", "write_csv"]

_BLOCK = 8_192


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of text, held outside Python's own memory.

    Attributes:
        name: the file's name, for people.
        columns: the column names, all different.
        lines: (n,) int64, each row's number as a spreadsheet shows it (the header is row 1).
        notes: what reading the file brought up.
        doubts: what reading the file left open, such as its encoding: the questions to its owner.
        dropped: the numbers of rows that were taken out by :meth:`without_lines`.
    """

    name: str
    columns: tuple[str, ...]
    lines: np.ndarray
    notes: tuple[Finding, ...] = ()
    doubts: tuple[Question, ...] = field(default=(), kw_only=True)
    dropped: tuple[int, ...] = field(default=(), kw_only=True)
    _data: Any = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> list[str]:
        """The n cells of a column.

        Raises:
            StudioError: there is no such column.
        """
        self.require(name)
        cells: list[str] = self._data.column(self.columns.index(name)).to_pylist()
        return cells

    def texts(self, name: str) -> TextColumn:
        """The n cells of a column, made into strings where they are looked at.

        Raises:
            StudioError: there is no such column.
        """
        self.require(name)
        return TextColumn(self._data.column(self.columns.index(name)))

    def require(self, *names: str) -> None:
        """Raise a StudioError that lists the columns there are, unless all of ``names`` are among them."""
        for name in names:
            if name not in self.columns:
                shown = ", ".join(self.columns[:20]) + ("…" if len(self.columns) > 20 else "")
                raise StudioError(f"{self.name} has no column {name!r}", f"its columns are: {shown}")

    @property
    def elsewhere(self) -> str:
        """Where else the texts of this file may be, to be put behind a hint: the other sheets of a workbook."""
        return "".join(f"; {note.message}" for note in self.notes if note.message.startswith(OF_SHEETS))

    def head(self, n: int) -> list[list[str]]:
        """The first ``n`` rows, each a list of cells."""
        part = self._data.slice(0, n)
        return [list(row) for row in zip(*(column.to_pylist() for column in part.columns), strict=True)]

    def select(self, rows: Sequence[int] | np.ndarray) -> Table:
        """The rows at these places (from 0), in this order; they keep their row numbers."""
        places = np.asarray(rows, dtype=np.int64)
        return replace(self, lines=self.lines[places], _data=self._data.take(places))

    def without_lines(self, lines: Sequence[int]) -> Table:
        """The table without the rows that have these numbers; a note that offers to leave rows out no longer names them."""
        gone = np.asarray(lines, dtype=np.int64)
        leaving = np.isin(self.lines, gone)
        notes = tuple(note for known in self.notes if (note := known.without(gone)) is not None)
        return replace(self.select(np.flatnonzero(~leaving)), notes=notes, dropped=(*self.dropped, *self.lines[leaving].tolist()))

    def with_column(self, name: str, cells: Sequence[str]) -> Table:
        """The table with a column of n cells put in place of the one of that name, or added at the end."""
        from .readers.columns import string_array

        columns = {known: self._data.column(index) for index, known in enumerate(self.columns)}
        columns[name] = string_array([cell_text(cell) for cell in cells])
        return replace(self, columns=tuple(columns), _data=_assemble(columns))

    def without_column(self, name: str) -> Table:
        """The table without one column."""
        self.require(name)
        kept = {known: self._data.column(index) for index, known in enumerate(self.columns) if known != name}
        return replace(self, columns=tuple(kept), _data=_assemble(kept))

    def to_csv(self, path: Path, *, guarded: bool = True) -> None:
        """Write the table as UTF-8 CSV, atomically.

        Args:
            path: the file to make or replace.
            guarded: whether no cell may be a live formula (see :func:`safe_cell`), as in every file that people open in a
                spreadsheet; a file to train on is written without the guard, and reads back cell for cell.
        """
        rows = (row for start in range(0, len(self), _BLOCK) for row in self._rows(start))
        write_rows(path, self.columns, rows, guarded=guarded)

    def to_parquet(self, path: Path) -> None:
        """Write the table as Parquet, every cell exactly as it is, atomically; the row numbers are not kept."""
        import pyarrow.parquet as pq

        with atomic_file(path) as part:
            pq.write_table(self._data, part)

    def _rows(self, start: int) -> list[tuple[str, ...]]:
        return list(zip(*(column.to_pylist() for column in self._data.slice(start, _BLOCK).columns), strict=True))


def read_table(
    path: Path,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    max_bytes: int | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Table:
    """Read CSV, TSV, JSONL, JSON, XLSX, Parquet or plain text, in one streaming pass.

    What is None is detected: the text encoding (a codec name), the delimiter, whether the first row names the columns.
    No row is dropped silently: blank rows, short and long rows and cleaned cells are named in the table's notes.

    Args:
        path: the file.
        name: what the table is called; the file's own name unless given.
        progress: told the bytes (for XLSX and Parquet: rows) read and their total.
        max_bytes: larger files are refused.

    Raises:
        StudioError: the file is absent, empty, binary, damaged, too large, or holds no rows.
    """
    from .readers.content import read_content

    path = Path(path)
    if max_bytes is not None and path.is_file() and path.stat().st_size > max_bytes:
        size, limit = path.stat().st_size / 2**20, max_bytes / 2**20
        raise StudioError(f"{path.name} has {size:,.0f} MiB; at most {limit:,.0f} MiB are accepted", "give a smaller file")
    content = read_content(path, name=name, progress=progress, encoding=encoding, delimiter=delimiter, header=header)
    return unpack_cells(Table(name or path.name, content.names, content.lines, content.notes, content.data, doubts=content.doubts))


def table_from_columns(name: str, columns: Mapping[str, Sequence[str]], lines: Sequence[int] | np.ndarray | None = None) -> Table:
    """A table of columns of equal length; its first row is row 2 (below a header) unless ``lines`` says otherwise."""
    from .readers.columns import string_array

    arrays = {column: string_array([cell_text(cell) for cell in cells]) for column, cells in columns.items()}
    data = _assemble(arrays)
    numbers = np.arange(2, data.num_rows + 2, dtype=np.int64) if lines is None else np.asarray(lines, dtype=np.int64)
    return Table(name, tuple(arrays), numbers, (), data)


def _assemble(columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(list(columns.values()), names=list(columns))
