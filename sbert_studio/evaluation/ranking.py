"""Graded evaluation of rankings: nDCG, recall, MRR and MAP as in trec_eval, with ties averaged, and rankings by vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.split import cluster_rows
from ..models.similarity import similarity, unit
from ..progress import checkpoint
from .bootstrap import bootstrap_scores, difference_interval, mean_interval, randomization_p, resample_clusters
from .encoding import EncodedColumns

if TYPE_CHECKING:
    from ..data.retrieval import RetrievalSet
    from ..models.base import Encoder
    from ..progress import Progress

METRICS = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "map@100")
"""Metrics of a ranking, the main one first."""
MAIN = METRICS[0]
DEPTH = 100
"""Number of documents per query that are ranked, besides those that tie with the last one."""
MOST_TIED = 10
"""Maximum number of ranked documents as a multiple of the depth, if many tie with the last one."""
CUT = 10
_CELLS = 4_000_000  # cells per block of scores: 16 MB
_MARGIN = 3e-5  # upper bound of the float32 error of a cosine
_CORRELATION = 0.85  # of the mean scores before and after fine-tuning: 0.82 and 0.96 in two trainings on 300 pages of docstrings
_DECIMALS = 12  # of a float64 cosine; the rest depends on the place of a row within a product


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents of a query, best first: their indices (m,) int64 and scores (m,)."""

    rows: np.ndarray
    scores: np.ndarray

    def end(self, depth: int | None) -> int:
        """Return the number of the first ``depth`` documents and of those that tie with the last one; of all without a depth.

        Of more than :data:`MOST_TIED` times as many, only the first ``depth``: a query without a known word ties with every document.
        """
        if depth is None or depth >= len(self.rows):
            return len(self.rows)
        last = int(np.searchsorted(-self.scores, -self.scores[depth - 1], side="right"))
        return last if last <= MOST_TIED * depth else depth

    @classmethod
    def sort(cls, rows: np.ndarray, scores: np.ndarray, depth: int | None = DEPTH) -> Ranking:
        """Return the best ``depth`` of (m,) rows by (m,) scores, and those that tie with the last one; ties by row."""
        order = np.lexsort((rows, -scores))
        if depth is not None and depth < len(order):
            worst = scores[order[depth - 1]]
            first, last = (int(np.searchsorted(-scores[order], -worst, side=side)) for side in ("left", "right"))
            if last > MOST_TIED * depth:  # a random sample of the ties, so that their order does not matter
                chosen = np.random.default_rng(len(order)).choice(np.arange(first, last), MOST_TIED * depth - first, replace=False)
                order = np.concatenate([order[:first], order[chosen]])
            else:
                order = order[:last]
        return cls(np.asarray(rows, np.int64)[order], scores[order])


@dataclass(frozen=True, eq=False)
class RankingScores:
    """Scores of one system on all queries.

    Attributes:
        by_query: (q, 5) value of each of :data:`METRICS` for each query.
        resampled: (resamples, 5) means in every bootstrap resample of the queries; empty with too few queries.
        clusters: (q,) number of the cluster of each query, which is drawn as a whole.
    """

    by_query: np.ndarray
    resampled: np.ndarray
    clusters: np.ndarray

    @property
    def means(self) -> dict[str, float]:
        return dict(zip(METRICS, self.by_query.mean(axis=0).tolist(), strict=True))

    @property
    def intervals(self) -> dict[str, list[float]]:
        """95 % bootstrap interval of each metric; empty lists with too few queries."""
        columns = zip(METRICS, self.resampled.T, self.by_query.T, strict=True)
        return {name: mean_interval(means, values, self.clusters) for name, means, values in columns}

    def interval_of_gain(self, base: RankingScores) -> list[float]:
        """Return the 95 % interval of the main metric's gain over a base model: paired bootstrap, with 0 unless it is beyond chance."""
        drawn = self.resampled[:, 0] - base.resampled[:, 0]
        return difference_interval(drawn, self.by_query[:, 0] - base.by_query[:, 0], self.clusters)

    def chance_of_gain(self, base: RankingScores) -> float:
        """Return the p-value of the main metric's gain over a base model by a randomization test."""
        return randomization_p(self.by_query[:, 0] - base.by_query[:, 0], self.clusters)

    @property
    def detectable(self) -> float | None:
        """Difference of the main metric to a fine-tuned model above which it is likely beyond chance; ``None`` with too few queries.

        It is half the width of a 95 % interval of the paired difference, if both models vary over the queries as much as this one.
        """
        error = float(self.resampled[:, 0].std()) if len(self.resampled) else np.nan
        return None if np.isnan(error) else 1.96 * error * (2 * (1 - _CORRELATION)) ** 0.5


