"""What every file format promises: it knows its files by their first bytes or their name, and reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from ....errors import StudioError
from ....registry import Registry
from ...progress import Progress
from ..rows import Content
from ..text.encoding import Encoding, detect_encoding, named_encoding

_LOOKED_AT = 512


@dataclass(frozen=True)
class Choices:
    """What was said of a file; the rest is found out.

    Attributes:
        encoding: its name, or ``None``.
        delimiter: a single character, or ``None``.
        header: whether the first row names the columns, or ``None``.
    """

    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None


@dataclass(frozen=True)
class Start:
    """A file before it is read.

    Attributes:
        path: where it lies.
        head: its first bytes.
        choices: what was said of it.
        name: what people call it.
    """

    path: Path
    head: bytes
    choices: Choices
    name: str

    @classmethod
    def of(cls, path: Path, choices: Choices, name: str | None = None) -> Start:
        """Look at a file.

        Raises:
            StudioError: it is absent, empty, a folder, or cannot be read.
        """
        if path.is_dir():
            raise StudioError(f"{path.name} is a folder", "give a file")
        try:
            with path.open("rb") as source:
                head = source.read(_LOOKED_AT)
        except FileNotFoundError:
            raise StudioError(f"there is no file {path}", "check the path") from None
        except OSError as error:
            raise StudioError(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from None
        if not head:
            raise StudioError(f"{path.name} is empty", "give a file with at least one row of text")
        return cls(path, head, choices, name or path.name)

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot, in lower case."""
        return self.path.suffix.lower()

    @cached_property
    def encoding(self) -> Encoding:
        """How its bytes are to be read as text: as said, or as found.

        Raises:
            StudioError: the file is no text, or there is no such encoding.
        """
        return named_encoding(self.choices.encoding) if self.choices.encoding else detect_encoding(self.path)


class FileFormat(ABC):
    """One format of files.

    Attributes:
        name: the registry sets it.
        suffixes: the endings of its files; content decides where the two disagree.
        rank: formats of a lower rank are asked first.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    rank: ClassVar[int]

    @abstractmethod
    def knows(self, start: Start) -> bool:
        """Whether this is one of its files, as far as those of a lower rank do not know it."""

    @abstractmethod
    def read(self, start: Start, progress: Progress | None) -> Content:
        """The content of one of its files.

        Raises:
            StudioError: the file is damaged or holds no rows.
        """


FORMATS: Registry[FileFormat] = Registry("file format")
