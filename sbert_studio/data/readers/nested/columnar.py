"""Parquet files, batch by batch."""

from __future__ import annotations

from pathlib import Path

from ....errors import StudioError
from ...cells import cell_text, clean
from ...progress import Progress
from ..columns import Columns
from ..rows import MOST_COLUMNS, Content

_BATCH = 8_192


def read_parquet(path: Path, *, progress: Progress | None = None) -> Content:
    """Read a Parquet file; the column names count as row 1, as in a spreadsheet, so that the first row is row 2.

    Raises:
        StudioError: the file is damaged, has no columns or no rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as source:
            names = tuple(clean(name) for name in source.schema_arrow.names)
            if not names or not source.metadata.num_rows:
                raise StudioError(f"{path.name} holds no rows", "give a file with at least one row of text")
            if len(names) > MOST_COLUMNS:
                raise StudioError(f"{path.name} has more than {MOST_COLUMNS:,} columns", "keep the text, score and label columns only")
            if len(set(names)) < len(names):
                raise StudioError(f"two columns of {path.name} have the same name", "give each column a name of its own")
            columns = Columns(len(names))
            line, total = 2, source.metadata.num_rows
            for batch in source.iter_batches(batch_size=_BATCH):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    columns.append(line, [cell_text(value) for value in row])
                    line += 1
                if progress:
                    progress(line - 2, total)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudioError(f"{path.name} is not a Parquet file that can be read", "write it again, or save it as CSV") from error
    data, lines = columns.finish(names)
    return Content(names, data, lines, ())
