"""What is to be done to which rows, as it stands in a folder's ``manifest.json``: everything that decides the result."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .sources import SourceFile

FORMAT = 1
ROWS = 8_192
"""Rows of a shard, unless it is said. Texts are batched within their shard alone, so that its vectors are the same wherever and in
whatever order shards are encoded."""


@dataclass(frozen=True)
class Shard:
    """A part of one source file: what is done, kept and lost as a whole.

    Attributes:
        number: from 0, in the order of the rows.
        path: the source file.
        start: its first row in that file; ``rows``: how many.
        first: how many rows stand before it, those of earlier files counted.
    """

    number: int
    path: str
    start: int
    rows: int
    first: int


@dataclass(frozen=True)
class Job:
    """One piece of work over many rows.

    Attributes:
        work: one of :data:`~sbert_studio.scale.works.WORKS`.
        sources: the files, in order.
        settings: plain data: whatever the work needs to know, and whatever a bit of its result depends on.
        shard_rows: the most rows of a shard.
    """

    work: str
    sources: tuple[SourceFile, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shard_rows: int = ROWS

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """The parts, each of rows of one file."""
        return tuple(self._planned())

    def _planned(self) -> Iterator[Shard]:
        number = first = 0
        for source in self.sources:
            for start in range(0, source.rows, self.shard_rows):
                rows = min(self.shard_rows, source.rows - start)
                yield Shard(number, source.path, start, rows, first + start)
                number += 1
            first += source.rows

    def source(self, shard: Shard) -> SourceFile:
        """The file that a shard is of."""
        return next(source for source in self.sources if source.path == shard.path)

    @property
    def rows(self) -> int:
        """Of all sources."""
        return sum(source.rows for source in self.sources)

    @cached_property
    def key(self) -> str:
        """16 hex digits that change with anything in it."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """What the manifest holds."""
        return {"format": FORMAT, **json.loads(json.dumps(dataclasses.asdict(self)))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """See :meth:`to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is of another format.
        """
        if data["format"] != FORMAT:
            raise ValueError(data["format"])
        sources = tuple(SourceFile(**source) for source in data["sources"])
        return cls(str(data["work"]), sources, dict(data["settings"]), int(data["shard_rows"]))

    def difference(self, other: Job) -> str:
        """In words, the first thing in which another job differs; nothing where none does."""
        if self.work != other.work:
            return f"it was begun as {other.work}"
        for name in {**self.settings, **other.settings}:
            ours, theirs = self.settings.get(name), other.settings.get(name)
            if ours != theirs:
                return _differs(name, ours, theirs)
        if self.shard_rows != other.shard_rows:
            return f"its shards have {other.shard_rows:,} rows, not {self.shard_rows:,}"
        return "" if self.sources == other.sources else "the files that it reads are others, or have changed"


def _differs(name: str, ours: Any, theirs: Any) -> str:
    """In words; of two tables the first thing in which they differ."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        first = next(key for key in (*_TOLD_FIRST, *ours, *theirs) if ours.get(key) != theirs.get(key))
        return _differs(first, ours.get(first), theirs.get(first))
    return f"its {_NAMES.get(name, name)} is {_shown(theirs)}, not {_shown(ours)}"


_TOLD_FIRST = ("source", "precision")
_NAMES = {"source": "model"}


def _shown(value: Any) -> str:
    return "not said" if value is None else str(value)[:80]
