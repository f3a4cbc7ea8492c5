"""Hard negatives: the texts of a corpus that are most similar to a query, but probably not relevant to it.

Equal to ``mine_hard_negatives`` of sentence-transformers with ``sampling_strategy="top"``. The margins are those of NV-Retriever
(Moreira et al. 2024, arXiv:2407.15831).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import StudioError
from ..i18n import _
from ..models.similarity import similarity
from ..progress import Progress
from .search import ExactSearch, ExactSimilaritySearch

Rescore = Callable[[int, np.ndarray], np.ndarray]
"""Maps the number of a query and rows of the corpus, (n,), to the scores of a re-ranker, (n,)."""
_QUERIES_AT_ONCE = 256
_DEPTH = 10  # candidates per negative where some may be rejected
_UNRELATED, _SEED = 1_000, 12  # random pairs, whose mean score is the baseline


@dataclass(frozen=True)
class NegativeOptions:
    """Options of hard negatives. Scores are those of the re-ranker if there is one, otherwise similarities.

    Attributes:
        per_row: negatives per query.
        relative_margin: reject candidates above the positive's score minus this share of it; ``None`` for no such margin.
        baseline: score from which this share is counted: 0 as in sentence-transformers, or ``None`` to measure that of unrelated texts. In
            some models it is 0.8: nearly all candidates are then within a small share of the whole score.
        absolute_margin: reject candidates above the positive's score minus this; ``None`` for no such margin.
        max_score, min_score: reject candidates above or below this score; ``None`` for no limit.
        skip: number of best candidates to skip among those that are not rejected.
        depth: number of candidates per query; 0 for ten per negative.
    """

    per_row: int = 1
    relative_margin: float | None = 0.05
    absolute_margin: float | None = None
    max_score: float | None = None
    min_score: float | None = None
    skip: int = 0
    depth: int = 0
    baseline: float | None = 0.0

    def __post_init__(self) -> None:
        if self.per_row < 1 or self.skip < 0:
            raise StudioError(
                _("{number} negatives per row were requested", number=self.per_row), "request at least one, and skip at least 0"
            )
        if self.depth and self.depth < self.skip + self.per_row:
            raise StudioError(
                _("{depth} candidates per row are too few", depth=self.depth),
                _("use at least {least}", least=self.skip + self.per_row),
            )

    def candidates(self, positives: int, *, rescored: bool) -> int:
        """Return the number of candidates for queries with at most this number of positives."""
        limits = (self.relative_margin, self.absolute_margin, self.max_score, self.min_score if rescored else None)
        rejects = any(value is not None for value in limits)
        return self.depth or self.skip + self.per_row * (_DEPTH if rejects else 1) + positives


@dataclass(frozen=True)
class QueryNegatives:
    """Negatives of a query.

    Attributes:
        rows, scores: rows of the corpus with their scores, best first; at most as many as requested.
        suspected: rows within a margin of the positive, which are probably relevant too, with their scores, best first.
        positive_scores: the score of each positive.
    """

    rows: tuple[int, ...]
    scores: tuple[float, ...]
    suspected: tuple[tuple[int, float], ...]
    positive_scores: tuple[float, ...]


def mine_hard_negatives(
    queries: np.ndarray,
    corpus: np.ndarray,
    positives: Sequence[Sequence[int]],
    options: NegativeOptions | None = None,
    *,
    excluded: Sequence[Collection[int]] = (),
    by: str = "cosine",
    rescore: Rescore | None = None,
    progress: Progress | None = None,
) -> list[QueryNegatives]:
    """Find the negatives of each query.

    The margins refer to the lowest score of a query's positives.

    Args:
        queries: (q, d) vectors.
        corpus: (n, d) vectors.
        positives: rows of the corpus that are relevant to each query, at least one.
        excluded: further rows of the corpus that are not used for each query.
        by: similarity function, one of :data:`~sbert_studio.models.similarity.SIMILARITIES`.
        rescore: scores of a re-ranker, used instead of similarities if there are margins or limits.
    """
    options = measure_baseline(queries, corpus, positives, options or NegativeOptions(), excluded=excluded, by=by, rescore=rescore)
    most = max(map(len, positives), default=0)
    others = max((len(rows) for rows in excluded), default=0)
    search = ExactSearch(corpus) if by == "cosine" else ExactSimilaritySearch(corpus, by)
    if all(value is None for value in (options.relative_margin, options.absolute_margin, options.max_score, options.min_score)):
        rescore = None  # the scores decide nothing
    depth = options.candidates(most, rescored=rescore is not None)
    found = []
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        block = queries[start : start + _QUERIES_AT_ONCE]
        for query, hits in enumerate(search.search(block, depth + most + others), start):
            own = np.asarray(positives[query], np.int64)
            rows, scores = np.array([hit.row for hit in hits], np.int64), np.array([hit.score for hit in hits])
            own_scores = similarity(queries[query][None], corpus[own], by)[0] if rescore is None else rescore(query, own)
            unused = np.isin(rows, own) | np.isin(rows, list(excluded[query]) if excluded else [])
            rows, scores = rows[~unused], scores[~unused]
            if rescore is not None:
                scores = rescore(query, rows)
            found.append(_select(rows, scores, own_scores, options, depth))
        if progress is not None:
            progress(min(start + _QUERIES_AT_ONCE, len(queries)), len(queries))
    return found


def measure_baseline(
    queries: np.ndarray,
    corpus: np.ndarray,
    positives: Sequence[Sequence[int]],
    options: NegativeOptions,
    *,
    excluded: Sequence[Collection[int]] = (),
    by: str = "cosine",
    rescore: Rescore | None = None,
) -> NegativeOptions:
    """Return the options with the mean score of random queries and texts as the baseline, unless it is set or there is no relative margin.

    The arguments are those of :func:`mine_hard_negatives`.
    """
    if options.baseline is not None or options.relative_margin is None:
        return options
    random = np.random.default_rng(_SEED)
    scores = list[float]()
    for query in random.integers(len(queries), size=min(_UNRELATED, _DEPTH * len(queries))).tolist() if len(corpus) else ():
        row = int(random.integers(len(corpus)))
        if row not in positives[query] and not (excluded and row in excluded[query]):
            rows = np.array([row])
            found = similarity(queries[query][None], corpus[rows], by)[0] if rescore is None else rescore(query, rows)
            scores.append(float(found[0]))
    return replace(options, baseline=float(np.mean(scores)) if scores else 0.0)


def _select(rows: np.ndarray, scores: np.ndarray, own: np.ndarray, options: NegativeOptions, depth: int) -> QueryNegatives:
    order = np.argsort(-scores, kind="stable")
    rows, scores = rows[order], scores[order]
    lowest, is_close = own.min(), np.zeros(len(rows), bool)
    if options.absolute_margin is not None:
        is_close |= scores + options.absolute_margin > lowest
    if options.relative_margin is not None:
        is_close |= scores > lowest - abs(lowest - (options.baseline or 0.0)) * options.relative_margin
    fits = ~is_close
    if options.max_score is not None:
        fits &= scores <= options.max_score
    if options.min_score is not None:
        fits &= scores >= options.min_score
    chosen = np.flatnonzero(fits)[:depth][options.skip : options.skip + options.per_row]
    suspected = tuple(zip(rows[is_close].tolist(), scores[is_close].tolist(), strict=True))
    return QueryNegatives(tuple(rows[chosen].tolist()), tuple(scores[chosen].tolist()), suspected, tuple(own.tolist()))
