"""What a run needs to be carried out or repeated, as files in its folder: the data's copy, the roles of its columns, the spec."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.accounts import RowAccount
from ..data.examples import Examples, Roles, build_examples
from ..data.splits.held_out import build_like
from ..data.stored import read_examples, write_examples
from ..data.tables import Table, read_table
from ..encoders.storage.digests import digest_of
from ..errors import StudioError
from ..training.pins import Pins
from ..training.spec import TrainSpec
from ..workspace import atomic_file, digest_file, file_name, write_json

_ROWS = {"data": "learned.parquet", "dev": "judged.parquet", "first": "learned_first.parquet"}
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")


@dataclass(frozen=True)
class InputFile:
    """One file of a run, as its plan has it.

    Attributes:
        file: the file as it came, or a table that was mended.
        roles: what its columns are.
        examples: the rows that were made of it.
        account: what became of every row, before any is held out.
        read: its encoding, delimiter and header, where a person said so; as :func:`~sbert_studio.data.tables.read_table` takes them.
    """

    file: Path | Table
    roles: Roles
    examples: Examples
    account: RowAccount
    read: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFiles:
    """The folder of a run, read and written.

    ``data.*``, ``dev.*`` and ``first.*`` are the uploaded files, byte for byte (a table that was mended is kept as Parquet);
    ``source.json`` holds their names and digests, ``roles.json`` and ``first_roles.json`` what their columns are,
    ``reasons.json`` the advisor's reasons. ``learned.parquet``, ``judged.parquet`` and ``learned_first.parquet`` are the rows as
    they were built, ``account.json`` what became of every row, ``plan.json`` what was found, asked and answered, and ``pins.json``
    what the training is watched by. Runs of earlier versions lack these; their rows are built from the files.
    """

    folder: Path

    def write(
        self,
        spec: TrainSpec,
        files: Mapping[str, InputFile],
        reasons: Sequence[str] = (),
        plan: Mapping[str, Any] | None = None,
        pins: Pins | None = None,
    ) -> None:
        """Copy the files and write the rest; each file is whole or absent.

        Args:
            files: ``data`` and, where given, ``dev`` and ``first``.
            plan: what was found, asked and answered, as plain data.
            pins: what the training is to be watched by.
        """
        source: dict[str, Any] = {}
        for part, given in files.items():
            read = {name: value for name, value in given.read.items() if value is not None}
            source[part] = {**self._keep(given.file, part), **({"read": read} if read and isinstance(given.file, Path) else {})}
            write_examples(given.examples, self.folder / _ROWS[part])
        write_json(self.folder / "source.json", source)
        write_json(self.folder / "roles.json", files["data"].roles.to_json())
        if "first" in files:
            write_json(self.folder / "first_roles.json", files["first"].roles.to_json())
        self.keep_accounts({part: given.account for part, given in files.items()})
        write_json(self.folder / "plan.json", dict(plan or {}))
        if pins is not None:
            write_json(self.folder / "pins.json", pins.to_json())
        write_json(self.folder / "reasons.json", list(reasons))
        write_json(self.folder / "spec.json", spec.to_json())

    def spec(self) -> TrainSpec:
        """The run's spec."""
        return TrainSpec.from_json(self._json("spec.json"))

    def roles(self) -> Roles:
        """What each column of the data is."""
        return Roles.from_json(self._json("roles.json"))

    def reasons(self) -> tuple[str, ...]:
        """Why the spec is what it is, a sentence each."""
        return tuple(self._json("reasons.json"))

    def source(self) -> dict[str, dict[str, Any]]:
        """Of ``data`` and, where given, ``dev`` and ``first``: ``file`` (in this folder), ``name`` (as uploaded), ``sha256``, ``bytes``."""
        found: dict[str, dict[str, Any]] = self._json("source.json")
        return found

    def path(self, part: str) -> Path:
        """The copy of the file that is ``data``, ``dev`` or ``first``."""
        return self.folder / str(self.source()[part]["file"])

    def accounts(self) -> dict[str, RowAccount]:
        """What became of every row of each file, by its part; empty of runs of earlier versions."""
        return {part: RowAccount.from_json(found) for part, found in (self._json("account.json", {})).items()}

    def keep_accounts(self, accounts: Mapping[str, RowAccount]) -> None:
        """Write what became of every row of each file."""
        write_json(self.folder / "account.json", {part: account.to_json() for part, account in accounts.items()})

    def plan(self) -> dict[str, Any]:
        """What was found, asked and answered; empty of runs of earlier versions."""
        found: dict[str, Any] = self._json("plan.json", {})
        return found

    def pins(self) -> Pins | None:
        """What the training is watched by; ``None`` where nothing is, or it cannot be read: no training ends for it."""
        try:
            found = self._json("pins.json", {})
        except StudioError:
            return None
        return Pins.from_json(found) if isinstance(found, dict) else None

    def examples(self) -> tuple[Examples, Examples | None]:
        """The examples to learn from, and those to be judged by where a file of them was given.

        Raises:
            StudioError: a file is missing or damaged, or holds no usable row.
        """
        return self._rows("data"), self._rows("dev") if "dev" in self.source() else None

    def first(self) -> Examples | None:
        """The examples of the first stage, where there is one.

        Raises:
            StudioError: the file is missing or damaged, or holds no usable row.
        """
        return self._rows("first") if "first" in self.source() else None

    def learned(self) -> list[tuple[tuple[str, ...], set[tuple[str, ...]]]]:
        """Of each file that is learned from: its text columns, and the texts of every row in them as its cells hold them.

        Raises:
            StudioError: a file is missing.
        """
        files = [("data", self.roles())]
        if "first" in self.source():
            files.append(("first", self.first_roles()))
        found = []
        for entry, roles in files:
            table = self._table(self.source()[entry])
            found.append((roles.texts, set(zip(*(table.column(name) for name in roles.texts), strict=True))))
        return found

    def first_roles(self) -> Roles:
        """What each column of the first stage's file is."""
        return Roles.from_json(self._json("first_roles.json"))

    def _rows(self, part: str) -> Examples:
        """The rows as they were built; of a run of an earlier version they are built from its file."""
        kept = self.folder / _ROWS[part]
        if kept.is_file():
            return read_examples(kept)
        table = self._table(self.source()[part])
        if part == "dev":
            return build_like(table, self.roles())[0]
        return build_examples(table, self.roles() if part == "data" else self.first_roles())[0]

    def _table(self, entry: dict[str, Any]) -> Table:
        path = self.folder / entry["file"]
        try:
            whole = digest_of(path) == entry["sha256"]
        except OSError:
            raise StudioError(f"the run's copy of {entry['name']} is gone", "its folder was changed by hand; start a new run") from None
        if not whole:
            raise StudioError(f"the run's copy of {entry['name']} is not what was given to it", "start a new run with the file")
        return read_table(path, name=entry["name"], **entry.get("read", {}))

    def _json(self, name: str, default: Any = None) -> Any:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if default is not None:
                return default
            raise StudioError(f"the run's {name} is gone", "its folder was changed by hand; start a new run") from None
        except (OSError, ValueError) as error:
            raise StudioError(f"the run's {name} is damaged", "start a new run with the same file") from error

    def _keep(self, data: Path | Table, stem: str) -> dict[str, Any]:
        if isinstance(data, Path):
            suffix = data.suffix.lower()
            target = self.folder / f"{stem}{suffix if _SUFFIX.fullmatch(suffix) else ''}"
            with atomic_file(target) as part:
                shutil.copyfile(data, part)
        else:
            target = self.folder / f"{stem}.parquet"
            data.to_parquet(target)
        return {"file": target.name, "name": file_name(data.name), "sha256": digest_file(target), "bytes": target.stat().st_size}
