"""Detection of a text file's encoding, and rejection of files that are not text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import StudioError
from ...i18n import _
from .codepages import LABELS, detect_codepage

_BLOCK = 1 << 20
_SAMPLE = 1 << 18
_MOST_EVIDENCE = 1 << 16  # bytes of sampled lines for telling code pages apart
_BEYOND_ASCII = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")
_COMMON_CHARACTER = re.compile("[\t\n\r\x20-\x7e\xa0-\u05ff\u2010-\u203b\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_HOST_NAME_CODECS = ("idna", "punycode")
_CONTROL_IN_TEXT = (0, 9, 10, 11, 12, 13, 26, 27)

_TEXT_HINT = "use a CSV, TSV, JSONL, XLSX, Parquet or plain text file"
_UNPACK = "unpack it, and use the table inside"
_BINARY_FORMATS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or password-protected Excel file", "save it as .xlsx or .csv, without a password"),
    (b"PK\x03\x04", "a zip archive", _UNPACK),
    (b"PK\x05\x06", "an empty zip archive", _TEXT_HINT),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", _UNPACK),
    (b"%PDF", "a PDF", "copy its table into a spreadsheet, and save the spreadsheet"),
    (b"\x89PNG", "a PNG image", _TEXT_HINT),
    (b"\xff\xd8\xff", "a JPEG image", _TEXT_HINT),
    (b"GIF8", "a GIF image", _TEXT_HINT),
    (b"\x93NUMPY", "a NumPy array", _TEXT_HINT),
    (b"SQLite format 3", "an SQLite database", "export its table as CSV"),
    (b"\x7fELF", "an executable", _TEXT_HINT),
    (b"MZ\x90", "an executable", _TEXT_HINT),
    (b"\x80\x04\x95", "a Python pickle", "export it as CSV or Parquet"),
    (b"ARROW1", "an Arrow file", "save it as Parquet"),
)


@dataclass(frozen=True)
class Encoding:
    """The encoding of a text file.

    Attributes:
        codec: Python's name of the codec; it removes a byte order mark.
        label: the common name.
        damaged: whether some bytes do not fit and will be read as U+FFFD.
        rivals: other codecs that fit equally well, so that the user has to choose.
    """

    codec: str
    label: str
    damaged: bool = False
    rivals: tuple[str, ...] = ()


_UTF8 = Encoding("utf-8", "UTF-8")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, Encoding("utf-8-sig", "UTF-8")),
    (codecs.BOM_UTF32_LE, Encoding("utf-32", "UTF-32")),
    (codecs.BOM_UTF32_BE, Encoding("utf-32", "UTF-32")),
    (codecs.BOM_UTF16_LE, Encoding("utf-16", "UTF-16")),
    (codecs.BOM_UTF16_BE, Encoding("utf-16", "UTF-16")),
)


def detect_encoding(path: Path) -> Encoding:
    """Detect the encoding of a text file in a single pass over its blocks.

    A byte order mark decides. Otherwise: UTF-16 if every other byte is NUL, UTF-8 if nearly all bytes are valid, else the code page that
    best explains the non-ASCII lines.

    Raises:
        StudioError: the file is binary.
    """
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    _refuse_binary_format(sample, path.name)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample and (utf16 := _utf16_without_mark(sample)):
        return utf16
    not_text = StudioError(_("{name} is a binary file, not a table", name=path.name), _TEXT_HINT)
    if _has_noise(sample):
        raise not_text
    fitting, damaged, nul = _count_utf8(path)
    if nul > path.stat().st_size // 20:
        raise not_text
    if damaged == 0:
        japanese = b"\x1b$B" in sample and b"\x1b(B" in sample  # 7-bit, with escape sequences around each run of characters
        return Encoding("iso2022_jp", LABELS["iso2022_jp"]) if japanese else _UTF8
    if fitting >= 20 * damaged:
        return Encoding("utf-8", "UTF-8", damaged=True)
    codec, rivals = detect_codepage(_lines_beyond_ascii(path))
    return Encoding(codec, LABELS[codec], damaged=not decodes(path, codec), rivals=rivals)


def named_encoding(name: str) -> Encoding:
    """Return the encoding chosen by the user; raise a StudioError if Python has no text codec of that name."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)
        if codec.name in _HOST_NAME_CODECS or codec.incrementaldecoder is None:
            raise LookupError(name)
        codec.incrementaldecoder("replace").decode(bytes(range(256)), True)
    except (LookupError, ValueError):
        hint = "use utf-8, utf-16, cp1252, cp1250, cp1251, koi8-r, gb18030, big5, cp949 (Korean), cp932 or euc-jp (Japanese)"
        raise StudioError(_("there is no encoding called {name}", name=repr(name)), hint) from None
    if codec.name == "utf-8":
        return Encoding("utf-8-sig", "UTF-8", damaged=True)
    return Encoding(codec.name, LABELS.get(codec.name.replace("-", "_"), name.upper()), damaged=True)


