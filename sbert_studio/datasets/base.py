"""File layouts of public benchmarks: which files make up a dataset, and readers for its files.

Usually a file has one record per line, in which quotation marks have no special meaning.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeVar, get_args

from ..data.cells import LONGEST_CELL
from ..data.findings import Finding, Severity, count
from ..data.loading.content import ColumnBuilder, Content
from ..data.loading.encoding import decodes
from ..data.schema.roles import Roles
from ..errors import StudioError, describe_rows
from ..i18n import _
from ..progress import checkpoint

Split = Literal["train", "dev", "test", "all"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""``all``: the dataset has no official split and is evaluated by cross-validation."""

FolderFiles = Mapping[str, Path]
"""The files of one folder by name, sorted."""


@dataclass(frozen=True)
class DatasetPart:
    """Files of one split of one dataset.

    Attributes:
        name: the name of the dataset, such as ``STS12``.
        split: one of :data:`SPLITS`.
        files: in row order. Reading raises an error if one is missing.
        section: distinguishes parts of the same dataset and split, such as ``matched``; usually empty.
    """

    name: str
    split: Split
    files: tuple[Path, ...]
    section: str = ""


Part = TypeVar("Part", bound=DatasetPart)


class DatasetLayout(ABC):
    """File layout of one dataset, or of several that are published in the same format.

    A layout with one file per split sets :attr:`dataset` and :attr:`split_files`. A layout of tab-separated files with a header line sets
    :attr:`header_start`, so that a single file is recognized by its first line, whatever its name, and read with all its columns.

    Attributes:
        columns: the roles of the columns, unless they depend on the part.
        dataset: the name of the dataset.
        split_files: file name → split.
        header_start: the beginning of the first line of its files.
    """

    columns: ClassVar[Roles]
    dataset: ClassVar[str] = ""
    split_files: ClassVar[Mapping[str, Split]] = {}
    header_start: ClassVar[str] = ""

    def parts(self, folder: FolderFiles) -> Iterable[DatasetPart]:
        """Yield the parts whose files are in a folder."""
        for name, split in self.split_files.items():
            if name in folder:
                yield DatasetPart(self.dataset, split, (folder[name],))

    @abstractmethod
    def read(self, part: DatasetPart) -> Content:
        """Return the rows of a part under plain column names, with the skipped lines in the notes.

        Raises:
            StudioError: a file is missing or malformed; the message names the file and the line.
        """

    def roles(self, part: DatasetPart) -> Roles:
        """Return the roles of the columns of :meth:`read`."""
        return self.columns

    def subsets(self, part: Part) -> Mapping[str, Part]:
        """Return the subsets of a part that have their own files, by name; empty for most datasets."""
        return {}

    def recognizes(self, name: str, first_lines: Sequence[str]) -> bool:
        """Return True if a file with this name and these first lines should be read by :meth:`read_file`."""
        return bool(self.header_start and first_lines) and first_lines[0].lstrip("\ufeff").startswith(self.header_start)

    def read_file(self, path: Path, name: str, encoding: str | None) -> Content | None:
        """Read a single file without the other files of the dataset, with all its columns under their original names.

        Args:
            name: the file name known to the user.
            encoding: the codec chosen by the user; None: detect it.

        Returns:
            ``None`` if the file does not follow the layout.

        Raises:
            StudioError: the file is unusable without another one, which the message names.
        """
        return read_unquoted(path, encoding or detect_codec(path))


class LineLayout(DatasetLayout):
    """Layout with one record per line and one file per part, without a header.

    A file is read in the same way alone and with its dataset.

    Attributes:
        names: the column names.
        fallbacks: codecs to try if a file is not valid UTF-8.
    """

    names: ClassVar[tuple[str, ...]]
    fallbacks: ClassVar[tuple[str, ...]] = ("cp1252", "latin-1")

    @abstractmethod
    def parse_line(self, path: Path, number: int, line: str, part: DatasetPart | None) -> Sequence[str]:
        """Return the cells of a non-blank line; ``part`` is None for a file that is read alone."""

    def read(self, part: DatasetPart) -> Content:
        return self._read_lines(part.files[0], None, part)

    def read_file(self, path: Path, name: str, encoding: str | None) -> Content:
        return self._read_lines(path, encoding, None)

    def _read_lines(self, path: Path, encoding: str | None, part: DatasetPart | None) -> Content:
        codec = encoding or detect_codec(path, self.fallbacks)
        rows = RowBuilder(*self.names)
        for number, line in rows.each(path, text_lines(path, codec)):
            rows.add(number, *self.parse_line(path, number, line, part))
        return rows.build(encoding_note(codec))