def score_ranking(scores: np.ndarray, gains: np.ndarray, grades: Sequence[float]) -> np.ndarray:
    """Compute :data:`METRICS` of one query, (5,) float64.

    nDCG has the gain ``grade / log₂(rank + 1)`` (Järvelin & Kekäläinen 2002); for the other metrics, a document with a grade above 0 is
    relevant. MAP divides by the number of relevant documents, also of those that were not found. All equal trec_eval, except that documents
    with equal scores count with the mean over all their orders (McSherry & Najork 2008), not in the order of their ids.

    Args:
        scores: (m,) scores in descending order.
        gains: (m,) grades of the ranked documents; 0 without a judgment.
        grades: grades of all judged documents.
    """
    ideal = np.sort(np.maximum(np.asarray(grades, np.float64), 0))[::-1]
    relevant = int((ideal > 0).sum())
    if not relevant or not len(scores):
        return np.zeros(len(METRICS))
    gains = np.maximum(gains.astype(np.float64), 0)
    starts = np.flatnonzero(np.concatenate([[True], scores[1:] != scores[:-1]]))
    sizes = np.diff(np.append(starts, len(scores)))
    hits = np.add.reduceat((gains > 0).astype(np.float64), starts)  # relevant documents among each run of equal scores

    def spread(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, sizes)

    ranks = np.arange(1, len(scores) + 1)
    discounts = 1 / np.log2(np.arange(2, max(len(scores), len(ideal)) + 2))
    gained = spread(np.add.reduceat(gains, starts) / sizes)[:CUT] @ discounts[: len(gains[:CUT])]
    share = spread(hits / sizes)
    # Expected number of relevant documents above a relevant one of the same run, of which the place is uniform.
    above = spread(np.cumsum(hits) - hits) + (ranks - 1 - spread(starts)) * spread((hits - 1) / np.maximum(sizes - 1, 1))
    precision = share * (above + 1) / ranks
    return np.array(
        [
            gained / (ideal[:CUT] @ discounts[: len(ideal[:CUT])]),
            share[:CUT].sum() / relevant,
            share[:DEPTH].sum() / relevant,
            _reciprocal_rank(starts, sizes, hits),
            precision[:DEPTH].sum() / relevant,
        ]
    )


def _reciprocal_rank(starts: np.ndarray, sizes: np.ndarray, hits: np.ndarray) -> float:
    """Return the expected reciprocal rank, within the first ten, of the first relevant document."""
    if not hits.any():
        return 0.0
    first = int(np.argmax(hits > 0))
    start, size, relevant = int(starts[first]), int(sizes[first]), float(hits[first])
    found, missing = 0.0, 1.0  # probability that no document of the run so far is relevant
    for place in range(min(size, CUT - start)):
        here = missing * min(relevant / (size - place), 1.0)
        found += here / (start + place + 1)
        missing -= here
    return found


def score_rankings(rankings: Sequence[Ranking], data: RetrievalSet) -> RankingScores:
    """Score the ranking of every query of a set, with bootstrap resamples of the queries."""
    rows = [
        score_ranking(ranking.scores, gains_of(ranking, grades), list(grades.values()))
        for ranking, grades in zip(rankings, data.grades, strict=True)
    ]
    by_query = np.array(rows)
    # Queries from the structure of one document are similarly difficult: whole documents are drawn.
    groups = [data.owners[min(grades)] for grades in data.grades] if data.owners else data.queries
    with resample_clusters(groups):
        drawn = bootstrap_scores(lambda block: block @ by_query / block.sum(axis=1, keepdims=True), len(by_query))
    return RankingScores(by_query, drawn, cluster_rows([groups]))


def gains_of(ranking: Ranking, grades: Mapping[int, float]) -> np.ndarray:
    """Return the grade of each ranked document, (m,); 0 without a judgment."""
    return np.array([grades.get(row, 0.0) for row in ranking.rows.tolist()])


