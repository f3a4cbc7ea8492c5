"""Tables of text that keep the row numbers of their file, and the functions that choose a reader and read them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, overload

import numpy as np

from ...datasets import read_dataset_file
from ...errors import StudioError, is_machine_error
from ...i18n import _, join
from ...progress import Progress, checkpoint
from ...settings import temporary_prefix
from ...workspace import atomic_file
from ..cells import cell_text, safe_cell, write_csv, write_rows
from ..findings import SHEET_NOTE_PREFIX, Finding, Question
from ..schema.names import is_negative_name
from .content import Content, string_array
from .csv import read_csv, read_text
from .excel import is_workbook, read_workbook
from .json import are_json_lines, read_json
from .parquet import read_parquet
from .source import TableFile

if TYPE_CHECKING:
    from ..documents.passages import PassagePlace

__all__ = ["Table", "TextColumn", "read_table", "safe_cell", "table_from_columns", "write_csv"]

_BLOCK = 8_192
_SAMPLE_ROWS = 200
_LEAST_ROWS = 5
_TEXT_KEYS = ("content", "value", "text")
_SPEAKER_KEYS = ("role", "from")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of text, stored in Arrow memory.

    Attributes:
        name: the display name of the file.
        columns: the column names, all distinct.
        lines: (n,) int64, the number of each row as a spreadsheet shows it (the header is row 1).
        notes: observations about the file.
        doubts: questions about the file for the user, such as its encoding.
        dropped: the numbers of rows removed by :meth:`without_lines`.
        places: of a table of passages, the place of each in its document; that of the row ``line`` is ``places[line - 2]``.
    """

    name: str
    columns: tuple[str, ...]
    lines: np.ndarray
    notes: tuple[Finding, ...] = ()
    doubts: tuple[Question, ...] = field(default=(), kw_only=True)
    dropped: tuple[int, ...] = field(default=(), kw_only=True)
    places: tuple[PassagePlace, ...] = field(default=(), kw_only=True, repr=False)
    _data: Any = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> list[str]:
        """Return the n cells of an existing column."""
        self.require(name)
        cells: list[str] = self._data.column(self.columns.index(name)).to_pylist()
        return cells

    def texts(self, name: str) -> TextColumn:
        """Return the n cells of an existing column as a lazy sequence."""
        self.require(name)
        return TextColumn(self._data.column(self.columns.index(name)))

    def require(self, *names: str) -> None:
        """Raise a StudioError that lists the existing columns if any of ``names`` is missing."""
        for name in names:
            if name not in self.columns:
                listed = ", ".join(self.columns[:20]) + ("…" if len(self.columns) > 20 else "")
                raise StudioError(
                    _("{name} has no column {name2}", name=self.name, name2=repr(name)), _("its columns are: {listed}", listed=listed)
                )

    @property
    def elsewhere(self) -> str:
        """Suffix for a hint that lists the other sheets of the workbook, or ``""``."""
        notes = [note.message for note in self.notes if note.message.startswith(SHEET_NOTE_PREFIX)]
        return join("", (_("; {message}", message=note) for note in notes)) if notes else ""

    def head(self, n: int) -> list[list[str]]:
        """Return the first ``n`` rows, each as a list of cells."""
        return [list(row) for row in self._rows(0, n)]

    def select(self, rows: Sequence[int] | np.ndarray) -> Table:
        """Return the rows at these positions (from 0), in this order, with their original row numbers."""
        positions = np.asarray(rows, dtype=np.int64)
        return replace(self, lines=self.lines[positions], _data=self._data.take(positions))

    def without_lines(self, lines: Sequence[int]) -> Table:
        """Return the table without the rows with these numbers, which are also removed from the fixes of its notes."""
        removed = np.asarray(lines, dtype=np.int64)
        leaving = np.isin(self.lines, removed)
        notes = tuple(left for note in self.notes if (left := note.without(removed)) is not None)
        return replace(self.select(np.flatnonzero(~leaving)), notes=notes, dropped=(*self.dropped, *self.lines[leaving].tolist()))

    def with_column(self, name: str, cells: Sequence[str]) -> Table:
        """Return the table with a column of n cells, replacing a column of the same name or appended at the end."""
        data, cell_array = self._data, string_array([cell_text(cell) for cell in cells])
        if name in self.columns:
            return replace(self, _data=data.set_column(self.columns.index(name), name, cell_array))
        return replace(self, columns=(*self.columns, name), _data=data.append_column(name, cell_array))

    def without_column(self, name: str) -> Table:
        self.require(name)
        columns = tuple(known for known in self.columns if known != name)
        return replace(self, columns=columns, _data=self._data.remove_column(self.columns.index(name)))

    def to_csv(self, path: Path, *, guarded: bool = True) -> None:
        """Write the table as UTF-8 CSV, atomically; ``guarded`` as in :func:`~sbert_studio.data.cells.write_rows`."""
        rows = (row for start in range(0, len(self), _BLOCK) for row in self._rows(start, _BLOCK))
        write_rows(path, self.columns, rows, guarded=guarded)

    def to_parquet(self, path: Path) -> None:
        """Write the cells unchanged as Parquet, atomically; row numbers are not stored."""
        import pyarrow.parquet as pq

        with atomic_file(path) as part:
            pq.write_table(self._data, part)

    def _rows(self, start: int, size: int) -> list[tuple[str, ...]]:
        return list(zip(*(column.to_pylist() for column in self._data.slice(start, size).columns), strict=True))


