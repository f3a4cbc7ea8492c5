"""Gradient of a batch, with the inputs of the next batch prepared in the background."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..caches import trim_heap
from ..errors import StudioError, is_out_of_memory
from ..losses.base import Loss
from ..losses.cached import cached_backward
from ..models.trainable import Trainable, TrainingRows
from .checkpoints import Checkpoints
from .distributed import Processes
from .evaluator import EvaluationLog, Evaluator
from .events import Event
from .general_probe import GeneralProbe
from .optim import Optimizer
from .pins import TrackedExamples
from .spec import TrainSpec


class BatchPrefetcher:
    """Inputs of batches, one of which may be prepared ahead; results are the same either way.

    Args:
        rows: training rows.
        views: number of encodings per column.
        device: target device.
    """

    def __init__(self, rows: TrainingRows, views: int, device: torch.device) -> None:
        self._rows, self._views, self._device = rows, views, device
        self._worker: ThreadPoolExecutor | None = None
        self._expected: tuple[np.ndarray, Future[dict[str, Tensor]]] | None = None

    def expect(self, rows: np.ndarray) -> None:
        """Start preparing the batch that is requested next."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "next-batch")
        self._expected = rows, self._worker.submit(self._rows.inputs, rows, self._views, self._device)

    def inputs(self, rows: np.ndarray) -> dict[str, Tensor]:
        """Return the inputs of a batch, prefetched or not."""
        if self._expected is not None and np.array_equal(self._expected[0], rows):
            (_, prepared), self._expected = self._expected, None
            return prepared.result()
        return self._rows.inputs(rows, self._views, self._device)

    def close(self) -> None:
        """Stop the background thread."""
        if self._worker is not None:
            self._worker.shutdown(wait=True, cancel_futures=True)
        self._worker = self._expected = None


