"""Cached gradients (GradCache): train on a large batch with the memory of one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from .base import Loss

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
