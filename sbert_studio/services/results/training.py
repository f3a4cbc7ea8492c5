"""Results of planning and following runs, and listing and exporting models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...i18n import _
from ...training.events import format_rate

if TYPE_CHECKING:
    from ...data.row_report import RowReport
    from ...runs.run import Run
    from ...training.estimate import Estimate
    from ...training.spec import TrainSpec


@dataclass(frozen=True)
class TrainingForecast:
    """Estimate for a planned run: its settings with reasons, time and memory, and the use of its rows."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    estimate: Estimate
    accounts: Mapping[str, RowReport] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return ``{spec, reasons, estimate{seconds, peak_bytes, pairs_per_second, steps, folds}, accounts}``."""
        accounts = {name: account.to_json() for name, account in self.accounts.items()}
        return {"spec": self.spec.to_json(), "reasons": list(self.reasons), "estimate": self.estimate.to_json(), "accounts": accounts}

    def describe(self) -> str:
        """Return a summary such as ``about 4 min, 2.1 GB of memory; 1,250 steps at 84 rows a second``."""
        found = self.estimate
        rate, memory = format_rate(found.pairs_per_second), found.peak_bytes / 1e9
        return _(
            "about {duration}, {memory} GB of memory; {steps} steps at {rate} rows per second",
            duration=_describe_duration(found.seconds),
            memory=f"{memory:.1f}",
            steps=f"{found.steps:,}",
            rate=rate,
        )


def _describe_duration(seconds: float) -> str:
    if seconds < 90:
        return _("{value} s", value=f"{max(1, seconds):.0f}")
    if seconds < 5400:
        return _("{seconds} min", seconds=f"{seconds / 60:.0f}")
    return _("{seconds} h", seconds=f"{seconds / 3600:.1f}") if seconds < 172_800 else _("{seconds} days", seconds=f"{seconds / 86400:.1f}")


@dataclass(frozen=True)
class RunView:
    """A run and its new events as (number, event), in order.

    Attributes:
        waiting: number of runs ahead in the queue.
        stopping: whether a stop was requested.
        kept_until: deletion time, UTC, ISO 8601; empty if the run is kept.
    """

    run: Run
    events: tuple[tuple[int, dict[str, Any]], ...]
    waiting: int = 0
    stopping: bool = False
    kept_until: str = ""

    @property
    def cursor(self) -> int:
        """Number of the last event; 0 if there is none."""
        return self.events[-1][0] if self.events else 0

    def to_json(self) -> dict[str, Any]:
        """Return ``{run, events, cursor, waiting, stopping, kept_until}``."""
        events = [{"seq": seq, **event} for seq, event in self.events]
        how = {"waiting": self.waiting, "stopping": self.stopping, "kept_until": self.kept_until}
        return {"run": self.run.to_json(), "events": events, "cursor": self.cursor, **how}


@dataclass(frozen=True)
class ExportedFile:
    """A file written for download."""

    path: Path
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """Return ``{path, bytes}``."""
        return {"path": str(self.path), "bytes": self.bytes}


@dataclass(frozen=True)
class ModelSummary:
    """A model that can be used by ``name``.

    Attributes:
        kind: bundled, table, foreign, run or fitted.
        reads: ``texts``, or ``pairs`` for a cross-encoder or poly-encoder.
        scores: a run's scores before and after.
        damaged: why it cannot be used; empty if it can.
        prompts: prompt by role.
    """

    name: str
    kind: str
    title: str
    dim: int
    parameters: int
    max_length: int
    pooling: str
    note: str = ""
    reads: str = "texts"
    scores: Mapping[str, Any] = field(default_factory=dict)
    damaged: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> str:
        """Number of parameters, abbreviated: 7 B, 23 M, 0.8 M, 12 k, 768."""
        for unit, sign, least in ((1e9, "B", 1e9), (1e6, "M", 1e5), (1e3, "k", 1e3)):
            if self.parameters >= least:
                return f"{self.parameters / unit:.{0 if self.parameters >= 5 * unit else 1}f} {sign}"
        return str(self.parameters)

    def to_json(self) -> dict[str, Any]:
        """Return all fields."""
        return {**asdict(self), "scores": dict(self.scores), "prompts": dict(self.prompts)}
