"""UMAP (McInnes et al. 2018): near rows of many dimensions lie near each other in few."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.unit import unit
from .descent import descend
from .graph import fuzzy_union
from .neighbourhood import neighbourhood
from .reduction import principal_components

if TYPE_CHECKING:
    from ...data.progress import Progress
    from .neighbourhood import Near

METHOD = 2  # of laying out: what another made, and is kept, is not taken for it
FEW = 12  # rows below which a neighbourhood graph says nothing
MANY = 20_000  # rows from which on fewer epochs do
EPOCHS, EPOCHS_OF_MANY = 300, 200
_ONWARDS = 0.5  # the rate, and the part of the epochs, of a layout that grows out of another
_SIDE, _NOISE = 10.0, 1e-3  # of the square in which points begin


def layout(
    vectors: np.ndarray,
    cache: Path,
    *,
    dimensions: int,
    n_neighbors: int,
    min_dist: float,
    metric: str = "cosine",
    seed: int = -1,
    start: np.ndarray | None = None,
    near: Near | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Coordinates, (n, dimensions) float32, finite.

    Fewer than 12 rows are laid out by their principal components; rows that all coincide are laid out at the origin.

    Args:
        vectors: (n, d).
        cache: the folder for compiled code where it may not be written beside its source.
        n_neighbors: how many rows a neighbourhood has, the row itself included; n - 1 at most.
        metric: ``cosine`` or ``euclidean``.
        seed: below zero: another layout each time; otherwise repeatable.
        start: (n, dimensions), a layout that this one grows out of; from the principal components where it is not given.
        near: the neighbours of each row, where they are kept.
        progress: told the epochs done and their number.
    """
    rows = len(vectors)
    if rows < FEW:
        plain = principal_components(unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32), dimensions)
        return np.ascontiguousarray(plain)
    count = min(n_neighbors, rows - 1)
    found = near(count) if near is not None else neighbourhood(vectors, metric, count)
    plain = found.points[:, :dimensions]
    if np.ptp(found.points, axis=0).max() < 1e-6:
        return np.zeros((rows, dimensions), np.float32)
    epochs, grown = EPOCHS if rows <= MANY else EPOCHS_OF_MANY, start is not None and bool(np.ptp(start))
    made = descend(
        np.asarray(start) if grown else _begin(plain, max(seed, 0)),
        fuzzy_union(found.rows[:, :count], found.distances[:, :count], cache),
        cache,
        min_dist=min_dist,
        epochs=round(epochs * _ONWARDS) if grown else epochs,
        rate=_ONWARDS if grown else 1.0,
        seed=seed,
        progress=progress,
    )
    return np.ascontiguousarray(made if np.isfinite(made).all() else plain, np.float32)


def warm_up(cache: Path) -> None:
    """Compile the loops, by laying out a few random points; meant for a background thread, so that the first map is not late."""
    layout(np.random.default_rng(0).normal(size=(64, 8)), cache, dimensions=2, n_neighbors=5, min_dist=0.1)


def _begin(plain: np.ndarray, seed: int) -> np.ndarray:
    """The principal components, each stretched over the square; a little noise takes apart what coincides."""
    low, wide = plain.min(axis=0), np.ptp(plain, axis=0)
    placed = _SIDE * (plain - low) / np.where(wide > 0, wide, 1)
    return np.asarray(placed + np.random.default_rng(seed).normal(scale=_NOISE, size=plain.shape), np.float32)
