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

from .samplers import BatchSampler

_EVERY = 0.005  # seconds
_STATM = Path("/proc/self/statm")


class PeakMemory:
    """Peak memory within a ``with`` block, in ``bytes``.

    On a GPU PyTorch's own peak. On a CPU the resident memory sampled every 5 ms, since ``ru_maxrss`` covers the whole life of the process.
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
            self.bytes = max(self.bytes, resident_memory())
            if self._ended.wait(_EVERY):
                return


def resident_memory() -> int:
    """Return the resident memory of this process in bytes."""
    if _STATM.exists():
        import resource

        return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    import psutil  # type: ignore[import-untyped, unused-ignore]  # comes with accelerate

    return int(psutil.Process().memory_info().rss)


@dataclass(frozen=True)
class Schedule:
    """Steps of a run, numbered from 0.

    Attributes:
        sampler: batches of an epoch.
        starts: first step of each epoch, and the total number of steps.
        evaluations: numbers of steps after which to evaluate, including the last.
        epochs: fractional epochs of all rounds.
        each: fractional epochs of one round.
        ends: number of steps at the end of each round, over which the learning rate rises and falls.
    """

    sampler: BatchSampler
    starts: tuple[int, ...]
    evaluations: frozenset[int]
    epochs: float
    each: float
    ends: tuple[int, ...]

    @classmethod
    def plan(cls, sampler: BatchSampler, epochs: float, evaluations_per_epoch: int, rounds: int = 1) -> Schedule:
        """Plan ``rounds`` times ``epochs`` passes over the rows.

        Later rounds are evaluated at their ends only, since they cannot be better before.
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
        """Return the first ``share`` (0 to 1) of the steps with unchanged learning rates; later rounds are kept whole.

        Partial later rounds would have no mean of rounds.
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
        """Number of steps."""
        return self.starts[-1]

    def epoch_of(self, step: int) -> float:
        """Return fractional epochs after ``step`` steps."""
        if step >= self.steps:
            return self.epochs
        epoch = int(np.searchsorted(self.starts, step, side="right")) - 1
        over = bisect.bisect_right(self.ends, step)
        # An earlier round may have ended within its last epoch.
        done = over * self.each + epoch - over * math.ceil(self.each)
        return done + (step - self.starts[epoch]) / self.sampler.count(epoch)

    def batches(self, step: int) -> Iterator[np.ndarray]:
        """Yield the batches of ``step`` and all later steps."""
        for epoch, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            if end > step:
                yield from self.sampler.batches(epoch)[max(0, step - start) : end - start]