def rank_vectors(
    queries: np.ndarray,
    documents: np.ndarray,
    owners: np.ndarray,
    by: str = "cosine",
    *,
    ignored: Mapping[int, Sequence[int]] | None = None,
    progress: Progress | None = None,
) -> Iterator[Ranking]:
    """Yield the best :data:`DEPTH` documents of each query by the similarity of their vectors, exactly, with those that tie with the last.

    Args:
        queries: (q, d) vectors.
        documents: (p, d) vectors of passages, or of whole documents.
        owners: (p,) document of each vector, ascending; a document counts with its most similar passage.
        by: similarity function.
        ignored: documents to leave out, by query.
        progress: called with the number of queries ranked.
    """
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    ends, names = np.append(starts[1:], len(owners)), owners[starts]
    if by == "cosine":
        queries, documents = unit(queries), unit(documents)
    step = max(1, _CELLS // max(len(documents), 1))
    for start in range(0, len(queries), step):
        checkpoint()
        block = queries[start : start + step]
        scores = block @ documents.T if by == "cosine" else similarity(block, documents, by)
        scores = scores if len(starts) == len(owners) else np.maximum.reduceat(scores, starts, axis=1)
        for query, row in enumerate(scores, start):
            for document in (ignored or {}).get(query, ()):
                row[np.searchsorted(names, document)] = -np.inf
            floor = np.partition(row, len(row) - DEPTH)[-DEPTH] - _MARGIN if len(row) > DEPTH else -np.inf
            near = np.flatnonzero((row >= floor) & np.isfinite(row))
            parts = np.concatenate([np.arange(starts[place], ends[place]) for place in near]) if len(near) else near
            # Rank in float64, so that equal vectors have equal scores.
            exact = _exact_scores(queries[query], documents[parts], by)
            offsets = np.concatenate([[0], np.cumsum(ends[near] - starts[near])[:-1]])
            yield Ranking.sort(names[near], np.maximum.reduceat(exact, offsets.astype(np.int64)) if len(near) else exact)
        if progress is not None:
            progress(min(start + step, len(queries)), len(queries))


def _exact_scores(query: np.ndarray, documents: np.ndarray, by: str) -> np.ndarray:
    if by != "cosine":
        return np.asarray(similarity(query[None], documents, by)[0])
    return np.asarray((documents.astype(np.float64) @ query.astype(np.float64)).round(_DECIMALS))


def rank_candidates_by_vectors(queries: np.ndarray, documents: np.ndarray, data: RetrievalSet, by: str = "cosine") -> Iterator[Ranking]:
    """Yield the ranking of each query's judged documents alone, all of them (re-ranking of given candidates)."""
    for query, grades in enumerate(data.grades):
        checkpoint()
        rows, one = np.fromiter(grades, np.int64, len(grades)), queries[query][None]
        left, right = (unit(one), unit(documents[rows])) if by == "cosine" else (one, documents[rows])
        yield Ranking.sort(rows, _exact_scores(left[0], right, by), None)


class RetrievalProbe:
    """Retrieval quality of a model while it is trained, beside :class:`~sbert_studio.training.evaluator.GeneralProbe`.

    Args:
        data: the queries, documents and judgments; they must not be used for training.
        encoder: the base model.

    Attributes:
        untuned: ``{"metric", "score", "rows", "interval"}`` of the base model: nDCG@10 with its 95 % bootstrap interval over queries.
    """

    def __init__(self, data: RetrievalSet, encoder: Encoder) -> None:
        self._data, self._ignored = data, data.ignored()
        self._base, self.untuned = self._evaluate(encoder)

    def __call__(self, encoder: Encoder) -> dict[str, Any]:
        """Return the scores of another model, with ``change_interval``: the 95 % interval of its change (paired bootstrap)."""
        scores, found = self._evaluate(encoder)
        return {**found, "change_interval": scores.interval_of_gain(self._base)}

    def _evaluate(self, encoder: Encoder) -> tuple[RankingScores, dict[str, Any]]:
        data = self._data
        encoded = EncodedColumns(encoder, [data.queries, data.documents], roles=["query", "document"])
        queries, documents = encoded.of(data.queries, "query"), encoded.of(data.documents, "document")
        owners = np.arange(len(documents))
        scores = score_rankings(list(rank_vectors(queries, documents, owners, encoder.similarity_name, ignored=self._ignored)), data)
        return scores, {"metric": MAIN, "score": scores.means[MAIN], "rows": len(data), "interval": scores.intervals[MAIN]}
