"""Who is nearest by meaning: exactly, and from fifty thousand rows on by an index as well, once it is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..caches import bytes_of
from .exact_search import Exact, Hit, Measured, positive
from .index import Approximate

LARGE = 50_000
"""Fewer rows are searched exactly, always."""


@dataclass(frozen=True)
class Found:
    """Hits, best first.

    Attributes:
        recall: the share of the nearest rows that such a search finds, measured on the rows themselves; None: all, it was exact.
    """

    hits: list[Hit]
    recall: float | None = None


class SemanticIndex:
    """Search over vectors where they lie, by the cosine unless it is said otherwise.

    Args:
        vectors: (n, d) float32, of any length, mapped from a file or not; they are not copied.
        approximate: their index; may be set later, while others search. There is none but for the cosine.
        by: one of :data:`~sbert_studio.models.similarity.SIMILARITIES`.
    """

    def __init__(self, vectors: np.ndarray, approximate: Approximate | None = None, by: str = "cosine") -> None:
        self.exact = Exact(vectors) if by == "cosine" else Measured(vectors, by)
        self.by = by
        self.approximate = approximate
        self.asked = 0

    def __len__(self) -> int:
        return len(self.exact)

    @property
    def bytes(self) -> int:
        """What the index holds in memory: vectors that are not mapped from a file, and their lengths where they differ from one."""
        return bytes_of(self.exact.vectors) + self.exact.bytes

    @property
    def mapped(self) -> int:
        """What it has mapped from files, which the system takes back where memory is short."""
        vectors = self.exact.vectors
        return (0 if bytes_of(vectors) else int(vectors.nbytes)) + (len(self) * vectors.shape[1] if self.approximate else 0)

    def find(self, query: np.ndarray, k: int = 10, among: np.ndarray | None = None) -> Found:
        """About the ``k`` nearest rows of a (d,) vector where there is an index, exactly where there is none or only some rows count.

        Raises:
            StudioError: ``k`` is below one.
        """
        self.asked += 1
        index = self.approximate
        reach = index.reach(positive(k)) if index is not None and among is None else None
        if index is None or reach is None:
            return Found(self.search(query, k, among))
        return Found(index.search(self.exact, query, k, reach.probes), reach.recall)

    def search(self, query: np.ndarray, k: int = 10, among: np.ndarray | None = None) -> list[Hit]:
        """The ``k`` rows most similar to a (d,) vector, best first, equal ones by row; exact."""
        return self.search_many(query[None], k, among)[0]

    def search_many(self, queries: np.ndarray, k: int = 10, among: np.ndarray | None = None) -> list[list[Hit]]:
        """:meth:`search` for each row of (q, d). All rows where there are fewer than ``k``.

        Args:
            among: the rows that count, int64, each once; all where not given.

        Raises:
            StudioError: ``k`` is below one.
        """
        return self.exact.search(queries, k, among)
