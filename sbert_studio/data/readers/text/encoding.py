"""Which characters these bytes are: the text encoding of a file."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

from ....errors import StudioError
from .binary import refuse_binary, refuse_noise, refuse_nul
from .codepages import LABELS, tell

_BLOCK = 1 << 20
_SAMPLE = 1 << 18
_TELLING = 1 << 16
_BEYOND = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")


@dataclass(frozen=True)
class Encoding:
    """How a text file's bytes become characters.

    Attributes:
        codec: Python's name of the codec; it takes a byte order mark off.
        label: the name that people know.
        damaged: some bytes do not fit, and will be read as U+FFFD.
        rivals: other codecs that the bytes could as well be in; the owner is to say which it is.
    """

    codec: str
    label: str
    damaged: bool = False
    rivals: tuple[str, ...] = ()


UTF8 = Encoding("utf-8", "UTF-8")
_BOMS = (
    (codecs.BOM_UTF8, Encoding("utf-8-sig", "UTF-8")),
    (codecs.BOM_UTF32_LE, Encoding("utf-32", "UTF-32")),
    (codecs.BOM_UTF32_BE, Encoding("utf-32", "UTF-32")),
    (codecs.BOM_UTF16_LE, Encoding("utf-16", "UTF-16")),
    (codecs.BOM_UTF16_BE, Encoding("utf-16", "UTF-16")),
)


def detect_encoding(path: Path) -> Encoding:
    """The encoding of a text file, read once from start to end in blocks of 1 MiB.

    A byte order mark decides. Without one: UTF-16 where every other byte is NUL, UTF-8 where all bytes fit, UTF-8 with
    damage where nearly all fit, else the code page that the lines beyond ASCII look like.

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
    refuse_noise(sample, path.name)
    good, bad, nul, total = _utf8_census(path)
    refuse_nul(nul, total, path.name)
    if bad == 0:
        return _escaped(sample) or UTF8
    if good >= 20 * bad:
        return Encoding("utf-8", "UTF-8", damaged=True)
    told = tell(_telling_lines(path))
    return Encoding(told.codec, LABELS[told.codec], damaged=not decodes(path, told.codec), rivals=told.rivals)


_OF_HOST_NAMES = ("idna", "punycode")


def named_encoding(name: str) -> Encoding:
    """The encoding that a person names.

    Raises:
        StudioError: Python knows no encoding of that name in which a file of text can be.
    """
    try:
        codec = codecs.lookup(name)
        "".encode(name)
        if codec.name in _OF_HOST_NAMES or codec.incrementaldecoder is None:
            raise LookupError(name)
        codec.incrementaldecoder("replace").decode(bytes(range(256)), True)
    except (LookupError, ValueError):
        hint = "use utf-8, utf-16, cp1252, cp1250, cp1251, koi8-r, gb18030, big5, cp949 (Korean), cp932 or euc-jp (Japanese)"
        raise StudioError(f"there is no encoding called {name!r}", hint) from None
    if codec.name == "utf-8":
        return Encoding("utf-8-sig", "UTF-8", damaged=True)
    return Encoding(codec.name, LABELS.get(codec.name.replace("-", "_"), name.upper()), damaged=True)


def _escaped(sample: bytes) -> Encoding | None:
    """Japanese of seven bits, whose characters stand between escape sequences."""
    return Encoding("iso2022_jp", LABELS["iso2022_jp"]) if b"\x1b$B" in sample and b"\x1b(B" in sample else None


def _telling_lines(path: Path) -> bytes:
    """At most 64 KiB of the lines of the file that hold bytes beyond ASCII; the second half of them bring words not seen before."""
    lines: list[bytes] = []
    size = 0
    seen: set[bytes] = set()
    with path.open("rb") as source:
        while size < _TELLING and (line := source.readline(_TELLING)):
            if line.isascii():
                continue
            new = set(_BEYOND.findall(line)) - seen
            if size < _TELLING // 2 or new:
                seen |= new
                lines.append(line if line.endswith(b"\n") else line + b"\n")
                size += len(line)
    return b"".join(lines)


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


def decodes(path: Path, codec: str) -> bool:
    """Whether every byte of a file can be read by a codec.

    Raises:
        OSError: the file cannot be opened.
    """
    decoder = codecs.getincrementaldecoder(codec)("strict")
    try:
        with path.open("rb") as source:
            while block := source.read(_BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
