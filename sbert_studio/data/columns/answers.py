"""Is a number far beyond all other scores a score, or does it say that there is no answer? The texts beside it tell, or the owner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evidence.apart import Ranked
from ..evidence.similarity import Evidence
from ..values.codes import CODES

_MOST_ROWS = 150
_LEAST_ROWS = 4
_END = 0.2  # the share of the scores that counts as their end
_SURELY = 0.01  # probability by chance


def unlike_their_end(evidence: Evidence, texts: Sequence[str], scores: np.ndarray, strays: np.ndarray, said: Ranked | None) -> str:
    """What shows that the texts of rows with such a number are not as their place on the scale would have them; else nothing.

    Args:
        texts: the two columns.
        scores: (n,) the column of the whole table, NaN where there is none.
        strays: the numbers in question, all on one side of the others.
        said: how the other scores follow the similarity.

    Were the number the highest score, of scores that rise with the similarity, its pairs would be as alike as those of the highest
    fifth of the others, or more (a one-sided Mann-Whitney test).
    """
    if evidence.similar is None or said is None or said.strength not in ("strong", "some"):
        return ""
    odd = np.isin(scores, strays)
    rest = np.flatnonzero(~odd & ~np.isnan(scores))
    above = strays.min() > scores[rest].max()
    if not above and strays.max() > scores[rest].min():
        return ""
    by_score = rest[np.argsort(scores[rest], kind="stable")]
    many = max(_LEAST_ROWS, round(_END * len(rest)))
    there, end = (
        _similarities(evidence, texts, places) for places in (np.flatnonzero(odd), by_score[-many:] if above else by_score[:many])
    )
    if min(len(there), len(end)) < _LEAST_ROWS:
        return ""
    from scipy.stats import mannwhitneyu

    most_alike = above == (said.rho > 0)
    if mannwhitneyu(there, end, alternative="less" if most_alike else "greater").pvalue >= _SURELY:
        return ""
    which = "highest" if above else "lowest"
    return f"mean similarity of its pairs {there.mean():.2f}, of those with the {which} other scores {end.mean():.2f}"


def usual(strays: np.ndarray) -> bool:
    """Whether all of the numbers are usual codes."""
    return bool(np.isin(strays, CODES).all())


def _similarities(evidence: Evidence, texts: Sequence[str], places: np.ndarray) -> np.ndarray:
    """Those of some rows, at even distances, that have both texts."""
    some = places[np.linspace(0, len(places) - 1, min(_MOST_ROWS, len(places))).astype(np.int64)]
    part = evidence.table.select(some)
    found = evidence.compare(*([cell.strip() for cell in part.column(name)] for name in texts))
    known: np.ndarray = found[~np.isnan(found)]
    return known
