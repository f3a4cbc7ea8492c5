"""How strongly points of a map pull and push: the curve of UMAP for a least distance, as tables that a loop looks up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

SHIFT = 17  # of a float's 32 bits those of exponent and 6 of the fraction are left: 64 steps an octave, within 0.6 % of the curve
_NEAREST, _FARTHEST = 2.0**-24, 2.0**24  # squares of distances
_SPREAD = 1.0
_APART = 0.001  # keeps what pushes finite


@dataclass(frozen=True)
class Forces:
    """(s,) float32 each, over the square of the distance, from the one whose leading bits are ``lowest``."""

    pull: np.ndarray
    push: np.ndarray
    lowest: int


@lru_cache(maxsize=64)
def curve(min_dist: float) -> tuple[float, float]:
    """The a, b of 1 / (1 + a·d^2b) nearest to a curve that is 1 up to ``min_dist`` and falls off exponentially from there."""
    from scipy.optimize import curve_fit

    along = np.linspace(0, 3 * _SPREAD, 300)
    wanted = np.where(along < min_dist, 1.0, np.exp(-(along - min_dist) / _SPREAD))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), along, wanted)
    return float(a), float(b)


@lru_cache(maxsize=64)
def forces(min_dist: float) -> Forces:
    """The gradients of the cross-entropy (appendix C of the paper), each in the middle of its step; nothing pushes what coincides."""
    a, b = curve(min_dist)
    lowest, highest = (int(np.float32(square).view(np.int32)) >> SHIFT for square in (_NEAREST, _FARTHEST))
    bits = (np.arange(lowest, highest + 1, dtype=np.int64) << SHIFT) + (1 << (SHIFT - 1))
    square = bits.astype(np.int32).view(np.float32).astype(np.float64)
    pull = -2 * a * b * square ** (b - 1) / (1 + a * square**b)
    push = 2 * b / ((_APART + square) * (1 + a * square**b))
    push[0] = 0
    return Forces(pull.astype(np.float32), push.astype(np.float32), lowest)
