"""Jobs over shards: manifest, and receipts of finished shards."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import StudioError
from ..workspace import atomic_file, digest_file, write_json
from .sources import SourceFile

FORMAT = 1
SHARD_ROWS = 8_192
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
        work: one of :data:`~sbert_studio.shards.operations.OPERATIONS`.
        sources: the files, in order.
        settings: plain data: whatever the work needs to know, and whatever a bit of its result depends on.
        shard_rows: the most rows of a shard.
    """

    work: str
    sources: tuple[SourceFile, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shard_rows: int = SHARD_ROWS

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


MANIFEST = "manifest.json"
_SHARDS, _RECEIPTS = "shards", "receipts"
_STALE = 600  # seconds after which a half-written file belongs to a process that died: a shard is written in less than one
_GROUP = 128  # rows of a row group: to look one up all of its group is unpacked


@dataclass(frozen=True)
class Receipt:
    """That a shard is done.

    Attributes:
        number: which.
        rows: how many of its rows came out; ``left_out``: how many had nothing to give.
        sha256: of the shard's file, as it was renamed into its place.
        facts: what else the work has to say, such as the digest of the texts.
    """

    number: int
    rows: int
    left_out: int
    sha256: str
    bytes: int
    facts: Mapping[str, Any] = field(default_factory=dict)


class JobFolder:
    """See the module.

    Args:
        path: where it is, or will be; every machine that takes part writes into it.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.path = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # the home folder of nobody; a NUL
            raise StudioError(f"{path} cannot be a folder", "check the path") from None

    def job(self) -> Job:
        """The job that was begun here.

        Raises:
            StudioError: none was, or its manifest cannot be read.
        """
        found = self._known()
        if found is None and not self.path.is_dir():
            raise StudioError(f"there is no folder {self.path}", "check the path")
        if found is None:
            raise StudioError(f"{self.path.name} holds no shards of this program", "make them: sbert-studio encode FOLDER --out FOLDER")
        return found

    def _known(self) -> Job | None:
        try:
            told = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
            found = Job.from_json(told)
            if told.get("key", found.key) != found.key:
                raise ValueError("it is not what was written")
            return found
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StudioError(f"the manifest of {self.path.name} cannot be read", "encode into another folder") from error

    def begin(self, job: Job) -> None:
        """Write the manifest, or find the same one there.

        Raises:
            StudioError: the folder holds something else.
        """
        known = self._known()
        if known is not None and known.key != job.key:
            raise StudioError(
                f"{self.path.name} holds another job: {job.difference(known)}", "name another folder, or delete this one to begin anew"
            )
        if known is None:
            if self.path.exists() and (not self.path.is_dir() or any(not one.name.startswith(".") for one in self.path.iterdir())):
                raise StudioError(f"{self.path.name} is there already, and holds something else", "name a new folder")
            write_json(self.path / MANIFEST, {**job.to_json(), "key": job.key})
        for folder in (_SHARDS, _RECEIPTS):
            (self.path / folder).mkdir(exist_ok=True)
            for part in (self.path / folder).glob(".part-*"):
                with suppress(OSError):
                    if time.time() - part.stat().st_mtime > _STALE:
                        part.unlink()

    def shard(self, number: int) -> Path:
        """Where a shard's Parquet file stands once it is done."""
        return self.path / _SHARDS / f"part-{number:06d}.parquet"

    def _receipt(self, number: int) -> Path:
        return self.path / _RECEIPTS / f"{number:06d}.json"

    def keep(self, job: Job, shard: Shard, table: Any, left_out: int, facts: Mapping[str, Any]) -> Receipt:
        """Write a shard's rows, then its receipt; each is flushed to disk under another name and renamed.

        Writing the same shard twice, as when a machine was thought dead, leaves the same file.
        """
        import pyarrow.parquet as pq

        table = table.replace_schema_metadata({"sbert_studio": json.dumps({"job": job.key, "shard": shard.number})})
        packed = {field.name: "zstd" for field in table.schema if field.name != "vector"}
        with atomic_file(self.shard(shard.number)) as part:
            pq.write_table(
                table, part, row_group_size=_GROUP, compression=packed | {"vector.list.element": "none"}, use_dictionary=False,
                write_statistics=list(packed), write_page_checksum=True,
            )  # fmt: skip
            digest, size = digest_file(part), part.stat().st_size
        receipt = Receipt(shard.number, table.num_rows, left_out, digest, size, dict(facts))
        told = {"job": job.key, **vars(receipt)}
        write_json(self._receipt(shard.number), {**told, "seal": _seal(told)})
        return receipt

    def receipts(self, job: Job, *, verify: bool = False) -> dict[int, Receipt]:
        """The receipts of the shards that are done, by number, in order.

        Args:
            verify: read every shard, and leave out those that are not what was written.
        """
        found = {}
        for shard in job.shards:
            try:
                told = json.loads(self._receipt(shard.number).read_text(encoding="utf-8"))
                sealed = told.pop("seal", None) == _seal(told)
                whole = sealed and told.pop("job") == job.key and self.shard(shard.number).stat().st_size == told["bytes"]
                receipt = Receipt(**told)
                if whole and (not verify or digest_file(self.shard(shard.number)) == receipt.sha256):
                    found[shard.number] = receipt
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
        return found

    def finished(self, job: Job) -> list[Receipt]:
        """The receipts of all shards.

        Raises:
            StudioError: some are not done.
        """
        found = self.receipts(job)
        if len(found) < len(job.shards):
            raise StudioError(
                f"{self.path.name} is not finished: {len(found):,} of {len(job.shards):,} shards are done",
                "give the command that began it once more: it goes on with those that are missing",
            )
        return list(found.values())


def _seal(told: Mapping[str, Any]) -> str:
    """16 hex digits of what a receipt says."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
