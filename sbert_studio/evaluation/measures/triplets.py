"""Triplets: is the anchor nearer to its positive than to every negative? (SBERT paper, section 4.4)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..answers.answers import of_margins
from ..bootstrap import interval_of_share, resampled_mean
from ..report import Report, compared_by
from ..similarity import MEASURES, similarities


def evaluate_triplets(anchor: np.ndarray, positive: np.ndarray, negatives: Sequence[np.ndarray], by: str = "cosine") -> Report:
    """The share of rows whose positive is strictly more alike to the anchor than each of its negatives.

    Args:
        anchor, positive: (n, d) vectors.
        negatives: at least one (n, d) array.
        by: the main similarity, that by which the model compares.

    Returns:
        A report of ``triplets``: ``{accuracy}`` for each similarity, and ``accuracy``, the main one's, with
        ``interval``, its 95% bootstrap interval.
    """
    near = similarities(anchor, positive)
    won = {name: np.ones(len(anchor), bool) for name in MEASURES}
    margins = np.full(len(anchor), np.inf)
    for negative in negatives:
        far = similarities(anchor, negative)
        for name in MEASURES:
            won[name] &= near[name] > far[name]
        margins = np.minimum(margins, near[by] - far[by])
    scores: dict[str, Any] = {name: {"accuracy": float(rows.mean())} for name, rows in won.items()}
    drawn = resampled_mean(won[by])
    scores = {"accuracy": scores[by]["accuracy"], **scores, "interval": interval_of_share(drawn, won[by]), **compared_by(by)}
    return Report("triplets", len(anchor), scores, resampled=drawn, answers=of_margins(margins))
