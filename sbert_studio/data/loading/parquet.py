"""Parquet files, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress
from ..cells import LONGEST_CELL, cell_text, clean
from ..findings import Finding, count
from .annotations import read_conventions
from .content import MOST_ROWS, ColumnBuilder, Content, check_cell_length, check_total_length, check_width
from .nested import collect_rows
from .source import TableFile

_BATCH_ROWS = 4_096
_LARGE_COLUMN = 1 << 16  # bytes
_BATCH_BYTES = 1 << 27
_REPEATED = 8  # bytes per row; shorter texts are mostly dictionary-encoded and decoded only when rows are built
_UNREPRESENTABLE = (OverflowError, ValueError, KeyError)  # KeyError: unknown time zone


def read_parquet(source: TableFile, progress: Progress | None = None) -> Content:
    """Read a Parquet file. The column names count as row 1, as in a spreadsheet, so the first data row is row 2.

    Columns of lists and structs are flattened (see :mod:`~sbert_studio.data.loading.nested`).

    Raises:
        StudioError: the file is damaged, has no columns or no rows, or a cell or all texts together are too long.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = source.path
    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
        names = tuple(clean(name) for name in schema.names)
        _check_shape(path.name, names, metadata.num_rows)
        nested = any(pa.types.is_nested(kind) for kind in schema.types)
        sizes = _column_sizes(metadata)
        dictionaries = [field.name for field in schema if _is_text(field.type) and sizes[field.name] < _REPEATED * metadata.num_rows]
        small = all(size < _LARGE_COLUMN for name, size in sizes.items() if name not in dictionaries)
        batch_rows = _BATCH_ROWS if small and not nested else _rows_at_once(sizes.values(), metadata.num_rows)
        dates = _DateConverter()
        with pq.ParquetFile(path, read_dictionary=dictionaries, metadata=metadata) as file:
            rows = _rows(file, progress, batch_rows, dates)
            if nested:
                content = collect_rows((line, dict(zip(names, row, strict=True))) for line, row in rows)
                return replace(content, notes=(*content.notes, *dates.notes()))
            columns = ColumnBuilder(len(names))
            for line, row in rows:
                columns.append(line, [cell_text(value) for value in row])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudioError(_("{name} is not a readable Parquet file", name=path.name), "export it again, or save it as CSV") from error
    data, lines = columns.finish(names)
    return read_conventions(Content(names, data, lines, dates.notes()))


def _check_shape(file: str, names: tuple[str, ...], rows: int) -> None:
    if not names or not rows:
        raise StudioError(_("{file} contains no rows", file=file), "use a file with at least one row of text")
    if rows > MOST_ROWS:
        raise StudioError(
            _("{file} has {rows} rows; the maximum is {most_rows}", file=file, rows=f"{rows:,}", most_rows=f"{MOST_ROWS:,}"),
            "keep only the rows you need",
        )
    check_width(len(names))
    if len(set(names)) < len(names):
        raise StudioError(_("two columns of {file} have the same name", file=file), "give each column a unique name")


def _column_sizes(metadata: Any) -> Counter[str]:
    sizes: Counter[str] = Counter()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            sizes[column.path_in_schema] += column.total_uncompressed_size
    return sizes


