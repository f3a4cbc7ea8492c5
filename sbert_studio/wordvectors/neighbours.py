"""The words nearest to a word: what a table has learned, at a glance."""

from __future__ import annotations

from difflib import get_close_matches

import numpy as np

from ..errors import StudioError
from .vectors import WordVectors

_SPELLED = 20_000  # of the commonest words are compared by their letters
_BLOCK = 65_536  # rows


def neighbours(vectors: WordVectors, word: str, k: int = 10) -> list[tuple[str, float]]:
    """The ``k`` words of largest cosine with ``word``, itself left out, the nearest first; of equal ones the commoner first.

    Raises:
        StudioError: the table does not know the word.
    """
    place = vectors.tokens.place(word.strip())
    if place is None:
        close = get_close_matches(word.strip().lower(), vectors.words[:_SPELLED], n=3)
        raise StudioError(
            f"the word {word!r} is not among the {len(vectors):,} of {vectors.name}",
            f"try {', '.join(close)}" if close else "try another word",
        )
    blocks = [_cosines(vectors.matrix[begin : begin + _BLOCK], vectors.matrix[place]) for begin in range(0, len(vectors), _BLOCK)]
    cosines = np.concatenate(blocks)
    cosines[place] = -np.inf
    best = np.argsort(-cosines, kind="stable")[: max(0, min(k, len(vectors) - 1))]
    return [(vectors.words[found], float(cosines[found])) for found in best]


def _cosines(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Cosines of (n, d) rows with a (d,) vector; 0 with a vector of zeros."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    return np.asarray((rows @ vector) / np.where(lengths > 0, lengths, 1), np.float64)
