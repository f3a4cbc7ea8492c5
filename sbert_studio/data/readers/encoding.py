"""Which bytes these are: the text encoding of a file, or the kind of binary file that it is."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from ...errors import StudioError

_BLOCK = 1 << 20
_SAMPLE = 1 << 18
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


@dataclass(frozen=True)
class Encoding:
    """How a text file's bytes become characters.

    Attributes:
        codec: Python's name of the codec; it takes a byte order mark off.
        label: the name that people know.
        damaged: some bytes do not fit, and will be read as U+FFFD.
    """

    codec: str
    label: str
    damaged: bool = False


UTF8 = Encoding("utf-8", "UTF-8")
_BOMS = (
    (codecs.BOM_UTF8, Encoding("utf-8-sig", "UTF-8")),
    (codecs.BOM_UTF32_LE, Encoding("utf-32", "UTF-32")),
    (codecs.BOM_UTF32_BE, Encoding("utf-32", "UTF-32")),
    (codecs.BOM_UTF16_LE, Encoding("utf-16", "UTF-16")),
    (codecs.BOM_UTF16_BE, Encoding("utf-16", "UTF-16")),
)


def refuse_binary(start: bytes, name: str) -> None:
    """Raise a StudioError that names what ``start``, the first bytes of a file, belong to, unless that may be text."""
    for magic, what, hint in _MAGIC:
        if start.startswith(magic):
            raise StudioError(f"{name} is {what}, not a table", hint)
    if start.lstrip()[:200].lower().startswith((b"<!doctype html", b"<html", b"<table", b"<?xml")):
        raise StudioError(f"{name} is a web page or XML, not a table", "open it in a spreadsheet and save it as .xlsx or .csv")


def detect_encoding(path: Path) -> Encoding:
    """The encoding of a text file, read once from start to end in blocks of 1 MiB.

    A byte order mark decides. Without one: UTF-16 where every other byte is NUL, UTF-8 where all bytes fit, UTF-8 with
    damage where nearly all fit, GB18030 where the bytes fall on common Chinese characters, else Windows-1252.

    Raises:
        StudioError: the file is binary.
    """
    with path.open("rb") as source:
        sample = source.read(_SAMPLE)
    refuse_binary(sample, path.name)
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            return encoding
    if b"\0" in sample and (wide := _utf16_without_mark(sample)):
        return wide
    _refuse_noise(sample, path.name)
    good, bad, nul, total = _utf8_census(path)
    if nul > total // 20:
        raise StudioError(f"{path.name} is a binary file, not a table", _TEXT_HINT)
    if bad == 0:
        return UTF8
    if good >= 20 * bad:
        return Encoding("utf-8", "UTF-8", damaged=True)
    if _looks_chinese(path):
        return Encoding("gb18030", "GB18030", damaged=not _fits(path, "gb18030"))
    return Encoding("cp1252", "Windows-1252", damaged=not _fits(path, "cp1252"))


def _refuse_noise(sample: bytes, name: str) -> None:
    control = sum(sample.count(code) for code in range(32) if code not in (0, 9, 10, 11, 12, 13, 26, 27))
    allowed = max(2, len(sample) // 50) if _decoded(sample, "utf-8") is None else max(100, len(sample) // 10)
    if control > allowed:
        raise StudioError(f"{name} is a binary file, not a table", _TEXT_HINT)


def _utf16_without_mark(sample: bytes) -> Encoding | None:
    """UTF-16 by the place of its NUL bytes (Latin text), or by what it decodes to (Chinese text)."""
    pairs = len(sample) // 2
    for codec, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        label = Encoding(codec, f"{codec[:6].upper()} without a byte order mark")
        high_nul, low_nul = sample[high::2].count(0), sample[low::2].count(0)
        if pairs and high_nul > 0.3 * pairs and low_nul < 0.05 * pairs:
            return label
        # ASCII taken in twos looks Chinese, but is UTF-8 as well; Chinese in UTF-16 is not.
        if high_nul > 0 and _decoded(sample, "utf-8") is None and (text := _decoded(sample, codec)):
            plausible = sum(_plausible(character) for character in text)
            if plausible > 0.97 * len(text) and any(mark in text for mark in "\n,\t;"):
                return label
    return None


def _decoded(sample: bytes, codec: str) -> str | None:
    """The sample's text, an unfinished character at its end aside; None if it is not in that encoding."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return None


def _plausible(character: str) -> bool:
    code = ord(character)
    return (
        0x20 <= code < 0x7F
        or code in (9, 10, 13)
        or 0xA0 <= code < 0x600
        or 0x2010 <= code <= 0x203B
        or 0x3000 <= code <= 0x30FF
        or 0x4E00 <= code <= 0x9FFF
        or 0xFF00 <= code <= 0xFFEF
    )


def _utf8_census(path: Path) -> tuple[int, int, int, int]:
    """(characters beyond ASCII that decode, bytes that do not, NUL bytes, all bytes) of a file read as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    lenient = codecs.getincrementaldecoder("utf-8")("replace")
    good = bad = nul = total = 0
    strict = True
    with path.open("rb") as source:
        while True:
            block = source.read(_BLOCK)
            nul += block.count(0)
            total += len(block)
            text = lenient.decode(block, final=not block)
            if strict:
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError:
                    strict = False
            if not text.isascii():
                beyond = len(text) - len(text.encode("ascii", "ignore"))
                replaced = 0 if strict else text.count("\ufffd")
                good += beyond - replaced
                bad += replaced
            if not block:
                return good, bad, nul, total


def _looks_chinese(path: Path) -> bool:
    """Whether the bytes beyond ASCII stand in GB 2312 pairs, most of them the common characters (lead byte ≤ 0xD7)."""
    common = rare = other = 0
    with path.open("rb") as source:
        sample = _high_part(source.read(4 * _BLOCK))
    position = 0
    while position < len(sample) - 1:
        lead, trail = sample[position], sample[position + 1]
        if lead < 0x80:
            position += 1
        elif 0xA1 <= trail <= 0xFE and 0xA1 <= lead <= 0xF7:
            common, rare, position = (common + 1, rare, position + 2) if lead <= 0xD7 else (common, rare + 1, position + 2)
        elif trail >= 0x40 or 0x30 <= trail <= 0x39:
            other, position = other + 1, position + 2
        else:
            other, position = other + 2, position + 1
    total = common + rare + other
    return total > 0 and common >= 0.6 * total


def _high_part(data: bytes) -> bytes:
    """64 KiB from the first byte beyond ASCII on: what a census of encodings needs to see."""
    start = next((at for at in range(0, len(data), 4096) if not data[at : at + 4096].isascii()), 0)
    return data[start : start + 65536]


def _fits(path: Path, codec: str) -> bool:
    decoder = codecs.getincrementaldecoder(codec)("strict")
    try:
        with path.open("rb") as source:
            while block := source.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
