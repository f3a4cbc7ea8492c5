"""The rows that share words with a query, by BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...caches import bytes_of
from ..hits import Hit, positive, ranked
from ..terms import words
from .postings import Postings, postings

if TYPE_CHECKING:
    from ...data.progress import Progress


class LexicalIndex:
    """BM25 (Lucene's variant, k₁ 1.5, b 0.75) over words of any script; Chinese by characters and their pairs.

    Args:
        texts: n texts; or what :func:`.postings.postings` made of them.
        progress: told of texts.
    """

    def __init__(self, texts: Sequence[str] | Postings, progress: Progress | None = None) -> None:
        self._index = texts if isinstance(texts, Postings) else postings(texts, progress)

    def __len__(self) -> int:
        return self._index.rows

    @property
    def bytes(self) -> int:
        """About what the index holds in memory; what is mapped from a file is not counted."""
        found = self._index
        return bytes_of([found.starts, found.at, found.weights, found.vocabulary])

    def search(self, query: str, k: int = 10, among: np.ndarray | None = None) -> list[Hit]:
        """The ``k`` best rows that share a word with the query, best first, equal weights by row.

        Args:
            among: the rows that count, each once; all where not given. How rare a word is, is counted over all rows.

        Raises:
            StudioError: ``k`` is below one.
        """
        k, index = positive(k), self._index
        known = [index.vocabulary[word] for word in words(query, singles=True) if word in index.vocabulary]
        if not known or (among is not None and not len(among)):
            return []
        scores = np.zeros(index.rows, np.float32)
        for word in known:
            part = slice(index.starts[word], index.starts[word + 1])
            scores[index.at[part]] += index.weights[part]
        if among is not None:
            rows = np.asarray(among, np.int64)
            found = scores[rows]
        elif k < len(scores):  # only rows that reach the k-th score are put in order, all that tie with it among them
            rows = np.flatnonzero(scores >= max(_kth(scores, k), np.finfo(np.float32).tiny))
            found = scores[rows]
        else:
            rows, found = np.arange(len(scores)), scores
        rows, found = rows[found > 0], found[found > 0]
        if len(rows) > k:
            enough = found >= _kth(found, k)
            rows, found = rows[enough], found[enough]
        return _first(rows, found, k)


def _first(rows: np.ndarray, scores: np.ndarray, k: int) -> list[Hit]:
    order = np.lexsort((rows, -scores))[:k]
    return ranked(rows[order], scores[order])


def _kth(scores: np.ndarray, k: int) -> np.float32:
    """The k-th largest."""
    return np.float32(np.partition(scores, len(scores) - k)[len(scores) - k])
