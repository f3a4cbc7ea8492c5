"""Results of evaluating several models on several files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...datasets.suites import MissingPart
    from ...evaluation.comparison import Comparison, EvaluationFile, FileGroup, ModelScores, SuiteAverage
    from ...evaluation.report import Report


@dataclass(frozen=True)
class SkippedFile:
    """A file of a folder that was not evaluated, and why."""

    file: str
    why: str

    def to_json(self) -> dict[str, str]:
        """Return ``{file, why}``."""
        return {"file": self.file, "why": self.why}


@dataclass(frozen=True)
class AvailableSuite:
    """A suite with files on this machine: ``parts`` of ``wanted``."""

    name: str
    title: str
    parts: int
    wanted: int


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Scores of several models on several files.

    Attributes:
        files: evaluated files.
        groups, averages: aggregates over the files of a suite or task, and over suites.
        models: scores of each model.
        comparisons: comparisons of all pairs of models on each file and aggregate.
        missing: missing files of a suite.
        left_out: files of a folder that were not evaluated.
        notes: other problems, such as a leaderboard that could not be written.
    """

    files: tuple[EvaluationFile, ...]
    groups: tuple[FileGroup, ...]
    averages: tuple[SuiteAverage, ...]
    models: tuple[ModelScores, ...]
    comparisons: tuple[Comparison, ...]
    missing: tuple[MissingPart, ...] = ()
    left_out: tuple[SkippedFile, ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return ``models, files, together, averages, comparisons``, and ``missing``, ``left_out`` and ``notes`` if not empty."""
        found: dict[str, Any] = {
            "models": [model.model for model in self.models],
            "files": [self._file(place) for place in range(len(self.files))],
            "together": [self._group(place) for place in range(len(self.groups))],
            "averages": [self._average(place) for place in range(len(self.averages))],
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
        }
        more: dict[str, list[Any]] = {
            "missing": [one.to_json() for one in self.missing],
            "left_out": [one.to_json() for one in self.left_out],
            "notes": list(self.notes),
        }
        return found | {name: value for name, value in more.items() if value}

    def _file(self, place: int) -> dict[str, Any]:
        file = self.files[place]
        return {
            "file": file.name,
            **({"suite": file.suite} if file.suite else {}),
            "rows": len(file.rows.examples),
            "account": file.rows.account.to_json(),
            **({"notes": list(file.notes)} if file.notes else {}),
            "reports": [_report(model.model, model.reports[place], model.notes[place]) for model in self.models],
        }

    def _group(self, place: int) -> dict[str, Any]:
        group = self.groups[place]
        own = [(model.model, model.groups[place]) for model in self.models]
        return {
            "name": group.name,
            "task": group.task.name,
            "files": [self.files[member].name for member in group.members],
            "rows": sum(len(self.files[member].rows.examples) for member in group.members),
            **({"notes": [group.pooling_note]} if group.pooling_note else {}),
            "reports": [{"model": name, **found.to_json()} for name, found in own if found is not None],
        }

    def _average(self, place: int) -> dict[str, Any]:
        average = self.averages[place]
        own = [(model.model, model.averages[place]) for model in self.models]
        return {
            "name": average.name,
            "suites": list(average.suites),
            "wanted": average.wanted,
            "reports": [{"model": name, "mean": dict(found.mean)} for name, found in own if found is not None],
        }


def _report(model: str, report: Report, notes: tuple[str, ...]) -> Mapping[str, Any]:
    own = {name: value for name, value in report.to_json().items() if name not in ("account", "notes")}
    return {"model": model, **own, **({"notes": list(notes)} if notes else {})}