class TextColumn(Sequence[str]):
    """Lazy sequence of a column's cells, converted to strings block by block in constant memory.

    Args:
        cells: a pyarrow array of strings, chunked or not.
        rows: (k,) int64, the positions to take, in order; all by default.
    """

    def __init__(self, cells: Any, rows: np.ndarray | None = None) -> None:
        self._cells, self._rows = cells, rows

    def at(self, rows: np.ndarray) -> TextColumn:
        """Return the cells at (k,) positions of this column, from 0."""
        return TextColumn(self._cells, rows if self._rows is None else self._rows[rows])

    def __len__(self) -> int:
        return len(self._cells) if self._rows is None else len(self._rows)

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> list[str]: ...

    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, int):
            row = range(len(self))[position]
            return str(self._cells[row if self._rows is None else int(self._rows[row])].as_py())
        wanted = range(len(self))[position]
        if not wanted:
            return []
        if self._rows is None and wanted.step == 1:
            return list(self._cells.slice(wanted.start, len(wanted)).to_pylist())
        rows = np.arange(wanted.start, wanted.stop, wanted.step) if self._rows is None else self._rows[position]
        low, high = int(rows.min()), int(rows.max()) + 1
        # Read nearby positions as one slice: taking single cells from many chunks would first concatenate the chunks.
        if high - low <= 2 * len(rows) + _BLOCK:
            near = self._cells.slice(low, high - low).to_pylist()
            return [near[row] for row in (rows - low).tolist()]
        return [self._cells[row].as_py() for row in rows.tolist()]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            yield from self[start : start + _BLOCK]


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
    """Read CSV, TSV, JSONL, JSON, XLSX, Parquet or plain text, compressed or not, in a single streaming pass.

    No row is dropped silently: blank, short and long rows and cleaned cells are listed in the table's notes.

    Args:
        name: the name of the table; the file name by default.
        progress: called with (bytes read, total bytes); for XLSX and Parquet, in rows.
        max_bytes: the maximum size; larger files are rejected.
        encoding: the name of a codec; detected by default.
        delimiter: one character, or a word such as ``tab`` or ``none``; detected by default.
        header: whether the first row contains the column names; detected by default.

    Raises:
        StudioError: the file is missing, empty, binary, damaged or too large, or has no rows.
    """

    path = Path(path)
    if max_bytes is not None and path.is_file() and path.stat().st_size > max_bytes:
        size, limit = path.stat().st_size / 2**20, max_bytes / 2**20
        raise StudioError(
            _("the size of {name} is {size} MiB; the maximum is {limit} MiB", name=path.name, size=f"{size:,.0f}", limit=f"{limit:,.0f}"),
            "use a smaller file",
        )
    content = read_content(path, name=name, progress=progress, max_bytes=max_bytes, encoding=encoding, delimiter=delimiter, header=header)
    return unpack_cells(Table(name or path.name, content.names, content.lines, content.notes, content.data, doubts=content.doubts))


def table_from_columns(name: str, columns: Mapping[str, Sequence[str]], lines: Sequence[int] | np.ndarray | None = None) -> Table:
    """Return a table of columns of equal length; rows are numbered from 2 (below a header) unless ``lines`` are given."""
    import pyarrow as pa

    data = pa.table({column: string_array([cell_text(cell) for cell in cells]) for column, cells in columns.items()})
    numbers = np.arange(2, data.num_rows + 2, dtype=np.int64) if lines is None else np.asarray(lines, dtype=np.int64)
    return Table(name, tuple(columns), numbers, (), data)


