"""What a run needs to be carried out or repeated, as files in its folder: the data's copy, the roles of its columns, the spec."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.examples import Examples, Roles, build_examples, build_like
from ..data.tables import Table, read_table
from ..errors import StudioError
from ..training.spec import TrainSpec
from ..workspace import atomic_file, digest_file, file_name, write_json

_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")


@dataclass(frozen=True)
class Materials:
    """The folder of a run, read and written.

    ``data.*``, ``dev.*`` and ``first.*`` are the uploaded files, byte for byte (a table that was mended is kept as Parquet);
    ``source.json`` holds their names and digests, ``roles.json`` and ``first_roles.json`` what their columns are, and
    ``reasons.json`` the advisor's reasons.
    """

    folder: Path

    def write(
        self,
        spec: TrainSpec,
        roles: Roles,
        data: Path | Table,
        dev: Path | Table | None = None,
        reasons: Sequence[str] = (),
        first: tuple[Path | Table, Roles] | None = None,
    ) -> None:
        """Copy the files and write the rest as JSON; each file is whole or absent.

        Args:
            first: the file of the first stage, with the roles of its columns.
        """
        source = {"data": self._keep(data, "data")}
        if dev is not None:
            source["dev"] = self._keep(dev, "dev")
        if first is not None:
            source["first"] = self._keep(first[0], "first")
            write_json(self.folder / "first_roles.json", first[1].to_json())
        write_json(self.folder / "source.json", source)
        write_json(self.folder / "roles.json", roles.to_json())
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

    def examples(self) -> tuple[Examples, Examples | None]:
        """The examples to learn from, and those to be judged by where a file of them was given.

        Raises:
            StudioError: a file is missing, or holds no usable row.
        """
        roles, source = self.roles(), self.source()
        data, _ = build_examples(self._table(source["data"]), roles)
        if "dev" not in source:
            return data, None
        dev, _ = build_like(self._table(source["dev"]), roles)
        return data, dev

    def first(self) -> Examples | None:
        """The examples of the first stage, where there is one.

        Raises:
            StudioError: the file is missing, or holds no usable row.
        """
        source = self.source()
        if "first" not in source:
            return None
        return build_examples(self._table(source["first"]), self._first_roles())[0]

    def learned(self) -> list[tuple[tuple[str, ...], set[tuple[str, ...]]]]:
        """Of each file that is learned from: its text columns, and the texts of every row in them as its cells hold them.

        Raises:
            StudioError: a file is missing.
        """
        files = [("data", self.roles())]
        if "first" in self.source():
            files.append(("first", self._first_roles()))
        found = []
        for entry, roles in files:
            table = self._table(self.source()[entry])
            found.append((roles.texts, set(zip(*(table.column(name) for name in roles.texts), strict=True))))
        return found

    def _first_roles(self) -> Roles:
        return Roles.from_json(self._json("first_roles.json"))

    def _table(self, entry: dict[str, Any]) -> Table:
        return read_table(self.folder / entry["file"], name=entry["name"])

    def _json(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StudioError(f"the run's {name} is gone", "its folder was changed by hand; start a new run") from None

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
