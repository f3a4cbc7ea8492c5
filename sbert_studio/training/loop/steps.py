"""From a batch of rows to gradients: one forward pass for all columns, in as many parts as memory asks for."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ...caches import give_back_holes
from ...errors import StudioError, is_out_of_memory
from ...objectives.cached import cached_backward
from .ahead import Ahead
from .parts import Parts

_LARGER = 1.1


class Steps:
    """Puts the gradient of a batch on the parameters of encoder and objective.

    Args:
        parts: what the run is made of; the seed is the spec's.
        precision: ``float32`` or ``bfloat16`` (autocast: the weights stay float32).
        micro_batch: rows in memory at once; it shrinks where memory runs out.
    """

    def __init__(self, parts: Parts, precision: str, micro_batch: int) -> None:
        self._encoder, self._objective, self._rows, self._processes = parts.encoder, parts.objective, parts.rows, parts.processes
        self._seed, self._half = parts.spec.seed, precision == "bfloat16"
        self._ahead, self._following = Ahead(parts.rows, parts.objective.views, parts.processes.device), np.empty(0, np.int64)
        self.micro_batch = micro_batch
        self._largest = 0

    def backward(self, batch: np.ndarray, step: int, following: np.ndarray | None = None) -> tuple[Tensor, str]:
        """Add the gradient of the mean loss of ``batch``.

        Args:
            following: the next batch, which is put together meanwhile.

        Returns:
            The loss, detached, on the device; and what a person should know, or nothing.

        Raises:
            StudioError: memory does not even hold a single row.
        """
        notice, self._following = "", np.empty(0, np.int64) if following is None else following
        while True:
            self._sow(step)
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
        """End the thread that puts batches together."""
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
        """Return memory that is too scattered for a batch of more tokens than any so far, before it asks for more: it was seen to stay."""
        if size > _LARGER * self._largest and self._processes.device.type == "cpu":
            self._largest = size
            give_back_holes()

    def _targets(self, rows: np.ndarray) -> Tensor | None:
        return self._rows.targets_of(rows, self._processes.device)

    def _names(self, rows: np.ndarray) -> list[Tensor] | None:
        return self._rows.names(rows, self._objective.views, self._processes.device) if self._objective.in_batch else None

    def _sow(self, step: int) -> None:
        """Dropout of a step is a function of (seed, step, rank): whatever drew numbers before, here or in another thread, is forgotten."""
        seed = int(np.random.SeedSequence((self._seed, step, self._processes.rank)).generate_state(1, np.uint64)[0])
        # Where everything is on the CPU, its generator alone: to seed those of other devices costs half a millisecond of stack traces.
        (torch.default_generator if self._processes.device.type == "cpu" else torch).manual_seed(seed)
