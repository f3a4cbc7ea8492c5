"""A few steps ahead of a run, to say how long it will take and how much memory."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StudioError
from ..models.runtime import resolve_precision
from ..models.trainable import Trainable
from .crossval import in_folds
from .distributed import Processes
from .evaluator import Evaluator, hold_out
from .packing import pack_batches
from .prepare import prepare
from .samplers import Sampler, batches_for
from .schedule import PeakMemory, Schedule
from .spec import TrainSpec, settled
from .steps import Parts, Steps

if TYPE_CHECKING:
    from ..data.examples import Examples

_STEPS = 5
_MOST_STEPS, _SECONDS = 40, 2.0  # where steps are short, more of them are taken
_JUDGED = 256  # held-out rows
_PROBED = 126  # pairs of the general probe that a model of one language reads


@dataclass(frozen=True)
class Estimate:
    """What a run will take.

    Attributes:
        seconds: evaluations included.
        peak_bytes: of the device's memory on a GPU, of this whole process, as it now stands, elsewhere.
        pairs_per_second: rows a second.
        steps: in all trainings of the run.
        folds: how many folds judge the run, each a training of its own, before one with all rows; 0: one part of the rows judges it.
    """

    seconds: float
    peak_bytes: int
    pairs_per_second: float
    steps: int
    folds: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        """Of one stage and the one after it; the rate is that of the latter."""
        seconds, steps = self.seconds + other.seconds, self.steps + other.steps
        return Estimate(seconds, max(self.peak_bytes, other.peak_bytes), other.pairs_per_second, steps, other.folds)

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return asdict(self)


def rehearse(spec: TrainSpec, examples: Examples, *, encoder: Trainable, dev: Examples | None = None) -> Estimate:
    """Take some steps with batches as the run makes them, judge some rows, and reckon from them; a few seconds.

    Of several seeds or folds one training is tried. A first stage is a rehearsal of its own, with its own spec and examples.

    Args:
        encoder: a fresh copy of the model, which is used up.

    Raises:
        StudioError: as :func:`~sbert_studio.training.trainer.train` would.
    """
    spec = settled(spec, examples)
    times = spec.seeds * max(1, spec.folds)
    if spec.folds:
        spec, dev = spec.replace(dev_fraction=min(0.9, 1 / spec.folds), folds=0), None
    folds = in_folds(spec, examples, dev)
    learned, held = (folds[0].learned, folds[0].held) if folds else hold_out(spec, examples, dev)[:2]
    if not len(learned):
        raise StudioError("there are no rows to learn from", "give a larger file")
    processes = Processes(encoder.device)
    with PeakMemory(processes.device) as memory:
        seconds_a_row, seconds_a_judged_row = _try(spec, learned, held, encoder, processes)
    weights = sum(parameter.numel() for parameter in encoder.parameters() if parameter.requires_grad)
    # A checkpoint, weights and both of Adam's moments in float32, is put together in memory before it is written; the untuned weights stay.
    peak = memory.bytes + (0 if processes.device.type == "cuda" else 4 * 4 * weights)
    schedule = _schedule(spec, learned, processes)
    steps = schedule.steps
    # Untuned, at each evaluation, and the blends; everyday pairs as often, and once more for each mark of a model that folds have judged.
    often = len(schedule.evaluations) + 4
    judged = 0 if held is None else (len(held) + _PROBED) * often
    rows = len(learned)
    if folds:
        judged = len(examples) * often + _PROBED * (often + 5)
        rows = sum(len(fold.learned) for fold in folds) + len(examples)
        steps = sum(_schedule(spec, one, processes).steps for one in (*(fold.learned for fold in folds), examples))
    seconds = rows * spec.epochs * spec.soup * seconds_a_row + judged * seconds_a_judged_row
    return Estimate(seconds * times, peak, 1 / seconds_a_row, steps * times, len(folds))


def _schedule(spec: TrainSpec, learned: Examples, processes: Processes) -> Schedule:
    sampler = Sampler(np.ones(len(learned), np.int64), spec.batch_size, spec.seed, None, processes.count)
    return Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup)


def _try(spec: TrainSpec, learned: Examples, held: Examples | None, encoder: Trainable, processes: Processes) -> tuple[float, float]:
    """Seconds a row of training, and seconds a row of judging (0 without rows to judge by)."""
    objective = prepare(spec, encoder, learned, processes)
    # A sample of rows is enough to be tokenised: of a million, that alone would take minutes.
    places = np.random.default_rng(spec.seed).permutation(len(learned))[: 64 * spec.batch_size]
    rows = encoder.training_rows(learned.take(places))
    parts = Parts(spec, encoder, objective, rows, None, processes, Path(), lambda event: None)
    steps = Steps(parts, resolve_precision(spec.precision, processes.device), min(spec.micro_batch or spec.batch_size, spec.batch_size))
    optimiser = parts.optimiser(_MOST_STEPS + 1)
    lengths = rows.lengths
    batches = sorted(batches_for(objective, rows, spec, processes.count).batches(0), key=lambda batch: float(lengths[batch].mean()))
    # The middle of each fifth: the very shortest and longest rows would count for more than they are.
    tried = [batches[place] for place in ((np.arange(_STEPS) + 0.5) / _STEPS * len(batches)).astype(int)]

    def step(number: int, batch: np.ndarray) -> float:
        began = time.perf_counter()
        loss, _ = steps.backward(batch, number)
        float(optimiser.step(number, loss))
        return time.perf_counter() - began

    unpack = pack_batches(encoder.backbone) if processes.device.type == "cpu" else lambda: None
    try:
        step(0, np.argsort(lengths, kind="stable")[-spec.batch_size :])  # the longest rows warm up, and show the peak
        took: list[float] = []
        while len(took) < _MOST_STEPS and sum(took) < _SECONDS:
            took += [step(len(took) + place + 1, batch) for place, batch in enumerate(tried)]
    finally:
        unpack()
    seconds = sum(took) / (len(took) / _STEPS * sum(map(len, tried)))
    return seconds, 0.0 if held is None else _judging(encoder, held, learned, spec.seed)


def _judging(encoder: Trainable, held: Examples, learned: Examples, seed: int) -> float:
    """Seconds a held-out row, judged as the run does it."""
    sample = held.take(np.random.default_rng(seed).permutation(len(held))[:_JUDGED])
    Evaluator(sample.take(np.arange(min(8, len(sample)))))(encoder)  # warms up
    judge = Evaluator(sample)
    judge(encoder)
    # Texts with a category are laid beside those that were learned, which are encoded too.
    known = Evaluator(held, learned=learned).known
    return judge.seconds / len(sample) * (1 if known is None else 1 + len(known) / len(held))
