"""Which reader a file needs: by its first bytes, then its name, then its first lines."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ...errors import StudioError
from ..distributions.alone import read_alone
from ..progress import Progress
from .nested.columnar import read_parquet
from .nested.json import looks_like_json_lines, read_json
from .rows import Content
from .text.delimited import read_delimited
from .text.encoding import Encoding, detect_encoding, named_encoding
from .text.lines import first_lines
from .text.plain import read_plain
from .workbook import read_workbook

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json", ".xlsx", ".parquet")
"""The endings of files that are understood; content decides where the two disagree."""

_LOOKED_AT = 20


def read_content(
    path: Path,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Content:
    """Read a file of any supported format.

    Args:
        path: the file.
        name: what people call it, by which files of a known distribution are told; the file's own name unless given.

    Raises:
        StudioError: it is absent, empty, binary, damaged, or holds no rows.
    """
    start = _start(path)
    if start.startswith(b"PAR1"):
        return read_parquet(path, progress=progress)
    if start.startswith(b"PK\x03\x04") and _is_workbook(path):
        return read_workbook(path, progress=progress, header=header)
    chosen = named_encoding(encoding) if encoding else detect_encoding(path)
    suffix = path.suffix.lower()
    if suffix in {".jsonl", ".ndjson", ".json"}:
        return read_json(path, progress=progress, encoding=chosen)
    if delimiter is None and header is None:
        known = read_alone(path, name or path.name, first_lines(path, chosen, _LOOKED_AT), chosen.codec if encoding else None)
        if known is not None:
            return known
    return _read_text(path, progress, chosen, delimiter, header)


def _read_text(path: Path, progress: Progress | None, chosen: Encoding, delimiter: str | None, header: bool | None) -> Content:
    suffix = path.suffix.lower()
    if suffix in {".txt", ".text", ".md"} and delimiter is None:
        return read_plain(path, progress=progress, encoding=chosen, header=header)
    start = first_lines(path, chosen, 3)
    if delimiter is None and "".join(start).lstrip("\ufeff \r\n\t").startswith("{") and looks_like_json_lines(start):
        return read_json(path, progress=progress, encoding=chosen)
    return read_delimited(path, progress=progress, encoding=chosen, delimiter=delimiter, header=header)


def _start(path: Path) -> bytes:
    if path.is_dir():
        raise StudioError(f"{path.name} is a folder", "give a file")
    try:
        with path.open("rb") as source:
            start = source.read(512)
    except FileNotFoundError:
        raise StudioError(f"there is no file {path}", "check the path") from None
    except OSError as error:
        raise StudioError(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from None
    if not start:
        raise StudioError(f"{path.name} is empty", "give a file with at least one row of text")
    return start


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError):
        return path.suffix.lower() in {".xlsx", ".xlsm"}
