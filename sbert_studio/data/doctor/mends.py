"""The changes that a finding offers, applied to a table. Rows are spreadsheet row numbers, so mends can follow each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import StudioError
from ..findings import Mend
from ..loading.table import Table
from ..schema.numbers import numbers_of

_Apply = Callable[[Table, Mapping[str, Any]], Table]


def mend(table: Table, change: Mend) -> Table:
    """The table with one mend applied.

    Raises:
        StudioError: there is no such mend, or it does not fit this table.
    """
    apply = _MENDS.get(change.name)
    if apply is None:
        raise StudioError(f"there is no mend called {change.name!r}", f"the mends are: {', '.join(_MENDS)}")
    try:
        mended = apply(table, change.values)
    except (KeyError, TypeError, ValueError) as error:
        raise StudioError(
            f"the mend {change.name!r} does not fit {table.name}", "check the file again, and take its mend from there"
        ) from error
    if not len(mended):
        raise StudioError(f"the mend {change.name!r} would leave no row of {table.name}", "mend the rows in a spreadsheet instead")
    return mended


def _drop_rows(table: Table, values: Mapping[str, Any]) -> Table:
    return table.without_lines([int(row) for row in values["rows"]])


def _swap_columns(table: Table, values: Mapping[str, Any]) -> Table:
    first, second = values["columns"]
    a, b = table.column(first), table.column(second)
    return table.with_column(first, b).with_column(second, a)


def _drop_column(table: Table, values: Mapping[str, Any]) -> Table:
    return table.without_column(values["column"])


def _swap_cells(table: Table, values: Mapping[str, Any]) -> Table:
    first, second = values["columns"]
    a, b = table.column(first), table.column(second)
    for place in _places(table, values["rows"]):
        a[place], b[place] = b[place], a[place]
    return table.with_column(first, a).with_column(second, b)


def _average_scores(table: Table, values: Mapping[str, Any]) -> Table:
    """Each set of rows becomes its first row, with the mean of their scores."""
    name = values["column"]
    cells, scores = table.column(name), numbers_of(table.column(name))
    dropped: list[int] = []
    for rows in values["sets"]:
        places = _places(table, rows)
        if len(places) > 1:
            cells[places[0]] = f"{float(np.nanmean(scores[places])):.6g}"
            dropped += table.lines[places[1:]].tolist()
    return table.with_column(name, cells).without_lines(dropped)


def _repair_text(table: Table, values: Mapping[str, Any]) -> Table:
    places = _places(table, values["rows"])
    for name in values["columns"]:
        cells = table.column(name)
        for place in places:
            cells[place] = repaired(cells[place])
        table = table.with_column(name, cells)
    return table


def repaired(text: str) -> str:
    """UTF-8 that was read as Windows-1252, put right (``cafÃ©`` → ``café``); any other text as it is."""
    for codec in ("cp1252", "latin-1"):
        try:
            return text.encode(codec).decode("utf-8")
        except UnicodeError:
            continue
    return text


def _places(table: Table, rows: Sequence[int]) -> list[int]:
    where = np.flatnonzero(np.isin(table.lines, np.asarray([int(row) for row in rows], dtype=np.int64)))
    return [int(place) for place in where]


_MENDS: dict[str, _Apply] = {
    "drop_rows": _drop_rows,
    "drop_column": _drop_column,
    "swap_columns": _swap_columns,
    "swap_cells": _swap_cells,
    "average_scores": _average_scores,
    "repair_text": _repair_text,
}
