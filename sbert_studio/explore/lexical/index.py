"""The rows that share words with a query, by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...caches import bytes_of
from ..hits import Hit, positive, ranked
from ..terms import words


class LexicalIndex:
    """BM25 (Lucene's variant, k₁ 1.5, b 0.75) over words of any script; Chinese by characters and their pairs.

    Args:
        texts: n texts.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._rows = len(texts)
        tokens = [words(text, singles=True) for text in texts]
        self._index: Any = None
        if any(tokens):
            self._index = bm25s.BM25()
            self._index.index(tokens, show_progress=False)

    def __len__(self) -> int:
        return self._rows

    @property
    def bytes(self) -> int:
        """About what the index holds in memory."""
        return bytes_of([self._index.scores, self._index.vocab_dict]) if self._index is not None else 0

    def search(self, query: str, k: int = 10, among: np.ndarray | None = None) -> list[Hit]:
        """The ``k`` best rows that share a word with the query, best first, equal weights by row.

        Args:
            among: the rows that count; all where not given. How rare a word is, is counted over all rows.

        Raises:
            StudioError: ``k`` is below one.
        """
        k = positive(k)
        known = [] if self._index is None else [word for word in words(query, singles=True) if word in self._index.vocab_dict]
        if not known:
            return []
        scores = np.asarray(self._index.get_scores(known))
        found = np.flatnonzero(scores > 0) if among is None else np.sort(among)[scores[np.sort(among)] > 0]
        return ranked(found, scores[found])[:k]
