"""Bootstrap confidence intervals (Efron 1979), vectorised, including for a model selected on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.progress import checkpoint
from ..data.splits.splitting import hanging_together

_BLOCK = 2_000_000  # cells of a block of resamples: 16 MB a temporary
_MOST, _FEWEST = 1000, 200
_CELLS = 20_000_000  # of all resamples of a large set, whose interval is narrow anyhow: a second or two
_SEED = 12
_Z = 1.959964
MOST_DRAWN = 1_000_000
"""Of more rows chance moves a score by less than a thousandth, and every resample would take seconds."""
MOST_UNDEFINED = 0.1
"""The share of undefined resamples above which the rows are too few of a kind to tell a gain from chance: one or two of the rarer label.

Of models that are as good as each other the 95% interval then excludes zero in a half (one row) or a sixth of the cases (two), as
simulated with 60 rows; with three rows it does in 3 to 7%, as with any more.
"""
FEWEST_DRAWN = 5
"""Of fewer rows, or clusters of rows that share a text, no resample tells anything: of models that are as good as each other the 95%
interval excludes zero in 13 to 18% of the cases with two to four, as simulated; with a single one it always does. Clusters as few as
that are copies of rows: others, which hold more than a fifth of the rows each, are parted (see ``hanging_together``)."""
_TOGETHER: ContextVar[np.ndarray | None] = ContextVar("the cluster of each row", default=None)
_WHOLE: ContextVar[int] = ContextVar("how many rows or clusters there are in all, where some of them are drawn", default=0)


@contextmanager
def drawn_together(*texts: Sequence[str]) -> Iterator[None]:
    """Within this, rows that share a text are drawn together: copies of a row tell no more than the row does (cluster bootstrap).

    Args:
        texts: the columns of texts, (n,) each. Resamples of another number of rows than n draw single rows.
    """
    token = _TOGETHER.set(hanging_together(texts) if texts and len(texts[0]) else None)
    try:
        yield
    finally:
        _TOGETHER.reset(token)


@contextmanager
def drawn_among(rows: np.ndarray) -> Iterator[None]:
    """Within this, resamples are of some of the rows only, which stay in the clusters of :func:`drawn_together`.

    Few of them are no hindrance, for it is the mean over such parts that is told: what counts is how many there are in all.

    Args:
        rows: (n,) bool, which.
    """
    cluster = _TOGETHER.get()
    known = cluster is not None and len(cluster) == len(rows)
    token = _TOGETHER.set(np.unique(cluster[rows], return_inverse=True)[1] if known and cluster is not None else None)
    whole = _WHOLE.set(int(cluster.max()) + 1 if known and cluster is not None else len(rows))
    try:
        yield
    finally:
        _TOGETHER.reset(token)
        _WHOLE.reset(whole)


def drawn_apart(*texts: Sequence[str]) -> int:
    """How many clusters :func:`drawn_together` draws of rows with these columns of texts, (n,) each."""
    return int(hanging_together(texts).max()) + 1 if texts and len(texts[0]) else 0


def resamples(rows: int) -> int:
    """How many resamples are drawn of so many rows: 1000, fewer of more than 20,000 rows, 200 at least."""
    return int(np.clip(_CELLS // max(rows, 1), _FEWEST, _MOST))


def counts(rows: int, *, seed: int = _SEED) -> Iterator[np.ndarray]:
    """Resamples in blocks of (some, rows) float64: how often each row is drawn, with replacement.

    Always the same ones for the same number of rows, so that the scores of two models on them are paired. Within
    :func:`drawn_together` whole clusters of rows are drawn, and a resample has more or fewer rows than there are.
    """
    cluster = _cluster(rows)
    if cluster is not None:
        for block in _drawn(int(cluster.max()) + 1, resamples(rows), max(1, _BLOCK // rows), seed):
            yield block[:, cluster]
    else:
        yield from _drawn(rows, resamples(rows), max(1, _BLOCK // rows), seed)


def _cluster(rows: int) -> np.ndarray | None:
    """The cluster of each row, where rows are drawn together."""
    cluster = _TOGETHER.get()
    return cluster if cluster is not None and len(cluster) == rows and int(cluster.max()) + 1 < rows else None


def _drawn(rows: int, many: int, at_once: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for start in range(0, many, at_once):
        checkpoint()
        size = min(at_once, many - start)
        drawn = rng.integers(0, rows, (size, rows)) + np.arange(size)[:, None] * rows
        yield np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)


def resampled(score: Callable[[np.ndarray], np.ndarray], rows: int) -> np.ndarray:
    """The score of every resample, (resamples,); ``score`` takes a block of :func:`counts`. Empty where there are no rows.

    Of fewer than :data:`FEWEST_DRAWN` rows or clusters no resample is defined.
    """
    if not rows:
        return np.empty(0)
    found, cluster = np.concatenate([score(block) for block in counts(rows)]), _cluster(rows)
    few = (_WHOLE.get() or (rows if cluster is None else int(cluster.max()) + 1)) < FEWEST_DRAWN
    return np.full_like(found, np.nan) if few else found


def resampled_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the (n,) ``values`` in every resample."""
    return resampled(lambda block: block @ np.asarray(values, np.float64) / block.sum(axis=1), len(values))


