"""Results of planning and following runs, and listing and exporting models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, PlainSerializer, computed_field
from typing_extensions import TypedDict

from ...i18n import _, join
from ...runs.run import Run
from ...serialization import JsonResult, doc
from ...training.events import format_rate

if TYPE_CHECKING:
    from ...data.row_report import RowReport
    from ...data.schema.split_column import RowSplit
    from ...training.estimate import Estimate
    from ...training.spec import TrainSpec


@dataclass(frozen=True)
class TrainingForecast:
    """Estimate for a planned run: settings with reasons, time and memory, and the use and the split of each file's rows."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    estimate: Estimate
    accounts: Mapping[str, RowReport] = field(default_factory=dict)
    splits: Mapping[str, RowSplit] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return ``{spec, reasons, estimate{seconds, peak_bytes, pairs_per_second, steps, folds}, accounts, splits}``."""
        return {
            "spec": self.spec.to_json(),
            "reasons": list(self.reasons),
            "estimate": self.estimate.to_json(),
            "accounts": {name: account.to_json() for name, account in self.accounts.items()},
            "splits": {name: split.to_json() for name, split in self.splits.items()},
        }

    def describe(self) -> str:
        """Return a summary such as ``about 4 min, 2.1 GB of memory; 1,250 steps at 84 rows a second``."""
        return join("; ", [self.describe_cost(), self.describe_steps()])

    def describe_cost(self) -> str:
        """Return time and memory, such as ``about 4 min, 2.1 GB of memory``."""
        memory = f"{self.estimate.peak_bytes / 1e9:.1f}"
        return _("about {duration}, {memory} GB of memory", duration=describe_duration(self.estimate.seconds), memory=memory)

    def describe_steps(self) -> str:
        """Return the number of steps and their speed, such as ``1,250 steps at 84 rows a second``."""
        steps, rate = f"{self.estimate.steps:,}", format_rate(self.estimate.pairs_per_second)
        return _("{steps} steps at {rate} rows a second", steps=steps, rate=rate)


def describe_duration(seconds: float) -> str:
    """Describe a duration roughly, such as ``4 min``."""
    if seconds < 90:
        return _("{value} s", value=f"{max(1, seconds):.0f}")
    if seconds < 5400:
        return _("{seconds} min", seconds=f"{seconds / 60:.0f}")
    if seconds < 172_800:
        return _("{hours} hours", hours=f"{seconds / 3600:.1f}")
    return _("{days} days", days=f"{seconds / 86400:.1f}")


class RunEvent(TypedDict):
    """One event of a run; further fields depend on its type."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    seq: Annotated[int, doc("counts from 1")]
    type: str
    time: Annotated[float, doc("seconds since 1970, UTC")]


@dataclass(frozen=True)
class RunView(JsonResult):
    """State of a run.

    Attributes:
        events: new events as (number, event), in order.
    """

    run: Run
    events: Annotated[
        tuple[tuple[int, dict[str, Any]], ...],
        PlainSerializer(lambda events: [{"seq": seq, **event} for seq, event in events], list[RunEvent]),
        doc("those after the requested number"),
    ]
    waiting: Annotated[int, doc("number of runs in the queue before it")] = 0
    stopping: Annotated[bool, doc("whether a stop was requested")] = False
    kept_until: Annotated[str, doc("time of deletion, ISO 8601, UTC; empty if runs are kept for ever")] = ""

    @computed_field(description="number of the last event: argument of the next request; 0 if there is none")  # type: ignore[prop-decorator]
    @property
    def cursor(self) -> int:
        return self.events[-1][0] if self.events else 0


@dataclass(frozen=True)
class ExportedFile(JsonResult):
    """A file written for download."""

    path: Path
    bytes: int


@dataclass(frozen=True)
class ModelSummary(JsonResult):
    """A model that can be used by ``name``.

    Attributes:
        kind: bundled, table, foreign, run or fitted.
        reads: ``texts``, or ``pairs`` for a cross-encoder or poly-encoder.
        scores: a run's scores before and after training.
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