@dataclass(frozen=True)
class TrainingParts:
    """Components of a training.

    Attributes:
        encoder, objective: model and loss in training mode, from :func:`~sbert_studio.training.prepare.prepare`.
        rows: training rows.
        judge: evaluator of the held-out rows; without one the last weights are kept.
        general: probe of general quality.
        marks: evaluation log of an evaluation-only training.
        pins: tracked examples.
        processes: participating processes.
        folder: run folder.
        emit: receives events.
    """

    spec: TrainSpec
    encoder: Trainable
    objective: Loss
    rows: TrainingRows
    judge: Evaluator | None
    processes: Processes
    folder: Path
    emit: Callable[[Event], None]
    general: GeneralProbe | None = None
    marks: EvaluationLog | None = None
    pins: TrackedExamples | None = None

    @property
    def checkpoints(self) -> Checkpoints:
        """Checkpoints of the run."""
        return Checkpoints(self.folder)

    def emit_event(self, event: Event) -> None:
        """Emit ``event`` from the main process only."""
        if self.processes.main:
            self.emit(event)

    def show_pins(self, step: int, *, kept: bool = False) -> None:
        """Emit the scores of the tracked examples without changing weights or random state."""
        if self.pins is not None and self.processes.main and (seen := self.pins.score(self.encoder, step, kept=kept)) is not None:
            self.emit(seen)

    def trainable(self) -> tuple[dict[str, nn.Parameter], dict[str, nn.Parameter]]:
        """Trainable parameters of encoder and loss, by name."""
        encoder, objective = (
            {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
            for module in (self.encoder, self.objective)
        )
        return encoder, objective

    def named(self) -> dict[str, nn.Parameter]:
        """All trainable parameters by unique name."""
        encoder, objective = self.trainable()
        return {
            **{f"encoder.{name}": item for name, item in encoder.items()},
            **{f"objective.{name}": item for name, item in objective.items()},
        }

    def create_optimizer(self, ends: int | Sequence[int]) -> Optimizer:
        """Return the optimizer of all trainable parameters; ``ends`` as for :class:`Optimizer`."""
        return Optimizer(self.named(), self.spec, ends, [f"encoder.{name}" for name in self.encoder.sparse_parameters])


_LARGER = 1.1


class GradientSteps:
    """Computes the gradient of a batch for encoder and loss.

    Args:
        parts: components of the training.
        precision: ``float32`` or ``bfloat16`` (autocast; weights stay float32).
        micro_batch: rows in memory at once; reduced if memory runs out.
    """

    def __init__(self, parts: TrainingParts, precision: str, micro_batch: int) -> None:
        self._encoder, self._objective, self._rows, self._processes = parts.encoder, parts.objective, parts.rows, parts.processes
        self._seed, self._half = parts.spec.seed, precision == "bfloat16"
        self._ahead, self._following = BatchPrefetcher(parts.rows, parts.objective.views, parts.processes.device), np.empty(0, np.int64)
        self.micro_batch = micro_batch
        self._largest = 0

    def backward(self, batch: np.ndarray, step: int, following: np.ndarray | None = None) -> tuple[Tensor, str]:
        """Add the gradient of the mean loss of ``batch``.

        Args:
            following: the next batch, prepared meanwhile.

        Returns:
            The detached loss on the device, and a message or an empty string.

        Raises:
            StudioError: there is not enough memory for a single row.
        """
        notice, self._following = "", np.empty(0, np.int64) if following is None else following
        while True:
            self._seed_step(step)
            try:
                return self._gradients(batch), notice
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
            for parameter in (*self._encoder.parameters(), *self._objective.parameters()):
                parameter.grad = None
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if self.micro_batch <= 1:
                raise StudioError("memory does not hold a single row", "choose a smaller max_length, LoRA, or a smaller model")
            self.micro_batch = (min(self.micro_batch, len(batch)) + 1) // 2
            notice = f"memory ran out at step {step + 1}; {self.micro_batch} rows are now computed at a time, with the same result"

    def close(self) -> None:
        """Stop the background thread."""
        self._ahead.close()

    def _gradients(self, batch: np.ndarray) -> Tensor:
        processes, objective = self._processes, self._objective
        mine = batch[processes.rank :: processes.count]
        # Gradients are averaged over processes: a mean over fewer rows than the others' must count for less.
        share = 1.0 if objective.whole_batch else len(mine) * processes.count / len(batch)
        parts = [mine[start : start + self.micro_batch] for start in range(0, len(mine), self.micro_batch)]
        if len(parts) > 1 and objective.whole_batch:
            loss = cached_backward(objective, parts, self._encode, self._targets(mine), self._names(mine))
        else:
            losses = [self._backward(part, share * len(part) / len(mine)) for part in parts]
            loss = losses[0] if len(losses) == 1 else torch.stack(losses).sum()
        processes.average(
            [parameter.grad for module in (self._encoder, objective) for parameter in module.parameters() if parameter.grad is not None]
        )
        return processes.mean(loss)

    def _backward(self, rows: np.ndarray, weight: float) -> Tensor:
        loss: Tensor = self._objective(self._encode(rows), self._targets(rows), self._names(rows))
        if weight != 1.0:
            loss = loss * weight
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _encode(self, rows: np.ndarray) -> Sequence[Tensor]:
        device = self._processes.device
        inputs = self._ahead.inputs(rows)
        if len(self._following):
            self._ahead.expect(self._following[self._processes.rank :: self._processes.count][: self.micro_batch])
            self._following = self._following[:0]
        self._make_room(inputs["input_ids"].numel())
        with torch.autocast(device.type, torch.bfloat16) if self._half else contextlib.nullcontext():
            vectors: Tensor = self._encoder(inputs)
        return torch.split(vectors, len(rows))

    def _make_room(self, size: int) -> None:
        if size > _LARGER * self._largest and self._processes.device.type == "cpu":
            self._largest = size
            trim_heap()

    def _targets(self, rows: np.ndarray) -> Tensor | None:
        return self._rows.targets_of(rows, self._processes.device)

    def _names(self, rows: np.ndarray) -> list[Tensor] | None:
        return self._rows.names(rows, self._objective.views, self._processes.device) if self._objective.in_batch else None

    def _seed_step(self, step: int) -> None:
        seed = int(np.random.SeedSequence((self._seed, step, self._processes.rank)).generate_state(1, np.uint64)[0])
        # Where everything is on the CPU, its generator alone: to seed those of other devices costs half a millisecond of stack traces.
        (torch.default_generator if self._processes.device.type == "cpu" else torch).manual_seed(seed)
