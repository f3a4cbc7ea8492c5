"""What planning, following and handing out runs and their models return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...training.events import format_rate

if TYPE_CHECKING:
    from ...data.row_report import RowReport
    from ...runs.run import Run
    from ...training.estimate import Estimate
    from ...training.spec import TrainSpec


@dataclass(frozen=True)
class TrainingForecast:
    """A run that was not begun: its spec, why it is so, what it would take, and what becomes of the rows of each of its files."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    estimate: Estimate
    accounts: Mapping[str, RowReport] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """``{spec, reasons, estimate{seconds, peak_bytes, pairs_per_second, steps, folds}, accounts}``."""
        accounts = {name: account.to_json() for name, account in self.accounts.items()}
        return {"spec": self.spec.to_json(), "reasons": list(self.reasons), "estimate": self.estimate.to_json(), "accounts": accounts}

    def in_words(self) -> str:
        """Such as ``about 4 min, 2.1 GB of memory; 1,250 steps at 84 rows a second``."""
        found = self.estimate
        seconds = found.seconds
        span = (
            f"{max(1, seconds):.0f} s"
            if seconds < 90
            else f"{seconds / 60:.0f} min"
            if seconds < 5400
            else f"{seconds / 3600:.1f} h"
            if seconds < 172_800
            else f"{seconds / 86400:.1f} days"
        )
        rate = format_rate(found.pairs_per_second)
        return f"about {span}, {found.peak_bytes / 1e9:.1f} GB of memory; {found.steps:,} steps at {rate} rows a second"


@dataclass(frozen=True)
class RunView:
    """A run and those of its events that the caller has not seen: (number, event) in order.

    Attributes:
        waiting: how many runs go before it.
        stopping: whether it was asked to stop and has not ended yet.
        kept_until: when it will be removed, UTC, ISO 8601; empty where it stays.
    """

    run: Run
    events: tuple[tuple[int, dict[str, Any]], ...]
    waiting: int = 0
    stopping: bool = False
    kept_until: str = ""

    @property
    def cursor(self) -> int:
        """The number of the last event here; 0 if there is none."""
        return self.events[-1][0] if self.events else 0

    def to_json(self) -> dict[str, Any]:
        """``{run, events, cursor, waiting, stopping, kept_until}``."""
        events = [{"seq": seq, **event} for seq, event in self.events]
        how = {"waiting": self.waiting, "stopping": self.stopping, "kept_until": self.kept_until}
        return {"run": self.run.to_json(), "events": events, "cursor": self.cursor, **how}


@dataclass(frozen=True)
class ExportedFile:
    """A file made for download."""

    path: Path
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """``{path, bytes}``."""
        return {"path": str(self.path), "bytes": self.bytes}


@dataclass(frozen=True)
class ModelSummary:
    """A model that can be chosen by ``name``.

    Attributes:
        kind: bundled or run.
        reads: ``texts``, one at a time, or ``pairs``: a cross-encoder, which has no vectors, or a poly-encoder.
        scores: of a run, before and after.
        damaged: why it cannot be used; empty where it can.
        prompts: what it puts before texts of each role, by its name.
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
        """How many weights, in a few signs: 7 B, 23 M, 0.8 M, 12 k, 768."""
        for unit, sign, least in ((1e9, "B", 1e9), (1e6, "M", 1e5), (1e3, "k", 1e3)):
            if self.parameters >= least:
                return f"{self.parameters / unit:.{0 if self.parameters >= 5 * unit else 1}f} {sign}"
        return str(self.parameters)

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {
            "name": self.name,
            "kind": self.kind,
            "title": self.title,
            "dim": self.dim,
            "parameters": self.parameters,
            "max_length": self.max_length,
            "pooling": self.pooling,
            "note": self.note,
            "reads": self.reads,
            "scores": dict(self.scores),
            "damaged": self.damaged,
            "prompts": dict(self.prompts),
        }
