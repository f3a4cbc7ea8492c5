"""Files that are no text: named by their first bytes, so that their owner knows what to give instead."""

from __future__ import annotations

import codecs

from ....errors import StudioError

_TEXT_HINT = "give a CSV, TSV, JSONL, XLSX, Parquet or plain text file"

_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or locked Excel file", "save it as .xlsx or .csv, without a password"),
    (b"PK\x03\x04", "a zip archive", "unpack it, and give the table inside"),
    (b"PK\x05\x06", "an empty zip archive", _TEXT_HINT),
    (b"\x1f\x8b", "a gzip archive", "unpack it, and give the table inside"),
    (b"BZh", "a bzip2 archive", "unpack it, and give the table inside"),
    (b"\xfd7zXZ\x00", "an xz archive", "unpack it, and give the table inside"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it, and give the table inside"),
    (b"Rar!", "a RAR archive", "unpack it, and give the table inside"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "unpack it, and give the table inside"),
    (b"%PDF", "a PDF", "copy its table into a spreadsheet and save that"),
    (b"\x89PNG", "a PNG picture", _TEXT_HINT),
    (b"\xff\xd8\xff", "a JPEG picture", _TEXT_HINT),
    (b"GIF8", "a GIF picture", _TEXT_HINT),
    (b"\x93NUMPY", "a NumPy array", _TEXT_HINT),
    (b"SQLite format 3", "an SQLite database", "export its table as CSV"),
    (b"\x7fELF", "a program", _TEXT_HINT),
    (b"MZ\x90", "a program", _TEXT_HINT),
    (b"\x80\x04\x95", "a Python pickle", "export it as CSV or Parquet"),
    (b"ARROW1", "an Arrow file", "save it as Parquet"),
)


def refuse_binary(start: bytes, name: str) -> None:
    """Raise a StudioError that names what ``start``, the first bytes of a file, belong to, unless that may be text."""
    for magic, what, hint in _MAGIC:
        if start.startswith(magic):
            raise StudioError(f"{name} is {what}, not a table", hint)
    if start.lstrip()[:200].lower().startswith((b"<!doctype html", b"<html", b"<table", b"<?xml")):
        raise StudioError(f"{name} is a web page or XML, not a table", "open it in a spreadsheet and save it as .xlsx or .csv")


def refuse_noise(sample: bytes, name: str) -> None:
    """Raise a StudioError if too many of the bytes of ``sample`` are control characters for it to be text."""
    control = sum(sample.count(code) for code in range(32) if code not in (0, 9, 10, 11, 12, 13, 26, 27))
    allowed = max(100, len(sample) // 10) if _is_utf8(sample) else max(2, len(sample) // 50)
    if control > allowed:
        raise StudioError(f"{name} is a binary file, not a table", _TEXT_HINT)


def refuse_nul(nul: int, total: int, name: str) -> None:
    """Raise a StudioError if one byte in twenty or more is NUL."""
    if nul > total // 20:
        raise StudioError(f"{name} is a binary file, not a table", _TEXT_HINT)


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True
