"""Gradient computation for a batch, in one or more processes, or with cached gradients (GradCache)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import StudioError, is_out_of_memory
from ..i18n import _
from ..losses.base import Loss
from ..losses.tsdae import IGNORED
from ..models.trainable import Trainable, TrainingRows
from ..settings import is_launched_alone
from .checkpoints import Checkpoints
from .evaluator import EvaluationLog, Evaluator, GeneralProbe
from .events import Event, TrackedExamples
from .optim import Optimizer
from .spec import TrainSpec


class Processes:
    """This process and its peers, launched by ``accelerate launch`` or ``torchrun``; usually a single process.

    Each process has the whole model and computes its share of each batch; gradients are averaged before each step, so that weights stay
    equal.

    Args:
        device: device of the encoder; with peers, accelerate's choice for this process takes precedence.
    """

    def __init__(self, device: torch.device) -> None:
        from accelerate import Accelerator

        try:
            # On a CPU, accelerate recognizes torchrun's processes as peers only if told so.
            self._accelerator: Any = Accelerator(cpu=device.type == "cpu")
        except ValueError:  # accelerate's state is global to the process: an earlier run used another device
            self._accelerator = Accelerator()
        self.count = int(self._accelerator.num_processes)
        self.rank = int(self._accelerator.process_index)
        self.main = bool(self._accelerator.is_main_process)
        self.device = device if self.count == 1 or device.type == "cpu" else torch.device(self._accelerator.device)

    @property
    def note(self) -> str:
        """Return a message on the participating processes, or an empty string."""
        if self.count > 1:
            return _("{count} processes train together, each on its share of every batch", count=self.count)
        if is_launched_alone():
            return "accelerate started only one process, which it does on a CPU; use --multi_gpu even there, or use torchrun"
        return ""

    def wait(self) -> None:
        self._accelerator.wait_for_everyone()

    def average(self, gradients: Sequence[Tensor]) -> None:
        """Replace each gradient with its mean over the processes in one collective call."""
        if self.count == 1 or not gradients:
            return
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        mean = self._accelerator.reduce(flat, reduction="mean")
        start = 0
        for gradient in gradients:
            gradient.copy_(mean[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()

    def mean(self, value: Tensor) -> Tensor:
        return value if self.count == 1 else self._accelerator.reduce(value.reshape(1), reduction="mean")[0]

    def any(self, flag: bool) -> bool:
        if self.count == 1:
            return flag
        return bool(self._accelerator.reduce(torch.tensor([float(flag)], device=self.device), reduction="sum")[0] > 0)


@dataclass(frozen=True)
class TrainingParts:
    """Components of a training run.

    Attributes:
        encoder, loss_fn: model and loss in training mode, from :func:`~sbert_studio.training.prepare.prepare`.
        rows: training rows.
        evaluator: evaluator of the held-out rows; without one, the last weights are kept.
        general: probe of general quality.
        marks: evaluation log of an evaluation-only member.
        pins: tracked examples.
        processes: participating processes.
        folder: run folder.
        emit: receives events.
    """

    spec: TrainSpec
    encoder: Trainable
    loss_fn: Loss
    rows: TrainingRows
    evaluator: Evaluator | None
    processes: Processes
    folder: Path
    emit: Callable[[Event], None]
    general: GeneralProbe | None = None
    marks: EvaluationLog | None = None
    pins: TrackedExamples | None = None

    @property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.folder)

    def emit_event(self, event: Event) -> None:
        if self.processes.main:
            self.emit(event)

    def show_pins(self, step: int, *, is_final: bool = False) -> None:
        """Emit the scores of the tracked examples without changing weights or random state."""
        if self.pins is not None and self.processes.main and (seen := self.pins.score(self.encoder, step, is_final=is_final)) is not None:
            self.emit(seen)

    def trainable(self) -> tuple[dict[str, nn.Parameter], dict[str, nn.Parameter]]:
        encoder, loss_fn = (
            {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
            for module in (self.encoder, self.loss_fn)
        )
        shared = {id(parameter) for parameter in self.encoder.parameters()}
        return encoder, {name: parameter for name, parameter in loss_fn.items() if id(parameter) not in shared}

    def named(self) -> dict[str, nn.Parameter]:
        encoder, loss_fn = self.trainable()
        return {
            **{f"encoder.{name}": item for name, item in encoder.items()},
            **{f"objective.{name}": item for name, item in loss_fn.items()},
        }

    def create_optimizer(self, ends: int | Sequence[int]) -> Optimizer:
        """Return the optimizer of all trainable parameters; ``ends`` as in :class:`Optimizer`."""
        return Optimizer(self.named(), self.spec, ends, [f"encoder.{name}" for name in self.encoder.sparse_parameters])


class GradientSteps:
    """Computes the gradient of a batch for encoder and loss.

    Args:
        parts: components of the training run.
        precision: ``float32`` or ``bfloat16`` (autocast; weights stay float32).
        micro_batch: rows in memory at once; reduced if memory runs out.
    """

    def __init__(self, parts: TrainingParts, precision: str, micro_batch: int) -> None:
        self._encoder, self._loss_fn, self._rows, self._processes = parts.encoder, parts.loss_fn, parts.rows, parts.processes
        self._seed, self._half = parts.spec.seed, precision == "bfloat16"
        self.micro_batch = micro_batch

    def backward(self, batch: np.ndarray, step: int) -> tuple[Tensor, str]:
        """Add the gradient of the mean loss of ``batch``.

        Returns:
            The detached loss on the device, and a message or an empty string.

        Raises:
            StudioError: there is not enough memory for a single row.
        """
        notice = ""
        while True:
            self._seed_step(step)
            try:
                return self._gradients(batch), notice
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
            for parameter in (*self._encoder.parameters(), *self._loss_fn.parameters()):
                parameter.grad = None
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if self.micro_batch <= 1:
                raise StudioError("there is not enough memory for a single row", "choose a smaller max_length, LoRA, or a smaller model")
            self.micro_batch = (min(self.micro_batch, len(batch)) + 1) // 2
            notice = _(
                "memory ran out at step {step}; from now on, {micro_batch} rows are processed at a time, with the same result",
                step=step + 1,
                micro_batch=self.micro_batch,
            )

    def _gradients(self, batch: np.ndarray) -> Tensor:
        processes, loss_fn = self._processes, self._loss_fn
        mine = batch[processes.rank :: processes.count]
        # Gradients are averaged over processes, so a mean over fewer rows needs a smaller weight.
        share = 1.0 if loss_fn.whole_batch else len(mine) * processes.count / len(batch)
        parts = [mine[start : start + self.micro_batch] for start in range(0, len(mine), self.micro_batch)]
        if len(parts) > 1 and loss_fn.whole_batch:
            loss = cached_backward(loss_fn, parts, self._encode, self._targets(mine), self._names(mine))
        else:
            losses = [self._backward(part, share * len(part) / len(mine)) for part in parts]
            loss = losses[0] if len(losses) == 1 else torch.stack(losses).sum()
        processes.average(
            [parameter.grad for module in (self._encoder, loss_fn) for parameter in module.parameters() if parameter.grad is not None]
        )
        return processes.mean(loss)

    def _backward(self, rows: np.ndarray, weight: float) -> Tensor:
        loss: Tensor = self._loss_fn(self._encode(rows), self._targets(rows), self._names(rows))
        if weight != 1.0:
            loss = loss * weight
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _encode(self, rows: np.ndarray) -> Sequence[Tensor]:
        device = self._processes.device
        inputs = self._loss_fn.corrupt(self._rows.inputs(rows, self._loss_fn.views, device))
        with torch.autocast(device.type, torch.bfloat16) if self._half else contextlib.nullcontext():
            vectors: Tensor = self._encoder(inputs)
        return torch.split(vectors, len(rows))

    def _targets(self, rows: np.ndarray) -> Tensor | None:
        if self._loss_fn.reconstructs:
            return self._token_ids(rows)
        get = self._rows.teacher_of if self._loss_fn.teacher else self._rows.targets_of
        return get(rows, self._processes.device)

    def _token_ids(self, rows: np.ndarray) -> Tensor:
        inputs = self._rows.inputs(rows, 1, self._processes.device)
        ids = inputs["input_ids"]
        if "attention_mask" in inputs:
            ids = ids.masked_fill(inputs["attention_mask"] == 0, IGNORED)
        if self._processes.count > 1:  # gathered rows have the same width in every process
            ids = nn.functional.pad(ids, (0, int(self._rows.lengths.max()) - ids.shape[1]), value=IGNORED)
        return ids

    def _names(self, rows: np.ndarray) -> list[Tensor] | None:
        return self._rows.names(rows, self._loss_fn.views, self._processes.device) if self._loss_fn.in_batch else None

    def _seed_step(self, step: int) -> None:
        seed = int(np.random.SeedSequence((self._seed, step, self._processes.rank)).generate_state(1, np.uint64)[0])
        # If everything is on the CPU, seed only its generator: seeding those of other devices takes half a millisecond for stack traces.
        (torch.default_generator if self._processes.device.type == "cpu" else torch).manual_seed(seed)


Chunk = TypeVar("Chunk")


def cached_backward(
    loss_fn: Loss,
    chunks: Sequence[Chunk],
    encode: Callable[[Chunk], Sequence[Tensor]],
    targets: Tensor | None = None,
    ids: Sequence[Tensor] | None = None,
) -> Tensor:
    """Add the gradient of the loss over all chunks to the parameters of encoder and loss; return the detached loss.

    Each chunk is encoded without a graph, the loss is differentiated with respect to the embeddings, then each chunk is encoded again with
    a graph from the same random state (hence the same dropout), and the gradient of its embeddings is propagated. The gradients and the
    final random state equal those of encoding all chunks with a graph. Source: Gao et al. 2021, arXiv:2101.06983.

    Args:
        chunks: the batch in parts, in order.
        encode: maps a chunk of r rows to its columns, (r, dim) each; called twice per chunk.
        targets, ids: those of the whole batch.
    """
    states, parts = [], []
    with torch.no_grad():
        for chunk in chunks:
            states.append(_random_state())
            parts.append([column.detach() for column in encode(chunk)])
    torch.clear_autocast_cache()  # before version 2.9, casts of weights made without a graph would be used in the second pass

    columns = [torch.cat(column).requires_grad_() for column in zip(*parts, strict=True)]
    rows = [len(part[0]) for part in parts]
    del parts
    loss: Tensor = loss_fn(columns, targets, ids)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [torch.zeros_like(column) if column.grad is None else column.grad for column in columns]

    start = 0
    for chunk, state, count in zip(chunks, states, rows, strict=True):
        _set_random_state(state)
        torch.autograd.backward(list(encode(chunk)), [gradient[start : start + count] for gradient in gradients])
        start += count
    return loss.detach()


def _random_state() -> list[Tensor]:
    return [device.get_rng_state() for device in _devices()]


def _set_random_state(states: list[Tensor]) -> None:
    for device, state in zip(_devices(), states, strict=True):
        device.set_rng_state(state)


def _devices() -> list[Any]:
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return [torch.random] if accelerator is None else [torch.random, torch.get_device_module(accelerator)]
