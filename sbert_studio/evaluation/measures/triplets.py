"""Triplets: is the anchor nearer to its positive than to every negative? (SBERT paper, section 4.4)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..answers.answers import of_margins
from ..bootstrap import interval_of_share, resampled_mean
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
    margins = np.full(len(anchor), np.inf)
    for negative in negatives:
        far = similarities(anchor, negative)
        for name in MEASURES:
            won[name] &= near[name] > far[name]
        margins = np.minimum(margins, near["cosine"] - far["cosine"])
    scores: dict[str, Any] = {name: {"accuracy": float(rows.mean())} for name, rows in won.items()}
    drawn = resampled_mean(won["cosine"])
    scores = {"accuracy": scores["cosine"]["accuracy"], **scores, "interval": interval_of_share(drawn, won["cosine"])}
    return Report("triplets", len(anchor), scores, resampled=drawn, answers=of_margins(margins))
