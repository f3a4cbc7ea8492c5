"""What the untuned model says of a table: its similarity of two texts, set against every other column, on a sample of the rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from .profile import numbers_of
from .scales import BLANK, same_class
from .tables import Table

Similar = Callable[[Sequence[str], Sequence[str]], np.ndarray]
"""(n,) cosines in [-1, 1] of n texts with n others, by the model that is about to be tuned."""
Strength = Literal["strong", "some", "open", "none"]

FEW, MANY = 300, 900
_LONGEST = 1_000  # characters of a text that are looked at
_MOST = 20_000  # rows in which texts of one category are looked for
_LEAST = 8  # rows below which nothing is said
_FEW_ROWS, _BY_CHANCE = 60, 0.1  # of so few rows the least sign counts: a probability of 0.05 on the one side


@dataclass(frozen=True)
class Ranked:
    """A column of numbers beside the similarity.

    Attributes:
        rho: Spearman's rank correlation, in [-1, 1].
        p: the probability of one as far from 0 by chance.
        rows: how many rows it was taken from.
    """

    rho: float
    p: float
    rows: int

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
        """``rank correlation 0.86 with the untuned model's similarity, on 300 rows``."""
        return f"rank correlation {self.rho:.2f} with the untuned model's similarity, on {self.rows} rows"


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
    """

    means: tuple[ClassMean, ...]
    effect: float
    p: float
    steps: tuple[float, ...]
    rows: int

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
        """``mean similarity by the untuned model: no 0.24, yes 0.90``."""
        shown = ", ".join(f"{one.label or BLANK} {one.mean:.2f}" for one in self.means[:6])
        return f"mean similarity by the untuned model, on {self.rows} rows: {shown}{', …' if len(self.means) > 6 else ''}"


def _gap(low: ClassMean, high: ClassMean) -> float:
    """The distance of two means in standard deviations."""
    spread = math.sqrt((low.error**2 * low.rows + high.error**2 * high.rows) / 2)
    return (high.mean - low.mean) / spread if spread else math.inf


class Evidence:
    """A sample of a table's rows, at even distances, and what ``similar`` says of them; every comparison is made once.

    Args:
        table: the file.
        similar: the untuned model; None: there is none, and every answer is None.
        rows: the most rows to look at.
    """

    def __init__(self, table: Table, similar: Similar | None, rows: int = FEW) -> None:
        self.table, self.similar, self.rows = table, similar, rows
        self._known: dict[tuple[str, ...], np.ndarray] = {}

    @cached_property
    def sample(self) -> Table:
        """The rows that are looked at."""
        number = min(self.rows, len(self.table))
        return self.table.select(np.linspace(0, len(self.table) - 1, number).astype(np.int64))

    @cached_property
    def closer(self) -> Evidence:
        """The same with three times the rows, where there are more."""
        return Evidence(self.table, self.similar, MANY) if self.rows < MANY and len(self.table) > self.rows else self

    def cells(self, name: str) -> list[str]:
        """The cells of a column in the sample, without blanks around them."""
        return [cell.strip() for cell in self.sample.column(name)]

    def cosines(self, first: str, second: str, shift: int = 0) -> np.ndarray:
        """(rows,) similarity of two columns' texts, the second moved on by ``shift`` rows; NaN where one is blank."""
        key = (first, second, str(shift))
        if key not in self._known:
            a, b = self.cells(first), self.cells(second)
            self._known[key] = self._compare(a, b[shift:] + b[:shift])
        return self._known[key]

    def _compare(self, a: Sequence[str], b: Sequence[str]) -> np.ndarray:
        assert self.similar is not None
        found = np.full(len(a), np.nan)
        places = [place for place, (x, y) in enumerate(zip(a, b, strict=True)) if x and y]
        if places:
            found[places] = self.similar([a[place][:_LONGEST] for place in places], [b[place][:_LONGEST] for place in places])
        return found

    def ranked(self, texts: Sequence[str], target: str) -> Ranked | None:
        """A column of numbers beside the similarity of two columns of texts."""
        if self.similar is None:
            return None
        numbers = numbers_of(self.cells(target))
        both = ~np.isnan(cosines := self.cosines(texts[0], texts[1])) & ~np.isnan(numbers)
        if both.sum() < _LEAST or np.ptp(numbers[both]) == 0 or np.ptp(cosines[both]) == 0:
            return None
        from scipy.stats import spearmanr

        rho, p = spearmanr(numbers[both], cosines[both])
        return Ranked(float(rho), float(p), int(both.sum()))

    def separated(self, texts: Sequence[str], target: str, classes: Sequence[str]) -> Separated | None:
        """A column of few values beside the similarity of two columns of texts; cells that are none of ``classes`` are left out."""
        if self.similar is None:
            return None
        cosines, cells = self.cosines(texts[0], texts[1]), self.cells(target)
        place = {cell: same_class(cell, classes) for cell in set(cells)}
        members: dict[str, list[float]] = {}
        for cell, cosine in zip(cells, cosines.tolist(), strict=True):
            if place[cell] >= 0 and not math.isnan(cosine):
                members.setdefault(classes[place[cell]], []).append(cosine)
        return separated({name: np.array(values) for name, values in members.items()})

    def aligned(self, first: str, second: str) -> float | None:
        """How much more alike two columns are row by row than shuffled: the AUC, 0.5 where they have nothing to do with each other."""
        if self.similar is None or len(self.sample) < _LEAST:
            return None
        straight, turned = self.cosines(first, second), self.cosines(first, second, max(1, len(self.sample) // 2))
        return auc(straight[~np.isnan(straight)], turned[~np.isnan(turned)])

    def nearer(self, anchor: str, positive: str, negative: str) -> float | None:
        """The share of rows whose anchor is more like the positive than like the negative."""
        if self.similar is None:
            return None
        gaps = self.cosines(anchor, positive) - self.cosines(anchor, negative)
        gaps = gaps[~np.isnan(gaps)]
        return float((gaps > 0).mean()) if len(gaps) >= _LEAST else None

    def together(self, text: str, category: str) -> Separated | None:
        """Whether texts of one category are more alike than others: pairs of the same and of different categories."""
        if self.similar is None:
            return None
        part = self.table.select(np.linspace(0, len(self.table) - 1, min(_MOST, len(self.table))).astype(np.int64))
        texts, names = part.column(text), part.column(category)
        members: dict[str, list[str]] = {}
        for cell, name in zip(texts, names, strict=True):
            if cell.strip() and name.strip():
                members.setdefault(name.strip(), []).append(cell.strip())
        generator = np.random.default_rng(12)
        several = [name for name in members if len(set(members[name])) > 1]
        if len(several) < 2:
            return None
        number = min(self.rows, sum(len(members[name]) for name in several)) // 2
        sizes = np.array([len(members[name]) for name in several], dtype=float)
        a: list[str] = []
        b: list[str] = []
        c: list[str] = []
        for place in generator.choice(len(several), number, p=sizes / sizes.sum()).tolist():
            one, other = (members[several[place]][at] for at in generator.choice(len(members[several[place]]), 2, replace=False).tolist())
            rest = [index for index in range(len(several)) if index != place]
            else_where = members[several[rest[int(generator.integers(len(rest)))]]]
            a.append(one)
            b.append(other)
            c.append(else_where[int(generator.integers(len(else_where)))])
        return separated({"same": self._compare(a, b), "different": self._compare(a, c)})


def separated(classes: dict[str, np.ndarray]) -> Separated | None:
    """The figures of classes of similarities; those of fewer than four rows (three of few) are left out; None: fewer than two stay."""
    from scipy.stats import kruskal, mannwhitneyu

    least = 3 if sum(map(len, classes.values())) < _FEW_ROWS else 4
    kept = {label: values for label, values in classes.items() if len(values) >= least}
    rows = sum(map(len, kept.values()))
    if len(kept) < 2 or rows < _LEAST or np.ptp(np.concatenate(list(kept.values()))) == 0:
        return None
    means = [
        ClassMean(label, float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))
        for label, values in kept.items()
    ]
    means.sort(key=lambda one: one.mean)
    steps = tuple(float(mannwhitneyu(kept[a.label], kept[b.label]).pvalue) for a, b in pairwise(means))
    if len(kept) == 2:
        low, high = (kept[one.label] for one in means)
        return Separated(tuple(means), abs(2 * auc(high, low) - 1), steps[0], steps, rows)
    statistic, p = kruskal(*kept.values())
    effect = float(np.sqrt(max(0.0, (statistic - len(kept) + 1) / (rows - len(kept)))))
    return Separated(tuple(means), effect, float(p), steps, rows)


def auc(high: np.ndarray, low: np.ndarray) -> float:
    """The probability that a value of ``high`` is above one of ``low``; 0.5 where one of them is empty."""
    from scipy.stats import rankdata

    if not len(high) or not len(low):
        return 0.5
    ranks = rankdata(np.concatenate([high, low]))[: len(high)]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(high) * len(low)))


def similar_by(encode: Callable[[list[str]], np.ndarray]) -> Similar:
    """The cosines of an encoder that encodes each text but once, whatever pairs it stands in.

    Args:
        encode: gives (n, d) vectors of n texts; they are brought to length 1.
    """
    known: dict[bytes, np.ndarray] = {}

    def similar(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in (*first, *second)]
        new = {key: text for key, text in zip(keys, (*first, *second), strict=True) if key not in known}
        if new:
            vectors = np.asarray(encode(list(new.values())), dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            known.update(zip(new, vectors / np.where(lengths > 0, lengths, 1), strict=True))
        a, b = (np.stack([known[key] for key in part]) for part in (keys[: len(first)], keys[len(first) :]))
        cosines: np.ndarray = np.einsum("ij,ij->i", a, b).astype(np.float64)
        return cosines

    return similar