def unpack_cells(table: Table) -> Table:
    """Return the table with a separate column for each text, and a note on each unpacked column."""
    if len(table) < _LEAST_ROWS:
        return table
    for name in table.columns:
        names = (f"{name}_1", f"{name}_2")
        if not set(names) & set(table.columns) and (rows := _parse_column(table, name, _two_lines)):
            table = _replace(table, name, names, rows, "two lines")
    if not any(map(is_negative_name, table.columns)):
        return table  # chats without a rejected answer are not training examples
    for name in table.columns:
        if rows := _parse_column(table, name, _turns):
            # "chosen" and "rejected" repeat the prompt before their last turn.
            parts = ("prompt", name) if any(len(turns) > 1 for turns in rows) else ("prompt",)
            cells = [("\n".join(turns[:-1]) or turns[0], turns[-1]) for turns in rows]
            table = _replace(table, name, parts, cells, "the turns of a chat")
    return table


def _parse_column(table: Table, name: str, parse: Callable[[str], list[str]]) -> list[list[str]]:
    """Return the texts of each cell; empty unless every cell can be parsed, so that no text is lost."""
    if not all(parse(cell) for cell in table.texts(name)[:_SAMPLE_ROWS]):
        return []
    rows = [parse(cell) for cell in table.column(name)]
    return rows if all(rows) else []


