"""Exact cosine search over vectors where they lie: nothing is copied, and both cores read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit
from ..hits import Hit, positive, ranked
from ..products import exact_products

_MARGIN = 3e-5  # more than single precision loses on a product, and lengths that pass for one add to it
_UNIT = 5e-6
_CELLS = 4_000_000  # of a block of products: 16 MB
_BLOCK = 16_384
_GROUP = 64  # neighbouring products of which the largest stands for all
_SPARSE = 8  # fewer than one row in so many: only these are read


class Exact:
    """Brute force: a matrix product in single precision finds the candidates, double precision ranks them.

    Args:
        vectors: (n, d) float32, of any length, mapped from a file or not; they are not copied.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        self._scale = _scale(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def bytes(self) -> int:
        """What is held in memory beside the vectors."""
        return 0 if self._scale is None else int(self._scale.nbytes)

    def search(self, queries: np.ndarray, k: int, among: np.ndarray | None = None) -> list[list[Hit]]:
        """The ``k`` rows of largest cosine for each of (q, d) queries, best first, equal cosines by row; all where there are fewer.

        Args:
            among: the rows that count, int64, each once; all where not given.

        Raises:
            StudioError: ``k`` is below one.
        """
        k = min(positive(k), len(self) if among is None else len(among))
        if k == 0:
            return [[] for _ in queries]
        chunk = max(1, _CELLS // _BLOCK)
        found: list[list[Hit]] = []
        for start in range(0, len(queries), chunk):
            found += self._some(np.asarray(queries[start : start + chunk]), k, among)
        return found

    def rank(self, query: np.ndarray, rows: np.ndarray, k: int) -> list[Hit]:
        """The best ``k`` of some rows, ranked in double precision."""
        scores = exact_products(self.vectors, rows, np.zeros(len(rows), np.int64), others=query[None])
        return ranked(rows, scores)[:k]

    def _some(self, queries: np.ndarray, k: int, among: np.ndarray | None) -> list[list[Hit]]:
        floors = np.full(len(queries), -np.inf, np.float32)
        kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for rows, products in self._products(unit(queries), None if among is None else np.sort(among)):
            checkpoint()
            np.maximum(floors, _kth(products, k), out=floors)
            which, place = np.divmod(np.flatnonzero(products >= (floors - _MARGIN)[:, None]), products.shape[1])
            numbers = place + rows if isinstance(rows, int) else rows[place]
            kept.append((which, numbers, products[which, place]))
        which, numbers, scores = (np.concatenate(part) for part in zip(*kept, strict=True))
        hits = []
        for query in range(len(queries)):
            mine = which == query if len(queries) > 1 else slice(None)
            candidates, near = numbers[mine], scores[mine]
            if len(near) > k:
                candidates = candidates[near >= np.partition(near, len(near) - k)[len(near) - k] - _MARGIN]
            hits.append(self.rank(queries[query], candidates, k))
        return hits

    def _products(self, queries: np.ndarray, among: np.ndarray | None) -> Iterator[tuple[int | np.ndarray, np.ndarray]]:
        """The first row of a block (or all its rows), and the cosines of (q, block) with it."""
        if among is not None and len(among) * _SPARSE < len(self):
            for start in range(0, len(among), _BLOCK):
                rows = among[start : start + _BLOCK]
                yield rows, self._scaled(queries @ self.vectors[rows].T, rows)
            return
        height = max(_BLOCK, _CELLS // len(queries))
        absent = None if among is None else np.ones(len(self), bool)
        if absent is not None:
            absent[among] = False
        for start in range(0, len(self), height):
            part = slice(start, start + height)
            # One query: a product of matrix and vector, which reads the rows once and by all cores.
            block = self.vectors[part]
            products = self._scaled((block @ queries[0])[None] if len(queries) == 1 else queries @ block.T, part)
            if absent is not None:
                products[:, absent[part]] = -np.inf
            yield start, products

    def _scaled(self, products: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
        if self._scale is not None:
            products *= self._scale[rows]
        return products


def _scale(vectors: np.ndarray) -> np.ndarray | None:
    """What each row's products are multiplied by to become cosines, (n,) float32; nothing where all rows are of length one."""
    scale = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block, dtype=np.float32))
        if not np.isfinite(lengths).all() or (lengths < 1e-15).any():
            lengths = np.linalg.norm(block.astype(np.float64), axis=1)
        scale[start : start + _BLOCK] = np.divide(1, lengths, out=np.zeros(len(block)), where=lengths > 0)
    return None if (np.abs(scale - 1) < _UNIT).all() else scale


def _kth(products: np.ndarray, k: int) -> np.ndarray:
    """For each row of (q, n) a number that at least ``k`` of its cells reach, as large as can be had cheaply; -inf where n < k."""
    count, width = products.shape
    groups = width // _GROUP
    if groups > 2 * k:  # the k-th largest of groups' maxima: there are k cells that reach it
        products = products[:, : groups * _GROUP].reshape(count, groups, _GROUP).max(2)
        width = groups
    if width < k:
        return np.full(count, -np.inf, np.float32)
    return np.partition(products, width - k, axis=1)[:, width - k]
