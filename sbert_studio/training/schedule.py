"""Schedule of batches and evaluations, and peak memory."""

from __future__ import annotations

import bisect
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
import torch

from .samplers import Batches

_EVERY = 0.005  # seconds
_STATM = Path("/proc/self/statm")


class PeakMemory:
    """The most memory in use between ``with`` and its end, in ``bytes``.

    On a GPU what PyTorch holds there. Elsewhere the resident memory of this process as it stands, looked at every 5 ms: the
    system's own peak (``ru_maxrss``) is that of the whole life of the process, of which a page that has drawn a map or
    trained before has long had a higher one.
    """

    def __init__(self, device: torch.device) -> None:
        self.bytes = 0
        self._device = device
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak-memory", daemon=True)

    def __enter__(self) -> PeakMemory:
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
        else:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._device.type == "cuda":
            self.bytes = int(torch.cuda.max_memory_allocated(self._device))
        else:
            self._ended.set()
            self._thread.join()

    def _watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, resident_bytes())
            if self._ended.wait(_EVERY):
                return


def resident_bytes() -> int:
    """The physical memory that this process holds now."""
    if _STATM.exists():
        import resource

        return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    import psutil  # type: ignore[import-untyped, unused-ignore]  # comes with accelerate

    return int(psutil.Process().memory_info().rss)


@dataclass(frozen=True)
class Schedule:
    """The steps of a run, numbered from 0.

    Attributes:
        sampler: makes the batches of an epoch.
        starts: the first step of each epoch, and the number of all steps at the end.
        evaluations: judge after so many steps; the last is the number of all steps.
        epochs: of all rounds, with a fraction.
        each: epochs of a round, with a fraction.
        ends: after how many steps each round ends, over which the learning rate rises and falls. There is one, but for a soup; where
            the run ends before, they are those that were planned.
    """

    sampler: Batches
    starts: tuple[int, ...]
    evaluations: frozenset[int]
    epochs: float
    each: float
    ends: tuple[int, ...]

    @classmethod
    def plan(cls, sampler: Batches, epochs: float, evaluations_per_epoch: int, rounds: int = 1) -> Schedule:
        """``rounds`` times ``epochs`` passes over the rows, the last one in part where the number has a fraction.

        Rounds after the first are judged at their ends alone: until then they are no better than the first was.
        """
        starts, evaluations, ends = [0], set[int](), list[int]()
        passes = math.ceil(epochs)
        for epoch in range(rounds * passes):
            whole = sampler.count(epoch)
            count = max(1, math.ceil(whole * min(1.0, epochs - epoch % passes) - 1e-9))
            if not ends:
                places = {whole * (part + 1) // evaluations_per_epoch for part in range(evaluations_per_epoch)}
                evaluations |= {starts[-1] + place for place in places if 0 < place <= count}
            starts.append(starts[-1] + count)
            if (epoch + 1) % passes == 0:
                ends.append(starts[-1])
        return cls(sampler, tuple(starts), frozenset(evaluations | {*ends}), epochs * rounds, epochs, tuple(ends))

    def until(self, share: float) -> Schedule:
        """The first ``share`` (0 to 1) of the steps, at the rates that they have among all; of later rounds whole ones.

        The share may be that of other rows, whose rounds are a step longer or shorter: within a round after the first there is no mean of
        rounds, only one of them, begun anew.
        """
        if share >= 1:
            return self
        steps = max(1, round(share * self.ends[-1]))
        if steps > self.ends[0]:
            steps = min(self.ends, key=lambda end: abs(end - steps))
        starts = (*(start for start in self.starts if start < steps), steps)
        ends = frozenset({step for step in self.evaluations if step < steps} | {steps})
        return Schedule(self.sampler, starts, ends, self.epoch_of(steps), self.each, self.ends)

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.starts[-1]

    def epoch_of(self, step: int) -> float:
        """Epochs done after ``step`` steps, with a fraction."""
        if step >= self.steps:
            return self.epochs
        epoch = int(np.searchsorted(self.starts, step, side="right")) - 1
        over = bisect.bisect_right(self.ends, step)
        # An earlier round may have ended within its last epoch.
        done = over * self.each + epoch - over * math.ceil(self.each)
        return done + (step - self.starts[epoch]) / self.sampler.count(epoch)

    def batches(self, step: int) -> Iterator[np.ndarray]:
        """The batches of ``step`` and all later steps."""
        for epoch, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            if end > step:
                yield from self.sampler.batches(epoch)[max(0, step - start) : end - start]
