"""Columns of a map as JSON: the values by which the page colors points, draws histograms and filters texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..data.column_types import detect_type, parse_column
from .theme import to_base64
from .views import Value

if TYPE_CHECKING:
    from ..data.column_types import ColumnType, ColumnValues

MAX_LABELS = 600  # categories or items that the browser knows by name; all others are one group
BLANK, OTHER = -1, -2  # codes of blank cells and of categories beyond MAX_LABELS
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"0", "1"}, {"on", "off"}, {"是", "否"})


def column_value(name: str, cells: Sequence[str], column_type: ColumnType | None = None, rows: Sequence[int] | None = None) -> Value:
    """Return the values of a column of n cells, as base64 of little-endian arrays.

    Every value has ``name``, ``n``, ``kind`` and ``unreadable``, the number of filled cells that are not of the column's type. By kind:

    - ``number``: ``numbers``, (n,) float64, NaN for cells without a number.
    - ``date``: ``numbers``, (n,) float64, days since 1970-01-01, NaN for cells without a date.
    - ``category`` and ``boolean``: ``distinct``, the number of values, at most :data:`MAX_LABELS` ``labels``, most frequent first, and
      ``codes``, (n,) int32: the index of each label, :data:`BLANK` or :data:`OTHER`.
    - ``list``: ``labels``, and the codes of row i are ``items[starts[i]:starts[i + 1]]``, int32.

    Texts and identifiers are categories.

    Args:
        column_type: the type that the user chose; ``None`` detects it.
        rows: the rows of these values, by default all. Type and format are those of the whole column, whichever rows are chosen.
    """
    values = parse_column(name, cells, column_type or detect_type(name, cells))
    values = values if rows is None else values.select(rows)
    known: Value = {"name": name, "n": len(values.cells), "unreadable": int(values.unreadable.sum())}
    numbers = _numbers(values)
    if numbers is not None and np.isfinite(numbers).any():
        return known | {"kind": values.type, "numbers": to_base64(numbers.astype("<f8"))}
    counts = values.count_items()
    labels = [label for label, _count in counts.most_common(MAX_LABELS)]
    index = {label: code for code, label in enumerate(labels)}
    known |= {"labels": labels, "distinct": len(counts)}
    if values.type == "list" and values.items is not None:
        codes = [code for items in values.items for code in dict.fromkeys(index.get(item, OTHER) for item in items)]
        sizes = [len({index.get(item, OTHER) for item in items}) for items in values.items]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype("<i4")
        return known | {"kind": "list", "items": to_base64(np.array(codes, "<i4")), "starts": to_base64(starts)}
    codes = [index.get(cell, OTHER) if cell else BLANK for cell in values.cells]
    kind = "boolean" if {label.casefold() for label in labels} in _BOOLEANS else "category"
    return known | {"kind": kind, "codes": to_base64(np.array(codes, "<i4")), "unreadable": 0}


def _numbers(values: ColumnValues) -> np.ndarray | None:
    """Return the numbers, or dates as days since 1970-01-01, NaN for none; ``None`` for other types."""
    if values.days is not None:
        return np.where(np.isnat(values.days), np.nan, values.days.astype(np.int64).astype(np.float64))
    if values.numbers is not None:
        return np.where(np.isfinite(values.numbers), values.numbers, np.nan)
    return None
