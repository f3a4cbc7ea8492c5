"""From a file or a folder to the sets that lie there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..errors import StudioError
from .accounts import RowAccount, account_of
from .distributions import SPLITS, Distribution, Folder, Part, Split, known_distributions
from .loading.table import Table
from .schema.roles import Roles

_DEEPEST = 8
_MOST_FILES = 100_000


@dataclass(frozen=True)
class Found:
    """One split of one set. Its files are read once :attr:`table` is asked for.

    Attributes:
        name: the set's, such as ``STS12``.
        split: ``train``, ``dev``, ``test``; or ``all`` of a set that is judged by cross-validation.
        section: what tells it from others of that set and split, such as ``matched``; mostly empty.
        files: those that it is read from.
        roles: what the columns of the table are; their group (a subset, a genre, a topic) is what results are told apart by.
    """

    name: str
    split: Split
    section: str
    files: tuple[Path, ...]
    roles: Roles
    distribution: Distribution
    part: Part

    @property
    def title(self) -> str:
        """The set, its section and its split in words: ``MultiNLI matched dev``."""
        return " ".join(word for word in (self.name, self.section, "" if self.split == "all" else self.split) if word)

    @cached_property
    def table(self) -> Table:
        """The rows, with what was left out in the notes. Those of several files are numbered one after the other.

        Raises:
            StudioError: a file is missing, or is not what its name says.
        """
        content = self.distribution.read(self.part)
        return Table(self.title, content.names, content.lines, content.notes, content.data)

    @property
    def subsets(self) -> dict[str, Found]:
        """Its subsets by their names, where they have files of their own."""
        parts = self.distribution.subsets(self.part)
        return {name: replace(self, section=part.section, files=part.files, part=part) for name, part in parts.items()}

    @property
    def account(self) -> RowAccount:
        """How many lines were read, are used and were left out, and why."""
        return account_of(self.table, (), self.table.lines)


def distributions_at(path: str | Path) -> list[Found]:
    """The sets that a file belongs to, or that lie in a folder and those below it; none where nothing is known.

    A file's other half is looked for beside it: the scores of ``STS.input.X.txt`` in ``STS.gs.X.txt``. A folder's sets come in the
    order of their names, each with its train, dev and test split in this order.

    Raises:
        StudioError: there is nothing at ``path``, or a folder holds too many files to look through.
    """
    path = Path(path).expanduser()
    if path.is_file():
        return [one for one in _in_folder(_listed(path.parent)) if path in one.files]
    if not path.is_dir():
        raise StudioError(f"there is no file or folder {path}", "check the path")
    found = [one for folder in _folders(path) for one in _in_folder(folder)]
    return sorted(found, key=lambda one: (one.name, SPLITS.index(one.split), one.section, one.files))


@dataclass(frozen=True)
class OwnSplits:
    """A set that is judged as its authors split it.

    Attributes:
        judged: its test split; its dev split where there is no other; or all of it, of a set without a split.
        known: its train split.
        dev: its dev split, where it is not that which is judged.
    """

    judged: Found
    known: Found | None = None
    dev: Found | None = None

    @classmethod
    def of(cls, judged: Found) -> OwnSplits:
        """A split with those of the same set in the same folder."""
        folder = _listed(judged.files[0].parent)
        beside = {one.split: one for one in _in_folder(folder) if (one.name, one.section) == (judged.name, judged.section)}
        return cls(judged, beside.get("train"), beside.get("dev") if judged.split == "test" else None)


def own_splits_at(path: Path) -> list[OwnSplits]:
    """The sets that a file is what they are judged by, or that lie in a folder with a split to judge by; none where none are known.

    A file of a train split belongs to no set here: who names it means the file.

    Raises:
        StudioError: as :func:`distributions_at`.
    """
    found = [one for one in distributions_at(path) if one.split != "train"]
    tested = {(one.name, one.section, one.files[0].parent) for one in found if one.split == "test"}
    judged = [one for one in found if one.split != "dev" or path.is_file() or (one.name, one.section, one.files[0].parent) not in tested]
    return [OwnSplits.of(one) for one in judged]


def _in_folder(folder: Folder) -> Iterator[Found]:
    for one in known_distributions():
        for part in one.parts(folder):
            yield Found(part.name, part.split, part.section, part.files, one.roles(part), one, part)


def _folders(root: Path) -> Iterator[Folder]:
    seen = 0
    for where, below, files in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if len(Path(where).relative_to(root).parts) >= _DEEPEST:
            below.clear()
        seen += len(files)
        if seen > _MOST_FILES:
            raise StudioError(f"{root} holds more than {_MOST_FILES:,} files", "name the folder of the set")
        yield {name: Path(where, name) for name in sorted(files)}


def _listed(folder: Path) -> Folder:
    return {one.name: one for one in sorted(folder.iterdir()) if one.is_file()}
