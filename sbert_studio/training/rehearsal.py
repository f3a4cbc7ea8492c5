"""A few steps ahead of a run, to say how long it will take and how much memory."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..encoders.runtime import resolve_precision
from .advisor import settled
from .judge import hold_out
from .optimiser import Optimiser
from .packing import pack_batches
from .parts import Parts
from .prepare import prepare
from .processes import Processes
from .rows import read_rows
from .sampler import Sampler
from .schedule import Schedule
from .spec import TrainSpec
from .steps import Steps
from .tuned import Tuned

if TYPE_CHECKING:
    from ..data.examples import Examples

_STEPS = 5
# Encoding takes a third of a training step: forward only, where a step goes forward once and backward twice as long.
_FORWARD = 1 / 3


@dataclass(frozen=True)
class Estimate:
    """What a run will take.

    Attributes:
        seconds: evaluations included.
        peak_bytes: of the device's memory on a GPU, of this whole process elsewhere; 0 where the system does not tell.
        pairs_per_second: rows a second.
        steps: in all.
    """

    seconds: float
    peak_bytes: int
    pairs_per_second: float
    steps: int


def rehearse(spec: TrainSpec, examples: Examples, *, encoder: Tuned, dev: Examples | None = None) -> Estimate:
    """Take five steps, from the shortest rows to the longest, and reckon from them.

    Args:
        encoder: a fresh copy of the model, which is used up.

    Raises:
        StudioError: as :func:`~sbert_studio.training.trainer.train` would.
    """
    spec = settled(spec, examples)
    learned, held, _ = hold_out(spec, examples, dev)
    processes = Processes(encoder.device)
    objective = prepare(spec, encoder, learned, processes)
    if processes.device.type == "cpu":
        pack_batches(encoder.backbone)
    # A sample of rows is enough to be tokenised: of a million, that alone would take minutes.
    places = np.random.default_rng(spec.seed).permutation(len(learned))[: 64 * spec.batch_size]
    rows = read_rows(learned.take(places), encoder)
    parts = Parts(spec, encoder, objective, rows, None, processes, Path(), lambda event: None)
    steps = Steps(parts, resolve_precision(spec.precision, processes.device), min(spec.micro_batch or spec.batch_size, spec.batch_size))
    learning = [parameter for named in parts.learning() for parameter in named.values()]
    optimiser = Optimiser({str(place): parameter for place, parameter in enumerate(learning)}, spec, _STEPS + 1)
    ordered = np.argsort(rows.lengths, kind="stable")
    size = min(spec.batch_size, len(ordered))
    starts = np.linspace(0, len(ordered) - size, _STEPS).astype(int)
    batches = [ordered[start : start + size] for start in (starts[-1], *starts)]  # the first, the longest, warms up and shows the peak
    took = []
    for step, batch in enumerate(batches):
        start = time.perf_counter()
        loss, _ = steps.backward(batch, step)
        float(optimiser.step(step, loss))
        took.append(time.perf_counter() - start)
    rate = size * _STEPS / sum(took[1:])
    schedule = Schedule.plan(
        Sampler(np.ones(len(learned), np.int64), spec.batch_size, spec.seed, None, processes.count), spec.epochs, spec.evaluations_per_epoch
    )
    judged = 0 if held is None else len(held) * (len(schedule.evaluations) + 1)
    return Estimate((len(learned) * spec.epochs + judged * _FORWARD) / rate, _peak(processes.device), rate, schedule.steps)


def _peak(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) if sys.platform == "darwin" else int(most) * 1024
