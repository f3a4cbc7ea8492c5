"""How far a run of several trainings is, and how long all of it still takes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..events import Event, Part, PartEnded, Started, Step
from ..loop.schedule import Schedule
from ..objective_choice import settled
from ..sampling.sampler import Sampler
from ..spec import TrainSpec

if TYPE_CHECKING:
    from ...data.examples import Examples


def planned_steps(spec: TrainSpec, learned: Examples) -> int:
    """The steps of a training before its batches are made; it may turn out to have some more or fewer."""
    spec = settled(spec, learned)
    sampler = Sampler(np.ones(len(learned), np.int64), spec.batch_size, spec.seed)
    return Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup).steps


class WholeRun:
    """Passes on what the trainings of a run tell, with the steps and the time left of all of them.

    What is told of the whole never falls back: where a training turns out longer than was planned, those after it are taken to be
    that much longer too, and the steps in all are told as few enough that the share done stays.

    Args:
        emit: told what happens.
        planned: the steps of each training, in order.
        clock: seconds, rising.
    """

    def __init__(self, emit: Callable[[Event], None], planned: Sequence[int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._emit, self._clock = emit, clock
        self._planned = [float(steps) for steps in planned]
        self._place, self._from, self._started = 0, 0, False
        self._began = clock()
        self._seconds, self._taken = 0.0, 0  # of the trainings that are over, where they were carried out here
        self._share = 0.0

    def __call__(self, event: Event) -> None:
        """Pass on one event."""
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
        """Seconds: of this training, and of those after it at the pace of all so far, evaluations and loading counted."""
        whole = self._clock() - self._began + event.seconds_left
        own = event.steps - self._from
        a_step = (self._seconds + whole) / max(1, self._taken + own)
        return event.seconds_left + a_step * sum(self._planned[self._place + 1 :])
