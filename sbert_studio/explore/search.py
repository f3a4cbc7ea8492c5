"""Nearest-neighbor search by cosine, dot product or distance: exact, or with an index for large corpora."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ..caches import estimate_bytes
from ..errors import StudioError
from ..i18n import _
from ..models.similarity import similarity, unit
from ..progress import checkpoint
from .products import exact_cosines

if TYPE_CHECKING:
    from .index import ApproximateSearch


@dataclass(frozen=True)
class Hit:
    """A row and its score: a cosine, a BM25 weight or a fused score; larger is better."""

    row: int
    score: float


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Hit]], k: int = 60) -> list[Hit]:
    """Fuse rankings by Σ 1 / (k + rank) (Cormack et al. 2009), best first.

    Hits with equal scores have the mean of their ranks, so that the order of the rows does not matter.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        first = 1
        for _score, run in groupby(ranking, key=lambda hit: hit.score):
            tied = list(run)
            rank = first + (len(tied) - 1) / 2
            for hit in tied:
                scores[hit.row] = scores.get(hit.row, 0.0) + 1 / (k + rank)
            first += len(tied)
    return [Hit(row, score) for row, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def to_hits(rows: np.ndarray, scores: np.ndarray, k: int | None = None) -> list[Hit]:
    """Return the ``k`` best of (m,) ``rows`` by (m,) ``scores`` as hits, best first, ties by row."""
    order = np.lexsort((rows, -scores))[:k]
    return [Hit(row, score) for row, score in zip(rows[order].tolist(), scores[order].tolist(), strict=True)]


def require_positive(k: int) -> int:
    """Return ``k``.

    Raises:
        StudioError: it is below one.
    """
    if k < 1:
        raise StudioError(_("k is {k}", k=k), "request at least one hit")
    return k


_MARGIN = 3e-5  # upper bound of the float32 error of a product of rows whose length is within _UNIT of one
_UNIT = 5e-6
_CELLS = 4_000_000  # cells per block of products: 16 MB
_BLOCK = 16_384
_GROUP = 64  # adjacent products, whose maximum is compared first
_SPARSE = 8  # if fewer than one in this many rows is searched, only these rows are read


class ExactSearch:
    """Brute-force cosine search: a float32 matrix product finds candidates, float64 ranks them.

    Args:
        vectors: (n, d) float32, of any length; not copied, may be memory-mapped.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        self._scale = _inverse_lengths(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def bytes(self) -> int:
        """Memory used in addition to the vectors."""
        return 0 if self._scale is None else int(self._scale.nbytes)

    def search(self, queries: np.ndarray, k: int, row_ids: np.ndarray | None = None) -> list[list[Hit]]:
        """Return the ``k`` most similar rows for each of (q, d) queries, best first, ties by row.

        Args:
            row_ids: int64 rows to search, without duplicates; all by default.

        Raises:
            StudioError: ``k`` is below one.
        """
        k = min(require_positive(k), len(self) if row_ids is None else len(row_ids))
        if k == 0:
            return [[] for _ in queries]
        chunk = max(1, _CELLS // _BLOCK)
        found: list[list[Hit]] = []
        for start in range(0, len(queries), chunk):
            found += self._search_chunk(np.asarray(queries[start : start + chunk]), k, row_ids)
        return found

    def rank(self, query: np.ndarray, rows: np.ndarray, k: int) -> list[Hit]:
        """Return the best ``k`` of the given rows, ranked in float64 after float32 has ruled out most."""
        found, scores = [], []
        with np.errstate(over="ignore"):
            length = np.sqrt(query @ query)
        direction = query / length if length > 0 else query  # faster than unit(); all rows are near one whose length is no float32
        for start in range(0, max(1, len(rows)), _BLOCK):
            part = rows[start : start + _BLOCK]
            block = self.vectors[part]
            if len(part) > 2 * k:
                near = self._scaled(block @ direction, part)
                is_near = near >= np.partition(near, len(near) - k)[len(near) - k] - _MARGIN
                part, block = part[is_near], block[is_near]
            found.append(part)
            scores.append(exact_cosines(block, query))
        return to_hits(np.concatenate(found), np.concatenate(scores), k)

    def _search_chunk(self, queries: np.ndarray, k: int, row_ids: np.ndarray | None) -> list[list[Hit]]:
        floors = np.full(len(queries), -np.inf, np.float32)
        kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for rows, products in self._products(unit(queries), None if row_ids is None else np.sort(row_ids)):
            checkpoint()
            np.maximum(floors, _kth_bound(products, k), out=floors)
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

    def _products(self, queries: np.ndarray, row_ids: np.ndarray | None) -> Iterator[tuple[int | np.ndarray, np.ndarray]]:
        if row_ids is not None and len(row_ids) * _SPARSE < len(self):
            for start in range(0, len(row_ids), _BLOCK):
                rows = row_ids[start : start + _BLOCK]
                yield rows, self._scaled(queries @ self.vectors[rows].T, rows)
            return
        height = max(_BLOCK, _CELLS // len(queries))
        absent = None if row_ids is None else np.ones(len(self), bool)
        if absent is not None:
            absent[row_ids] = False
        for start in range(0, len(self), height):
            part = slice(start, start + height)
            # For a single query, use a matrix-vector product, which reads the rows once with all cores.
            block = self.vectors[part]
            products = self._scaled((block @ queries[0])[None] if len(queries) == 1 else queries @ block.T, part)
            if absent is not None:
                products[:, absent[part]] = -np.inf
            yield start, products

    def _scaled(self, products: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
        if self._scale is not None:
            products *= self._scale[rows]
        return products


def _inverse_lengths(vectors: np.ndarray) -> np.ndarray | None:
    scale = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block, dtype=np.float32))
        if not np.isfinite(lengths).all() or (lengths < 1e-15).any():
            lengths = np.linalg.norm(block.astype(np.float64), axis=1)
        scale[start : start + _BLOCK] = np.divide(1, lengths, out=np.zeros(len(block)), where=lengths > 0)
    return None if (np.abs(scale - 1) < _UNIT).all() else scale


def _kth_bound(products: np.ndarray, k: int) -> np.ndarray:
    count, width = products.shape
    groups = width // _GROUP
    if groups > 2 * k:  # the k-th largest maximum of the groups is reached by at least k cells
        products = products[:, : groups * _GROUP].reshape(count, groups, _GROUP).max(2)
        width = groups
    if width < k:
        return np.full(count, -np.inf, np.float32)
    return np.partition(products, width - k, axis=1)[:, width - k]


class ExactSimilaritySearch(ExactSearch):
    """Brute-force search by a similarity function other than cosine, in float64, one block of rows at a time.

    Args:
        vectors: (n, d) float32; not copied, may be memory-mapped.
        name: one of :data:`~sbert_studio.models.similarity.SIMILARITIES`.
    """

    def __init__(self, vectors: np.ndarray, name: str) -> None:
        self.vectors = np.asarray(vectors, np.float32)
        self.name = name
        self._scale = None

    def search(self, queries: np.ndarray, k: int, row_ids: np.ndarray | None = None) -> list[list[Hit]]:
        rows = np.arange(len(self)) if row_ids is None else np.sort(row_ids)
        k = min(require_positive(k), len(rows))
        return [self.rank(query, rows, k) for query in np.asarray(queries)]

    def rank(self, query: np.ndarray, rows: np.ndarray, k: int) -> list[Hit]:
        """Return the best ``k`` of the given rows, in ascending order."""
        found, scores = np.empty(0, np.int64), np.empty(0)
        for start in range(0, len(rows), _BLOCK) if k else ():
            checkpoint()
            part = rows[start : start + _BLOCK]
            found = np.concatenate([found, part])
            scores = np.concatenate([scores, similarity(query[None], self.vectors[part], self.name)[0]])
            best = np.lexsort((found, -scores))[:k]
            found, scores = found[best], scores[best]
        return to_hits(found, scores)


LARGE = 50_000
"""Number of rows from which search uses an index, once it is built."""


@dataclass(frozen=True)
class SearchHits:
    """Hits, best first, and the measured recall; None for exact search."""

    hits: list[Hit]
    recall: float | None = None


class SemanticIndex:
    """Search index over vectors, which are not copied.

    Args:
        vectors: (n, d) float32, of any length; may be memory-mapped.
        approximate: their approximate index; may be set later. Cosine only.
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
        """Memory in bytes: vectors that are not memory-mapped, norms, and the approximate index."""
        return estimate_bytes(self.exact.vectors) + self.exact.bytes + (self.approximate.cells.bytes if self.approximate else 0)

    @property
    def mapped(self) -> int:
        """Memory-mapped bytes, which the system reclaims as needed."""
        vectors = self.exact.vectors
        return 0 if estimate_bytes(vectors) else int(vectors.nbytes)

    def find(self, query: np.ndarray, k: int = 10, row_ids: np.ndarray | None = None) -> SearchHits:
        """Return approximately the ``k`` nearest rows of a (d,) vector, or exactly without an index or with ``row_ids``.

        Raises:
            StudioError: ``k`` is below one.
        """
        self.asked += 1
        index = self.approximate
        reach = index.reach(require_positive(k)) if index is not None and row_ids is None else None
        if index is None or reach is None:
            return SearchHits(self.search(query, k, row_ids))
        return SearchHits(index.search(self.exact, query, k, reach), reach.recall)

    def search(self, query: np.ndarray, k: int = 10, row_ids: np.ndarray | None = None) -> list[Hit]:
        """Return the exact ``k`` most similar rows of a (d,) vector; see :meth:`ExactSearch.search`."""
        return self.search_many(query[None], k, row_ids)[0]

    def search_many(self, queries: np.ndarray, k: int = 10, row_ids: np.ndarray | None = None) -> list[list[Hit]]:
        """Return the result of :meth:`search` for each row of (q, d) vectors."""
        return self.exact.search(queries, k, row_ids)
