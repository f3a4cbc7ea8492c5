"""Cached gradients: the gradient of a loss over a large batch, in the memory of one micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
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
    *,
    scale: float = 1.0,
    hold: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Tensor:
    """Add ``scale`` × the gradient of the loss over all chunks to the parameters of encoder and objective; return the loss, detached.

    Each chunk is encoded without a graph, the loss is differentiated by the embeddings alone, then each chunk is encoded again with a
    graph, from the random state it had (so dropout falls the same), and the embeddings' gradient is passed on through it. The result is
    that of encoding all chunks with a graph, and so is the random state afterwards. Source: Gao et al. 2021, arXiv:2101.06983, GradCache.

    Args:
        chunks: the batch in parts, in order.
        encode: a chunk of r rows → its columns, (r, dim) each; called twice a chunk.
        targets, ids: those of the whole batch.
        scale: what the loss is multiplied by before its gradient is taken.
        hold: entered around each backward pass but the last, to put off the exchange of gradients between processes (DDP's ``no_sync``).
    """
    states, parts = [], []
    with torch.no_grad():
        for chunk in chunks:
            states.append(_random_state())
            parts.append([column.detach() for column in encode(chunk)])
    torch.clear_autocast_cache()  # under autocast, the casts of the weights made above have no graph and must not be used below
    after = _random_state()

    columns = [torch.cat(column).requires_grad_() for column in zip(*parts, strict=True)]
    rows = [len(part[0]) for part in parts]
    del parts
    loss: Tensor = objective(columns, targets, ids)
    (loss * scale).backward()  # type: ignore[no-untyped-call]
    gradients = [torch.zeros_like(column) if column.grad is None else column.grad for column in columns]

    start = 0
    for index, (chunk, state, count) in enumerate(zip(chunks, states, rows, strict=True)):
        _set_random_state(state)
        with nullcontext() if index == len(chunks) - 1 else hold():
            torch.autograd.backward(list(encode(chunk)), [gradient[start : start + count] for gradient in gradients])
        start += count
    _set_random_state(after)
    return loss.detach()


def _random_state() -> tuple[Tensor, list[Tensor]]:
    """Of the CPU and of every CUDA device in use."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


def _set_random_state(state: tuple[Tensor, list[Tensor]]) -> None:
    cpu, cuda = state
    torch.set_rng_state(cpu)
    if cuda:
        torch.cuda.set_rng_state_all(cuda)