Line = TypeVar("Line", str, list[str])
DOWNLOAD_AGAIN = "download the file again; it may have been opened and saved by another program"
_CHECKPOINT_EVERY = 20_000  # lines
_MAX_LINE_LENGTH = 1 << 25  # characters
_LEGACY_ENCODINGS = {"cp1252": "Windows-1252", "latin-1": "Latin-1 (ISO 8859-1)"}


def detect_codec(path: Path, fallbacks: Sequence[str] = ("cp1252", "latin-1")) -> str:
    """Return ``utf-8-sig`` if the file is valid UTF-8, else the first of ``fallbacks`` that decodes it."""
    try:
        for codec in ("utf-8-sig", *fallbacks):
            if decodes(path, codec):
                return codec
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    raise StudioError(_("{name} is not in UTF-8", name=path.name), "download the file again; it may have been truncated or converted")


def encoding_note(codec: str) -> tuple[Finding, ...]:
    """Return a note that the file was converted, unless ``codec`` is UTF-8."""
    if codec not in _LEGACY_ENCODINGS:
        return ()
    return (
        Finding("info", _("the file is in {legacy_encodings}, not UTF-8; it was converted", legacy_encodings=_LEGACY_ENCODINGS[codec])),
    )


def text_lines(path: Path, codec: str = "utf-8-sig") -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its line feed); no other character ends a line."""
    number = 0
    try:
        with path.open(encoding=codec, newline="\n") as source:
            while line := source.readline(_MAX_LINE_LENGTH):
                number += 1
                if number % _CHECKPOINT_EVERY == 0:
                    checkpoint()
                if len(line) >= _MAX_LINE_LENGTH and not line.endswith("\n"):
                    raise malformed(path, number, _("is longer than {max_line_length} characters", max_line_length=f"{_MAX_LINE_LENGTH:,}"))
                yield number, line.rstrip("\r\n").replace("\0", "")
    except UnicodeDecodeError as error:
        hint = "download the file again, or convert it to UTF-8"
        raise malformed(path, number + 1, "or one of the lines after it, contains bytes that are not UTF-8", hint) from error
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def tab_separated(path: Path, codec: str, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells of ``columns``) of a tab-separated file with a header line; no cells for a blank line."""
    lines = text_lines(path, codec)
    header = [name.strip() for name in next(lines, (0, ""))[1].split("\t")]
    for name in columns:
        if name not in header:
            raise missing_column(path, name, header)
    places = [header.index(name) for name in columns]
    width = max(places) + 1
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) < width and line.strip():
            raise malformed(path, number, _("has {cells} instead of {width}", cells=count(len(cells), "cell"), width=width))
        yield number, [cells[place] for place in places] if len(cells) >= width else []


