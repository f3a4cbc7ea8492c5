"""What was measured so far, as one JSON file that is written anew, whole, after each training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .rows import Row


class Results:
    """The file of results.

    Args:
        path: where it lies; absent: nothing was measured yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        self.speeds: dict[str, dict[str, Any]] = {}
        self._read()

    def runs(self, row: Row) -> list[dict[str, Any]]:
        """What was measured of a row, by seed, by the commands that it has now; under its own name or that of a row that is the same."""
        typed = list(row.typed)
        same = (found["runs"] for found in self.rows.values() if found["commands"] == typed)
        by_seed = {run["seed"]: run for runs in same for run in runs}
        return [by_seed[seed] for seed in sorted(by_seed)]

    def left(self, row: Row) -> list[int]:
        """The seeds with which a row is still to be run."""
        done = {run["seed"] for run in self.runs(row)}
        return [seed for seed in row.seeds if seed not in done]

    def add(self, row: Row, run: Mapping[str, Any]) -> None:
        """Keep one training of a row, at once."""
        self._read()
        runs = [*(one for one in self.runs(row) if one["seed"] != run["seed"]), dict(run)]
        self.rows[row.name] = {"commands": list(row.typed), "runs": sorted(runs, key=lambda one: int(one["seed"]))}
        self._write()

    def speed(self, row: Row) -> dict[str, Any] | None:
        """What was measured of the row's network by the commands that make it now."""
        found = self.speeds.get(row.name)
        return found if found is not None and found["made_by"] == _made_by(row) else None

    def add_speed(self, row: Row, found: Mapping[str, Any]) -> None:
        """Keep the speed of a row's model, at once."""
        self._read()
        self.speeds[row.name] = {"made_by": _made_by(row), **found}
        self._write()

    def _read(self) -> None:
        """What the file holds by now: another process may have measured other rows."""
        if self.path.exists():
            found = json.loads(self.path.read_text(encoding="utf-8"))
            self.rows, self.speeds = found["rows"], found["speeds"]

    def _write(self) -> None:
        text = json.dumps({"rows": _sorted(self.rows), "speeds": _sorted(self.speeds)}, indent=1, ensure_ascii=False)
        fresh = self.path.with_suffix(".part")
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(self.path)


def measures(runs: Sequence[Mapping[str, Any]], part: str, measure: str) -> list[float]:
    """One measure of all trainings on ``dev`` or ``test``."""
    return [run[part][measure] for run in runs if part in run]


def _made_by(row: Row) -> list[str]:
    """The commands that make the row's model, or its name where it is there already."""
    return list(row.commands) or [row.model]


def _sorted(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: found[name] for name in sorted(found)}
