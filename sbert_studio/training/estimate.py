"""Estimate the time and memory of a run from a few trial steps."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..errors import StudioError
from ..memory import resident_memory
from ..models.inference.machine import resolve_precision
from ..models.trainable import Trainable
from ..progress import checkpoint
from ..serialization import JsonResult
from .evaluator import Evaluator, hold_out
from .fast_layers import pack_batches
from .members import PROBED_PAIRS, plan_curve, plan_folds
from .prepare import prepare
from .samplers import LengthGroupedSampler, Schedule, build_sampler
from .spec import TrainSpec, resolve_loss
from .steps import GradientSteps, Processes, TrainingParts

if TYPE_CHECKING:
    from ..data.examples import Examples

_STEPS = 5
_MOST_STEPS, _SECONDS = 40, 2.0  # if steps are short, more of them are taken
_EVALUATED_ROWS = 256  # held-out rows


@dataclass(frozen=True)
class Estimate(JsonResult):
    """Estimated cost of a run.

    Attributes:
        seconds: total time including evaluations.
        peak_bytes: peak memory of the device (GPU) or of this process.
        pairs_per_second: rows per second.
        steps: steps of all members of the run.
        folds: number of folds, each a separate member; 0 for a single split.
    """

    seconds: float
    peak_bytes: int
    pairs_per_second: float
    steps: int
    folds: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        """Add the cost of the following stage; the rate is that of the latter."""
        seconds, steps = self.seconds + other.seconds, self.steps + other.steps
        return Estimate(seconds, max(self.peak_bytes, other.peak_bytes), other.pairs_per_second, steps, other.folds)


def estimate_run(spec: TrainSpec, examples: Examples, *, encoder: Trainable, dev: Examples | None = None) -> Estimate:
    """Take a few steps and evaluate a few rows as the run does, and extrapolate; takes a few seconds.

    Of several seeds or folds, only one is tried. A first stage is estimated separately with its own spec and examples.

    Args:
        encoder: a fresh copy of the model, which is modified.

    Raises:
        StudioError: see :func:`~sbert_studio.training.trainer.train`.
    """
    spec = resolve_loss(spec, examples)
    times = spec.seeds * max(1, spec.folds)
    if spec.folds:
        spec, dev = spec.replace(dev_fraction=min(0.9, 1 / spec.folds), folds=0), None
    folds = plan_folds(spec, examples, dev)
    train_rows, held = (folds[0].train_rows, folds[0].held) if folds else hold_out(spec, examples, dev)[:2]
    if not len(train_rows):
        raise StudioError("there are no rows to train on", "use a larger file")
    processes = Processes(encoder.device)
    with PeakMemory(processes.device) as memory:
        seconds_a_row, seconds_a_judged_row = _measure(spec, train_rows, held, encoder, processes)
    weights = sum(parameter.numel() for parameter in encoder.parameters() if parameter.requires_grad)
    # A checkpoint (weights and both of Adam's moments in float32) is assembled in memory before it is written; the base weights stay in
    # memory.
    peak = memory.bytes + (0 if processes.device.type == "cuda" else 4 * 4 * weights)
    schedule = _schedule(spec, train_rows, processes)
    steps = schedule.steps
    # Evaluations of the base model, during training, and of the blends; the general probe as often, plus once per mark of a cross-validated
    # model.
    often = len(schedule.evaluations) + 4
    judged = 0 if held is None else (len(held) + PROBED_PAIRS) * often
    rows = len(train_rows)
    if folds:
        curve = plan_curve(folds)
        judged = (len(examples) + sum(len(part.held or ()) for part in curve)) * often + PROBED_PAIRS * (often + 5)
        trained = [*(part.train_rows for part in (*folds, *curve)), examples]
        rows, steps = sum(map(len, trained)), sum(_schedule(spec, one, processes).steps for one in trained)
    seconds = rows * spec.epochs * spec.soup * seconds_a_row + judged * seconds_a_judged_row
    return Estimate(seconds * times, peak, 1 / seconds_a_row, steps * times, len(folds))


def _schedule(spec: TrainSpec, train_rows: Examples, processes: Processes) -> Schedule:
    sampler = LengthGroupedSampler(np.ones(len(train_rows), np.int64), spec.batch_size, spec.seed, None, processes.count)
    return Schedule.plan(sampler, spec.epochs, spec.evaluations_per_epoch, spec.soup)


def _measure(spec: TrainSpec, train_rows: Examples, held: Examples | None, encoder: Trainable, processes: Processes) -> tuple[float, float]:
    loss_fn = prepare(spec, encoder, train_rows, processes)
    # Tokenize only a sample of rows: for a million rows, tokenization alone would take minutes.
    places = np.random.default_rng(spec.seed).permutation(len(train_rows))[: 64 * spec.batch_size]
    rows = encoder.training_rows(train_rows.take(places))
    parts = TrainingParts(spec, encoder, loss_fn, rows, None, processes, Path(), lambda event: None)
    steps = GradientSteps(
        parts, resolve_precision(spec.precision, processes.device), min(spec.micro_batch or spec.batch_size, spec.batch_size)
    )
    optimiser = parts.create_optimizer(_MOST_STEPS + 1)
    lengths = rows.lengths
    batches = sorted(build_sampler(loss_fn, rows, spec, processes.count).batches(0), key=lambda batch: float(lengths[batch].mean()))
    # The middle of each fifth: the very shortest and longest rows would be overrepresented.
    tried = [batches[place] for place in ((np.arange(_STEPS) + 0.5) / _STEPS * len(batches)).astype(int)]

    def step(number: int, batch: np.ndarray) -> float:
        checkpoint()
        began = time.perf_counter()
        loss, _ = steps.backward(batch, number)
        float(optimiser.step(number, loss))
        return time.perf_counter() - began

    unpack = pack_batches(encoder.backbone) if processes.device.type == "cpu" else lambda: None
    try:
        step(0, np.argsort(lengths, kind="stable")[-spec.batch_size :])  # the longest rows serve as warm-up and show the peak
        took: list[float] = []
        while len(took) < _MOST_STEPS and sum(took) < _SECONDS:
            took += [step(len(took) + place + 1, batch) for place, batch in enumerate(tried)]
    finally:
        unpack()
    seconds = sum(took) / (len(took) / _STEPS * sum(map(len, tried)))
    return seconds, 0.0 if held is None else _evaluation_seconds(encoder, held, train_rows, spec.seed)


def _evaluation_seconds(encoder: Trainable, held: Examples, train_rows: Examples, seed: int) -> float:
    sample = held.take(np.random.default_rng(seed).permutation(len(held))[:_EVALUATED_ROWS])
    Evaluator(sample.take(np.arange(min(8, len(sample)))))(encoder)  # warm-up
    evaluator = Evaluator(sample)
    evaluator(encoder)
    # Texts with a category are compared with the training rows, which are encoded too.
    known = Evaluator(held, train_rows=train_rows).known
    return evaluator.seconds / len(sample) * (1 if known is None else 1 + len(known) / len(held))


_EVERY = 0.005  # seconds


class PeakMemory:
    """Peak memory within a ``with`` block, in ``bytes``.

    On a GPU, PyTorch's own peak. On a CPU, the resident memory sampled every 5 ms, because ``ru_maxrss`` covers the whole life of the
    process.
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