def comma_separated(
    path: Path, codec: str, columns: Sequence[Sequence[str]], optional: Sequence[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """Yield (record number, stripped cells of ``columns`` and ``optional``) of a CSV file; the header is record 1, as in a spreadsheet.

    Args:
        columns: for each column, its possible names, case-insensitive.
        optional: names of columns whose cells are blank if they are missing.
    """
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding=codec, newline="") as source:
        reader = csv.reader(source)
        try:
            header = [name.strip().casefold() for name in next(reader, [])]
            places = []
            for names in columns:
                present = [header.index(name.casefold()) for name in names if name.casefold() in header]
                if not present:
                    raise missing_column(path, names[0], header)
                places.append(present[0])
            width = max(places) + 1
            places += [header.index(name.casefold()) if name.casefold() in header else -1 for name in optional]
            for number, cells in enumerate(reader, start=2):
                if number % _CHECKPOINT_EVERY == 0:
                    checkpoint()
                if not any(map(str.strip, cells)):
                    continue
                if len(cells) < width:
                    hint = "download the file again; its quotation marks may have been lost"
                    raise malformed(
                        path, reader.line_num, _("has {cells} cells where {width} are needed", cells=len(cells), width=width), hint
                    )
                yield number, [cells[place].strip() if 0 <= place < len(cells) else "" for place in places]
        except csv.Error as error:
            raise malformed(path, reader.line_num, _("is not valid CSV: {error}", error=error)) from error


def read_unquoted(path: Path, codec: str) -> Content | None:
    """Read all columns of a tab-separated file; ``None`` if a line is not as wide as the header: the file was modified."""
    lines = text_lines(path, codec)
    names = next(lines, (0, ""))[1].split("\t")
    rows = RowBuilder(*names)
    for number, line in rows.each(path, lines):
        cells = line.split("\t")
        if len(cells) != len(names):
            return None
        rows.add(number, *cells)
    return rows.build(encoding_note(codec))


def malformed(path: Path, line: int, problem: str, hint: str = DOWNLOAD_AGAIN) -> StudioError:
    """Return the error ``FILE, line N, PROBLEM``."""
    return StudioError(_("{name}, line {line}, {problem}", name=path.name, line=f"{line:,}", problem=problem), hint)


def missing_column(path: Path, name: str, header: Sequence[str]) -> StudioError:
    """Return the error for a file without a column called ``name``."""
    return StudioError(
        _("{name} has no column {name2}", name=path.name, name2=repr(name)),
        _("its first line contains {header}", header=", ".join(header)[:200]),
    )


def missing_file(path: Path, other: Path | None = None) -> StudioError:
    """Return the error for a missing file ``path`` that ``other`` depends on."""
    if other is None:
        return StudioError(_("there is no file {path}", path=path), "check the path")
    return StudioError(
        _("{name} is missing, but {name2} needs it", name=path.name, name2=other.name),
        _("put it into the folder {name}; both are needed", name=other.parent.name or "."),
    )


def _unreadable(path: Path, error: OSError) -> StudioError:
    return StudioError(
        _("{name} cannot be read: {strerror}", name=path.name, strerror=error.strerror), "check the path and its permissions"
    )


def missing_texts(*texts: str) -> str:
    """Return the reason for skipping a row with a blank text, or an empty string if all texts are present."""
    return "" if all(texts) else "text on one side only" if any(texts) else "no text"


class RowBuilder:
    """Collect the rows of one or more files, and the skipped lines with the reason.

    Rows are numbered by line; the numbers of a second file continue those of the first.
    """

    def __init__(self, *columns: str) -> None:
        self._names = columns
        self._columns = ColumnBuilder(len(columns))
        self._skipped: dict[tuple[str, str], list[int]] = {}
        self._offsets: dict[str, int] = {}
        self._file, self._offset, self._last = "", 0, 0

    def each(self, path: Path, lines: Iterable[tuple[int, Line]]) -> Iterator[tuple[int, Line]]:
        """Begin the next file, whose lines are numbered from 1, and yield those that are not blank: texts, or lists of cells."""
        self._file, self._offset = path.name, self._last
        self._offsets[path.name] = self._last
        for number, line in lines:
            if line.strip() if isinstance(line, str) else line:
                yield number, line
            else:
                self.skip(number, "blank")

    def add(self, line: int, *cells: str) -> None:
        self._last = self._offset + line
        self._columns.append(self._last, cells)

    def skip(self, line: int, reason: str) -> None:
        """Skip a line for a reason such as ``no gold score``."""
        self._last = self._offset + line
        self._skipped.setdefault((reason, self._file), []).append(line)

    def build(self, notes: Sequence[Finding] = ()) -> Content:
        """Return the table, with a note for each reason and file."""
        data, lines = self._columns.finish(self._names)
        if not len(lines):
            raise StudioError(_("{file} contains no usable rows", file=self._file), "download the file again")
        return Content(self._names, data, lines, (*notes, *self._findings()))

    def _findings(self) -> Iterator[Finding]:
        for (reason, file), lines in self._skipped.items():
            offset = self._offsets[file]
            severity: Severity = "info" if reason == "blank" else "warning"
            message = _("{lines} of {file} skipped: {reason}", lines=count(len(lines), "line"), file=file, reason=reason)
            if offset:
                message += f" ({describe_rows(lines).replace('row', 'line', 1)} of that file)"
            yield Finding(severity, message, tuple(offset + line for line in lines), skip_reason=reason)
