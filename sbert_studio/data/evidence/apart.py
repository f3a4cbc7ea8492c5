"""How far a column of numbers follows similarities, and how far classes of them stand apart: the figures, and what they amount to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..values.scales import BLANK

Strength = Literal["strong", "some", "open", "none"]
THE_MODEL = "the model"
"""What a model is called whose name nobody gave."""
LEAST = 8  # rows below which nothing is said
_FEW_ROWS, _BY_CHANCE = 60, 0.1  # of so few rows the least sign counts: a probability of 0.05 on the one side


@dataclass(frozen=True)
class Ranked:
    """A column of numbers beside the similarity.

    Attributes:
        rho: Spearman's rank correlation, in [-1, 1].
        p: the probability of one as far from 0 by chance.
        rows: how many rows it was taken from.
        model: what people call the model whose similarity it is.
    """

    rho: float
    p: float
    rows: int
    model: str = THE_MODEL

    @property
    def strength(self) -> Strength:
        """``strong``: it follows the similarity; ``some``: a little; ``none``: it does not; ``open``: too few rows to tell."""
        if abs(self.rho) >= 0.3 and self.p < 1e-4:
            return "strong"
        if abs(self.rho) >= 0.15 and self.p < 1e-3:
            return "some"
        return "none" if abs(self.rho) < 0.15 and self.rows >= 150 else "open"

    @property
    def faint(self) -> bool:
        """Whether rows too few for more say as much as so few can: what goes against the reading is then asked, not passed over."""
        return self.rows < _FEW_ROWS and self.p < _BY_CHANCE

    def in_words(self) -> str:
        """``rank correlation 0.86 with the similarity by minilm, on 300 rows``."""
        return f"rank correlation {self.rho:.2f} with the similarity by {self.model}, on {self.rows} rows"


@dataclass(frozen=True)
class ClassMean:
    """The similarity of the pairs of one class: its ``mean``, the ``error`` of that mean (standard error), and the ``rows``."""

    label: str
    mean: float
    error: float
    rows: int


@dataclass(frozen=True)
class Separated:
    """A column of few values beside the similarity.

    Attributes:
        means: each class, the least alike first.
        effect: how far apart the classes are: |2 AUC − 1| of two, the square root of Kruskal and Wallis' ε² of more; in [0, 1].
        p: the probability of such a distance by chance.
        steps: the probability by chance of the difference between each class and the next (Mann–Whitney).
        rows: how many rows it was taken from.
        model: what people call the model whose similarity it is.
    """

    means: tuple[ClassMean, ...]
    effect: float
    p: float
    steps: tuple[float, ...]
    rows: int
    model: str = THE_MODEL

    @property
    def order(self) -> tuple[str, ...]:
        """The classes by their mean similarity, least alike first."""
        return tuple(one.label for one in self.means)

    @property
    def strength(self) -> Strength:
        """``strong``: the classes are apart; ``some``: a little; ``none``: they are not; ``open``: too few rows to tell."""
        if self.effect >= 0.3 and self.p < 1e-4:
            return "strong"
        if self.effect >= 0.15 and self.p < 1e-3:
            return "some"
        return "none" if self.effect < 0.2 and self.rows >= 150 else "open"

    @property
    def faint(self) -> bool:
        """Whether rows too few for more say as much as so few can: what goes against the reading is then asked, not passed over."""
        return self.rows < _FEW_ROWS and self.p < _BY_CHANCE

    @property
    def distinct(self) -> bool:
        """Whether each class differs from the next by more than chance."""
        return all(step < 0.01 for step in self.steps)

    @property
    def far_apart(self) -> bool:
        """Whether the classes are as far apart as grades are, and more than inference's contradiction, neutral and entailment.

        In standard deviations: each from the next by 0.85, the first from the last by 2.3; of SICK's classes, where what is
        neutral is the least alike, these are 0.8 and 1.7, of SNLI's 0.8 and 1.9, of STSb's scores cut in three about 0.9 and 2.6.
        """
        gaps = [_gap(low, high) for low, high in pairwise(self.means)]
        return min(one.rows for one in self.means) >= 25 and min(gaps) >= 0.85 and _gap(self.means[0], self.means[-1]) >= 2.3

    @property
    def swapped(self) -> tuple[tuple[str, ...], ...]:
        """The order with two neighbours exchanged that chance alone may have set so, the least certain first; of three, any two."""
        ranked = sorted(range(len(self.steps)), key=lambda place: -self.steps[place])
        wanted = [place for place in ranked if self.steps[place] >= 0.01 or len(self.means) == 3][:3]
        order = self.order
        return tuple((*order[:place], order[place + 1], order[place], *order[place + 2 :]) for place in wanted if len(order) > 2)

    def mean_of(self, label: str) -> ClassMean | None:
        """The figures of one class; None where too few of its rows were looked at."""
        return next((one for one in self.means if one.label == label), None)

    def in_words(self) -> str:
        """``mean similarity by minilm, on 300 rows: no 0.24, yes 0.90``."""
        shown = ", ".join(f"{one.label or BLANK} {one.mean:.2f}" for one in self.means[:6])
        return f"mean similarity by {self.model}, on {self.rows} rows: {shown}{', …' if len(self.means) > 6 else ''}"


def _gap(low: ClassMean, high: ClassMean) -> float:
    """The distance of two means in standard deviations."""
    spread = math.sqrt((low.error**2 * low.rows + high.error**2 * high.rows) / 2)
    return (high.mean - low.mean) / spread if spread else math.inf


def separated(classes: dict[str, np.ndarray], model: str = THE_MODEL) -> Separated | None:
    """The figures of classes of similarities; those of fewer than four rows (three of few) are left out; None: fewer than two stay."""
    from scipy.stats import kruskal, mannwhitneyu

    least = 3 if sum(map(len, classes.values())) < _FEW_ROWS else 4
    kept = {label: values for label, values in classes.items() if len(values) >= least}
    rows = sum(map(len, kept.values()))
    if len(kept) < 2 or rows < LEAST or np.ptp(np.concatenate(list(kept.values()))) == 0:
        return None
    means = [
        ClassMean(label, float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))
        for label, values in kept.items()
    ]
    means.sort(key=lambda one: one.mean)
    steps = tuple(float(mannwhitneyu(kept[a.label], kept[b.label]).pvalue) for a, b in pairwise(means))
    if len(kept) == 2:
        low, high = (kept[one.label] for one in means)
        return Separated(tuple(means), abs(2 * auc(high, low) - 1), steps[0], steps, rows, model)
    statistic, p = kruskal(*kept.values())
    effect = float(np.sqrt(max(0.0, (statistic - len(kept) + 1) / (rows - len(kept)))))
    return Separated(tuple(means), effect, float(p), steps, rows, model)


def auc(high: np.ndarray, low: np.ndarray) -> float:
    """The probability that a value of ``high`` is above one of ``low``; 0.5 where one of them is empty."""
    from scipy.stats import rankdata

    if not len(high) or not len(low):
        return 0.5
    ranks = rankdata(np.concatenate([high, low]))[: len(high)]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(high) * len(low)))
