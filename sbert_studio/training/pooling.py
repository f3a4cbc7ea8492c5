"""The scores of several folds as those of one: means weighted by rows, and a bootstrap that draws rows within each fold.

Similarities of different models are never ranked together: their scales differ, and a rank correlation over all rows would take that
for disagreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation.bootstrap import gain, interval
from ..evaluation.categories import confused_together

_OWN = ("rows", "interval", "gain_interval", "general", "notes", "confused")


@dataclass(frozen=True)
class Candidate:
    """One fold's scores, as :class:`~sbert_studio.training.judge.Judge` gives them, and the main one in every bootstrap resample."""

    scores: Mapping[str, Any]
    resampled: np.ndarray | None


def pooled(folds: Sequence[Candidate], untuned: Sequence[np.ndarray | None] = ()) -> dict[str, Any]:
    """The scores of the folds together: ``{"metric", "task", "rows", "score", "by_fold", "interval", ...}``.

    Args:
        untuned: the untuned model's resampled scores in each fold, for ``gain_interval``.
    """
    weights = np.array([one.scores["rows"] for one in folds], np.float64)
    weights /= weights.sum()
    found: dict[str, Any] = _mean([one.scores for one in folds], weights)
    found["rows"] = int(sum(one.scores["rows"] for one in folds))
    found["by_fold"] = [float(one.scores["score"]) for one in folds]
    if any("confused" in one.scores for one in folds):
        found["confused"] = confused_together([one.scores.get("confused", ()) for one in folds])
    together = _together([one.resampled for one in folds], weights)
    if together is not None:
        found["interval"] = interval(together)
        found |= gain(_together(untuned, weights), together) if untuned else {}
    return found


def nested(candidates: Sequence[Sequence[float]], rows: Sequence[int]) -> float:
    """The score over all folds where each fold takes the candidate that did best in the others, so that no row helps to choose its own.

    Args:
        candidates: of each its scores in the k folds.
        rows: of each fold.
    """
    scores, weights = np.asarray(candidates, np.float64), np.asarray(rows, np.float64)
    others = (scores @ weights)[:, None] - scores * weights
    return float(np.average(scores[others.argmax(axis=0), np.arange(len(weights))], weights=weights))


def _together(folds: Sequence[np.ndarray | None], weights: np.ndarray) -> np.ndarray | None:
    """The weighted mean of resampled scores, (resamples,). Folds draw their rows apart: a resample of one meets any of another."""
    known = [one for one in folds if one is not None and len(one)]
    if len(known) < len(weights) or len({len(one) for one in known}) > 1:
        return None
    shuffled = [one[np.random.default_rng(place).permutation(len(one))] for place, one in enumerate(known)]
    return np.asarray(np.average(shuffled, axis=0, weights=weights))


def _mean(scores: Sequence[Mapping[str, Any]], weights: np.ndarray) -> dict[str, Any]:
    """Each number that all hold, averaged, as deep as they go; names and the like are those of the first."""
    found: dict[str, Any] = {}
    for name, value in scores[0].items():
        every = [one.get(name) for one in scores]
        if name in _OWN:
            continue
        if isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in every):
            found[name] = _mean(every, weights)  # type: ignore[arg-type]
        elif isinstance(value, int | float) and not isinstance(value, bool) and all(isinstance(one, int | float) for one in every):
            found[name] = float(np.average(np.asarray(every, np.float64), weights=weights))
        elif isinstance(value, str):
            found[name] = value
    return found
