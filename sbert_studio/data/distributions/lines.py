"""Files of one record a line, in which a quotation mark is a character like any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import StudioError, describe_rows
from ..findings import Finding, Severity, count
from ..loading.content import ColumnBuilder, Content
from ..loading.encoding import decodes
from ..progress import checkpoint

_LONGEST = 1 << 25  # characters of a line
AGAIN = "fetch the file again; it may have been opened and saved by another program"
_CHECK_EVERY = 20_000
BLANK = "blank"
"""Why a blank line is left out."""
_LABELS = {"cp1252": "Windows-1252", "latin-1": "Latin-1 (ISO 8859-1)"}


def codec_of(path: Path, legacy: Sequence[str] = ("cp1252", "latin-1")) -> str:
    """UTF-8 where all bytes fit, else the first of ``legacy`` under which they do.

    Raises:
        StudioError: there is no such file, or it is in none of them.
    """
    for codec in ("utf-8-sig", *legacy):
        if _fits(path, codec):
            return codec
    raise StudioError(f"{path.name} is not in UTF-8", "fetch the file again; it may have been cut off or converted on its way")


def encoding_note(codec: str) -> tuple[Finding, ...]:
    """What to tell about a codec of :func:`codec_of` that is not UTF-8."""
    return (Finding("info", f"the file is in {_LABELS[codec]}, not UTF-8; it was converted"),) if codec in _LABELS else ()


def text_lines(path: Path, codec: str = "utf-8-sig") -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1, without their ends; only a line feed ends one.

    Raises:
        StudioError: there is no such file, a line is beyond all bounds, or its bytes do not fit the codec.
    """
    number = 0
    try:
        with path.open(encoding=codec, newline="\n") as source:
            while line := source.readline(_LONGEST):
                number += 1
                if number % _CHECK_EVERY == 0:
                    checkpoint()
                if len(line) >= _LONGEST and not line.endswith("\n"):
                    raise wrong(path, number, f"is longer than {_LONGEST:,} characters")
                yield number, line.rstrip("\r\n").replace("\0", "")
    except UnicodeDecodeError as error:
        hint = "fetch the file again, or convert it to UTF-8"
        raise wrong(path, number + 1, "or one soon after it holds bytes that are not UTF-8", hint) from error
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise StudioError(f"{path.name} cannot be read: {error.strerror}", "check the path and its permissions") from None


def wrong(path: Path, line: int, what: str, hint: str = AGAIN) -> StudioError:
    """What is wrong with a line of a file: ``sts-test.csv, line 12, …``."""
    return StudioError(f"{path.name}, line {line:,}, {what}", hint)


def missing(path: Path, other: Path | None = None) -> StudioError:
    """That a file is not there, beside another that needs it."""
    if other is None:
        return StudioError(f"there is no file {path}", "check the path")
    return StudioError(f"{path.name} is missing beside {other.name}", f"put it into the folder {other.parent.name or '.'}; both are needed")


def tabbed(path: Path, codec: str, needed: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The cells of the columns ``needed`` in each line of a tab-separated file whose first line names its columns.

    Raises:
        StudioError: a column is not there, or a line has fewer cells than it needs.
    """
    lines = text_lines(path, codec)
    header = [name.strip() for name in next(lines, (0, ""))[1].split("\t")]
    for name in needed:
        if name not in header:
            raise StudioError(f"{path.name} has no column {name!r}", f"its first line names {', '.join(header)[:200]}")
    places = [header.index(name) for name in needed]
    least = max(places) + 1
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) < least and line.strip():
            raise wrong(path, number, f"has {count(len(cells), 'cell')} where {least} are needed")
        yield number, [cells[place] for place in places] if len(cells) >= least else []


class Rows:
    """Rows in, and lines that are left out with the reason; a table's content out.

    Rows are numbered as the lines of their file are; those of a second file go on where the first one ended.
    """

    def __init__(self, *names: str) -> None:
        self._names = names
        self._columns = ColumnBuilder(len(names))
        self._left: dict[tuple[str, str], list[int]] = {}
        self._starts: dict[str, int] = {}
        self._file, self._before, self._last = "", 0, 0

    def begin(self, path: Path) -> None:
        """What follows is of this file."""
        self._file, self._before = path.name, self._last
        self._starts[path.name] = self._last

    def add(self, line: int, *cells: str) -> None:
        """Take a row."""
        self._last = self._before + line
        self._columns.append(self._last, cells)

    def leave_out(self, line: int, why: str) -> None:
        """Leave a line out, for a reason such as ``no gold score``."""
        self._last = self._before + line
        self._left.setdefault((why, self._file), []).append(line)

    def content(self, notes: Sequence[Finding] = ()) -> Content:
        """The columns, with a note for each reason and file.

        Raises:
            StudioError: there is no row.
        """
        data, lines = self._columns.finish(self._names)
        if not len(lines):
            raise StudioError(f"{self._file} holds no rows that can be used", "fetch the file again")
        return Content(self._names, data, lines, (*notes, *self._findings()))

    def _findings(self) -> Iterator[Finding]:
        for (why, file), own in self._left.items():
            start = self._starts[file]
            severity: Severity = "info" if why == BLANK else "warning"
            told = f"{count(len(own), 'line')} of {file} left out: {why}"
            if start:
                told += f" ({describe_rows(own).replace('row', 'line', 1)} of that file)"
            yield Finding(severity, told, tuple(start + line for line in own), left_out=why)


def _fits(path: Path, codec: str) -> bool:
    try:
        return decodes(path, codec)
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise StudioError(f"{path.name} cannot be read: {error.strerror}", "check the path and its permissions") from None
