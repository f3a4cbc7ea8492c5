"""Positive pairs: does a text find its own partner among all partners?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.splits.splitting import plain
from .bootstrap import interval, resampled_mean
from .report import Report
from .similarity import normalised

_BLOCK = 4_000_000  # cells of a block of scores: 16 MB


def evaluate_retrieval(
    anchors: np.ndarray,
    positives: np.ndarray,
    anchor_texts: Sequence[str],
    positive_texts: Sequence[str],
    classes: np.ndarray | None = None,
) -> Report:
    """Mean reciprocal rank within the first ten, its 95% bootstrap interval over the queries, and recall at 1 and 10, by cosine.

    The candidates are the distinct positives. Every positive of an equal anchor text counts as found, and so does a text whose own
    positive the query is; a candidate that repeats the query's own text is passed over unless it is its positive. Ties count against
    the model, so that vectors which all coincide score nothing.

    Args:
        anchors, positives: (n, d) vectors of matching rows.
        anchor_texts, positive_texts: the n texts, by which repeats are known; those that differ in case or blanks only are repeats.
        classes: (n,) ids of classes of rows, where all positives of a class are right for all its anchors.
    """
    anchor_texts, positive_texts = list(map(plain, anchor_texts)), list(map(plain, positive_texts))
    queries, query_rows = _distinct(anchor_texts)
    candidates, candidate_rows = _distinct(positive_texts)
    wanted: list[set[int]] = [set() for _ in query_rows]
    for anchor, positive in zip(anchor_texts, positive_texts, strict=True):
        wanted[queries[anchor]].add(candidates[positive])
        if positive in queries and anchor in candidates and anchor != positive:
            wanted[queries[positive]].add(candidates[anchor])
    if classes is not None:
        of_class: dict[int, set[int]] = {}
        for place, positive in zip(classes.tolist(), positive_texts, strict=True):
            of_class.setdefault(place, set()).add(candidates[positive])
        for place, anchor in zip(classes.tolist(), anchor_texts, strict=True):
            wanted[queries[anchor]] |= of_class[place] - {candidates.get(anchor, -1)}
    of_queries, of_candidates = normalised(anchors[query_rows]), normalised(positives[candidate_rows])
    texts = list(queries)
    ranks = np.empty(len(texts), np.int64)
    at_once = max(1, _BLOCK // len(candidates))
    for start in range(0, len(texts), at_once):
        cosines = of_queries[start : start + at_once] @ of_candidates.T
        for offset, row in enumerate(cosines):
            query = start + offset
            right = list(wanted[query])
            best = row[right].max()
            row[right] = -np.inf
            own = candidates.get(texts[query])
            if own is not None:
                row[own] = -np.inf
            ranks[query] = 1 + np.count_nonzero(row >= best)
    reciprocal = np.where(ranks <= 10, 1 / ranks, 0)
    drawn = resampled_mean(reciprocal)
    scores = {
        "mrr_at_10": float(reciprocal.mean()),
        "recall_at_1": float((ranks <= 1).mean()),
        "recall_at_10": float((ranks <= 10).mean()),
        "interval": interval(drawn),
    }
    return Report("retrieval", len(anchor_texts), scores, resampled=drawn)


def _distinct(texts: Sequence[str]) -> tuple[dict[str, int], list[int]]:
    """Each distinct text's number, and the row in which it stands first."""
    numbers: dict[str, int] = {}
    rows = []
    for row, text in enumerate(texts):
        if text not in numbers:
            numbers[text] = len(numbers)
            rows.append(row)
    return numbers, rows