def _replace(table: Table, name: str, names: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> Table:
    table = table.without_column(name)
    for place, new in enumerate(names):
        if new not in table.columns:
            table = table.with_column(new, [row[place] for row in rows])
    made = " and ".join(map(repr, names))
    return replace(table, notes=(*table.notes, Finding("info", f"each cell of {name!r} holds {what}, which became {made}")))


def _two_lines(cell: str) -> list[str]:
    lines = [line.strip() for line in cell.splitlines() if line.strip()]
    return lines if len(lines) == 2 else []


def _turns(cell: str) -> list[str]:
    """Return the texts of a JSON list of chat turns; empty if the cell is something else."""
    if not cell.startswith("[{"):
        return []
    try:
        turns = json.loads(cell)
    except ValueError:
        return []
    if not all(isinstance(turn, dict) and any(key in turn for key in _SPEAKER_KEYS) for turn in turns):
        return []
    texts = [next((turn[key] for key in _TEXT_KEYS if isinstance(turn.get(key), str)), "") for turn in turns]
    return texts if all(texts) else []


_JSON = (".jsonl", ".ndjson", ".json")
_TEXT = (".txt", ".text", ".md")
_COMPRESSED = (".gz", ".bz2", ".xz")  # without .zip, because a zip archive in a folder is rarely one of its tables
SUFFIXES = (".csv", ".tsv", ".tab", *_JSON, ".parquet", *_TEXT, ".xlsx", *_COMPRESSED)
"""Extensions of supported files."""

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
# RuntimeError: an encrypted member of a zip archive, or one of an unknown compression.
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
_UNREAD_DOCUMENTS = (".doc", ".docm", ".dot", ".dotx", ".odt", ".rtf", ".ppt", ".pptx", ".pptm", ".odp", ".epub", ".pages")
_DOCUMENT_MARKS = (b"PK", b"\xd0\xcf\x11\xe0", b"{\\rtf")  # a text may have such an extension too
_MOST_BYTES = 1 << 32
_READ_SIZE = 1 << 20
_BLANK = b"\xef\xbb\xbf \r\n\t"
_PUBLISHED_LINES = 20

Reader = Callable[[TableFile, Progress | None], Content]


def read_content(
    path: Path,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    max_bytes: int | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Content:
    """Read a file of any format; parameters and errors as for :func:`~sbert_studio.data.loading.table.read_table`.

    ``name`` is also used to recognize published datasets; ``max_bytes`` limits the size of a compressed file after unpacking.
    """
    shown = name or path.name
    with _unpacked(path, shown, max_bytes) as (inner, inner_name), _naming(shown, path.name, inner_name, inner.name):
        source = TableFile.open(inner, inner_name, encoding=encoding, delimiter=delimiter, header=header)
        if reader := _choose_reader(source):
            return reader(source, progress)
        return _read_published(source) or _choose_text_reader(source)(source, progress)


@contextmanager
def _naming(*names: str) -> Iterator[None]:
    """Put the first name before errors that lack all names, since the file may be one of several of a folder."""
    try:
        yield
    except StudioError as error:
        if type(error) is not StudioError or any(name in error.message for name in names):
            raise
        raise StudioError(_("{name}: {message}", name=names[0], message=error.message), error.hint, error.rows) from error.__cause__


def _choose_reader(source: TableFile) -> Reader | None:
    """Return the reader of a format that can be recognized by its first bytes or extension."""
    if source.suffix in _UNREAD_DOCUMENTS and source.head.startswith(_DOCUMENT_MARKS):
        message = _("{name} is a document in a format that is not read", name=source.path.name)
        raise StudioError(message, "save it as docx, pdf, html, md or txt, which are read")
    if source.head.startswith(b"PAR1"):
        return read_parquet
    if source.head.startswith(b"PK\x03\x04") and is_workbook(source.path):
        return read_workbook
    if source.suffix == ".parquet" and source.encoding:  # which refuses binary files
        hint = "download or export it again, or use the file extension of its format, such as .csv or .txt"
        raise StudioError(_("{name} is not a Parquet file: it contains text", name=source.path.name), hint)
    if source.suffix in (".yml", ".yaml"):
        hint = "convert it to CSV or JSON Lines: one example per row, with its text and its label"
        raise StudioError(_("{name} is YAML, not a table", name=source.path.name), hint)
    return read_json if source.suffix in _JSON else None


def _choose_text_reader(source: TableFile) -> Reader:
    if source.delimiter is not None:
        return read_csv
    if source.suffix in _TEXT:
        return read_text
    return read_json if source.head.lstrip(_BLANK).startswith(b"{") and are_json_lines(source.first_lines(3)) else read_csv


def _read_published(source: TableFile) -> Content | None:
    """Read a file of a published dataset with unusual quotes and commas; None for any other file."""
    if source.delimiter is not None or source.header is not None:
        return None
    codec = source.encoding.codec if source.encoding_name else None
    return read_dataset_file(source.path, source.name, source.first_lines(_PUBLISHED_LINES), codec)


@contextmanager
def _unpacked(path: Path, name: str, max_bytes: int | None) -> Iterator[tuple[Path, str]]:
    """Yield the path and name of the table in a compressed file, or of the file itself if it is not compressed."""
    head = b""
    with suppress(OSError), path.open("rb") as file:  # TableFile raises the error
        head = file.read(8)
    opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
    if opener is None and not (head.startswith(b"PK\x03\x04") and path.suffix.lower() == ".zip" and not is_workbook(path)):
        yield path, name
        return
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as folder:
        try:
            if opener is None:
                with zipfile.ZipFile(path) as archive, archive.open(member := _only_member(archive, name)) as packed:
                    inner = inner_name = PurePosixPath(member.filename).name
                    _copy(packed, Path(folder) / inner, name, max_bytes)
            else:
                inner, inner_name = _without_suffix(path.name), _without_suffix(name)
                with opener(path, "rb") as packed:
                    _copy(packed, Path(folder) / inner, name, max_bytes)
        except _DAMAGE as error:
            if is_machine_error(error):
                raise
            raise StudioError(_("{name} is a damaged archive", name=name), "download or compress the file again") from error
        yield Path(folder) / inner, inner_name


def _without_suffix(name: str) -> str:
    return PurePath(name).stem if PurePath(name).suffix.lower() in _COMPRESSED else name


def _only_member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        listed = ", ".join(one.filename for one in members[:5])
        raise StudioError(
            _("{name} is an archive of {members} files: {listed}", name=name, members=len(members), listed=listed),
            "unpack it, and use the table inside",
        )
    return members[0]


def _copy(file: IO[bytes], target: Path, name: str, max_bytes: int | None) -> None:
    most = _MOST_BYTES if max_bytes is None else max_bytes
    size = 0
    with target.open("wb") as out:
        while block := file.read(_READ_SIZE):
            checkpoint()
            size += len(block)
            if size > most:
                raise StudioError(
                    _("{name} exceeds the maximum of {most} MiB when unpacked", name=name, most=f"{most >> 20:,}"),
                    "use a smaller file",
                )
            out.write(block)
