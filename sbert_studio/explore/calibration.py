"""What a cosine means to a model: beside the cosines of texts that were taken at random, which crowd differently with every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..encoders.unit import unit

MOST_TEXTS = 300
FEWEST_TEXTS = 20
_SEED = 12
_STEPS = (100, 1_000, 10_000)


@dataclass(frozen=True)
class Usual:
    """The cosines of random pairs.

    Attributes:
        cosines: (pairs,) float32, ascending.
        of: where the texts are from.
    """

    cosines: np.ndarray
    of: str

    def share(self, cosine: float) -> float:
        """The share of random pairs that are less alike than ``cosine``, in [0, 1]."""
        return float(np.searchsorted(self.cosines, np.float32(cosine), side="left") / len(self.cosines))

    def shares(self, cosines: np.ndarray) -> np.ndarray:
        """:meth:`share` of each cell of an array."""
        return np.asarray(np.searchsorted(self.cosines, np.asarray(cosines, np.float32), side="left") / len(self.cosines))

    def quantile(self, share: float) -> float:
        """The cosine below which that share of the pairs lies."""
        return float(np.quantile(self.cosines, share))

    def odds(self, cosine: float) -> str:
        """:meth:`share` as natural frequencies: ``85 of 100``, ``998 of 1,000``, ``all 44,850``."""
        share = self.share(cosine)
        if share >= 1:
            return f"all {len(self.cosines):,}"
        of = next((step for step in _STEPS if share * step <= step - 1), _STEPS[-1])
        return f"{int(share * of + 1e-9):,} of {of:,}"

    def bins(self, low: float, high: float, count: int) -> list[float]:
        """A histogram in ``count`` bins from ``low`` to ``high``, as shares of its highest bin."""
        found, _ = np.histogram(self.cosines, bins=count, range=(low, high))
        return [float(share) for share in found / max(1, int(found.max()))]


def some_texts(texts: Sequence[str], most: int = MOST_TEXTS) -> list[str]:
    """Different texts taken at random, always the same ones of the same texts, in their order."""
    different = list(dict.fromkeys(texts))
    if len(different) <= most:
        return different
    rows = np.sort(np.random.default_rng(_SEED).choice(len(different), most, replace=False))
    return [different[row] for row in rows]


def usual_cosines(vectors: np.ndarray) -> np.ndarray:
    """The cosines of all pairs of rows of (n, d), ascending: (n · (n − 1) / 2,) float32."""
    rows = unit(vectors)
    left, right = np.triu_indices(len(rows), 1)
    return np.sort(np.clip((rows @ rows.T)[left, right], -1, 1)).astype(np.float32)
