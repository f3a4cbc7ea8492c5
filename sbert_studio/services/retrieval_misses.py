"""Reasons why a model missed relevant documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..data.language import detect_language
from ..evaluation.ranking import CUT, Ranking
from ..explore.bm25 import stop_words, tokenize
from ..progress import checkpoint
from .results.retrieval import MissedDocument, Reason

if TYPE_CHECKING:
    from ..data.retrieval import RetrievalSet

_SHOWN = 200  # characters of a document
_SIMILAR = 0.8  # minimum Jaccard similarity of the words of near-duplicates
_MIN_WORDS = 2  # minimum number of common words of a language


def find_misses(data: RetrievalSet, rankings: Sequence[Ranking], is_truncated: np.ndarray | None) -> Iterator[MissedDocument]:
    """Yield the relevant documents below the first ten of each query, with all reasons that apply.

    Args:
        rankings: one per query.
        is_truncated: (n,) bool, documents longer than the model's limit; ``None`` if unknown.
    """

    @cache
    def words(row: int) -> frozenset[str]:
        return frozenset(tokenize(data.documents[row]))

    @cache
    def language(row: int) -> str:
        return detect_language(data.documents[row], _MIN_WORDS)

    for query, (ranking, grades) in enumerate(zip(rankings, data.grades, strict=True)):
        checkpoint()
        first = ranking.rows[:CUT].tolist()
        ranks = {row: rank for rank, row in enumerate(ranking.rows.tolist(), 1)}
        missed = [row for row, grade in grades.items() if grade > 0 and row not in first]
        if not missed:
            continue
        asked = frozenset(tokenize(data.queries[query])) - stop_words()
        spoken = detect_language(data.queries[query], _MIN_WORDS)
        others = [row for row in first if grades.get(row, 0.0) <= 0]
        for row in missed:
            above = next((other for other in others if _jaccard(words(row), words(other)) >= _SIMILAR), None)
            applies: dict[Reason, bool] = {
                "near-duplicate above": above is not None,
                "other language": bool(spoken and language(row) and spoken != language(row)),
                "no shared words": asked.isdisjoint(words(row)),
                "longer than the limit": is_truncated is not None and bool(is_truncated[row]),
            }
            reasons = tuple(reason for reason, holds in applies.items() if holds) or ("other texts are closer",)
            yield MissedDocument(
                data.query_ids[query],
                data.queries[query],
                data.document_ids[row],
                data.documents[row][:_SHOWN],
                grades[row],
                ranks.get(row),
                reasons,
                "" if above is None else data.documents[above][:_SHOWN],
            )


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
