"""Input files in a run's folder: copies of its data, column roles, spec and plan."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.dev_file import build_dev_examples
from ..data.examples import Examples, build_examples, read_examples, write_examples
from ..data.loading.table import Table, read_table
from ..data.retrieval import RetrievalSet
from ..data.row_report import RowReport
from ..data.schema.roles import Roles
from ..data.schema.split_column import split_rows
from ..errors import StudioError
from ..i18n import _
from ..models.io.digests import cached_digest
from ..training.events import TrackedExamples
from ..training.spec import TrainSpec
from ..workspace import atomic_file, digest_file, file_name, write_json

_ROWS = {"data": "learned.parquet", "dev": "judged.parquet", "first": "learned_first.parquet"}
_RETRIEVAL = "retrieval.json"
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")


@dataclass(frozen=True)
class RunInput:
    """A data file of a run.

    Attributes:
        file: the file as uploaded, or a table with fixes applied.
        roles, examples: the roles of its columns, and the examples built from its rows.
        account: the row report, before any rows are held out.
        read: encoding, delimiter and header chosen by the user, as arguments of :func:`~sbert_studio.data.loading.table.read_table`.
    """

    file: Path | Table
    roles: Roles
    examples: Examples
    account: RowReport
    read: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFiles:
    """Reader and writer of a run's input files.

    ``data.*``, ``dev.*`` and ``first.*`` are the uploaded files, byte for byte (a table with fixes applied is stored as Parquet).
    ``source.json`` has their names and digests, ``roles.json`` and ``first_roles.json`` the roles of their columns, ``reasons.json`` the
    reasons for the automatic settings. ``learned.parquet``, ``judged.parquet`` and ``learned_first.parquet`` are the examples built from
    them, ``account.json`` is the row report, ``plan.json`` has findings, questions and answers, ``pins.json`` the tracked examples, and
    ``retrieval.json`` the retrieval probe. Runs of version 1 lack the last five; their examples are built from the files.
    """

    folder: Path

    def write(
        self,
        spec: TrainSpec,
        files: Mapping[str, RunInput],
        reasons: Sequence[str] = (),
        plan: Mapping[str, Any] | None = None,
        pins: TrackedExamples | None = None,
        own_dev: Examples | None = None,
        retrieval: RetrievalSet | None = None,
    ) -> None:
        """Copy the data files ``data`` and optionally ``dev`` and ``first``, and write the rest; each file is complete or absent.

        ``own_dev`` are the rows of the training file that a column assigns to validation, and ``retrieval`` is the retrieval probe.
        """
        source: dict[str, Any] = {}
        for part, file in files.items():
            read = {name: value for name, value in file.read.items() if value is not None}
            source[part] = {**self._copy(file.file, part), **({"read": read} if read and isinstance(file.file, Path) else {})}
            write_examples(file.examples, self.folder / _ROWS[part])
        if own_dev is not None:
            write_examples(own_dev, self.folder / _ROWS["dev"])
        write_json(self.folder / "source.json", source)
        write_json(self.folder / "roles.json", files["data"].roles.to_json())
        if "first" in files:
            write_json(self.folder / "first_roles.json", files["first"].roles.to_json())
        self.keep_accounts({part: file.account for part, file in files.items()})
        write_json(self.folder / "plan.json", dict(plan or {}))
        if pins is not None:
            write_json(self.folder / "pins.json", pins.to_json())
        if retrieval is not None:
            write_json(self.folder / _RETRIEVAL, retrieval.to_json())
        write_json(self.folder / "reasons.json", list(reasons))
        write_json(self.folder / "spec.json", spec.to_json())

    def spec(self) -> TrainSpec:
        return TrainSpec.from_json(self._json("spec.json"))

    def roles(self) -> Roles:
        return self._roles("data")

    def reasons(self) -> tuple[str, ...]:
        return tuple(self._json("reasons.json"))

    def source(self) -> dict[str, dict[str, Any]]:
        """Return ``file`` (in this folder), ``name`` (as uploaded), ``sha256`` and ``bytes`` of each data file, by part.

        A table with fixes applied also has ``lines``, the number of each row in the file as it was uploaded.
        """
        found: dict[str, dict[str, Any]] = self._json("source.json")
        return found

    def path(self, part: str) -> Path:
        return self.folder / str(self.source()[part]["file"])

    def accounts(self) -> dict[str, RowReport]:
        """Return the row report of each file; empty for runs of version 1."""
        return {part: RowReport.from_json(found) for part, found in (self._json("account.json", {})).items()}

    def keep_accounts(self, accounts: Mapping[str, RowReport]) -> None:
        write_json(self.folder / "account.json", {part: account.to_json() for part, account in accounts.items()})

    def plan(self) -> dict[str, Any]:
        found: dict[str, Any] = self._json("plan.json", {})
        return found

    def pins(self) -> TrackedExamples | None:
        """Return the tracked examples; ``None`` if there are none, or if the file is damaged, which is not an error."""
        try:
            found = self._json("pins.json", {})
        except StudioError:
            return None
        return TrackedExamples.from_json(found) if isinstance(found, dict) else None

    def retrieval(self) -> RetrievalSet | None:
        """Return the queries and documents with which retrieval is measured; ``None`` if there are none."""
        found = self._json(_RETRIEVAL, {})
        return RetrievalSet.from_json(found) if found else None

    def examples(self) -> tuple[Examples, Examples | None]:
        has_dev = "dev" in self.source() or (self.folder / _ROWS["dev"]).is_file()
        return self._rows("data"), self._rows("dev") if has_dev else None

    def first(self) -> Examples | None:
        return self._rows("first") if "first" in self.source() else None

    def training_texts(self) -> list[tuple[tuple[str, ...], set[tuple[str, ...]]]]:
        """Return, for each training file, its text columns and the texts of every row in these columns, as written in the cells.

        Rows that a column assigns to validation or test are not among them.
        """
        source, found = self.source(), []
        for part in [part for part in ("data", "first") if part in source]:
            table, names = self._training_rows(part), self._roles(part).texts
            found.append((names, set(zip(*(table.column(name) for name in names), strict=True))))
        return found

    def table(self, part: str) -> Table:
        """Return a data file as a table.

        Raises:
            StudioError: the run's copy is missing or was changed.
        """
        return self._table(self.source()[part])

    def first_roles(self) -> Roles:
        return self._roles("first")

    def _roles(self, part: str) -> Roles:
        return Roles.from_json(self._json("first_roles.json" if part == "first" else "roles.json"))

    def _rows(self, part: str) -> Examples:
        path = self.folder / _ROWS[part]
        if path.is_file():
            return read_examples(path)
        if part == "dev":
            return build_dev_examples(self._table(self.source()[part]), self._roles(part))[0]
        return build_examples(self._training_rows(part), self._roles(part))[0]

    def _training_rows(self, part: str) -> Table:
        table, roles = self._table(self.source()[part]), self._roles(part)
        split = split_rows(table, roles.split) if roles.split else None
        return table if split is None else split.select("train")

    def _table(self, entry: dict[str, Any]) -> Table:
        path = self.folder / entry["file"]
        try:
            is_whole = cached_digest(path) == entry["sha256"]
        except OSError:
            raise StudioError(
                _("the run's copy of {name} is missing", name=entry["name"]), "its folder was changed manually; start a new run"
            ) from None
        if not is_whole:
            raise StudioError(
                _("the run's copy of {name} differs from the original file", name=entry["name"]), "start a new run with the file"
            )
        table = read_table(path, name=entry["name"], **entry.get("read", {}))
        lines = np.array(entry.get("lines", ()), np.int64)
        return replace(table, lines=lines) if len(lines) == len(table) else table

    def _json(self, name: str, default: Any = None) -> Any:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if default is not None:
                return default
            raise StudioError(_("the run's {name} is missing", name=name), "its folder was changed manually; start a new run") from None
        except (OSError, ValueError) as error:
            raise StudioError(_("the run's {name} is damaged", name=name), "start a new run with the same file") from error

    def _copy(self, data: Path | Table, stem: str) -> dict[str, Any]:
        if isinstance(data, Path):
            suffix = data.suffix.lower()
            target = self.folder / f"{stem}{suffix if _SUFFIX.fullmatch(suffix) else ''}"
            with atomic_file(target) as part:
                shutil.copyfile(data, part)
        else:
            target = self.folder / f"{stem}.parquet"
            data.to_parquet(target)
        found = {"file": target.name, "name": file_name(data.name), "sha256": digest_file(target), "bytes": target.stat().st_size}
        return found if isinstance(data, Path) else {**found, "lines": data.lines.tolist()}  # Parquet has no row numbers
