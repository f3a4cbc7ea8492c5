"""A suite: files of the literature that are judged together, the names under which people have them, and what is missing of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...errors import StudioError
from ...registry import Registry

if TYPE_CHECKING:
    from ...data.distributions import Split
    from ...data.known_sets import OwnSplits
    from ...data.loading.table import Table
    from ...data.schema.roles import Kind, Roles


@dataclass(frozen=True)
class Part:
    """One file that a suite wants.

    Attributes:
        name: what its figures are told under.
        rows: how many rows the published figures are of.
        learned: how many others they were learned from, which lie beside it as ``train``; 0 where there are none.
        stems: further names of its file, without the ending, in any case.
        common: names that other sets have too, such as ``test``: they count in a folder that is called after the suite.
        instead: names of files that stand in for it, as ``common``; the answer says so.
        note: what is to be known where it is missing.
    """

    name: str
    rows: int
    stems: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    note: str = ""
    learned: int = 0


class Suite:
    """Files that are judged together.

    Attributes:
        title: what it is, and the paper.
        folders: what the folder that holds it may be called, in any case.
        parts: the files; of a suite of suites none.
        suites: the suites that it holds.
        task: the one that its parts are judged by; ``kind``: of the examples, where it is not the task's usual one.
        group: the column of a table that says which group a row is of, for a task that judges by groups.
        known_as: the name of the set, and the split that is judged, in which it is handed out by its authors; by its subsets, of several
            parts. The set is the suite's name where it is empty.
        scale: of scored pairs, the scores of least and of most alike.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    folders: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[tuple[Part, ...]] = ()
    suites: ClassVar[tuple[str, ...]] = ()
    task: ClassVar[str] = "sts"
    kind: ClassVar[Kind | None] = None
    group: ClassVar[str] = ""
    known_as: ClassVar[tuple[str, Split]] = ("", "test")
    scale: ClassVar[tuple[float, float] | None] = (0.0, 5.0)


@dataclass(frozen=True, eq=False)
class PartFound:
    """A part of a suite that is there.

    Attributes:
        read: gives its table; called once.
        roles: what the columns are; ``None``: found out, as of any table with scores of the suite's scale.
        instead: the name of the file that stands in for it, if one does.
        known, dev: give the rows that a task learns from, and those by which it chooses its settings, if there are any.
    """

    suite: type[Suite]
    part: Part
    read: Callable[[], Table]
    roles: Roles | None = None
    instead: str = ""
    known: Callable[[], Table] | None = None
    dev: Callable[[], Table] | None = None


@dataclass(frozen=True)
class Missing:
    """A part of a suite that is not there, or that another file stands in for."""

    suite: str
    file: str
    words: str

    def to_json(self) -> dict[str, str]:
        """Plain data for JSON."""
        return {"suite": self.suite, "file": self.file, "words": self.words}


@dataclass(frozen=True)
class Search:
    """Where a suite is looked for.

    Attributes:
        places: files and folders.
        read: a table's file → the table.
        alone: whether no other suite is looked for there, so that a file of a name that several suites use is this one's.
    """

    places: tuple[Path, ...]
    read: Callable[[Path], Table]
    alone: bool = True

    @cached_property
    def sets(self) -> list[OwnSplits]:
        """The known sets that lie there as their authors hand them out; a folder of too many files is searched for tables alone."""
        from ...data.known_sets import own_splits_at

        found: list[OwnSplits] = []
        for place in self.places:
            with contextlib.suppress(StudioError):
                found += own_splits_at(place)
        return found

    def splits(self, name: str) -> list[Split]:
        """The splits of a known set that lie there, those that nothing is judged by among them."""
        from ...data.known_sets import distributions_at

        found: list[Split] = []
        for place in self.places:
            with contextlib.suppress(StudioError):
                found += [one.split for one in distributions_at(place) if one.name == name]
        return list(dict.fromkeys(found))


Source = Callable[[type[Suite], Search], Iterator[PartFound]]
"""One form in which people have suites: a suite and where to look → the parts that are there."""

SUITES: Registry[Suite] = Registry("suite")