def _rows_at_once(sizes: Iterable[int], rows: int) -> int:
    # A few rows of a large column may contain all of its text.
    return max(1, min(_BATCH_ROWS // 16, _BATCH_BYTES // max(sizes))) if rows <= _BATCH_ROWS else _BATCH_ROWS // 16


def _rows(file: Any, progress: Progress | None, batch_rows: int, dates: _DateConverter) -> Iterator[tuple[int, tuple[Any, ...]]]:
    line, characters = 2, 0
    for batch in file.iter_batches(batch_size=batch_rows):
        characters += sum(map(_count_characters, batch.columns))
        check_total_length(characters, line + len(batch) - 1)
        columns = zip(batch.columns, batch.schema.names, strict=True)
        for row in zip(*(_values(column, clean(name), line, dates) for column, name in columns), strict=True):
            yield line, row
            line += 1
        if progress:
            progress(line - 2, file.metadata.num_rows)


def _values(column: Any, name: str, line: int, dates: _DateConverter) -> list[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if len(column) and _is_text(kind):
        lengths = _lengths(column)
        longest = pc.max(lengths).as_py() or 0
        if longest > LONGEST_CELL:
            check_cell_length(longest, line + pc.index(lengths, pa.scalar(longest, lengths.type)).as_py())
    if pa.types.is_dictionary(kind):
        used = pc.unique(column.indices)  # equal values share one object, and only values that occur are converted
        values = dict(zip(used.to_pylist(), column.dictionary.take(used).to_pylist(), strict=True))
        return [values[index] for index in column.indices.to_pylist()]
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        # The shortest digits that identify the number: 0.1, not 0.10000000149011612.
        numbers = column.to_numpy(zero_copy_only=False)
        return [None if missing else float(str(number)) for number, missing in zip(numbers, column.is_null().to_pylist(), strict=True)]
    return dates.values(column, name, line)


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def _lengths(column: Any) -> Any:
    # Without copying dictionary values; for binary values, the bytes.
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        return _lengths(column.dictionary).take(column.indices)
    return pc.utf8_length(column) if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else pc.binary_length(column)


def _count_characters(column: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if _is_list(kind):
        return _count_characters(column.flatten())
    if pa.types.is_map(kind):
        start, end = column.offsets[0].as_py(), column.offsets[-1].as_py()  # keys and items include those of adjacent batches
        return sum(_count_characters(part.slice(start, end - start)) for part in (column.keys, column.items))
    if pa.types.is_struct(kind):
        return sum(map(_count_characters, column.flatten()))
    return int(pc.sum(pc.cast(_lengths(column), pa.int64())).as_py() or 0) if _is_text(kind) else 0


class _DateConverter:
    """Convert pyarrow arrays to Python values; dates and times outside Python's range become text and are reported."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, None]] = {}

    def values(self, column: Any, name: str, first: int) -> list[Any]:
        """Return the values of an array whose first row has the number ``first``; missing ones are None."""
        try:
            values: list[Any] = column.to_pylist()
        except _UNREPRESENTABLE:
            values = [self._value(scalar, name, row) for row, scalar in enumerate(column, start=first)]
        return values

    def notes(self) -> tuple[Finding, ...]:
        """Report the columns with dates outside Python's range."""
        return tuple(
            Finding(
                "warning",
                _(
                    "{rows} with a date or time in {name} outside the years 1 to 9999, or in an unknown time zone; it "
                    "is kept as text, in UTC",
                    rows=count(len(rows), "row"),
                    name=repr(name),
                ),
                tuple(rows),
            )
            for name, rows in self._rows.items()
        )

    def _value(self, scalar: Any, name: str, row: int) -> Any:
        from pyarrow import types

        kind, value = scalar.type, partial(self._value, name=name, row=row)
        if types.is_struct(kind) and scalar.is_valid:
            return {key: value(part) for key, part in scalar.items()}
        if types.is_map(kind) and scalar.is_valid:
            return [(value(pair["key"]), value(pair["value"])) for pair in scalar.values]
        if _is_list(kind) and scalar.is_valid:
            return [value(part) for part in scalar.values]
        try:
            return scalar.as_py()
        except _UNREPRESENTABLE:
            if not types.is_temporal(kind):
                raise
        self._rows.setdefault(name, {})[row] = None
        # ISO 8601 with as many digits as the year needs; times of day and durations as a number with its unit.
        unit: Any = "D" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit
        if types.is_date(kind) or types.is_timestamp(kind):
            return f"{np.datetime64(scalar.value, unit)}{'+00:00' if types.is_timestamp(kind) and kind.tz else ''}"
        return str(np.timedelta64(scalar.value, unit))
