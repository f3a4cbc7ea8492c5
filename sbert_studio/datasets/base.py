"""File layouts of public benchmarks: which files make up a dataset, and how they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeVar, get_args

from ..data.loading.content import Content
from ..data.schema.roles import Roles
from .text_files import RowBuilder, detect_codec, encoding_note, read_unquoted, text_lines

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
