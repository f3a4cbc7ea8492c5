"""Events of a run (plain data for database, page and terminal) and its throughput."""

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
    """The run is ready for its first step (or, resumed, for the step after its checkpoint).

    Attributes:
        steps: optimiser steps in all.
        rows, dev_rows: rows to learn from and rows held out.
        step: steps already done, more than 0 where the run was resumed.
        run_step, run_steps: the same of all trainings of the run, of which this may be one.
        reasons: why these settings, a sentence each.
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
    """A step was taken; at most about five a second are told, the first and the last always.

    Attributes:
        step: from 1 to ``steps``.
        epoch: epochs done, with a fraction.
        pairs_per_second: rows a second of late; seconds_left: of the whole run by that rate, evaluations counted.
        grad_norm: before clipping.
        run_step, run_steps: steps done and steps in all trainings of the run, of which this may be one.
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
    """The held-out rows were judged; step 0 is the untuned model. ``best``: no later step was better so far."""

    step: int
    metric: str
    score: float
    scores: Mapping[str, Any]
    best: bool


@dataclass(frozen=True)
class Pinned:
    """What the model says of the pairs and the query that a person pinned; nothing is learned from them.

    Attributes:
        step: steps learned; 0 is the model that this training begins with.
        similarities: of the pairs, in their order.
        order: the places of the texts that the query is laid beside, the nearest first; ``nearest`` are the similarities of the first few.
        kept: whether this is the model that is kept in the end.
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
    """Something a person should know; the run goes on.

    Attributes:
        passing: whether it is true only until the run goes on, as of one that is stopped and can be resumed.
    """

    message: str
    passing: bool = False


@dataclass(frozen=True)
class Phase:
    """What the run does now, where it takes no step: it holds until a step, a part or an end is told, or another phase."""

    title: str


@dataclass(frozen=True)
class Part:
    """One of several trainings of a run begins: a first stage, a seed, a fold. What was told of steps starts anew.

    Attributes:
        number: from 1 to ``of``.
        title: such as "seed 13" or "first stage".
    """

    number: int
    of: int
    title: str


@dataclass(frozen=True)
class PartEnded:
    """The training that :class:`Part` announced is done; ``before`` and ``after`` as in :class:`Ended`."""

    number: int
    of: int
    title: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a run ended. ``before`` and ``after``: ``{"metric", "score", "step", **scores}``, empty without held-out rows."""

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
    """The run was asked to stop, and kept its best model."""


@dataclass(frozen=True)
class Asks(Ended):
    """An alarm stopped the run: ``question`` is for its owner, as :class:`~sbert_studio.data.questions.Question` has it in JSON.

    There is no model yet. With the answer the run is resumed, or begun anew.
    """

    question: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The run ended for a reason that a person can mend."""

    message: str
    hint: str = field(default="")


Event: TypeAlias = Started | Step | Evaluated | Pinned | Saved | Notice | Phase | Part | PartEnded | Finished | Stopped | Asks | Failed
_TYPES: dict[str, type[Event]] = {
    kind.__name__.lower(): kind
    for kind in (Started, Step, Evaluated, Pinned, Saved, Notice, Phase, Part, PartEnded, Finished, Stopped, Asks, Failed)
}


def to_json(event: Event) -> dict[str, Any]:
    """``{"type": "step", ...}``, plain JSON values; a number that JSON has no word for (NaN, infinity) becomes ``None``."""
    return {"type": type(event).__name__.lower(), **_plain(dataclasses.asdict(event))}


def from_json(values: Mapping[str, Any]) -> Event:
    """The event that ``to_json`` wrote; fields that this version does not know are left out.

    Raises:
        KeyError: an unknown type.
    """
    kind: Callable[..., Event] = _TYPES[values["type"]]
    known = {item.name for item in dataclasses.fields(_TYPES[values["type"]])}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in known}
    return kind(**given)


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


def rate_in_words(rate: float) -> str:
    """Rows a second as they are shown everywhere: ``72``; one decimal below ten."""
    return f"{rate:,.0f}" if round(rate, 1) >= 10 else f"{rate:.1f}"


class Throughput:
    """Counts the rows and the seconds of steps; evaluations and checkpoints are not counted.

    Attributes:
        rows, seconds: of all steps so far, those before a resumption too.
    """

    def __init__(self, rows: int = 0, seconds: float = 0.0) -> None:
        self.rows, self.seconds = rows, seconds
        self._recent: deque[tuple[int, float]] = deque(maxlen=_RECENT)
        self._start = time.perf_counter()
        self._shown = 0.0

    def begin(self) -> None:
        """The steps begin, or go on after something else."""
        self._start = time.perf_counter()

    def end(self, rows: int) -> None:
        """A step of ``rows`` rows has ended, and the next one begins."""
        now = time.perf_counter()
        took, self._start = now - self._start, now
        self.rows, self.seconds = self.rows + rows, self.seconds + took
        self._recent.append((rows, took))

    @property
    def rate(self) -> float:
        """Rows a second of late."""
        rows, seconds = (sum(values) for values in zip(*self._recent, strict=True)) if self._recent else (0, 0.0)
        return rows / seconds if seconds > 0 else 0.0

    def left(self, steps: int) -> float:
        """Seconds that ``steps`` more steps will take."""
        return steps * sum(seconds for _, seconds in self._recent) / max(1, len(self._recent))

    def shows(self) -> bool:
        """Whether it is time to tell of a step again."""
        now = time.perf_counter()
        if now - self._shown < _SHOWN_EVERY:
            return False
        self._shown = now
        return True
