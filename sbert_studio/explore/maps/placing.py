"""New points on a map that stands: each among its nearest neighbours, as UMAP's transform does; all others stay where they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit
from .descent import descend
from .graph import memberships
from .layout import EPOCHS_OF_MANY, FEW

if TYPE_CHECKING:
    from ...data.progress import Progress
    from .projection import ProjectionParams

_MOST_NEW = 0.1  # of what stands: more of them would deserve a map of their own
_RATE = 0.25  # of UMAP's transform
_PART = 0.5  # of the epochs
_SAME = 1e-3  # nearer than this is a copy
_ASKED = 1024


@dataclass(frozen=True)
class Placed:
    """A map with new points.

    Attributes:
        xy: (n, d) float32.
        new: (m,) the rows that are new.
        near, weights: (m, k), the earlier rows near each of them, and how much it belongs to them.
    """

    xy: np.ndarray
    new: np.ndarray
    near: np.ndarray
    weights: np.ndarray


def matched(texts: Sequence[str], earlier: Sequence[str]) -> np.ndarray | None:
    """(n,) the earlier row of each text, -1 for a new one; ``None`` where an earlier text is gone, none is new, or more than a tenth."""
    count = len(texts) - len(earlier)
    if len(earlier) < FEW or not 0 < count <= _MOST_NEW * len(earlier):
        return None
    places = defaultdict(list)
    for row in range(len(earlier) - 1, -1, -1):
        places[earlier[row]].append(row)
    found = np.array([places[text].pop() if places[text] else -1 for text in texts], np.int64)
    return found if int((found < 0).sum()) == count else None


def place(
    vectors: np.ndarray, known: np.ndarray, xy: np.ndarray, params: ProjectionParams, cache: Path, progress: Progress | None = None
) -> Placed:
    """Put the new ones of (n, d) ``vectors`` on a map.

    Args:
        known: (n,) the row on the map, -1 for a new one, as of :func:`matched`.
        xy: (e, 2) or (e, 3), the map.
        params: how it was drawn.
    """
    old, new = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
    rows, distances = _nearest(vectors, old, new, min(params.n_neighbors, len(old)), params.metric)
    weights = memberships(distances, cache)
    standing = xy[known[old]]
    begun = np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), standing[rows])
    copies = distances[:, 0] < _SAME
    begun[copies] = standing[rows[copies, 0]]
    made = np.empty((len(vectors), xy.shape[1]), np.float32)
    made[old], made[new] = standing, begun
    free = np.flatnonzero(~copies)
    if len(free):
        made[new[free]] = _settled(standing, begun[free], rows[free], weights[free], params, cache, progress)
    return Placed(made, new, known[old][rows], weights)


def _settled(
    standing: np.ndarray,
    begun: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    params: ProjectionParams,
    cache: Path,
    progress: Progress | None,
) -> np.ndarray:
    """Where the new points come to lie: pulled by their neighbours, pushed from all, while nothing else moves."""
    from scipy.sparse import csr_matrix

    first, total = len(standing), len(standing) + len(begun)
    starts = np.concatenate([np.zeros(first, np.int64), np.arange(0, rows.size + 1, rows.shape[1])])
    graph = csr_matrix((weights.ravel(), rows.ravel(), starts), shape=(total, total))
    found = descend(
        np.concatenate([standing, begun]),
        graph,
        cache,
        min_dist=params.min_dist,
        epochs=round(EPOCHS_OF_MANY * _PART),
        rate=_RATE,
        seed=max(params.seed, 0),
        first=first,
        progress=progress,
    )[first:]
    return np.where(np.isfinite(found), found, begun)


def _nearest(vectors: np.ndarray, old: np.ndarray, new: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` of ``old`` nearest to each of ``new``, exactly: (m, k) places in ``old``, and distances."""
    import faiss

    space = unit(vectors) if metric == "cosine" else np.ascontiguousarray(vectors, np.float32)
    index = faiss.IndexFlatL2(space.shape[1])
    index.add(space[old])
    found = []
    for start in range(0, len(new), _ASKED):
        checkpoint()
        found.append(index.search(space[new[start : start + _ASKED]], k))
    squares, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, np.sqrt(np.maximum(squares, 0))
