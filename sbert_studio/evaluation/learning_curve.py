"""Learning curve: would more labels help? Extrapolates the score of models trained on parts of the rows by a power law.

The score with n rows is modelled as c − a·n⁻ᵇ (Viering and Loog, "The shape of learning curves", 2023). Three points do not determine the
exponent, so all exponents in a range are weighted by how well they fit: the interval covers this as well as the error of each score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ..i18n import _
from ..serialization import JsonResult, doc
from .changes import SCORE_DIGITS, format_difference

if TYPE_CHECKING:
    from ..data.examples import Examples

SHARES = (0.25, 0.5)
"""Shares of the training rows that smaller models are trained on, besides all of them."""
MIN_ROWS = 80
"""Training rows below which a quarter of them is too few to train on."""
_EXPONENTS = np.linspace(-0.31, 1.5, 28)  # below 0, the score grows without a limit: a model may only begin to learn
_SAMPLES = 8_000
# Variance of a score over draws of the training rows, in its variances over draws of the held-out rows: 0.05 to 0.11 for ridge regression
# on STSb and BANKING77.
_NOISE = 0.15
_LEAST_VARIANCE = 0.003**2  # trainings on the same rows with other seeds differ as much, however precisely each is scored
_CHANCE = 0.025  # probability of no gain above which the interval begins at 0
_SEED = 12


@dataclass(frozen=True)
class LearningCurve(JsonResult):
    """Scores of models trained on parts of the rows, and the gain that more rows are expected to bring."""

    rows: Annotated[list[int], doc("number of training rows of each model")]
    scores: Annotated[list[float], doc("its score on held-out rows")]
    more: Annotated[int, doc("number of additional rows")]
    gain: Annotated[float, doc("expected gain of the final model with these rows")]
    interval: Annotated[list[float], doc("95 % interval of the gain; the power law assumes that more rows do no harm")]


def nested_parts(examples: Examples, shares: Sequence[float] = SHARES, seed: int = _SEED) -> list[Examples]:
    """Return random parts of the examples, smaller ones within larger ones; rare classes may be missing, as in a smaller file."""
    order = np.random.default_rng(seed).permutation(len(examples))
    return [examples.take(np.sort(order[: max(1, round(share * len(order)))])) for share in shares]


def additional_rows(rows: int) -> int:
    """Return a round number of rows, about half of ``rows``: 1, 2 or 5 times a power of ten."""
    candidates: list[int] = [step * 10**power for power in range(1, 7) for step in (1, 2, 5)]
    return min(candidates, key=lambda one: abs(math.log(2 * one / max(rows, 1))))


def extrapolate(
    rows: Sequence[int], scores: Sequence[float], resampled: Sequence[np.ndarray], *, total: int, more: int = 0
) -> LearningCurve | None:
    """Fit the power law and predict the gain from ``total`` to ``total + more`` rows; ``None`` if the scores are undefined.

    Args:
        rows, scores: training rows of each model, increasing, and its score.
        resampled: bootstrap scores of each model on the same resamples, (resamples,) each.
        more: by default about half of ``total``.
    """
    more = more or additional_rows(total)
    drawn = np.array(resampled, np.float64)
    drawn = drawn[:, np.isfinite(drawn).all(axis=0)]
    if not np.isfinite(scores).all() or drawn.shape[1] < 2:
        return None
    gains, is_flat = _sample_gains(np.asarray(rows, np.float64), np.asarray(scores, np.float64), _covariance(drawn), total, more)
    gains = np.sort(np.minimum(gains, max(0.0, 1.0 - max(scores))))
    low, high = np.quantile(gains, (0.025, 0.975)).tolist()
    return LearningCurve(list(rows), [float(score) for score in scores], more, float(np.median(gains)), [0.0 if is_flat else low, high])


def _covariance(drawn: np.ndarray) -> np.ndarray:
    """Return the covariance of the scores: of the held-out rows by the bootstrap, and of the drawn training rows."""
    found = np.atleast_2d(np.cov(drawn))
    return np.asarray(found + np.diag(_NOISE * np.diag(found) + _LEAST_VARIANCE))


def _sample_gains(rows: np.ndarray, scores: np.ndarray, covariance: np.ndarray, total: int, more: int) -> tuple[np.ndarray, bool]:
    """Return draws from the posterior of the gain, with a flat prior on the score and on the gain, at least 0, over the measured sizes.

    The second result is True if the scores may as well have fallen: they then do not show that more rows help.
    """
    from scipy.stats import norm, truncnorm

    inverse = np.linalg.inv(covariance)
    fits = []
    for exponent in _EXPONENTS:
        falling = rows**-exponent
        span = falling[0] - falling[-1]
        design = np.stack([np.ones_like(rows), -(falling - falling[-1]) / span], axis=1)  # score of the largest, gain up to it
        spread = np.linalg.inv(design.T @ inverse @ design)
        best = spread @ design.T @ inverse @ scores
        error = scores - design @ best
        sd = float(np.sqrt(spread[1, 1]))
        evidence = -0.5 * float(error @ inverse @ error) + 0.5 * float(np.linalg.slogdet(spread)[1]) + float(norm.logcdf(best[1] / sd))
        factor = float(total) ** -exponent - float(total + more) ** -exponent
        fits.append((evidence, float(best[1]), sd, factor / span))
    evidence, mean, sd, factor = np.array(fits).T
    weights = np.exp(evidence - evidence.max())
    random = np.random.default_rng(_SEED)
    weights /= weights.sum()
    chosen = random.choice(len(weights), _SAMPLES, p=weights)
    gains = factor[chosen] * truncnorm.rvs(-mean[chosen] / sd[chosen], np.inf, mean[chosen], sd[chosen], random_state=random)
    return gains, float(weights @ norm.cdf(-mean / sd)) > _CHANCE


def describe_curve(after: Mapping[str, Any]) -> str:
    """Describe the learning curve in the scores of a run: ``200 more rows: about +0.01, at most +0.03``; empty without one.

    If the base model was kept, the gain is that of the model that was not kept, so it says nothing about the model in use.
    """
    curve = after.get("learning_curve")
    if not curve:
        return ""
    low, high = curve["interval"]
    values = {"more": f"{curve['more']:,}", "gain": format_difference(curve["gain"]), "high": format_difference(high)}
    if after.get("strength") == 0:
        return _(
            "{more} more rows like these: at most {high} for the fine-tuned model, which is not better than the base model so far", **values
        )
    if round(low, SCORE_DIGITS) <= 0:
        return _("{more} more rows like these: about {gain}, at most {high}", **values)
    return _("{more} more rows like these: about {gain}, between {low} and {high}", low=format_difference(low), **values)