def decodes(path: Path, codec: str) -> bool:
    """Return whether every byte of a file can be decoded with a codec."""
    decoder = codecs.getincrementaldecoder(codec)("strict")
    try:
        for block in _blocks(path):
            decoder.decode(block, final=not block)
    except UnicodeDecodeError:
        return False
    return True


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
    yield b""  # tells decoders that the file has ended


def _refuse_binary_format(start: bytes, name: str) -> None:
    for magic, kind, hint in _BINARY_FORMATS:
        if start.startswith(magic):
            raise StudioError(_("{name} is {kind}, not a table", name=name, kind=kind), hint)
    if start.lstrip()[:200].lower().startswith((b"<!doctype html", b"<html", b"<table", b"<?xml")):
        raise StudioError(_("{name} is a web page or XML, not a table", name=name), "open it in a spreadsheet and save it as .xlsx or .csv")


def _has_noise(sample: bytes) -> bool:
    control = sum(sample.count(code) for code in range(32) if code not in _CONTROL_IN_TEXT)
    return control > (max(100, len(sample) // 10) if _decode(sample, "utf-8") is not None else max(2, len(sample) // 50))


def _lines_beyond_ascii(path: Path) -> bytes:
    # At most 64 KiB; each line of the second half must contain new words.
    lines: list[bytes] = []
    size = 0
    seen: set[bytes] = set()
    with path.open("rb") as file:
        while size < _MOST_EVIDENCE and (line := file.readline(_MOST_EVIDENCE)):
            if line.isascii():
                continue
            new = set(_BEYOND_ASCII.findall(line)) - seen
            if size < _MOST_EVIDENCE // 2 or new:
                seen |= new
                lines.append(line if line.endswith(b"\n") else line + b"\n")
                size += len(line)
    return b"".join(lines)


def _utf16_without_mark(sample: bytes) -> Encoding | None:
    """Recognize UTF-16 by the positions of NUL bytes (Latin text) or by the decoded text (Chinese)."""
    pairs = len(sample) // 2
    for codec, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        encoding = Encoding(codec, _("{codec} without a byte order mark", codec=codec[:6].upper()))
        high_nul, low_nul = sample[high::2].count(0), sample[low::2].count(0)
        if pairs and high_nul > 0.3 * pairs and low_nul < 0.05 * pairs:
            return encoding
        # Pairs of ASCII characters look like Chinese in UTF-16, but are also valid UTF-8; Chinese in UTF-16 is not.
        text = _decode(sample, codec) if high_nul > 0 and _decode(sample, "utf-8") is None else ""
        if text and len(_COMMON_CHARACTER.findall(text)) > 0.97 * len(text) and any(mark in text for mark in "\n,\t;"):
            return encoding
    return None


def _decode(sample: bytes, codec: str) -> str | None:
    # An incremental decoder accepts an incomplete character at the end of the sample.
    try:
        return codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return None


def _count_utf8(path: Path) -> tuple[int, int, int]:
    """Return (non-ASCII characters that are valid UTF-8, invalid bytes, NUL bytes)."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    beyond = replaced = nul = 0
    for block in _blocks(path):
        nul += block.count(0)
        text = decoder.decode(block, final=not block)
        if not text.isascii():
            beyond += len(text) - len(text.encode("ascii", "ignore"))
            replaced += text.count("\ufffd")
    if replaced and decodes(path, "utf-8"):
        replaced = 0  # the file itself contains U+FFFD
    return beyond - replaced, replaced, nul
