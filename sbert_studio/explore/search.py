"""Who is nearest by meaning (FAISS, exact)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..encoders.unit import unit
from .hits import Hit, positive, ranked

_BLOCK = 16_384  # rows normalised at once, so that only the index holds a whole copy


class SemanticIndex:
    """Exact cosine search.

    Args:
        vectors: (n, d), of any length; a normalised copy is kept.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        import faiss

        self._index: Any = faiss.IndexFlatIP(vectors.shape[1])
        for start in range(0, len(vectors), _BLOCK):
            self._index.add(unit(np.asarray(vectors[start : start + _BLOCK])))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def bytes(self) -> int:
        """What the index holds in memory."""
        return int(self._index.ntotal) * int(self._index.d) * 4

    def search(self, query: np.ndarray, k: int = 10, among: np.ndarray | None = None) -> list[Hit]:
        """The ``k`` rows of largest cosine with a (d,) vector, best first, equal cosines by row."""
        return self.search_many(query[None], k, among)[0]

    def search_many(self, queries: np.ndarray, k: int = 10, among: np.ndarray | None = None) -> list[list[Hit]]:
        """:meth:`search` for each row of (q, d). All rows where there are fewer than ``k``.

        Args:
            among: the rows that count, int64, each once; all where not given.

        Raises:
            StudioError: ``k`` is below one.
        """
        import faiss

        k = min(positive(k), len(self) if among is None else len(among))
        if k == 0:
            return [[] for _ in queries]
        only: Any = None
        if among is not None:
            only = faiss.SearchParameters()
            only.sel = faiss.IDSelectorBatch(np.ascontiguousarray(among, np.int64))
        scores, rows = self._index.search(unit(queries), k, params=only)
        return [ranked(found, of) for found, of in zip(rows, np.clip(scores, -1, 1), strict=True)]
