"""Where a model's order of pairs and people's order of the same pairs lie apart."""

from __future__ import annotations

import numpy as np

from .measures.ranks import average_ranks


def rank_gaps(found: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """By how much each pair stands higher with the model than with people, in shares of all ranks: (n,) float64 in [-1, 1].

    Their squares are what Spearman's ρ adds up: ρ = 1 − 6 Σ d² / (n (n² − 1)) where no two are the same.

    Args:
        found, gold: (n,) scores, larger for more alike, on any two scales.
    """
    return np.asarray((average_ranks(found) - average_ranks(gold)) / max(1, len(found) - 1))
