"""The most similar pairs by a dot product or a distance, for models whose vectors are not compared by the cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ...encoders.similarity import NAMES, similarity
from ...errors import StudioError
from .best import Best, Pair
from .closest import require_top

if TYPE_CHECKING:
    from ...data.progress import Progress

MOST = 50_000
"""Rows of which all pairs are compared: by the Manhattan distance of 384 components that takes some ten minutes."""
_HEIGHT, _WIDTH = 256, 4_096


def most_similar_by(vectors: np.ndarray, name: str, top: int = 10, progress: Progress | None = None) -> list[Pair]:
    """The ``top`` pairs of different rows that are most similar, best first; equal ones by row numbers. Every pair is compared.

    Args:
        vectors: (n, d).
        name: one of :data:`~sbert_studio.encoders.similarity.SIMILARITIES`.
        progress: told of pairs.

    Raises:
        StudioError: ``top`` is not between 1 and 100,000, or there are more than :data:`MOST` rows.
    """
    require_top(top)
    if len(vectors) > MOST:
        raise StudioError(
            f"the model compares by {NAMES[name]}, by which pairs of {len(vectors):,} texts cannot be found in reasonable time",
            f"give at most {MOST:,} texts, or choose a model that compares by the cosine",
        )
    best, count = Best(top, np.inf), len(vectors)
    done, total = 0, count * (count - 1) // 2
    for top_row in range(0, count, _HEIGHT):
        rows = np.asarray(vectors[top_row : top_row + _HEIGHT])
        for first in range(top_row, count, _WIDTH):
            checkpoint()
            scores = similarity(rows, np.asarray(vectors[first : first + _WIDTH]), name)
            a, b = np.nonzero(scores >= best.floor)
            a, b = a + top_row, b + first
            later = a < b
            best.add(a[later], b[later], scores[a[later] - top_row, b[later] - first])
        done += len(rows) * (count - top_row) - len(rows) * (len(rows) + 1) // 2
        if progress is not None:
            progress(done, total)
    return best.pairs()
