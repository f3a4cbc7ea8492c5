"""Semantic search: exact, and from 50,000 rows on through an index once it is built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..caches import estimate_bytes
from .exact_search import ExactSearch, ExactSimilaritySearch, Hit, require_positive
from .index import ApproximateSearch

LARGE = 50_000
"""Fewer rows are searched exactly, always."""


@dataclass(frozen=True)
class SearchHits:
    """Hits, best first.

    Attributes:
        recall: measured recall; None for exact search.
    """

    hits: list[Hit]
    recall: float | None = None


class SemanticIndex:
    """Search over vectors in place.

    Args:
        vectors: (n, d) float32, of any length; not copied, may be memory-mapped.
        approximate: their index; may be set later. Cosine only.
        by: one of :data:`~sbert_studio.models.similarity.SIMILARITIES`.
    """

    def __init__(self, vectors: np.ndarray, approximate: ApproximateSearch | None = None, by: str = "cosine") -> None:
        self.exact = ExactSearch(vectors) if by == "cosine" else ExactSimilaritySearch(vectors, by)
        self.by = by
        self.approximate = approximate
        self.asked = 0

    def __len__(self) -> int:
        return len(self.exact)

    @property
    def bytes(self) -> int:
        """Memory in bytes: vectors that are not memory-mapped, and norms."""
        return estimate_bytes(self.exact.vectors) + self.exact.bytes

    @property
    def mapped(self) -> int:
        """Memory-mapped bytes, which the system reclaims as needed."""
        vectors = self.exact.vectors
        return (0 if estimate_bytes(vectors) else int(vectors.nbytes)) + (len(self) * vectors.shape[1] if self.approximate else 0)

    def find(self, query: np.ndarray, k: int = 10, row_ids: np.ndarray | None = None) -> SearchHits:
        """Return about the ``k`` nearest rows of a (d,) vector through the index, or exactly without an index or with ``row_ids``.

        Raises:
            StudioError: ``k`` is below one.
        """
        self.asked += 1
        index = self.approximate
        reach = index.reach(require_positive(k)) if index is not None and row_ids is None else None
        if index is None or reach is None:
            return SearchHits(self.search(query, k, row_ids))
        return SearchHits(index.search(self.exact, query, k, reach.probes), reach.recall)

    def search(self, query: np.ndarray, k: int = 10, row_ids: np.ndarray | None = None) -> list[Hit]:
        """Return the ``k`` most similar rows of a (d,) vector, exactly, best first, ties by row."""
        return self.search_many(query[None], k, row_ids)[0]

    def search_many(self, queries: np.ndarray, k: int = 10, row_ids: np.ndarray | None = None) -> list[list[Hit]]:
        """Return :meth:`search` for each row of (q, d).

        Args:
            row_ids: int64 rows to search, without repetition; all if not given.

        Raises:
            StudioError: ``k`` is below one.
        """
        return self.exact.search(queries, k, row_ids)
