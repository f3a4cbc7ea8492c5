"""Parquet source files of a job, read in name order, a limited number of rows at a time."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.corpus import corpus_from_table
from ..data.loading.table import table_from_columns
from ..errors import StudioError
from ..i18n import _
from ..workspace import existing_path

_MAGIC = b"PAR1"
_SAMPLE_ROWS = 2_000


@dataclass(frozen=True)
class SourceFile:
    """A Parquet file as it was when the job was started.

    Attributes:
        path: absolute; the same on all machines.
        bytes: file size.
        digest: digest of the footer, which contains column offsets and statistics, 16 hex digits.
        modified: modification time in ns; 0 if ``digest`` is that of the whole file.
    """

    path: str
    rows: int
    bytes: int
    digest: str
    modified: int = 0

    def require_unchanged(self) -> None:
        """Raise StudioError if the file was modified or deleted."""
        name = Path(self.path).name
        try:
            now = Path(self.path).stat()
        except OSError as error:
            raise StudioError(
                _("{name} cannot be read: it is missing or damaged", name=name), "create it again, or start over without it"
            ) from error
        if now.st_size != self.bytes or (self.modified and now.st_mtime_ns != self.modified):
            raise StudioError(_("{name} has changed since the job was started", name=name), "specify another folder to start over")


def is_multi_file(name: str | Path) -> bool:
    """Return True for a folder or a glob such as ``texts/*.parquet``."""
    found = existing_path(name)
    return found.is_dir() if found is not None else glob.has_magic(str(name))


def find_sources(name: str | Path) -> tuple[SourceFile, ...]:
    """Find the Parquet files of a folder (recursively) or a glob, or a single file; their columns must match."""
    path = existing_path(name) or Path(name)
    if path.is_dir():
        found = sorted(one for one in path.rglob("*.parquet") if not one.name.startswith("."))
    elif path.is_file():
        found = [path]
    else:
        found = sorted(one for one in map(Path, glob.glob(str(path), recursive=True)) if one.is_file())  # noqa: PTH207
    if not found:
        raise StudioError(
            _("there are no Parquet files at {path}", path=path), "specify a folder of .parquet files, a quoted pattern, or a file"
        )
    sources, first = [], None
    for one in found:
        source, columns = _inspect(one.resolve())
        first = first or (one.name, columns)
        if columns != first[1]:
            raise StudioError(
                _("{name} has different columns than {first}", name=one.name, first=first[0]), "specify files with the same columns"
            )
        sources.append(source)
    if not any(source.rows for source in sources):
        raise StudioError(_("the Parquet files at {path} contain no rows", path=path), "specify files with at least one row of text")
    return tuple(sources)


def _inspect(path: Path) -> tuple[SourceFile, list[tuple[str, str]]]:
    try:
        state = path.stat()
        digest = _footer_digest(path)
    except (OSError, ValueError) as error:
        raise StudioError(_("{name} is not a readable Parquet file", name=path.name), "create it again, or omit it") from error
    with open_parquet(path, "create it again, or omit it") as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
    twice = next((name for place, name in enumerate(schema.names) if name in schema.names[:place]), None)
    if twice is not None:
        raise StudioError(
            _("{name} has two columns named {twice}", name=path.name, twice=repr(twice)),
            "write it again with a unique name for each column",
        )
    return SourceFile(str(path), rows, state.st_size, digest, state.st_mtime_ns), [(field.name, str(field.type)) for field in schema]


def _footer_digest(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(-8, os.SEEK_END)
        length, mark = int.from_bytes(file.read(4), "little"), file.read(4)
        if mark != _MAGIC:
            raise ValueError("not a Parquet footer")
        file.seek(-8 - length, os.SEEK_END)
        return hashlib.sha256(file.read(length)).hexdigest()[:16]


@contextmanager
def open_parquet(path: str | Path, hint: str = "create it again, or start over without it") -> Iterator[Any]:
    """Open a Parquet file; page checksums, if present, are verified while reading.

    Raises:
        StudioError: the file is missing or damaged; ``hint`` says how to fix it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StudioError(_("{name} cannot be read: it is missing or damaged", name=Path(path).name), hint) from error


def read_rows(path: str | Path, start: int, rows: int, columns: Sequence[str]) -> Any:
    """Read rows ``start`` to ``start + rows`` of some columns as an Arrow table, in bounded memory."""
    import pyarrow as pa

    with open_parquet(path) as file:
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            raise _no_column(Path(path).name, missing[0], file.schema_arrow.names)
        sizes = [file.metadata.row_group(place).num_rows for place in range(file.metadata.num_row_groups)]
        groups, skipped, seen = [], 0, 0
        for place, size in enumerate(sizes):
            if seen + size <= start:
                skipped += size
            elif seen < start + rows:
                groups.append(place)
            seen += size
        parts = list(_slice_batches(file.iter_batches(rows or 1, groups, columns=list(columns)), start - skipped, rows)) if groups else []
        schema = pa.schema([file.schema_arrow.field(name) for name in columns])
        table = pa.Table.from_batches(parts, schema if not parts else None)
        for place, field in enumerate(table.schema):
            if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
                table = table.set_column(place, field.name, table.column(place).cast(pa.large_string()))
            elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                table.column(place).validate(full=True)  # check that the bytes are valid UTF-8
    return table


def _slice_batches(batches: Iterator[Any], start: int, rows: int) -> Iterator[Any]:
    place = 0
    for batch in batches:
        low, high = max(start - place, 0), min(start + rows - place, batch.num_rows)
        if low < high:
            yield batch.slice(low, high - low)
        place += batch.num_rows
        if place >= start + rows:
            return


def _no_column(file: str, name: str, names: Sequence[str]) -> StudioError:
    return StudioError(
        _("{file} has no column {name}", file=file, name=repr(name)), _("its columns are: {names}", names=", ".join(names[:20]))
    )


def sample_rows(sources: Sequence[SourceFile]) -> Any:
    """Return the first rows as a :class:`~sbert_studio.data.loading.table.Table`, to infer the columns' roles."""
    source = next(one for one in sources if one.rows)
    columns = [name for name, kind in _column_kinds(source.path).items() if kind != "nested"]
    found = read_rows(source.path, 0, min(source.rows, _SAMPLE_ROWS), columns)
    return table_from_columns(Path(source.path).name, {name: found.column(name).to_pylist() for name in columns})


def choose_columns(sources: Sequence[SourceFile], text: str | None, ids: str | None) -> tuple[str, str | None]:
    """Return the text column (by default the most text-like one) and the id column (by default ``id``, if it exists)."""
    source = next(one for one in sources if one.rows)
    kinds, name = _column_kinds(source.path), Path(source.path).name
    for given in (text, ids):
        if given is not None and given not in kinds:
            raise _no_column(name, given, list(kinds))
    if text is not None and kinds[text] != "text":
        raise StudioError(_("the column {text} of {name} contains no texts", text=repr(text), name=name), "specify a text column")
    if ids is not None and kinds[ids] == "nested":
        raise StudioError(
            _("the column {ids} of {name} contains no ids", ids=repr(ids), name=name), "specify a column of numbers or short texts"
        )
    if text is None:
        texts = [one for one, kind in kinds.items() if kind == "text" and one != ids]
        text = texts[0] if len(texts) == 1 else corpus_from_table(sample_rows(sources)).column
    if ids is None and "id" in kinds and kinds["id"] != "nested" and text != "id":
        ids = "id"
    return text, ids


def _column_kinds(path: str) -> dict[str, str]:
    """Return ``text``, ``nested`` or ``plain`` for each column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def kind(of: Any) -> str:
        of = of.value_type if pa.types.is_dictionary(of) else of
        text = any(check(of) for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary))
        return "text" if text else "nested" if pa.types.is_nested(of) else "plain"

    return {field.name: kind(field.type) for field in pq.read_schema(path)}
