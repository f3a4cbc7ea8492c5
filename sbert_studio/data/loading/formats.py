"""The choice of a file's format: by its first bytes, then its extension, then its first lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...datasets.layouts import read_dataset_file
from ...errors import StudioError
from ...progress import Progress
from . import archive
from .content import Content
from .csv import read_csv
from .excel import is_workbook, read_workbook
from .json import are_json_lines, read_json
from .parquet import read_parquet
from .source import InputFile
from .text import read_text

_JSON = (".jsonl", ".ndjson", ".json")
_TEXT = (".txt", ".text", ".md")
_YAML = (".yml", ".yaml")
SUFFIXES = (".csv", ".tsv", ".tab", *_JSON, ".parquet", *_TEXT, ".xlsx", *archive.SUFFIXES)
"""The extensions of files that can be read."""

_BLANK = b"\xef\xbb\xbf \r\n\t"
_PUBLISHED_LINES = 20

Reader = Callable[[InputFile, Progress | None], Content]


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
    """Read a file of any format.

    Args:
        path: the file.
        name: its name for people, by which published datasets are recognised; the file's name by default.
        progress: called with the bytes or rows read and their total.
        max_bytes: the largest size of a compressed file once it is unpacked.
        encoding, delimiter, header: the owner's choices; None is detected.

    Raises:
        StudioError: the file is missing, empty, binary, damaged, or holds no rows.
    """
    with archive.unpacked(path, name or path.name, max_bytes) as (inner, inner_name):
        source = InputFile.open(inner, inner_name, encoding=encoding, delimiter=delimiter, header=header)
        if reader := _choose_reader(source):
            return reader(source, progress)
        return _read_published(source) or _choose_text_reader(source)(source, progress)


def _choose_reader(source: InputFile) -> Reader | None:
    """Return the reader of a format that is recognised by its first bytes or extension."""
    if source.head.startswith(b"PAR1"):
        return read_parquet
    if source.head.startswith(b"PK\x03\x04") and is_workbook(source.path):
        return read_workbook
    if source.suffix in _YAML:
        hint = "convert it to CSV or JSON lines: an example a row, with its text and its label"
        raise StudioError(f"{source.path.name} is YAML, not a table", hint)
    return read_json if source.suffix in _JSON else None


def _choose_text_reader(source: InputFile) -> Reader:
    if source.delimiter is not None:
        return read_csv
    if source.suffix in _TEXT:
        return read_text
    return read_json if source.head.lstrip(_BLANK).startswith(b"{") and are_json_lines(source.first_lines(3)) else read_csv


def _read_published(source: InputFile) -> Content | None:
    """Read a file of a published dataset whose quotes and commas do not mean what they mean elsewhere; None for any other file."""
    if source.delimiter is not None or source.header is not None:
        return None
    codec = source.encoding.codec if source.encoding_name else None
    return read_dataset_file(source.path, source.name, source.first_lines(_PUBLISHED_LINES), codec)
