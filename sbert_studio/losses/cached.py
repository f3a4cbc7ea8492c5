"""Cached gradients: the gradient of a loss over a large batch, in the memory of one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from .base import Objective

Chunk = TypeVar("Chunk")


def cached_backward(
    objective: Objective,
    chunks: Sequence[Chunk],
    encode: Callable[[Chunk], Sequence[Tensor]],
    targets: Tensor | None = None,
    ids: Sequence[Tensor] | None = None,
) -> Tensor:
    """Add the gradient of the loss over all chunks to the parameters of encoder and objective; return the loss, detached.

    Each chunk is encoded without a graph, the loss is differentiated by the embeddings alone, then each chunk is encoded again with a
    graph, from the random state it had (so dropout falls the same), and the embeddings' gradient is passed on through it. The result is
    that of encoding all chunks with a graph, and so is the random state afterwards. Source: Gao et al. 2021, arXiv:2101.06983, GradCache.

    Args:
        chunks: the batch in parts, in order.
        encode: a chunk of r rows → its columns, (r, dim) each; called twice a chunk.
        targets, ids: those of the whole batch.
    """
    states, parts = [], []
    with torch.no_grad():
        for chunk in chunks:
            states.append(_random_state())
            parts.append([column.detach() for column in encode(chunk)])

    columns = [torch.cat(column).requires_grad_() for column in zip(*parts, strict=True)]
    rows = [len(part[0]) for part in parts]
    del parts
    loss: Tensor = objective(columns, targets, ids)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [torch.zeros_like(column) if column.grad is None else column.grad for column in columns]

    start = 0
    for chunk, state, count in zip(chunks, states, rows, strict=True):
        _set_random_state(state)
        torch.autograd.backward(list(encode(chunk)), [gradient[start : start + count] for gradient in gradients])
        start += count
    return loss.detach()


def _random_state() -> list[Tensor]:
    """Of the CPU and of the accelerator in use, if there is one."""
    return [device.get_rng_state() for device in _devices()]


def _set_random_state(states: list[Tensor]) -> None:
    for device, state in zip(_devices(), states, strict=True):
        device.set_rng_state(state)


def _devices() -> list[Any]:
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return [torch.random] if accelerator is None else [torch.random, torch.get_device_module(accelerator)]
