"""Compressed files: a table in gzip, bzip2 or xz, or alone in a zip archive, is unpacked into a temporary folder."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from ...errors import StudioError, is_machine_error
from ...progress import checkpoint

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
SUFFIXES = (".gz", ".bz2", ".xz")
"""The extensions of compressed files, without ``.zip``: among the tables of a folder, a zip archive is rarely one of them."""

_ZIP = b"PK\x03\x04"
_BLOCK = 1 << 20
_MOST_BYTES = 1 << 32
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)


@contextmanager
def unpacked(path: Path, name: str, max_bytes: int | None) -> Iterator[tuple[Path, str]]:
    """Yield the path and the name of the table in a compressed file, or those of the file itself if it is not compressed.

    Args:
        path: the file.
        name: its name for people.
        max_bytes: the largest size once unpacked.

    Raises:
        StudioError: the archive is damaged, too large, or does not hold exactly one file.
    """
    head = _read_head(path)
    opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
    if opener is None and not (head.startswith(_ZIP) and path.suffix.lower() == ".zip" and not _is_workbook(path)):
        yield path, name
        return
    with tempfile.TemporaryDirectory(prefix="sbert-studio-unpacked-") as folder:
        try:
            if opener is None:
                with zipfile.ZipFile(path) as archive, archive.open(member := _only_member(archive, name)) as file:
                    inner = PurePosixPath(member.filename).name
                    _copy(file, Path(folder) / inner, name, max_bytes)
            else:
                inner = _without_suffix(path.name)
                with opener(path, "rb") as file:
                    _copy(file, Path(folder) / inner, name, max_bytes)
        except _DAMAGE as error:
            if is_machine_error(error):
                raise
            raise StudioError(f"{name} is a damaged archive", "download or compress the file again") from error
        yield Path(folder) / inner, inner if opener is None else _without_suffix(name)


def _is_workbook(path: Path) -> bool:
    return zipfile.is_zipfile(path) and any(name.startswith("xl/") for name in zipfile.ZipFile(path).namelist())


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError:
        return b""  # whoever reads the file says what is wrong


def _without_suffix(name: str) -> str:
    return PurePath(name).stem if PurePath(name).suffix.lower() in SUFFIXES else name


def _only_member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    members = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        listed = ", ".join(one.filename for one in members[:5])
        raise StudioError(f"{name} is an archive of {len(members)} files: {listed}", "unpack it, and give the table inside")
    return members[0]


def _copy(file: IO[bytes], target: Path, name: str, max_bytes: int | None) -> None:
    most = _MOST_BYTES if max_bytes is None else max_bytes
    size = 0
    with target.open("wb") as out:
        while block := file.read(_BLOCK):
            checkpoint()
            size += len(block)
            if size > most:
                raise StudioError(f"{name} unpacks to more than {most >> 20:,} MiB, as many as are accepted", "give a smaller file")
            out.write(block)
