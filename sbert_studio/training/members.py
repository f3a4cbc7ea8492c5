"""The trainings of one run (stages, seeds, folds), and the progress of all of them."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.split import make_folds
from ..errors import StudioError
from ..models.trainable import Trainable
from .evaluator import hold_out, stratify_option
from .events import Event, Part, PartEnded, Started, Step
from .samplers import LengthGroupedSampler
from .schedule import Schedule
from .spec import TrainSpec, resolve_objective

if TYPE_CHECKING:
    from torch import Tensor

    from ..data.examples import Examples
    from .general_probe import GeneralProbe


Load = Callable[[TrainSpec, "Examples", Path | None], Trainable]
"""A fresh copy of the spec's model for these examples; of the model in a folder instead, where one is given."""


@dataclass(frozen=True)
class Assignment:
    """Context of a training that is one of several in a run.

    Attributes:
        untuned: scores of the base model if already evaluated; alarms before the first step are then skipped.
        earlier: spec of the stage that ``encoder`` comes from; its changes to the model are not repeated.
        weights: base weights by name, if ``encoder`` comes from an earlier stage.
        general: probe of the base model; without it general quality is not measured.
        judges: True for an evaluation-only training, which logs every evaluation (:class:`.evaluator.EvaluationLog`) and leaves no model.
        verdict: final ``before`` and ``after`` scores determined elsewhere; ``after`` has the ``strength`` to keep.
        blends: True if a blend with the base weights may be kept.
        share: share of the steps to take, 0 to 1.
    """

    untuned: Mapping[str, Any] = field(default_factory=dict)
    earlier: TrainSpec | None = None
    weights: Mapping[str, Tensor] | None = None
    general: GeneralProbe | None = None
    judges: bool = False
    verdict: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    blends: bool = True
    share: float = 1.0


_NAMED_GROUPS = 3


@dataclass(frozen=True)
class Member:
    """One of several trainings.

    Attributes:
        title: such as "seed 13, fold 2 of 10".
        spec: its own specification.
        learned, held: training and held-out rows; ``held`` is ``None`` without evaluation.
    """

    title: str
    spec: TrainSpec
    learned: Examples
    held: Examples | None

    @property
    def name(self) -> str:
        """Folder name derived from the title."""
        return "-".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in self.title).split())[:60]


def plan_members(spec: TrainSpec, examples: Examples, dev: Examples | None) -> list[Member]:
    """Return the trainings of ``spec``: one for each seed and fold.

    Seeds share their held-out rows; with folds each seed splits the rows anew. With groups (``by_group``), each fold is evaluated on unseen
    groups.

    Raises:
        StudioError: there is no evaluation, or the rows do not allow that many folds.
    """
    alone = spec.replace(folds=0, seeds=1)
    if spec.folds:
        if dev is not None:
            raise StudioError("folds are judged by each other, and a held-out file was given as well", "leave out one of the two")
        return [member for place in range(spec.seeds) for member in _folds(alone.replace(seed=spec.seed + place), spec, examples)]
    learned, held, unjudged = hold_out(spec, examples, dev)
    if spec.seeds == 1:
        return [Member("second stage", alone, learned, held)]
    if held is None:
        raise StudioError(f"several seeds are compared by their scores, and there are none: {unjudged}", "give a held-out file")
    return [Member(f"seed {seed}", alone.replace(seed=seed), learned, held) for seed in range(spec.seed, spec.seed + spec.seeds)]


def _folds(alone: TrainSpec, spec: TrainSpec, examples: Examples) -> list[Member]:
    found = []
    divided = make_folds(examples, spec.folds, alone.seed, groups=spec.by_group, stratify=stratify_option(spec))
    for number, (learned, held) in enumerate(divided, start=1):
        title = f"fold {number} of {spec.folds}" if spec.seeds == 1 else f"seed {alone.seed}, fold {number} of {spec.folds}"
        groups = sorted(set(held.groups)) if spec.by_group else []
        if 0 < len(groups) <= _NAMED_GROUPS:
            title += f", judged on {', '.join(groups)}"
        found.append(Member(title, alone, learned, held))
    return found


def summarize_scores(scores: Sequence[Mapping[str, Any]], kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the scores of a single training, or ``{"metric", "task", "rows", "score": mean, "sd", "each"}`` of several.

    Trainings without evaluation are ignored. ``sd`` is the sample standard deviation (n − 1).

    Args:
        kept: scores of the kept model, added to the mean.
    """
    known = [one for one in scores if one]
    if len(known) < 2:
        return dict(known[0]) if known else {}
    each = [float(one["score"]) for one in known]
    found = {"metric": known[0]["metric"], "task": known[0]["task"], "rows": sum(int(one["rows"]) for one in known) // len(known)}
    found |= {"score": statistics.fmean(each), "sd": statistics.stdev(each), "each": each}
    return found | ({"kept": dict(kept)} if kept else {})


def planned_steps(spec: TrainSpec, learned: Examples) -> int:
    """Estimate the steps of a training before its batches are made."""
    spec = resolve_objective(spec, learned)
    sampler = LengthGroupedSampler(np.ones(len(learned), np.int64), spec.batch_size, spec.seed)
    return Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup).steps


class RunProgress:
    """Forward the events of all trainings of a run with total steps and time left.

    The reported progress never decreases: if a training takes more steps than planned, later ones are assumed to as well.

    Args:
        emit: receives the events.
        planned: planned steps of each training.
        clock: monotonic seconds.
    """

    def __init__(self, emit: Callable[[Event], None], planned: Sequence[int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._emit, self._clock = emit, clock
        self._planned = [float(steps) for steps in planned]
        self._place, self._from, self._started = 0, 0, False
        self._began = clock()
        self._seconds, self._taken = 0.0, 0  # of the trainings that are over, where they were carried out here
        self._share = 0.0

    def __call__(self, event: Event) -> None:
        """Forward an event."""
        if isinstance(event, Part):
            self._place = event.number - 1
            self._began, self._from, self._started = self._clock(), 0, False
        elif isinstance(event, Started):
            self._planned[self._place] = event.steps
            self._from, self._started = event.step, True
            event = replace(event, run_step=self._done(event.step), run_steps=self._all(self._done(event.step)))
        elif isinstance(event, Step):
            done = self._done(event.step)
            event = replace(event, run_step=done, run_steps=self._all(done), seconds_left=self._left(event))
        elif isinstance(event, PartEnded) and self._started:  # one that had ended before a resume tells nothing of the pace
            self._seconds += self._clock() - self._began
            self._taken += round(self._planned[self._place]) - self._from
        self._emit(event)

    def _done(self, step: int) -> int:
        return round(sum(self._planned[: self._place])) + step

    def _all(self, done: int) -> int:
        steps = round(sum(self._planned))
        if self._share > 0:
            steps = max(done, min(steps, math.floor(done / self._share)))
        self._share = max(self._share, done / steps if steps else 0.0)
        return steps

    def _left(self, event: Step) -> float:
        whole = self._clock() - self._began + event.seconds_left
        own = event.steps - self._from
        a_step = (self._seconds + whole) / max(1, self._taken + own)
        return event.seconds_left + a_step * sum(self._planned[self._place + 1 :])
