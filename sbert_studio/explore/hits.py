"""What searching finds: rows with their scores, ranked, and rankings fused into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import StudioError


@dataclass(frozen=True)
class Hit:
    """A row and how well it answers: a cosine, a BM25 weight or a fused score; larger is better."""

    row: int
    score: float


def fuse(rankings: Sequence[Sequence[Hit]], k: int = 60) -> list[Hit]:
    """Reciprocal-rank fusion, Σ 1 / (k + rank) (Cormack et al. 2009): every row of any ranking, best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            scores[hit.row] = scores.get(hit.row, 0.0) + 1 / (k + rank)
    return [Hit(row, score) for row, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]


def ranked(rows: np.ndarray, scores: np.ndarray) -> list[Hit]:
    """Rows and their scores, (m,) each, as hits: best first, equal scores by row."""
    order = np.lexsort((rows, -scores))
    return [Hit(int(rows[place]), float(scores[place])) for place in order]


def positive(k: int) -> int:
    """``k`` itself.

    Raises:
        StudioError: it is below one.
    """
    if k < 1:
        raise StudioError(f"k is {k}", "ask for at least one hit")
    return k
