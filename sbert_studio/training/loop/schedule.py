"""Which batch each step takes, and at which steps the held-out rows are judged: all known before the first step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..sampling.batches import Batches


@dataclass(frozen=True)
class Schedule:
    """The steps of a run, numbered from 0.

    Attributes:
        sampler: makes the batches of an epoch.
        starts: the first step of each epoch, and the number of all steps at the end.
        evaluations: judge after so many steps; the last is the number of all steps.
        epochs: as asked, with a fraction.
        planned: the steps over which the learning rate rises and falls: all of them, or more where the run ends before.
    """

    sampler: Batches
    starts: tuple[int, ...]
    evaluations: frozenset[int]
    epochs: float
    planned: int

    @classmethod
    def plan(cls, sampler: Batches, epochs: float, evaluations_per_epoch: int) -> Schedule:
        """``epochs`` passes over the rows, the last one in part where the number has a fraction."""
        starts, evaluations = [0], set()
        for epoch in range(math.ceil(epochs)):
            whole = sampler.count(epoch)
            count = max(1, math.ceil(whole * min(1.0, epochs - epoch) - 1e-9))
            evaluations |= {
                starts[-1] + place for part in range(evaluations_per_epoch) if (place := whole * (part + 1) // evaluations_per_epoch)
            }
            starts.append(starts[-1] + count)
        steps = starts[-1]
        return cls(sampler, tuple(starts), frozenset({step for step in evaluations if step < steps} | {steps}), epochs, steps)

    def until(self, share: float) -> Schedule:
        """The first ``share`` (0 to 1) of the steps, at the rates that they have among all."""
        if share >= 1:
            return self
        steps = max(1, round(share * self.planned))
        starts = (*(start for start in self.starts if start < steps), steps)
        ends = frozenset({step for step in self.evaluations if step < steps} | {steps})
        return Schedule(self.sampler, starts, ends, self.epoch_of(steps), self.planned)

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.starts[-1]

    def epoch_of(self, step: int) -> float:
        """Epochs done after ``step`` steps, with a fraction."""
        if step >= self.steps:
            return self.epochs
        epoch = int(np.searchsorted(self.starts, step, side="right")) - 1
        return epoch + (step - self.starts[epoch]) / self.sampler.count(epoch)

    def batches(self, step: int) -> Iterator[np.ndarray]:
        """The batches of ``step`` and all later steps."""
        for epoch, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            if end > step:
                yield from self.sampler.batches(epoch)[max(0, step - start) : end - start]
