"""The neighbours of a corpus' rows: found once, kept within a budget of bytes, and shared by every layout of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...caches import LruCache
from ...data.progress import checkpoint
from ...encoders.unit import unit
from .reduction import near_neighbours, principal_components

KEPT = 50  # dimensions that neighbours are looked for in
_AT_LEAST, _MOST = 32, 100  # neighbours that are kept: what few settings ask for, and what the page's slider can
_BUDGET = 64 << 20


@dataclass(frozen=True)
class Neighbourhood:
    """Rows by their principal components, and who is near whom.

    Attributes:
        points: (n, 50) float32.
        rows, distances: (n, k) int32 and float32, the nearest first, of which each row itself is one.
        recall: the share of the true neighbours that were found, measured; 1 where the search was exact.
    """

    points: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    recall: float

    @property
    def nbytes(self) -> int:
        """What it holds in memory."""
        return self.points.nbytes + self.rows.nbytes + self.distances.nbytes


def neighbourhood(vectors: np.ndarray, metric: str, count: int) -> Neighbourhood:
    """The ``count`` nearest of each of (n, d) ``vectors``, fewer where there are fewer rows."""
    checkpoint()
    points = principal_components(unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32), KEPT)
    return Neighbourhood(points, *near_neighbours(points, min(count, len(points))))


Near = Callable[[int], Neighbourhood]
"""A count → that many neighbours or more of each row."""


class Neighbourhoods:
    """Those of the corpora that were drawn of late; fewer neighbours are the first of more.

    Args:
        budget: bytes that they may take together.
    """

    def __init__(self, budget: int = _BUDGET) -> None:
        self._kept: LruCache[Neighbourhood] = LruCache(budget, lambda value: value.nbytes)

    @property
    def bytes(self) -> int:
        """What is held now."""
        return self._kept.bytes

    def forget_unused(self, seconds: float) -> None:
        """Let go of those that nobody has asked for since so long."""
        self._kept.forget_unused(seconds)

    def of(self, vectors: np.ndarray, key: str, metric: str = "cosine") -> Near:
        """A count → that many neighbours or more of each row of ``vectors``, whose name is ``key``."""

        def get(count: int) -> Neighbourhood:
            room = next((size for size in (_AT_LEAST, _MOST) if count <= size), count)
            return self._kept.get((key, metric, room), lambda: neighbourhood(vectors, metric, room), checkpoint)

        return get
