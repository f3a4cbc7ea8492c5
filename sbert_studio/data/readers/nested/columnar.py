"""Parquet files, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....errors import StudioError
from ...cells import LONGEST_CELL, cell_text, clean
from ...progress import Progress
from ..columns import Columns, refuse_long
from ..rows import MOST_COLUMNS, Content
from .collect import collect

_BATCH = 4_096
_LARGE = 1 << 26


def read_parquet(path: Path, *, progress: Progress | None = None) -> Content:
    """Read a Parquet file; the column names count as row 1, as in a spreadsheet, so that the first row is row 2.

    Columns of lists and of structs are spread (see :mod:`~sbert_studio.data.readers.nested.spread`).

    Raises:
        StudioError: the file is damaged, has no columns, no rows, or a cell beyond all bounds.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as source:
            schema = source.schema_arrow
            names = tuple(clean(name) for name in schema.names)
            if not names or not source.metadata.num_rows:
                raise StudioError(f"{path.name} holds no rows", "give a file with at least one row of text")
            if len(names) > MOST_COLUMNS:
                raise StudioError(f"{path.name} has more than {MOST_COLUMNS:,} columns", "keep the text, score and label columns only")
            if len(set(names)) < len(names):
                raise StudioError(f"two columns of {path.name} have the same name", "give each column a name of its own")
            rows = _rows(source, progress)
            if any(pa.types.is_nested(kind) for kind in schema.types):
                return collect((line, dict(zip(names, row, strict=True))) for line, row in rows)
            columns = Columns(len(names))
            for line, row in rows:
                columns.append(line, [cell_text(value) for value in row])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudioError(f"{path.name} is not a Parquet file that can be read", "write it again, or save it as CSV") from error
    data, lines = columns.finish(names)
    return Content(names, data, lines, ())


def _rows(source: Any, progress: Progress | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(row number, values) of each row. Batches are small where the columns are large, for one short chunk may hold long cells."""
    total, line = source.metadata.num_rows, 2
    groups = [source.metadata.row_group(index) for index in range(source.metadata.num_row_groups)]
    largest = max((group.column(index).total_uncompressed_size for group in groups for index in range(group.num_columns)), default=0)
    for batch in source.iter_batches(batch_size=_BATCH if largest < _LARGE else _BATCH // 16):
        for row in zip(*(_values(column, line) for column in batch.columns), strict=True):
            yield line, row
            line += 1
        if progress:
            progress(line - 2, total)


def _values(column: Any, line: int) -> list[Any]:
    """The values of a column of a batch whose first row is ``line``; a float32 has the digits that tell it from its neighbours."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_large_string(column.type) or pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        lengths = pc.binary_length(column)
        if len(column) and (longest := pc.max(lengths).as_py() or 0) > 4 * LONGEST_CELL:
            refuse_long(longest, line + pc.index(lengths, longest).as_py())
    if pa.types.is_float32(column.type) or pa.types.is_float16(column.type):
        values = column.to_numpy(zero_copy_only=False)
        return [None if missing else float(str(value)) for value, missing in zip(values, column.is_null().to_pylist(), strict=True)]
    plain: list[Any] = column.to_pylist()
    return plain
