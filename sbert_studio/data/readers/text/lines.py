"""Text files as a stream of physical lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ....errors import StudioError
from ...progress import Progress
from ..rows import Ledger
from .encoding import Encoding

LONGEST_LINE = 1 << 25
"""Characters; a line or cell beyond it is refused, so that one file cannot take all memory."""
_REPORT_EVERY = 20_000


class Lines:
    """The physical lines of a text file with their line ends, decoded as they are read.

    NUL characters are taken out. Lines can be put back, and those of the record being read are kept in ``pending``, so
    that a reader may take them apart again.

    Attributes:
        pending: the lines handed out since the reader last cleared the list.
        nul: a NUL was taken out of a pending line; :meth:`report` resets it.
        broken: a pending line holds bytes that do not fit the encoding; :meth:`report` resets it.
        exhausted: a line was asked for after the last one.
    """

    def __init__(self, path: Path, encoding: Encoding, progress: Progress | None = None) -> None:
        self._raw = path.open("rb")
        self._text = io.TextIOWrapper(self._raw, encoding=encoding.codec, errors="replace", newline="")
        self._size = path.stat().st_size
        self._progress = progress
        self._damaged = encoding.damaged or encoding.codec.startswith("utf-16")
        self._back: list[str] = []
        self.pending: list[str] = []
        self.nul = self.broken = self.exhausted = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()

    def __iter__(self) -> Iterator[str]:
        damaged, pending, back = self._damaged, self.pending, self._back
        read = partial(self._text.readline, LONGEST_LINE)
        number = 0
        while True:
            line = back.pop() if back else read()
            if not line:
                break
            number += 1
            if "\0" in line:
                line = line.replace("\0", "")
                self.nul = True
            if damaged and "\ufffd" in line:
                self.broken = True
            if len(line) >= LONGEST_LINE and not line.endswith(("\n", "\r")):
                raise StudioError(
                    f"line {number} is longer than {LONGEST_LINE:,} characters", "check that the file is a table of text, one row a line"
                )
            if self._progress and number % _REPORT_EVERY == 0:
                self._progress(min(self._raw.tell(), self._size), self._size)
            pending.append(line)
            yield line
        self.exhausted = True
        if self._progress:
            self._progress(self._size, self._size)

    def put_back(self, lines: list[str]) -> None:
        """Hand ``lines`` out again, in their order, before any other."""
        self._back.extend(reversed(lines))

    def report(self, row: int, ledger: Ledger) -> None:
        """Enter what was wrong with the bytes of the pending lines as having happened to ``row``."""
        if self.nul:
            ledger.enter("nul", row)
        if self.broken:
            ledger.enter("broken", row)
        self.nul = self.broken = False


def first_lines(path: Path, encoding: Encoding, most: int = 500, characters: int = 1 << 18) -> list[str]:
    """The first physical lines of a file: at most ``most``, and no more once ``characters`` have been seen."""
    lines: list[str] = []
    seen = 0
    with Lines(path, encoding) as source:
        for line in source:
            lines.append(line)
            seen += len(line)
            if len(lines) >= most or seen >= characters:
                break
    return lines


def first_text(path: Path, encoding: Encoding, characters: int = 1 << 20) -> str:
    """The first characters of a file, whatever its lines."""
    with path.open(encoding=encoding.codec, errors="replace", newline="") as source:
        return source.read(characters).replace("\0", "")


def pieces(path: Path, encoding: Encoding, progress: Progress | None = None) -> Iterator[str]:
    """The text of a file in parts of 64 Ki characters, without NUL characters."""
    size = path.stat().st_size
    with path.open("rb") as raw, io.TextIOWrapper(raw, encoding=encoding.codec, errors="replace", newline="") as source:
        for number, piece in enumerate(iter(partial(source.read, 1 << 16), ""), start=1):
            if progress and number % 50 == 0:
                progress(min(raw.tell(), size), size)
            yield piece.replace("\0", "")
    if progress:
        progress(size, size)
