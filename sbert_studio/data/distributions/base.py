"""What a distribution is: the names of its files, what belongs together, and how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, get_args

from ...registry import Registry
from ..loading.content import Content
from ..schema.roles import Roles

Split = Literal["train", "dev", "test", "all"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""``all``: the set has no split of its own, and is judged by cross-validation."""

Folder = Mapping[str, Path]
"""The files of one folder by their names, in the order of the alphabet."""


@dataclass(frozen=True)
class Part:
    """The files that hold one split of one set.

    Attributes:
        name: the set's, such as ``STS12``.
        split: one of :data:`SPLITS`.
        files: in the order in which their rows stand in the table. One may be missing: reading then says so.
        section: what tells this part from others of the same set and split, such as ``matched``; mostly empty.
    """

    name: str
    split: Split
    files: tuple[Path, ...]
    section: str = ""


class Distribution(ABC):
    """One set, or a family of sets that are handed out in the same form.

    Attributes:
        name: its name in the registry.
        title: what it is, and the paper that it comes from.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def parts(self, folder: Folder) -> Iterable[Part]:
        """What of it lies in a folder; nothing where none of its files do."""

    @abstractmethod
    def read(self, part: Part) -> Content:
        """The rows of a part, under plain column names; what was left out, and why, stands in the notes.

        Raises:
            StudioError: a file is missing or is not what its name says; the file and the line are named.
        """

    @abstractmethod
    def roles(self, part: Part) -> Roles:
        """What the columns of :meth:`read` are."""

    def subsets(self, part: Part) -> Mapping[str, Part]:
        """The subsets of a part that have files of their own, by their names; none of most sets."""
        return {}

    def alone(self, name: str, start: Sequence[str]) -> bool:
        """Whether the general reader should leave a single file to :meth:`read_alone`.

        Args:
            name: the file's name.
            start: its first lines.
        """
        return False

    def read_alone(self, path: Path, name: str, encoding: str | None) -> Content | None:
        """A single file, given without the others: its columns keep the names that it gives them. ``None``: it is not what it seemed.

        Args:
            path: the file.
            name: what it is called.
            encoding: the codec, where a person named it.

        Raises:
            StudioError: it says nothing without its other half, which is named.
        """
        return None


DISTRIBUTIONS: Registry[Distribution] = Registry("distribution")


def known_distributions() -> Iterator[Distribution]:
    """One of each, in the order of registration."""
    for name in DISTRIBUTIONS:
        yield DISTRIBUTIONS[name]()
