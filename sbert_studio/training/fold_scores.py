"""The scores of several folds as those of one: means weighted by rows, and a bootstrap that draws rows within each fold.

What is not defined takes no part: a fold without a score, and of a fold the resamples for which there is none (NaN).

Similarities of different models are never ranked together: their scales differ, and a rank correlation over all rows would take that
for disagreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation.bootstrap import MAX_UNDEFINED_SHARE, ScoredModel, paired_gain, percentile_interval, selected_model_gain, wilson_interval
from ..evaluation.report import SHARE_METRICS
from ..evaluation.tasks.categories import merge_confusions

_OWN = ("rows", "interval", "gain_interval", "general", "notes", "confused")
_MOST_UNDEFINED = (
    2 * MAX_UNDEFINED_SHARE
)  # in the mean over the folds, each of which has rows of its own: two of the rarer label in each do


@dataclass(frozen=True)
class Candidate:
    """One fold's scores, as an :class:`~sbert_studio.training.evaluator.Evaluator` gives them, and every resample's main one.

    Attributes:
        apart: how many clusters of rows that share a text there are in the fold; 0: not known, and the resamples alone give intervals.
    """

    scores: Mapping[str, Any]
    resampled: np.ndarray | None
    apart: int = 0


def pooled(folds: Sequence[Candidate], untuned: Sequence[np.ndarray | None] = ()) -> dict[str, Any]:
    """The scores of the folds together: ``{"metric", "task", "rows", "score", "by_fold", "interval", ...}``.

    Args:
        folds: of at least one of them the score is defined; ``by_fold`` has ``None`` for the others.
        untuned: the untuned model's resampled scores in each fold, for ``gain_interval``.
    """
    every = [_score(one) for one in folds]
    places = np.flatnonzero(np.isfinite(every)).tolist()
    judged, before = [folds[place] for place in places], [untuned[place] for place in places] if untuned else []
    weights = np.array([one.scores["rows"] for one in judged], np.float64)
    weights /= weights.sum()
    found: dict[str, Any] = _mean([one.scores for one in judged], weights)
    found["rows"] = int(sum(one.scores["rows"] for one in judged))
    found["by_fold"] = [score if place in places else None for place, score in enumerate(every)]
    if any("confused" in one.scores for one in judged):
        found["confused"] = merge_confusions([one.scores.get("confused", ()) for one in judged])
    after = [one.resampled for one in judged]
    alone, both = _together([after], weights), _together([before, after], weights)
    if alone is not None:
        found["interval"] = _interval(found, alone[0], judged)
        found |= paired_gain(*both) if both is not None and _undefined(after, weights) <= _MOST_UNDEFINED else {}
    return found


def _interval(scores: Mapping[str, Any], drawn: np.ndarray, judged: Sequence[Candidate]) -> list[float]:
    if scores.get("metric") in SHARE_METRICS and all(one.apart for one in judged):
        return wilson_interval(drawn, float(scores["score"]), sum(one.apart for one in judged))
    return percentile_interval(drawn)


def nested(candidates: Sequence[Sequence[float]], rows: Sequence[int]) -> float:
    """The score over all folds where each fold takes the candidate that did best in the others, so that no row helps to choose its own.

    Args:
        candidates: of each its scores in the k folds.
        rows: of each fold.
    """
    scores = np.asarray(candidates, np.float64)
    return float(np.average(scores[_by_the_others(scores, rows), np.arange(len(rows))], weights=rows))


def judged_by_others(
    tried: Sequence[Sequence[Candidate]], untuned: Sequence[np.ndarray | None] = (), *, or_untuned: bool = True
) -> dict[str, Any]:
    """What is claimed of a model that was chosen among several: scores, and a gain, of rows that did not help to choose.

    Each fold takes the candidate that did best in the others. That is the gain of choosing so, of which a run that keeps the untuned
    model claims none; of the others it would still be a little too much where there is nothing to gain: what chance gives them there is
    taken off where the 95% interval of the gain holds zero, resampled as if these choices were given beforehand.

    The interval that is told reaches down to where that of the best candidate over all folds does, with its choice by the same rows
    inside the resampling (see :func:`selected_model_gain`): folds choose by nearly the same rows, so that
    their choices, right or wrong, go together.

    Args:
        tried: of each candidate its k folds, the untuned model first where it may be kept. A fold takes part where all have a score.
        untuned: the untuned model's resampled scores in each fold.
        or_untuned: whether it may be kept; where it may not, nothing is chosen for a gain by chance, and nothing taken off.

    Returns:
        As :func:`pooled`, with ``nested``, the score before anything was taken off, and ``tried``, the number of candidates.
    """
    places = np.flatnonzero(np.isfinite([[_score(one) for one in folds] for folds in tried]).all(axis=0)).tolist()
    tried = [[folds[place] for place in places] for folds in tried]
    untuned = [untuned[place] for place in places] if untuned else []
    rows = [one.scores["rows"] for one in tried[0]]
    scores = np.array([[_score(one) for one in folds] for folds in tried])
    found = pooled([tried[place][fold] for fold, place in enumerate(_by_the_others(scores, rows).tolist())], untuned)
    found |= {"nested": found["score"], "tried": len(tried)}
    low, high = found.get("gain_interval") or (-np.inf, np.inf)
    if or_untuned and low <= 0 <= high:
        before = float(np.average(scores[0], weights=rows))
        found["score"] = max(found["score"] - _by_chance(tried, rows), before + low)
    if "gain_interval" in found:
        chosen = _gain_of_best(tried[1:] if or_untuned else tried, untuned, rows).get("gain_interval", [low])
        found["gain_interval"] = [min(low, chosen[0]), high]
    return found


def _gain_of_best(tried: Sequence[Sequence[Candidate]], untuned: Sequence[np.ndarray | None], rows: Sequence[int]) -> dict[str, Any]:
    weights = np.asarray(rows, np.float64) / sum(rows)
    series = _together([untuned, *([one.resampled for one in folds] for folds in tried)], weights)
    if series is None:
        return {}
    scores = np.array([[_score(one) for one in folds] for folds in tried]) @ weights
    models = [ScoredModel(float(score), drawn) for score, drawn in zip(scores, series[1:], strict=True)]
    best = models.pop(int(scores.argmax()))
    return selected_model_gain(series[0], best, models)


def _by_the_others(scores: np.ndarray, rows: Sequence[int]) -> np.ndarray:
    weights = np.asarray(rows, np.float64)
    return np.asarray(((scores @ weights)[:, None] - scores * weights).argmax(axis=0))


def _by_chance(tried: Sequence[Sequence[Candidate]], rows: Sequence[int]) -> float:
    drawn = [one.resampled for folds in tried for one in folds if one.resampled is not None]
    if len(drawn) < len(tried) * len(rows) or len({len(one) for one in drawn}) > 1:
        return 0.0
    gains = np.array(drawn, np.float64).reshape(len(tried), len(rows), -1)
    gains -= gains[0]
    for fold in range(len(rows)):  # of one fold with any of another, as in the mean over the folds
        order = _order(gains[:, fold], fold)
        if not len(order):
            return 0.0
        gains[:, fold] = gains[:, fold, order]
    gains -= gains.mean(axis=2, keepdims=True)
    weights = np.asarray(rows, np.float64) / sum(rows)
    sums = np.einsum("ckr,k->cr", gains, weights)
    others = sums[:, None] - gains * weights[:, None]
    claimed = np.einsum("kr,k->r", np.take_along_axis(gains, others.argmax(axis=0)[None], axis=0)[0], weights)
    kept = sums.argmax(axis=0) > 0
    return float(claimed[kept].mean()) if kept.any() else 0.0


def _together(series: Sequence[Sequence[np.ndarray | None]], weights: np.ndarray) -> list[np.ndarray] | None:
    folds = [one for every in series for one in every if one is not None and len(one)]
    if len(folds) < len(weights) * len(series) or len({len(one) for one in folds}) > 1:
        return None
    values = np.array(folds, np.float64).reshape(len(series), len(weights), -1)
    for fold in range(len(weights)):
        order = _order(values[:, fold], fold)
        if not len(order):
            return None
        values[:, fold] = values[:, fold, order]
    return [np.asarray(np.average(one, axis=0, weights=weights)) for one in values]


def _order(scores: np.ndarray, fold: int) -> np.ndarray:
    order = np.random.default_rng(fold).permutation(scores.shape[1])
    order = order[np.isfinite(scores[:, order]).all(axis=0)]
    return np.resize(order, scores.shape[1]) if len(order) else order


def _undefined(folds: Sequence[np.ndarray | None], weights: np.ndarray) -> float:
    return float(np.average([0.0 if one is None else np.isnan(one).mean() for one in folds], weights=weights))


def _score(one: Candidate) -> float:
    score = one.scores.get("score")
    return float("nan") if score is None else float(score)


def _mean(scores: Sequence[Mapping[str, Any]], weights: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in scores[0].items():
        every = [one.get(name) for one in scores]
        if name in _OWN:
            continue
        if isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in every):
            found[name] = _mean(every, weights)  # type: ignore[arg-type]
        elif isinstance(value, int | float) and not isinstance(value, bool) and all(isinstance(one, int | float) for one in every):
            known = np.isfinite(np.asarray(every, np.float64))
            if known.any():
                found[name] = float(np.average(np.asarray(every, np.float64)[known], weights=weights[known]))
        elif isinstance(value, str):
            found[name] = value
    return found
