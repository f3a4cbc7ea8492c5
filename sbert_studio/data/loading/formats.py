"""Selection of a reader by the first bytes, the extension and the first lines of a file, after unpacking compressed files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from ...datasets import read_dataset_file
from ...errors import StudioError, is_machine_error
from ...i18n import _
from ...progress import Progress, checkpoint
from .content import Content
from .csv import read_csv, read_text
from .excel import is_workbook, read_workbook
from .json import are_json_lines, read_json
from .parquet import read_parquet
from .source import TableFile

_JSON = (".jsonl", ".ndjson", ".json")
_TEXT = (".txt", ".text", ".md")
_COMPRESSED = (".gz", ".bz2", ".xz")  # without .zip, because a zip archive in a folder is rarely one of its tables
SUFFIXES = (".csv", ".tsv", ".tab", *_JSON, ".parquet", *_TEXT, ".xlsx", *_COMPRESSED)
"""Extensions of supported files."""

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
# RuntimeError: an encrypted member of a zip archive, or one of an unknown compression.
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError)
_MOST_BYTES = 1 << 32
_BLOCK = 1 << 20
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
    with _unpacked(path, name or path.name, max_bytes) as (inner, inner_name):
        source = TableFile.open(inner, inner_name, encoding=encoding, delimiter=delimiter, header=header)
        if reader := _choose_reader(source):
            return reader(source, progress)
        return _read_published(source) or _choose_text_reader(source)(source, progress)


def _choose_reader(source: TableFile) -> Reader | None:
    """Return the reader of a format that can be recognized by its first bytes or extension."""
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
    with tempfile.TemporaryDirectory(prefix="sbert-studio-unpacked-") as folder:
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
        while block := file.read(_BLOCK):
            checkpoint()
            size += len(block)
            if size > most:
                raise StudioError(
                    _("{name} exceeds the maximum of {most} MiB when unpacked", name=name, most=f"{most >> 20:,}"),
                    "use a smaller file",
                )
            out.write(block)
