"""Blocked similarity products of all rows, in float32 and int8 with an error bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..data.progress import checkpoint
from ..models.similarity import unit

if TYPE_CHECKING:
    import torch


_BLOCK = 8192  # rows turned into eight bits at once
_STEPS = 127
_UNEVEN = 9.0  # the largest component of a unit vector, times √d, from which a rotation pays
_SEED = 12

At = slice | np.ndarray
"""Which rows: a slice, or their numbers (m,)."""


class Rows(Protocol):
    """(n, d) rows in single precision, of which some are asked for at a time; an array is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""
        ...

    def __len__(self) -> int: ...
    def __getitem__(self, at: At, /) -> np.ndarray: ...


class UnitRows:
    """The rows of ``vectors``, (n, d), at length one; a copy of them never stands in memory whole."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self.shape = vectors.shape

    def __len__(self) -> int:
        return len(self._vectors)

    def __getitem__(self, at: At) -> np.ndarray:
        return unit(np.asarray(self._vectors[at]))


class Single:
    """Products in single precision.

    Args:
        rows, others: of the same width; row i of the one is multiplied by row j of the other.
        margin: more than single precision loses on a product.
    """

    def __init__(self, rows: Rows, others: Rows, margin: float) -> None:
        self._rows, self._others = rows, others
        self._margin = margin

    def of(self, left: At, right: At) -> torch.Tensor:
        """(l, r) products; they are the caller's."""
        import torch

        # By torch rather than NumPy, whose threads would stand in the way of those that look at the products.
        return torch.from_numpy(self._rows[left]) @ torch.from_numpy(self._others[right]).T

    def least(self, product: float) -> float:
        """The least cell of a pair whose product is at least ``product``."""
        return product - self._margin

    def surely(self, cell: float) -> float:
        """The product that a pair of such a cell has at least."""
        return cell - self._margin


class Eight:
    """Products of whole numbers of eight bits, which the processor multiplies some nine times as fast (VNNI).

    A model may have components that are far larger than all others, which would leave few of the 255 steps to the rest: then both sides
    are rotated at random first, which changes no product and spreads them evenly.

    Args:
        rows, others: as :class:`Single`'s; ``others`` may be the same object.
        margin: more than single precision loses on a product.
    """

    def __init__(self, rows: Rows, others: Rows, margin: float) -> None:
        self._turn: np.ndarray | None = None
        sides = [rows] if others is rows else [rows, others]
        largest = [_largest(side) for side in sides]
        if any(most * np.sqrt(side.shape[1]) > _UNEVEN * longest for (most, longest), side in zip(largest, sides, strict=True)):
            self._turn = _rotation(rows.shape[1])
            largest = [_largest(side, self._turn) for side in sides]
        found = [self._small(side, most / _STEPS or 1.0) for (most, _), side in zip(largest, sides, strict=True)]
        (self._q, self._s, lost, length), (self._r, self._t, gone, _) = found[0], found[-1]
        longest = largest[-1][1]
        self._error = lost * longest + length * gone + margin

    def _small(self, rows: Rows, step: float) -> tuple[torch.Tensor, float, float, float]:
        """Whole numbers, their step, the largest norm of what is lost, and of what is kept."""
        import torch

        whole, lost, kept = torch.empty(rows.shape, dtype=torch.int8), 0.0, 0.0
        for start in range(0, len(rows), _BLOCK):
            checkpoint()
            part = _turned(rows[start : start + _BLOCK], self._turn)
            near = torch.from_numpy(part).mul(1 / step).round_().clamp_(-_STEPS, _STEPS)
            whole[start : start + _BLOCK] = near
            near.mul_(step)
            kept = max(kept, float(torch.linalg.vector_norm(near, dim=1).max()))
            lost = max(lost, float(torch.linalg.vector_norm(near.sub_(torch.from_numpy(part)), dim=1).max()))
        return whole, step, lost * (1 + 1e-5), kept * (1 + 1e-5)

    def of(self, left: At, right: At) -> torch.Tensor:
        """(l, r) cells, int32; they are the caller's."""
        import torch

        return torch._int_mm(self._q[left], self._r[right].T)

    def least(self, product: float) -> float:
        """The least cell of a pair whose product is at least ``product``."""
        return math.floor((product - self._error) / (self._s * self._t))

    def surely(self, cell: float) -> float:
        """The product that a pair of such a cell has at least."""
        return cell * self._s * self._t - self._error


def _turned(rows: np.ndarray, turn: np.ndarray | None) -> np.ndarray:
    return np.ascontiguousarray(rows if turn is None else rows @ turn, np.float32)


def _largest(rows: Rows, turn: np.ndarray | None = None) -> tuple[float, float]:
    """The largest component and the largest norm."""
    import torch

    most = longest = 0.0
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        part = torch.from_numpy(_turned(rows[start : start + _BLOCK], turn))
        most = max(most, float(torch.linalg.vector_norm(part, torch.inf)))
        longest = max(longest, float(torch.linalg.vector_norm(part, dim=1).max()))
    return most, longest


@lru_cache(maxsize=2)
def _rotation(width: int) -> np.ndarray:
    """(d, d), orthogonal, the same every time."""
    turn = np.linalg.qr(np.random.default_rng(_SEED).standard_normal((width, width)))[0]
    return np.ascontiguousarray(turn, np.float32)


@lru_cache(maxsize=1)
def eight_pays() -> bool:
    """Whether the processor multiplies eight bits without losing any: elsewhere they are slower, or sums of products overflow."""
    import torch

    return hasattr(torch, "_int_mm") and bool(torch.cpu._is_vnni_supported())


_CELLS = 4_000_000  # of a block of products: 16 MB


def upper_blocks(rows: np.ndarray, others: np.ndarray | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """The products of row i with row j for all i < j, as blocks of whole rows.

    Args:
        others: (n, d) too: those that the rows are multiplied by, where they are not the rows themselves.

    Yields:
        (start, products): ``products[i, j]`` is that of rows ``start + i`` and ``start + j``; cells with j ≤ i are -inf.
    """
    start, total = 0, len(rows)
    others = rows if others is None else others
    while start < total - 1:
        height = min(max(1, _CELLS // (total - start)), total - start)
        products = rows[start : start + height] @ others[start:].T
        products[:, :height][np.tril_indices(height)] = -np.inf
        yield start, products
        start += height


def exact_products(
    vectors: np.ndarray, left: np.ndarray, right: np.ndarray, at_once: int = 16_384, others: np.ndarray | None = None
) -> np.ndarray:
    """Cosines of vectors ``left[i]`` and ``right[i]`` in double precision, (m,), rounded so that equal texts tie exactly.

    Args:
        others: (n, d): those that ``right`` counts, where they are not the same vectors.

    Single-precision products of the same two vectors differ in the last digit with their place in a block.
    """
    found, others = np.empty(len(left)), vectors if others is None else others
    for start in range(0, len(left), at_once):
        part = slice(start, start + at_once)
        u, v = vectors[left[part]].astype(np.float64), others[right[part]].astype(np.float64)
        scale = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        dot = np.einsum("nd,nd->n", u, v)
        found[part] = np.divide(dot, scale, out=np.zeros_like(dot), where=scale > 0)
    return np.clip(np.round(found, 12), -1, 1)
