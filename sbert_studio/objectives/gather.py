"""Rows of all processes in one tensor, with gradient: in-batch negatives and rankings over the global batch."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def process_count() -> int:
    """How many processes train together; 1 without ``torch.distributed``."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def gather_rows(local: Tensor) -> Tensor:
    """(b, ...) of each process → (Σ b, ...), in the order of ranks, the same on every process. b may differ between processes.

    The gradient that reaches a process's own rows is the sum over processes of the gradients of their losses: where every process
    computes the loss of the global batch and gradients are then averaged (DDP), the result is the gradient of that loss.
    """
    gathered: Tensor = _Gather.apply(local)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor) -> Tensor:
        sizes = [torch.zeros(1, dtype=torch.int64, device=local.device) for _ in range(dist.get_world_size())]
        dist.all_gather(sizes, torch.tensor([len(local)], device=local.device))
        counts = [int(size) for size in sizes]
        padded = local.new_zeros((max(counts), *local.shape[1:]))
        padded[: len(local)] = local
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        ctx.start, ctx.rows = sum(counts[: dist.get_rank()]), len(local)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous().clone()
        dist.all_reduce(total)
        return total[ctx.start : ctx.start + ctx.rows]
