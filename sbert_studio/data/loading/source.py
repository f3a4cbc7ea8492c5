"""A file to be read: its first bytes, its encoding, its lines, and the user's choices."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress
from ..findings import ExampleRow, Finding, Question
from ..schema.roles import option
from .codepages import LABELS
from .content import RowLog
from .encoding import Encoding, detect_encoding, named_encoding

LONGEST_LINE = 1 << 25
"""Maximum number of characters in a line; longer lines raise an error, so that one file cannot exhaust memory."""

_HEAD = 512
_CHUNK = 1 << 16
_REPORT_EVERY = 20_000
_SHOWN_LINES = 2
_LONGEST_SHOWN = 120


@dataclass(frozen=True)
class TableFile:
    """A file to be read: its path, its display name, its first bytes, and the user's choices; None means: detect."""

    path: Path
    name: str
    head: bytes
    encoding_name: str | None = None
    delimiter: str | None = None
    header: bool | None = None

    @classmethod
    def open(cls, path: Path, name: str | None = None, *, encoding: str | None, delimiter: str | None, header: bool | None) -> TableFile:
        """Read the first bytes of a file; raise a StudioError if it is missing, empty, a folder or unreadable."""
        if path.is_dir():
            raise StudioError(_("{name} is a folder", name=path.name), "specify a file")
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except FileNotFoundError:
            raise StudioError(_("there is no file {path}", path=path), "check the path") from None
        except OSError as error:
            raise StudioError(
                _("{path} cannot be read: {strerror}", path=path, strerror=error.strerror), "check the path and its permissions"
            ) from None
        if not head:
            raise StudioError(_("{name} is empty", name=path.name), "use a file with at least one row of text")
        return cls(path, name or path.name, head, encoding, delimiter, header)

    @property
    def suffix(self) -> str:
        return self.path.suffix.lower()

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding, chosen by the user or detected."""
        return named_encoding(self.encoding_name) if self.encoding_name else detect_encoding(self.path)

    def encoding_notes(self) -> tuple[Finding, ...]:
        label = self.encoding.label
        return (
            () if label.startswith("UTF-8") else (Finding("info", _("the file is in {label}, not UTF-8; it was converted", label=label)),)
        )

    def ask_encoding(self) -> tuple[Question, ...]:
        """Ask for the encoding if several fit, with lines of the file decoded with each."""
        if not self.encoding.rivals:
            return ()
        codecs = (self.encoding.codec, *self.encoding.rivals)
        lines = _lines_that_differ(self.path, codecs)
        shown = tuple(ExampleRow(number, (_decode_line(line, codec),), read_as=LABELS[codec]) for number, line in lines for codec in codecs)
        options = tuple(option(LABELS[codec], encoding=codec) for codec in codecs)
        why = "the file is not in UTF-8, and its text is plausible in several encodings"
        return (Question("encoding", "In which encoding are these lines correct?", options, why, shown),)

    def first_lines(self, most: int = 500, characters: int = 1 << 18) -> list[str]:
        """Return at most ``most`` physical lines, stopping after ``characters`` characters."""
        lines: list[str] = []
        left = characters
        with Lines(self) as source:
            for line in islice(source, most):
                lines.append(line)
                left -= len(line)
                if left <= 0:
                    break
        return lines

    def chunks(self, progress: Progress | None = None) -> Iterator[str]:
        """Yield the text in chunks of 64 Ki characters, without NUL characters."""
        size = self.path.stat().st_size
        with self.path.open("rb") as raw, io.TextIOWrapper(raw, self.encoding.codec, errors="replace", newline="") as text:
            for number, chunk in enumerate(iter(partial(text.read, _CHUNK), ""), start=1):
                if progress and number % 50 == 0:
                    progress(min(raw.tell(), size), size)
                yield chunk.replace("\0", "")
        if progress:
            progress(size, size)


class Lines:
    """Iterate over the physical lines of a text file, with their line ends and without NUL characters.

    Args:
        source: the file.
        progress: called with (bytes read, total bytes).

    Attributes:
        pending: the lines yielded since the reader last cleared the list: those of the record being read.
        exhausted: whether the end of the file was reached.
    """

    def __init__(self, source: TableFile, progress: Progress | None = None) -> None:
        encoding = source.encoding
        self._raw = source.path.open("rb")
        self._text = io.TextIOWrapper(self._raw, encoding.codec, errors="replace", newline="")
        self._size = source.path.stat().st_size
        self._progress = progress
        self._may_be_damaged = encoding.damaged or encoding.codec.startswith("utf-16")
        self._put_back: list[str] = []
        self._had_nul = self._had_damage = False
        self.pending: list[str] = []
        self.exhausted = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()

    def __iter__(self) -> Iterator[str]:
        may_be_damaged, pending, put_back = self._may_be_damaged, self.pending, self._put_back
        read = partial(self._text.readline, LONGEST_LINE)
        number = 0
        while line := put_back.pop() if put_back else read():
            number += 1
            if "\0" in line:
                line = line.replace("\0", "")
                self._had_nul = True
            if may_be_damaged and "\ufffd" in line:
                self._had_damage = True
            if len(line) >= LONGEST_LINE and not line.endswith(("\n", "\r")):
                message = _("line {number} is longer than {longest_line} characters", number=number, longest_line=f"{LONGEST_LINE:,}")
                raise StudioError(message, "check that the file is a table of text with one row per line")
            if self._progress and number % _REPORT_EVERY == 0:
                self._progress(min(self._raw.tell(), self._size), self._size)
            pending.append(line)
            yield line
        self.exhausted = True
        if self._progress:
            self._progress(self._size, self._size)

    def put_back(self, lines: list[str]) -> None:
        """Push back ``lines``, to be yielded again, in order, before any others."""
        self._put_back.extend(reversed(lines))
        self.exhausted = False

    def end_record(self, row: int, log: RowLog) -> None:
        """Clear the pending lines, and log their decoding problems as events of ``row``."""
        if self._had_nul:
            log.add("nul", row)
        if self._had_damage:
            log.add("broken", row)
        self._had_nul = self._had_damage = False
        self.pending.clear()

    def numbered(self, log: RowLog) -> Iterator[tuple[int, str]]:
        """Yield (line number, line) of the non-blank lines; blank ones are logged."""
        for number, line in enumerate(self, start=1):
            self.end_record(number, log)
            if line.strip():
                log.end_gap()
                yield number, line
            else:
                log.add_blank(number)


def _lines_that_differ(path: Path, codecs: Sequence[str]) -> list[tuple[int, bytes]]:
    with path.open("rb") as file:
        numbered = enumerate(iter(partial(file.readline, 1 << 16), b""), start=1)
        differing = (item for item in numbered if not item[1].isascii() and len({_decode_line(item[1], codec) for codec in codecs}) > 1)
        return list(islice(differing, _SHOWN_LINES))


def _decode_line(line: bytes, codec: str) -> str:
    return line.decode(codec, "replace").strip()[:_LONGEST_SHOWN]
