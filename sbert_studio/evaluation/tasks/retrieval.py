"""Retrieval: rank the matching text of each query among all candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...data.split import find_pair_classes, normalize_text
from ...errors import StudioError
from ...i18n import _
from ...models.similarity import similarity, unit
from ..answers import predictions_from_ranks
from ..bootstrap import bootstrap_mean, percentile_interval
from ..encoding import TIE, require_finite
from ..report import Report
from .base import TASK_REGISTRY, ClassRoles, DataShape, EncodedExamples, Task, TaskData

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.loading.table import Table
    from ...data.schema.roles import Kind, Roles
    from ...models.base import PairScorer
    from ...progress import Progress


_BLOCK = 4_000_000  # cells per block of scores: 16 MB
_TOP = 10
_CUTS = (1, 3, 5, 10)
BlockScorer = Callable[[slice], np.ndarray]
"""Maps some of the queries to their scores with every candidate, (queries, candidates)."""


def evaluate_retrieval(
    anchors: np.ndarray,
    positives: np.ndarray,
    anchor_texts: Sequence[str],
    positive_texts: Sequence[str],
    classes: np.ndarray | None = None,
    by: str = "cosine",
) -> Report:
    """Compute MRR@10, nDCG@10, and accuracy at 1, 3, 5 and 10.

    Candidates are the distinct positives. All positives of equal anchors are relevant, and so is a text whose own positive is the query; a
    candidate equal to the query is ignored unless it is its positive. Ties count as errors, so that collapsed vectors score 0.

    Args:
        anchors, positives: (n, d) vectors of matching rows.
        anchor_texts, positive_texts: the n texts; texts equal up to case and spaces count as the same.
        classes: (n,) class ids if all positives of a class are relevant for all its anchors.
        by: similarity function of the ranking.

    Returns:
        A ``retrieval`` report: ``mrr_at_10`` with its 95 % bootstrap ``interval`` over queries; ``accuracy_at_k``, the share of queries
        with a relevant candidate in the first k (``recall_at_1`` and ``recall_at_10`` are older names); ``ndcg_at_10`` with gain
        1 / log₂(r + 1) at rank r (Järvelin & Kekäläinen 2002), normalized.
    """

    def scorer(queries: list[int], candidates: list[int]) -> BlockScorer:
        of_queries, of_candidates = anchors[queries], positives[candidates]
        if by == "cosine":
            of_queries, of_candidates = unit(of_queries), unit(of_candidates)
            return lambda part: of_queries[part] @ of_candidates.T
        return lambda part: similarity(of_queries[part], of_candidates, by)

    return rank_candidates(scorer, anchor_texts, positive_texts, classes)


def rank_candidates(
    scorer: Callable[[list[int], list[int]], BlockScorer],
    anchor_texts: Sequence[str],
    positive_texts: Sequence[str],
    classes: np.ndarray | None = None,
) -> Report:
    """Compute the metrics of :func:`evaluate_retrieval` from arbitrary scores.

    Args:
        scorer: maps the rows of the queries (anchors) and of the candidates (positives) to a block scorer.
    """
    anchor_texts, positive_texts = list(map(normalize_text, anchor_texts)), list(map(normalize_text, positive_texts))
    queries, query_rows = _distinct(anchor_texts)
    candidates, candidate_rows = _distinct(positive_texts)
    relevant = _relevant_candidates(anchor_texts, positive_texts, queries, candidates, classes)
    score_block = scorer(query_rows, candidate_rows)
    texts = list(queries)
    ranks, gains = np.empty(len(texts), np.int64), np.empty(len(texts))
    at_once = max(1, _BLOCK // len(candidates))
    for start in range(0, len(texts), at_once):
        for query, row in enumerate(score_block(slice(start, start + at_once)), start):
            right = list(relevant[query])
            found = np.sort(row[right])[::-1]
            row[right] = -np.inf
            own = candidates.get(texts[query])
            if own is not None:
                row[own] = -np.inf
            ranks[query] = 1 + np.count_nonzero(row >= found[0] - TIE)
            gains[query] = _normalized_gain(found, row)
    reciprocal = np.where(ranks <= _TOP, 1 / ranks, 0)
    drawn = bootstrap_mean(reciprocal)
    scores = {
        "mrr_at_10": float(reciprocal.mean()),
        "ndcg_at_10": float(gains.mean()),
        **{f"accuracy_at_{k}": float((ranks <= k).mean()) for k in _CUTS},
        **{f"recall_at_{k}": float((ranks <= k).mean()) for k in (1, 10)},
        "interval": percentile_interval(drawn),
    }
    return Report("retrieval", len(anchor_texts), scores, resampled=drawn, answers=predictions_from_ranks(ranks, query_rows))


def _relevant_candidates(
    anchors: list[str], positives: list[str], queries: dict[str, int], candidates: dict[str, int], classes: np.ndarray | None
) -> list[set[int]]:
    relevant: list[set[int]] = [set() for _ in queries]
    for anchor, positive in zip(anchors, positives, strict=True):
        relevant[queries[anchor]].add(candidates[positive])
        if positive in queries and anchor in candidates and anchor != positive:
            relevant[queries[positive]].add(candidates[anchor])
    if classes is not None:
        of_class: dict[int, set[int]] = {}
        for place, positive in zip(classes.tolist(), positives, strict=True):
            of_class.setdefault(place, set()).add(candidates[positive])
        for place, anchor in zip(classes.tolist(), anchors, strict=True):
            relevant[queries[anchor]] |= of_class[place] - {candidates.get(anchor, -1)}
    return relevant


def _normalized_gain(right: np.ndarray, wrong: np.ndarray) -> float:
    first = right[:_TOP]
    ranks = np.arange(1, len(first) + 1) + np.array([np.count_nonzero(wrong >= one - TIE) for one in first])
    gained = (1 / np.log2(ranks + 1))[ranks <= _TOP].sum()
    return float(gained / (1 / np.log2(np.arange(2, len(first) + 2))).sum())


def _distinct(texts: Sequence[str]) -> tuple[dict[str, int], list[int]]:
    numbers: dict[str, int] = {}
    rows = []
    for row, text in enumerate(texts):
        if text not in numbers:
            numbers[text] = len(numbers)
            rows.append(row)
    return numbers, rows


@TASK_REGISTRY.register("retrieval")
class RetrievalTask(Task):
    """Retrieval of the matching text."""

    order = 5
    title = "Retrieval of matching texts"
    help = "Retrieval of each text's match among all texts: MRR and nDCG in the top 10, accuracy at 1 to 10."
    kinds: ClassVar[tuple[Kind, ...]] = ("positive_pairs",)
    main: ClassVar[tuple[str, ...]] = ("mrr_at_10",)
    needs_vectors = True
    ranks_candidates = True

    def fits(self, shape: DataShape) -> bool:
        return shape.kind == "positive_pairs"

    def read(self, table: Table, known_roles: Roles | ClassRoles | None = None) -> TaskData:
        """Read positive pairs; see :meth:`Task.read`.

        Raises:
            StudioError: see :meth:`Task.read`; also if all rows have the same second text.
        """
        rows = super().read(table, known_roles)
        if len(set(rows.examples.texts[1])) < 2:
            raise StudioError(
                _("every row of {name} has the same second text", name=table.name), "retrieval needs several candidates: add rows"
            )
        return rows

    def evaluate_vectors(self, encoded: EncodedExamples, reference: EncodedExamples | None = None, by: str = "cosine") -> Report:
        return evaluate_retrieval(
            encoded.vectors[0],
            encoded.vectors[1],
            encoded.examples.texts[0],
            encoded.examples.texts[1],
            find_pair_classes(encoded.examples),
            by,
        )

    def evaluate_ranking(self, examples: Examples, model: PairScorer, progress: Progress | None) -> Report:
        encoder = model.candidate_encoder
        assert encoder is not None  # see require_pairs
        left, right = examples.texts[:2]

        def scorer(queries: list[int], candidates: list[int]) -> BlockScorer:
            vectors = encoder.encode([right[row] for row in candidates], progress=progress)
            return lambda part: require_finite(model.score_candidates([left[row] for row in queries[part]], vectors))

        return rank_candidates(scorer, left, right, find_pair_classes(examples))
