"""Exact search by a dot product or a distance, for models whose vectors are not compared by the cosine."""

from __future__ import annotations

import numpy as np

from ...data.progress import checkpoint
from ...encoders.similarity import similarity
from ..hits import Hit, positive, ranked
from .exact import Exact

_BLOCK = 16_384


class Measured(Exact):
    """Brute force in double precision, a block of rows at a time.

    Args:
        vectors: (n, d) float32, mapped from a file or not; they are not copied.
        name: one of :data:`~sbert_studio.encoders.similarity.SIMILARITIES`.
    """

    def __init__(self, vectors: np.ndarray, name: str) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        self.name = name
        self._scale = None

    def search(self, queries: np.ndarray, k: int, among: np.ndarray | None = None) -> list[list[Hit]]:
        """The ``k`` rows most similar to each of (q, d) queries, best first, equal ones by row; see :meth:`Exact.search`."""
        rows = np.arange(len(self)) if among is None else np.sort(among)
        k = min(positive(k), len(rows))
        return [self.rank(query, rows, k) for query in np.asarray(queries)]

    def rank(self, query: np.ndarray, rows: np.ndarray, k: int) -> list[Hit]:
        """The best ``k`` of some ascending rows."""
        found, scores = np.empty(0, np.int64), np.empty(0)
        for start in range(0, len(rows), _BLOCK) if k else ():
            checkpoint()
            part = rows[start : start + _BLOCK]
            found = np.concatenate([found, part])
            scores = np.concatenate([scores, similarity(query[None], self.vectors[part], self.name)[0]])
            best = np.lexsort((found, -scores))[:k]
            found, scores = found[best], scores[best]
        return ranked(found, scores)
