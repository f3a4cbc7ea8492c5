"""Files of word vectors: the text and the binary format of word2vec, and the text format of GloVe, each also packed by gzip.

- word2vec text, which fastText writes too: a line ``words components``, then a word and its numbers a line.
- word2vec binary: the same first line, then a word, a space and its numbers as 32-bit floats, little-endian.
- GloVe: a word and its numbers a line, without a first line.

They are read from their beginning word by word, so that the memory needed is that of the words that are kept; the files
of the authors hold the commonest words first.
"""

from __future__ import annotations

import codecs
import gzip
import math
import sys
import zlib
from array import array
from pathlib import Path
from typing import IO, cast

import numpy as np

from ..data.progress import Progress, checkpoint
from ..errors import StudioError
from .vectors import WordVectors

MOST_WORDS = 500_000
_WIDEST = 10_000
_LINE = 400_000  # bytes
_AHEAD = 1 << 18  # bytes read at a time from a binary file
_WORD = 10_000  # bytes of a word in a binary file
_WORDS = 2048  # between two questions whether to go on
_BLANK = 10_000  # empty lines in a row
_LARGEST = 1e15  # of a number: sums and products of vectors stay within the range of 32-bit floats
_BYTES = 4 << 30  # of numbers that are kept
_FEWER = "keep its commonest words alone"
_PRINTED = frozenset(range(32, 127)) | frozenset(b"\t\r\n")
_AGAIN = "the file is damaged or of another kind: fetch it again, or give word2vec's or GloVe's format"


def read_vectors(path: Path, most: int = MOST_WORDS, progress: Progress | None = None) -> WordVectors:
    """The table in a file of any of the three formats, named after the file.

    A word that stands twice keeps its first vector. Words with a space inside, which GloVe's largest table holds some of, and
    empty ones cannot occur in a text that is split at spaces, and are left out.

    Args:
        most: no more words than that, the first of the file.
        progress: told the words that are read, of a number that is not known (0).

    Raises:
        StudioError: the file cannot be read; its message names the line, or the word's number, at fault.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as opened:
            table = _Table(path.name, most, progress)
            source = cast(IO[bytes], opened)
            first = _line(source, path.name, 1).removeprefix(codecs.BOM_UTF8)
            header = _header(first, path.name)
            if header is None:
                _read_text(source, table, first, 1, None)
            else:
                second = source.readline(_LINE)
                if _is_text(second, header[1]):
                    _read_text(source, table, second, 2, header)
                else:
                    _read_binary(source, table, second, *header)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise StudioError(f"{path.name} cannot be unpacked: it is damaged or cut short", "fetch it again") from error
    except OSError as error:
        raise StudioError(f"{path.name} cannot be read: {error.strerror or error}", "look at the path, and at who may read it") from error
    return table.vectors()


class _Table:
    """Words and vectors, growing one by one in plain memory."""

    def __init__(self, name: str, most: int, progress: Progress | None) -> None:
        self.name, self.most, self._progress = name, most, progress
        self.width = 0
        self._words: dict[str, None] = {}
        self._numbers = array("f")
        self._read = 0

    @property
    def kept(self) -> int:
        """How many words are there."""
        return len(self._words)

    def full(self) -> bool:
        return len(self._words) >= self.most

    def add(self, word: str, numbers: array[float]) -> None:
        if self._read % _WORDS == 0:
            checkpoint()
            if self._progress is not None:
                self._progress(self._read, 0)
        self._read += 1
        if word and word not in self._words and word.split() == [word]:
            self._words[word] = None
            self._numbers.extend(numbers)
            if 4 * len(self._numbers) > _BYTES:
                raise StudioError(f"{self.name} holds more than {_BYTES >> 30} GiB of numbers in {len(self._words):,} words", _FEWER)

    def vectors(self) -> WordVectors:
        if not self._words:
            raise StudioError(f"{self.name} holds no word vectors", _AGAIN)
        matrix = np.frombuffer(self._numbers, np.float32).reshape(-1, self.width)
        if max(-float(matrix.min()), float(matrix.max())) > _LARGEST:
            word = list(self._words)[int(np.argmax(np.abs(matrix).max(axis=1)))]
            raise StudioError(f"{self.name} has a number for the word {word!r} that is too large", _AGAIN)
        return WordVectors(tuple(self._words), matrix, None, self.name)


def _line(source: IO[bytes], name: str, number: int) -> bytes:
    line = source.readline(_LINE)
    if len(line) >= _LINE:
        raise StudioError(f"line {number} of {name} is too long to hold a word and its vector", _AGAIN)
    return line


def _header(first: bytes, name: str) -> tuple[int, int] | None:
    """(words, components) if this is word2vec's first line."""
    parts = first.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 19 for part in parts):
        return None
    words, width = map(int, parts)
    if not 1 <= width <= _WIDEST:
        raise StudioError(f"line 1 of {name} says that a vector has {width} components", f"it must be between 1 and {_WIDEST}")
    return words, width


