"""Parquet files, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....errors import StudioError
from ...cells import LONGEST_CELL, cell_text, clean
from ...progress import Progress
from ..columns import Columns, refuse_long, refuse_much
from ..rows import MOST_COLUMNS, MOST_ROWS, Content
from .collect import collect
from .moments import Moments

_BATCH = 4_096
_LARGE = 1 << 16
_AT_ONCE = 1 << 27  # bytes
_FOLDED = 8
"""Bytes a row; texts of fewer mostly stand in the file once and are referred to, and are kept so until they are rows."""


def read_parquet(path: Path, *, progress: Progress | None = None) -> Content:
    """Read a Parquet file; the column names count as row 1, as in a spreadsheet, so that the first row is row 2.

    Columns of lists and of structs are spread (see :mod:`~sbert_studio.data.readers.nested.spread`).

    Raises:
        StudioError: the file is damaged, has no columns, no rows, or a cell or texts together beyond all bounds.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as opened:
            schema, metadata = opened.schema_arrow, opened.metadata
        nested = any(pa.types.is_nested(kind) for kind in schema.types)
        sizes = _sizes(metadata)
        folded = [field.name for field in schema if _is_text(field.type) and sizes[field.name] < _FOLDED * metadata.num_rows]
        small = all(size < _LARGE for name, size in sizes.items() if name not in folded)
        with pq.ParquetFile(path, read_dictionary=folded, metadata=metadata) as source:
            names = tuple(clean(name) for name in schema.names)
            if not names or not metadata.num_rows:
                raise StudioError(f"{path.name} holds no rows", "give a file with at least one row of text")
            if metadata.num_rows > MOST_ROWS:
                raise StudioError(
                    f"{path.name} has {metadata.num_rows:,} rows; at most {MOST_ROWS:,} are read", "keep the rows that are needed"
                )
            if len(names) > MOST_COLUMNS:
                raise StudioError(f"{path.name} has more than {MOST_COLUMNS:,} columns", "keep the text, score and label columns only")
            if len(set(names)) < len(names):
                raise StudioError(f"two columns of {path.name} have the same name", "give each column a name of its own")
            moments = Moments()
            rows = _rows(source, progress, _BATCH if small and not nested else _few(sizes.values(), metadata.num_rows), moments)
            if nested:
                content = collect((line, dict(zip(names, row, strict=True))) for line, row in rows)
                return replace(content, notes=(*content.notes, *moments.notes()))
            columns = Columns(len(names))
            for line, row in rows:
                columns.append(line, [cell_text(value) for value in row])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudioError(f"{path.name} is not a Parquet file that can be read", "write it again, or save it as CSV") from error
    data, lines = columns.finish(names)
    return Content(names, data, lines, moments.notes())


def _sizes(metadata: Any) -> Counter[str]:
    """The bytes of each column, unpacked, but with equal texts once where the file holds them once."""
    sizes: Counter[str] = Counter()
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            sizes[column.path_in_schema] += column.total_uncompressed_size
    return sizes


def _few(sizes: Iterable[int], rows: int) -> int:
    """How many rows are unpacked at a time where columns are large: few rows of a large column may all hold its one long text."""
    return max(1, min(_BATCH // 16, _AT_ONCE // max(sizes))) if rows <= _BATCH else _BATCH // 16


def _rows(source: Any, progress: Progress | None, size: int, moments: Moments) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(row number, values) of each row, ``size`` rows at a time; few where columns are large, for one short chunk may hold long cells."""
    total, line, characters = source.metadata.num_rows, 2, 0
    for batch in source.iter_batches(batch_size=size):
        characters += sum(map(_characters, batch.columns))
        refuse_much(characters, line + len(batch) - 1)
        columns = zip(batch.columns, batch.schema.names, strict=True)
        for row in zip(*(_values(column, clean(name), line, moments) for column, name in columns), strict=True):
            yield line, row
            line += 1
        if progress:
            progress(line - 2, total)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    of = pa.types
    return bool(of.is_string(kind) or of.is_large_string(kind) or of.is_binary(kind) or of.is_large_binary(kind))


def _lengths(column: Any) -> Any:
    """The characters (of binary values, the bytes) of each value of a column of texts, none of which is unfolded for it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        return _lengths(column.dictionary).take(column.indices)
    return pc.utf8_length(column) if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else pc.binary_length(column)


def _characters(column: Any) -> int:
    """The characters of all texts of a column of a batch, those in its lists and structs too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _characters(column.flatten())
    if pa.types.is_map(kind):
        start, end = column.offsets[0].as_py(), column.offsets[-1].as_py()  # keys and items are those of the batches beside it too
        return sum(_characters(part.slice(start, end - start)) for part in (column.keys, column.items))
    if pa.types.is_struct(kind):
        return sum(map(_characters, column.flatten()))
    if not _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return 0
    return int(pc.sum(pc.cast(_lengths(column), pa.int64())).as_py() or 0)


def _values(column: Any, name: str, line: int, moments: Moments) -> list[Any]:
    """The values of a column of a batch whose first row is ``line``; a float32 has the digits that tell it from its neighbours."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if len(column) and _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        lengths = _lengths(column)
        if (longest := pc.max(lengths).as_py() or 0) > LONGEST_CELL:
            refuse_long(longest, line + pc.index(lengths, pa.scalar(longest, lengths.type)).as_py())
    if pa.types.is_dictionary(kind):
        return _unfolded(column)
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        values = column.to_numpy(zero_copy_only=False)
        return [None if missing else float(str(value)) for value, missing in zip(values, column.is_null().to_pylist(), strict=True)]
    return moments.values(column, name, line)


def _unfolded(column: Any) -> list[Any]:
    """The values of a dictionary column; equal ones are one object, and only those that stand in it are made."""
    import pyarrow.compute as pc

    used = pc.unique(column.indices)
    values = dict(zip(used.to_pylist(), column.dictionary.take(used).to_pylist(), strict=True))
    return [values[index] for index in column.indices.to_pylist()]
