"""Events of a run, plain data for database, page and terminal; and training throughput."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Started:
    """The run is ready for its first step, or for the step after its checkpoint.

    Attributes:
        steps: number of optimizer steps.
        rows, dev_rows: training rows and held-out rows.
        step: steps already taken, for resumed runs.
        run_step, run_steps: the same over all trainings of the run.
        reasons: reasons for the settings.
    """

    steps: int
    epochs: float
    rows: int
    dev_rows: int
    objective: str
    method: str
    device: str
    precision: str
    batch_size: int
    step: int = 0
    reasons: tuple[str, ...] = ()
    run_step: int = 0
    run_steps: int = 0


@dataclass(frozen=True)
class Step:
    """A step was taken; about five per second are emitted, always including the first and the last.

    Attributes:
        step: from 1 to ``steps``.
        epoch: fractional epochs completed.
        pairs_per_second: recent rows per second; seconds_left: remaining time of the run, including evaluations.
        grad_norm: gradient norm before clipping.
        run_step, run_steps: steps taken and in total over all trainings of the run.
    """

    step: int
    steps: int
    epoch: float
    loss: float
    learning_rate: float
    pairs_per_second: float
    seconds_left: float
    grad_norm: float
    run_step: int = 0
    run_steps: int = 0


@dataclass(frozen=True)
class Evaluated:
    """The held-out rows were evaluated; step 0 is the base model. ``best``: best evaluation so far."""

    step: int
    metric: str
    score: float
    scores: Mapping[str, Any]
    best: bool


@dataclass(frozen=True)
class Pinned:
    """Scores of the tracked example pairs and query; they are not used for training.

    Attributes:
        step: steps taken; 0 is the initial model.
        similarities: similarity of each pair.
        order: indices of the texts ranked for the query, nearest first; ``nearest`` holds the similarities of the first few.
        kept: True for the final model.
    """

    step: int
    similarities: tuple[float, ...]
    order: tuple[int, ...] = ()
    nearest: tuple[float, ...] = ()
    kept: bool = False


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int
    path: str


@dataclass(frozen=True)
class Notice:
    """A message; the run continues.

    Attributes:
        passing: True if it only applies until the run is resumed.
    """

    message: str
    passing: bool = False


@dataclass(frozen=True)
class Phase:
    """The current activity outside of steps, until the next step, part, phase or end."""

    title: str


@dataclass(frozen=True)
class Part:
    """One of several trainings of a run (first stage, seed, fold) begins; step counts restart.

    Attributes:
        number: from 1 to ``of``.
        title: such as "seed 13" or "first stage".
    """

    number: int
    of: int
    title: str


@dataclass(frozen=True)
class PartEnded:
    """The training announced by :class:`Part` ended; ``before`` and ``after`` as in :class:`Ended`."""

    number: int
    of: int
    title: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True)
class Ended:
    """End of a run. ``before`` and ``after``: ``{"metric", "score", "step", **scores}``, empty without held-out rows."""

    steps: int
    seconds: float
    pairs_per_second: float
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    model: str


@dataclass(frozen=True)
class Finished(Ended):
    """All steps were taken."""


@dataclass(frozen=True)
class Stopped(Ended):
    """The run was stopped and kept its best model."""


@dataclass(frozen=True)
class Asks(Ended):
    """An alarm stopped the run with a ``question`` (JSON of :class:`~sbert_studio.data.questions.Question`).

    There is no model yet; with an answer the run is resumed or restarted.
    """

    question: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The run ended with an error that the user can fix."""

    message: str
    hint: str = field(default="")


Event: TypeAlias = Started | Step | Evaluated | Pinned | Saved | Notice | Phase | Part | PartEnded | Finished | Stopped | Asks | Failed
_TYPES: dict[str, type[Event]] = {
    kind.__name__.lower(): kind
    for kind in (Started, Step, Evaluated, Pinned, Saved, Notice, Phase, Part, PartEnded, Finished, Stopped, Asks, Failed)
}


def to_json(event: Event) -> dict[str, Any]:
    """Return ``{"type": "step", ...}`` as plain JSON; NaN and infinity become ``None``."""
    return {"type": type(event).__name__.lower(), **_plain(dataclasses.asdict(event))}


def from_json(values: Mapping[str, Any]) -> Event:
    """Read an event written by :func:`to_json`, ignoring unknown fields.

    Raises:
        KeyError: unknown type.
    """
    kind: Callable[..., Event] = _TYPES[values["type"]]
    known = {item.name for item in dataclasses.fields(_TYPES[values["type"]])}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in known}
    return kind(**given)


def event_fields(name: str) -> dict[str, str]:
    """Return the fields of an event type with their Python types; empty for an unknown type."""
    kind = _TYPES.get(name)
    return {} if kind is None else {item.name: str(item.type) for item in dataclasses.fields(kind)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


_RECENT = 50  # steps over which the shown rate is taken
_SHOWN_EVERY = 0.2  # seconds


def format_rate(rate: float) -> str:
    """Format rows per second: ``72``, with one decimal below ten."""
    return f"{rate:,.0f}" if round(rate, 1) >= 10 else f"{rate:.1f}"


class Throughput:
    """Count rows and seconds of steps, without evaluations and checkpoints.

    Attributes:
        rows, seconds: totals, including those before a resume.
    """

    def __init__(self, rows: int = 0, seconds: float = 0.0) -> None:
        self.rows, self.seconds = rows, seconds
        self._recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)
        self._start = time.perf_counter()
        self._shown = 0.0

    def begin(self) -> None:
        """Start or restart the clock."""
        self._start = time.perf_counter()

    def end(self, rows: int) -> None:
        """Count a step of ``rows`` rows."""
        now = time.perf_counter()
        took, self._start = now - self._start, now
        self.rows, self.seconds = self.rows + rows, self.seconds + took
        self._recent.append((rows, took))

    @property
    def rate(self) -> float:
        """Return recent rows per second."""
        rows, seconds = (sum(values) for values in zip(*self._recent, strict=True)) if self._recent else (0, 0.0)
        return rows / seconds if seconds > 0 else 0.0

    def left(self, steps: int) -> float:
        """Return the estimated seconds of ``steps`` more steps."""
        return steps * sum(seconds for _, seconds in self._recent) / max(1, len(self._recent))

    def is_due(self) -> bool:
        """Return True if the next step should be emitted."""
        now = time.perf_counter()
        if now - self._shown < _SHOWN_EVERY:
            return False
        self._shown = now
        return True
