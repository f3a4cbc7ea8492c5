"""Who is nearest: by meaning (FAISS, exact), by words (BM25), or by both (reciprocal-rank fusion)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..caches import bytes_of
from ..encoders.unit import unit
from ..errors import StudioError
from .terms import words

_BLOCK = 16_384  # rows normalised at once, so that only the index holds a whole copy


@dataclass(frozen=True)
class Hit:
    """A row and how well it answers: a cosine, a BM25 weight or a fused score; larger is better."""

    row: int
    score: float


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

        k = min(_positive(k), len(self) if among is None else len(among))
        if k == 0:
            return [[] for _ in queries]
        only: Any = None
        if among is not None:
            only = faiss.SearchParameters()
            only.sel = faiss.IDSelectorBatch(np.ascontiguousarray(among, np.int64))
        scores, rows = self._index.search(unit(queries), k, params=only)
        return [_ranked(found, of) for found, of in zip(rows, np.clip(scores, -1, 1), strict=True)]


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
        k = _positive(k)
        known = [] if self._index is None else [word for word in words(query, singles=True) if word in self._index.vocab_dict]
        if not known:
            return []
        scores = np.asarray(self._index.get_scores(known))
        found = np.flatnonzero(scores > 0) if among is None else np.sort(among)[scores[np.sort(among)] > 0]
        return _ranked(found, scores[found])[:k]


def fuse(rankings: Sequence[Sequence[Hit]], k: int = 60) -> list[Hit]:
    """Reciprocal-rank fusion, Σ 1 / (k + rank) (Cormack et al. 2009): every row of any ranking, best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            scores[hit.row] = scores.get(hit.row, 0.0) + 1 / (k + rank)
    return [Hit(row, score) for row, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def _ranked(rows: np.ndarray, scores: np.ndarray) -> list[Hit]:
    order = np.lexsort((rows, -scores))
    return [Hit(int(rows[place]), float(scores[place])) for place in order]


def _positive(k: int) -> int:
    if k < 1:
        raise StudioError(f"k is {k}", "ask for at least one hit")
    return k
