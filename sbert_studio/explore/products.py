"""Blocked similarity products of all rows, in float32 and int8 with an error bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..models.similarity import unit
from ..progress import checkpoint

if TYPE_CHECKING:
    import torch


_BLOCK = 8192
_STEPS = 127
_MAX_SPREAD = 9.0  # minimum of √d times the largest component of a unit vector for which rotation pays off
_SEED = 12

At = slice | np.ndarray
"""Row selection: a slice, or row numbers (m,)."""


class RowSource(Protocol):
    """(n, d) float32 rows, requested in parts; implemented by arrays."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""
        ...

    def __len__(self) -> int: ...
    def __getitem__(self, at: At, /) -> np.ndarray: ...


class UnitRows:
    """Normalized rows of ``vectors``, (n, d), computed in parts."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self.shape = vectors.shape

    def __len__(self) -> int:
        return len(self._vectors)

    def __getitem__(self, at: At) -> np.ndarray:
        return unit(np.asarray(self._vectors[at]))


class Float32Products:
    """Products in float32.

    Args:
        rows, others: row i of the first is multiplied by row j of the second.
        margin: upper bound of the rounding error.
    """

    def __init__(self, rows: RowSource, others: RowSource, margin: float) -> None:
        self._rows, self._others = rows, others
        self._margin = margin

    def of(self, left: At, right: At) -> torch.Tensor:
        """Return (l, r) products, owned by the caller."""
        import torch

        # Use torch, because NumPy's threads would compete with those that scan the products.
        return torch.from_numpy(self._rows[left]) @ torch.from_numpy(self._others[right]).T

    def least(self, product: float) -> float:
        """Return the minimum cell value of a pair whose product is at least ``product``."""
        return product - self._margin

    def lower_bound(self, cell: float) -> float:
        """Return a lower bound of the product of a pair with this cell value."""
        return cell - self._margin


class Int8Products:
    """Products in int8, about nine times as fast with VNNI.

    If a few components are much larger than all others, both sides are first rotated randomly, which preserves all products and evens out
    the components.

    Args:
        rows, others: as for :class:`Float32Products`; may be the same object.
        margin: upper bound of the float32 rounding error.
    """

    def __init__(self, rows: RowSource, others: RowSource, margin: float) -> None:
        self._rotation_matrix: np.ndarray | None = None
        sides = [rows] if others is rows else [rows, others]
        largest = [_largest(side) for side in sides]
        if any(most * np.sqrt(side.shape[1]) > _MAX_SPREAD * longest for (most, longest), side in zip(largest, sides, strict=True)):
            self._rotation_matrix = _rotation(rows.shape[1])
            largest = [_largest(side, self._rotation_matrix) for side in sides]
        found = [self._small(side, most / _STEPS or 1.0) for (most, _), side in zip(largest, sides, strict=True)]
        (self._q, self._s, lost, length), (self._r, self._t, gone, _) = found[0], found[-1]
        longest = largest[-1][1]
        self._error = lost * longest + length * gone + margin

    def _small(self, rows: RowSource, step: float) -> tuple[torch.Tensor, float, float, float]:
        import torch

        whole, lost, kept = torch.empty(rows.shape, dtype=torch.int8), 0.0, 0.0
        for start in range(0, len(rows), _BLOCK):
            checkpoint()
            part = _rotate(rows[start : start + _BLOCK], self._rotation_matrix)
            near = torch.from_numpy(part).mul(1 / step).round_().clamp_(-_STEPS, _STEPS)
            whole[start : start + _BLOCK] = near
            near.mul_(step)
            kept = max(kept, float(torch.linalg.vector_norm(near, dim=1).max()))
            lost = max(lost, float(torch.linalg.vector_norm(near.sub_(torch.from_numpy(part)), dim=1).max()))
        return whole, step, lost * (1 + 1e-5), kept * (1 + 1e-5)

    def of(self, left: At, right: At) -> torch.Tensor:
        """Return (l, r) int32 cells, owned by the caller."""
        import torch

        return torch._int_mm(self._q[left], self._r[right].T)

    def least(self, product: float) -> float:
        """Return the minimum cell value of a pair whose product is at least ``product``."""
        return math.floor((product - self._error) / (self._s * self._t))

    def lower_bound(self, cell: float) -> float:
        """Return a lower bound of the product of a pair with this cell value."""
        return cell * self._s * self._t - self._error


def _rotate(rows: np.ndarray, rotation: np.ndarray | None) -> np.ndarray:
    return np.ascontiguousarray(rows if rotation is None else rows @ rotation, np.float32)


def _largest(rows: RowSource, rotation: np.ndarray | None = None) -> tuple[float, float]:
    import torch

    most = longest = 0.0
    for start in range(0, len(rows), _BLOCK):
        checkpoint()
        part = torch.from_numpy(_rotate(rows[start : start + _BLOCK], rotation))
        most = max(most, float(torch.linalg.vector_norm(part, torch.inf)))
        longest = max(longest, float(torch.linalg.vector_norm(part, dim=1).max()))
    return most, longest


@lru_cache(maxsize=2)
def _rotation(width: int) -> np.ndarray:
    return np.ascontiguousarray(np.linalg.qr(np.random.default_rng(_SEED).standard_normal((width, width)))[0], np.float32)


@lru_cache(maxsize=1)
def int8_is_fast() -> bool:
    """Return True if the processor multiplies int8 without overflow (VNNI)."""
    import torch

    return hasattr(torch, "_int_mm") and bool(torch.cpu._is_vnni_supported())


_CELLS = 4_000_000  # cells per block of products: 16 MB


def upper_blocks(rows: np.ndarray, others: np.ndarray | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the products of row i with row j for all i < j, in blocks of whole rows.

    Args:
        others: (n, d), multiplied with the rows instead of the rows themselves.

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


def exact_cosines(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Return float64 cosines of (m, d) rows with a (d,) query, (m,), rounded like those of :func:`exact_products`."""
    u, v = rows.astype(np.float64), query.astype(np.float64)
    scale = np.sqrt(np.einsum("nd,nd->n", u, u) * (v @ v))
    # The products are not left to BLAS, in which they depend on a row's place.
    products = np.einsum("nd,d->n", u, v)
    found = products / scale if scale.all() else np.divide(products, scale, out=np.zeros(len(u)), where=scale > 0)
    bounded: np.ndarray = np.minimum(np.maximum(np.round(found, 12), -1), 1)  # faster than np.clip on few rows
    return bounded


def exact_products(
    vectors: np.ndarray, left: np.ndarray, right: np.ndarray, at_once: int = 16_384, others: np.ndarray | None = None
) -> np.ndarray:
    """Return float64 cosines of vectors ``left[i]`` and ``right[i]``, (m,), rounded so that equal texts tie exactly.

    Float32 products of the same two vectors differ in the last digit with their position in a block.

    Args:
        others: (n, d) vectors that ``right`` indexes, if different.
    """
    found, others = np.empty(len(left)), vectors if others is None else others
    for start in range(0, len(left), at_once):
        part = slice(start, start + at_once)
        u, v = vectors[left[part]].astype(np.float64), others[right[part]].astype(np.float64)
        scale = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        dot = np.einsum("nd,nd->n", u, v)
        found[part] = np.divide(dot, scale, out=np.zeros_like(dot), where=scale > 0)
    return np.clip(np.round(found, 12), -1, 1)
