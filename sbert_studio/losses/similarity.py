"""Similarities and distances of rows, (b, dim), (b, dim) → (b,), with finite gradients at zero and for equal rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def unit(embeddings: Tensor) -> Tensor:
    """Scale rows to length 1; a zero row stays zero."""
    return F.normalize(embeddings, dim=-1, eps=1e-8)


def row_length(embeddings: Tensor) -> Tensor:
    """Return the Euclidean norm of each row, (b, dim) → (b,)."""
    length: Tensor = torch.linalg.vector_norm(embeddings, dim=-1)
    return length


def cosine(u: Tensor, v: Tensor) -> Tensor:
    """Return the cosine of each pair of rows, in -1..1."""
    return (unit(u) * unit(v)).sum(-1)


def _cosine_distance(u: Tensor, v: Tensor) -> Tensor:
    return 1 - cosine(u, v)


def _euclidean(u: Tensor, v: Tensor) -> Tensor:
    return row_length(u - v)


def _manhattan(u: Tensor, v: Tensor) -> Tensor:
    return (u - v).abs().sum(-1)


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "euclidean": _euclidean,
    "cosine": _cosine_distance,
    "manhattan": _manhattan,
}
