"""Triplets: is the anchor nearer to its positive than to every negative? (SBERT paper, section 4.4)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..bootstrap import interval, resampled_mean
from ..report import Report
from ..similarity import MEASURES, similarities


def evaluate_triplets(anchor: np.ndarray, positive: np.ndarray, negatives: Sequence[np.ndarray]) -> Report:
    """The share of rows whose positive is strictly more alike to the anchor than each of its negatives.

    Args:
        anchor, positive: (n, d) vectors.
        negatives: at least one (n, d) array.

    Returns:
        A report of ``triplets``: ``{accuracy}`` for each similarity, and ``accuracy``, the cosine's, with
        ``interval``, its 95% bootstrap interval.
    """
    near = similarities(anchor, positive)
    won = {name: np.ones(len(anchor), bool) for name in MEASURES}
    for negative in negatives:
        for name, far in similarities(anchor, negative).items():
            won[name] &= near[name] > far
    scores: dict[str, Any] = {name: {"accuracy": float(rows.mean())} for name, rows in won.items()}
    drawn = resampled_mean(won["cosine"])
    return Report(
        "triplets", len(anchor), {"accuracy": scores["cosine"]["accuracy"], **scores, "interval": interval(drawn)}, resampled=drawn
    )