def resampled_mean_of(draws: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The mean over files, or groups of rows, of their resampled scores, (resamples,): each is resampled by itself.

    The resamples of all are drawn from one seed, so that those at one place may move alike; they are put into another order for
    each, the same for every model. Of a large one there are fewer: the least number is taken. ``None`` where one has none.
    """
    known = [found for found in draws if found is not None and len(found)]
    if len(known) < len(draws) or not known:
        return None
    size = min(map(len, known))
    turned = [found[np.random.default_rng(place).permutation(len(found))[:size]] for place, found in enumerate(known)]
    return np.asarray(np.mean(turned, axis=0))


def interval(found: np.ndarray) -> list[float]:
    """The 95% percentile interval of resampled scores, of those that are defined; empty where there are none."""
    found = found[~np.isnan(found)]
    if not len(found):
        return []
    low, high = np.quantile(found, (0.025, 0.975))
    return [float(low), float(high)]


def interval_of_share(found: np.ndarray, right: np.ndarray) -> list[float]:
    """The 95% interval of a share of rows (Wilson 1927), of as many rows as vary as much as the resamples do; empty where those are.

    Near 0 and 1 hardly a resample holds another row, and their own interval is too narrow: of 50 rows that are all right it has no
    width at all, and at a true share of 0.97 it holds that in 80% of the cases, as simulated.

    Args:
        found: the resampled share. right: (n,) of the rows, true or false.
    """
    cluster = _cluster(len(right))
    return interval_of_pooled_share(found, float(np.mean(right)), len(right) if cluster is None else int(cluster.max()) + 1)


def interval_of_pooled_share(found: np.ndarray, share: float, apart: int) -> list[float]:
    """The same of a share that is known by itself, such as the one over several parts that were resampled one by one.

    Args:
        found: the resampled share. apart: how many rows, or clusters of rows that share a text, it was taken from.
    """
    known = found[~np.isnan(found)]
    if not len(known) or not apart:
        return []
    rows, spread = float(apart), float(np.var(known))
    if spread > 0:
        rows = min(rows, share * (1 - share) / spread)
    wide = _Z * _Z / rows
    half = _Z * np.sqrt(share * (1 - share) / rows + wide / (4 * rows)) / (1 + wide)
    middle = (share + wide / 2) / (1 + wide)
    return [float(max(0.0, middle - half)), float(min(1.0, middle + half))]


def gain(before: np.ndarray | None, after: np.ndarray | None) -> dict[str, Any]:
    """The 95% interval of by how much the tuned model is better, both measured on the same resamples (paired bootstrap).

    Args:
        before, after: resampled scores of the untuned and of the tuned model on the same rows. A resample takes part where both are
            defined.

    Returns:
        ``{"gain_interval": [low, high]}``; empty where the two do not belong together, or more than :data:`MOST_UNDEFINED` of the
        resamples are not defined.
    """
    if before is None or after is None or not len(before) or len(before) != len(after):
        return {}
    found = after - before
    return {} if np.isnan(found).mean() > MOST_UNDEFINED else {"gain_interval": interval(found)}


_CLEARLY = 3.0
"""Standard deviations of the resampled difference: a candidate so much worse was not in the running.

Of ten equally good independent candidates on 30 to 300 rows 2.3 to 2.9% of the intervals then lie above the true gain, as with all ten in
the running; from two standard deviations on 3.1 to 3.9% do, as simulated.
"""


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """A model's score on the held-out rows, and the same in every bootstrap resample of them, (resamples,)."""

    score: float
    resampled: np.ndarray


def gain_of_chosen(untuned: np.ndarray | None, chosen: ScoredModel, others: Sequence[ScoredModel]) -> dict[str, Any]:
    """Return the 95% interval of by how much a chosen model is better than the untuned one.

    The upper end is that of the paired bootstrap (:func:`~sbert_studio.evaluation.bootstrap.gain`): where the chosen model really is the
    best, nothing flatters it. The lower end allows for the case that it is not, and was chosen because chance favoured it: of all
    candidates that are not clearly worse, the error of the least fortunate counts in each resample. As the percentile interval mirrors
    the errors of the resamples, the most fortunate, which is the one that is chosen, becomes the least. Without such candidates the
    interval is that of the paired bootstrap.

    Args:
        untuned: the untuned model's resampled scores, (resamples,).
        chosen: the model that was kept.
        others: all other candidates, resampled alike. One whose score is not defined takes no part.

    Returns:
        ``{"gain_interval": [low, high]}``; empty where ``gain`` finds none.
    """
    plain = gain(untuned, chosen.resampled)
    if untuned is None or not plain:
        return {}
    low, high = plain["gain_interval"]
    luck = np.zeros(len(chosen.resampled))  # by how much the least fortunate candidate's error is below that of the chosen one
    for other in others:
        if len(other.resampled) != len(luck) or not np.isfinite(other.score):
            continue
        difference = other.resampled - chosen.resampled
        if not np.isfinite(difference).any():
            continue
        short = chosen.score - other.score
        if short <= _CLEARLY * float(np.nanstd(difference)):
            luck = np.fmin(luck, difference + short)
    return {"gain_interval": [min(low, interval(chosen.resampled - untuned + luck)[0]), high]}
