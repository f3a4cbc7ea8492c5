"""The products of every pair of rows, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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
