"""How alike two vectors are, by four measures, and the vectors of a set's columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from ..encoders.base import finite
from ..encoders.scorers.pair_scorer import PairScorer

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..encoders.base import Encoder
    from ..encoders.trainable import Trainable

MEASURES = ("cosine", "dot", "euclidean", "manhattan")
TIE = 1e-6
"""Cosines of float32 vectors that differ by no more are the same: products of equal vectors differ by where in a block they stand."""
_DISTANCES = ("euclidean", "manhattan")
_BLOCK = 8192  # rows at a time: the temporary stays at 25 MB for 384 dimensions


def measures(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """Cosine, dot product, Euclidean and Manhattan distance of matching rows.

    Args:
        left, right: (n, d). A row of zeros has cosine 0 with everything; equal rows have exactly 1, so that pairs of one text share a rank.

    Returns:
        For each of :data:`MEASURES` an (n,) float64 array; the distances are positive, so smaller is more alike.
    """
    found = {name: np.empty(len(left)) for name in MEASURES}
    for start in range(0, len(left), _BLOCK):
        rows = slice(start, start + _BLOCK)
        u, v = left[rows].astype(np.float64), right[rows].astype(np.float64)
        dot = np.einsum("nd,nd->n", u, v)
        lengths = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
        found["dot"][rows] = dot
        difference = u - v
        cosine = np.divide(dot, lengths, out=np.zeros_like(dot), where=lengths > 0)
        cosine[(lengths > 0) & ~difference.any(axis=1)] = 1.0
        found["cosine"][rows] = cosine
        found["euclidean"][rows] = np.linalg.norm(difference, axis=1)
        found["manhattan"][rows] = np.abs(difference, out=difference).sum(axis=1)
    return found


def similarities(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """:func:`measures` with the distances negated, so that larger always means more alike."""
    return {name: -values if name in _DISTANCES else values for name, values in measures(left, right).items()}


class Encoded:
    """The vectors of the texts of many columns, each distinct text encoded once.

    Args:
        columns: all texts that will be asked for.
        progress: told how many texts are encoded.

    Raises:
        StudioError: a vector holds NaN or infinity, as those of a diverged model do.
    """

    def __init__(self, encoder: Encoder, columns: Iterable[Sequence[str]], progress: Progress | None = None) -> None:
        self._places: dict[str, int] = {}
        for column in columns:
            for text in column:
                self._places.setdefault(text, len(self._places))
        self._vectors = finite(encoder.encode(list(self._places), progress=progress))

    def of(self, column: Sequence[str]) -> np.ndarray:
        """(n, d) of a column."""
        return np.asarray(self._vectors[np.fromiter((self._places[text] for text in column), np.int64, len(column))])


def encode_columns(encoder: Encoder, columns: Sequence[Sequence[str]], progress: Progress | None = None) -> list[np.ndarray]:
    """The (n, d) vectors of each column; see :class:`Encoded`."""
    encoded = Encoded(encoder, columns, progress)
    return [encoded.of(column) for column in columns]


def alike(model: Encoder | PairScorer | Trainable, left: Sequence[str], right: Sequence[str]) -> np.ndarray:
    """How alike the texts of each pair are, larger for more: the score that the model gives a pair, or the cosine of its vectors, (n,).

    Raises:
        StudioError: as :func:`encode_columns`.
    """
    if isinstance(model, PairScorer):
        return np.asarray(model.predict(list(zip(left, right, strict=True))), np.float64)
    vectors = encode_columns(cast("Encoder", model), [left, right])  # whatever learns gives vectors, or scores
    return similarities(*vectors)["cosine"]