def _is_text(line: bytes, width: int) -> bool:
    """Whether what follows the first word, and would be its vector in a binary file, is written in letters."""
    return set(line.partition(b" ")[2][: 4 * width]) <= _PRINTED


def _read_text(source: IO[bytes], table: _Table, line: bytes, number: int, header: tuple[int, int] | None) -> None:
    table.width = header[1] if header else 0
    found = blank = 0
    while line and not table.full():
        blank = 0 if line.strip() else blank + 1
        if blank > _BLANK:
            raise StudioError(f"{table.name} holds {_BLANK:,} empty lines behind line {number - _BLANK}", _AGAIN)
        if not blank:
            table.width = table.width or len(line.split()) - 1
            if not 1 <= table.width <= _WIDEST:
                raise StudioError(f"line {number} of {table.name} is not a word and its numbers", _AGAIN)
            table.add(*_parse(line, table, number))
            found += 1
        number += 1
        line = _line(source, table.name, number)
    if header and (found > header[0] or (found < header[0] and not table.full())):
        ends = f"{table.name} ends in line {number - 1}: its" if found < header[0] else f"{table.name}: the"
        more = "" if found < header[0] else " or more"
        raise StudioError(f"{ends} first line promises {header[0]} words, but {found}{more} are there", _AGAIN)


def _parse(line: bytes, table: _Table, number: int) -> tuple[str, array[float]]:
    """The word and the numbers of a line; a word may hold spaces, but does not end in a number behind one."""
    parts = line.rsplit(None, table.width)
    pieces = parts[0].split()
    if len(parts) <= table.width or (len(pieces) > 1 and _number(pieces[-1]) is not None):
        found = len(line.split()) - 1
        raise StudioError(f"line {number} of {table.name} has {found} numbers, those before it {table.width}", _AGAIN)
    try:
        numbers = array("f", map(float, parts[1:]))
    except (ValueError, OverflowError):
        wrong = next(part for part in parts[1:] if _number(part) is None)
        quoted = wrong[:40].decode("utf-8", "replace")
        raise StudioError(f"line {number} of {table.name} has {quoted!r} where a number should stand", _AGAIN) from None
    if not math.isfinite(sum(numbers)):
        raise StudioError(f"line {number} of {table.name} holds a number that is not finite", _AGAIN)
    try:
        return parts[0].strip().decode("utf-8"), numbers
    except UnicodeDecodeError:
        raise StudioError(f"the word in line {number} of {table.name} is not UTF-8", "save the file as UTF-8") from None


def _number(part: bytes) -> float | None:
    try:
        return float(part)
    except ValueError:
        return None


def _read_binary(source: IO[bytes], table: _Table, ahead: bytes, words: int, width: int) -> None:
    table.width = width
    at = number = 0
    for number in range(1, words + 1):
        if table.full():
            break
        # A word has no fixed length: more is read until its vector is there.
        while (space := ahead.find(b" ", at)) < 0 or len(ahead) < space + 1 + 4 * width:
            if space < 0 and len(ahead) - at > _WORD:
                raise StudioError(f"word {number} of {table.name} has no end", _AGAIN)
            more = source.read(_AHEAD)
            if not more:
                raise StudioError(f"{table.name} ends within word {number} of the {words} that it promises", _AGAIN)
            ahead, at = ahead[at:] + more, 0
        begin, end = space + 1, space + 1 + 4 * width
        numbers = array("f")
        numbers.frombytes(ahead[begin:end])
        if sys.byteorder == "big":
            numbers.byteswap()
        if not math.isfinite(sum(numbers)):
            raise StudioError(f"word {number} of {table.name} has a number that is not finite", _AGAIN)
        # The authors' program cuts long words at a byte, in the middle of a character perhaps.
        table.add(ahead[at:space].lstrip(b"\n").decode("utf-8", "replace"), numbers)
        at = end
    # Where its first line lies, a piece of a vector stands where a word is looked for, and what is found is most often none.
    rest = b"" if table.full() else ahead[at:] + source.read(_AHEAD)
    if rest.strip() or table.kept < min(number, words) // 2:
        raise StudioError(f"the first line of {table.name} promises {words:,} words of {width} numbers, which it does not hold", _AGAIN)
