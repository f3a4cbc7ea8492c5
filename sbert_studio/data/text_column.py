"""The cells of one column, made into strings a block at a time: a million of them take no more of Python's memory than a thousand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

BLOCK = 8_192


class TextColumn(Sequence[str]):
    """Cells in their order.

    Args:
        cells: an Arrow array of strings, in one chunk or many.
        rows: (k,) int64, which of them and in which order; all where it is None.
    """

    def __init__(self, cells: Any, rows: np.ndarray | None = None) -> None:
        self._cells, self._rows = cells, rows

    def at(self, rows: np.ndarray) -> TextColumn:
        """Those at (k,) places of this column, from 0."""
        return TextColumn(self._cells, rows if self._rows is None else self._rows[rows])

    def __len__(self) -> int:
        return len(self._cells) if self._rows is None else len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, int):
            row = range(len(self))[place]
            return str(self._cells[row if self._rows is None else int(self._rows[row])].as_py())
        wanted = range(len(self))[place]
        if not wanted:
            return []
        if self._rows is None and wanted.step == 1:
            return list(self._cells.slice(wanted.start, len(wanted)).to_pylist())
        rows = np.arange(wanted.start, wanted.stop, wanted.step) if self._rows is None else self._rows[place]
        low, high = int(rows.min()), int(rows.max()) + 1
        # What lies close together is read together: to take single cells of many chunks would put these together first.
        if high - low <= 2 * len(rows) + BLOCK:
            near = self._cells.slice(low, high - low).to_pylist()
            return [near[row] for row in (rows - low).tolist()]
        return [self._cells[row].as_py() for row in rows.tolist()]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            yield from self[start : start + BLOCK]
