"""One map laid on another, so that what still differs is what changed."""

from __future__ import annotations

import numpy as np


def laid_on(points: np.ndarray, other: np.ndarray) -> np.ndarray:
    """``points`` turned or mirrored, sized and shifted onto ``other``, row on row: (n, d) float32.

    The turn is the one with the least sum of squares: with ``A = points - mean``, ``B = other - mean`` and ``AᵀB = U S Vᵀ`` it is
    ``U Vᵀ`` (orthogonal Procrustes; Schönemann 1966, "A generalized solution of the orthogonal Procrustes problem", equations 2.7 to
    2.9). The size is not that of least squares, which shrinks a map to a dot where the two have little in common: both get the same mean
    square distance from their centre.

    Args:
        points, other: (n, d) each.
    """
    here, there = (np.asarray(found, np.float64) for found in (points, other))
    centre = there.mean(axis=0)
    here, there = here - here.mean(axis=0), there - centre
    sizes = [float(np.linalg.norm(found)) for found in (here, there)]
    if not all(sizes):  # all in one place: nothing to turn
        return np.asarray(here + centre, np.float32)
    left, _, right = np.linalg.svd(here.T @ there)
    return np.asarray(here @ (left @ right) * (sizes[1] / sizes[0]) + centre, np.float32)
