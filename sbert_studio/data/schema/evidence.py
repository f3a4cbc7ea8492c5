"""Evidence from an embedding model: text similarity compared with every other column, on a sample of the rows."""

from __future__ import annotations

import hashlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...i18n import _
from .content import blank_missing
from .labels import BLANK, class_index
from .numbers import numbers_of, off_scale

if TYPE_CHECKING:
    from ..loading.table import Table

SimilarityFunction = Callable[[Sequence[str], Sequence[str]], np.ndarray]
"""Maps n texts and n other texts to (n,) cosines in [-1, 1]."""

Strength = Literal["strong", "some", "open", "none"]

UNNAMED_MODEL = "the model"
SAMPLE_ROWS, LARGER_SAMPLE_ROWS = 300, 900
_CATEGORY_ROWS = 20_000  # rows searched for texts of the same category
_NEIGHBOR_ROWS, _LEAST_NEIGHBOR_ROWS = 200, 40  # texts compared with each other
_LEAST_ROWS = 8  # minimum number of rows
_FEW_ROWS, _FAINT_P = 60, 0.1  # with so few rows, a one-sided p-value of 0.05 is enough
_LONGEST_TEXT = 200  # characters of each text that are compared: encoding whole paragraphs would take most of the time of a check


@dataclass(frozen=True, kw_only=True)
class Association(ABC):
    """Strength of a column's association with similarity.

    Attributes:
        effect: the effect size, in [0, 1].
        p: the probability of an effect at least as large by chance.
        rows: the number of rows it was computed on.
        model: the name of the model that computed the similarity.
    """

    effect: float
    p: float
    rows: int
    model: str = UNNAMED_MODEL
    none_below: ClassVar[float]

    @property
    def strength(self) -> Strength:
        """``strong``, ``some`` or ``none``; ``open`` with too few rows to decide."""
        if self.effect >= 0.3 and self.p < 1e-4:
            return "strong"
        if self.effect >= 0.15 and self.p < 1e-3:
            return "some"
        return "none" if self.effect < self.none_below and self.rows >= 150 else "open"

    @property
    def is_faint(self) -> bool:
        """True for the strongest evidence that a few rows can give; if it contradicts the interpretation, the user is asked."""
        return self.rows < _FEW_ROWS and self.p < _FAINT_P

    @abstractmethod
    def describe(self) -> str:
        """Return the figures in words, as a reason for a reading."""


@dataclass(frozen=True, kw_only=True)
class RankCorrelation(Association):
    """Spearman's rank correlation ``rho`` of a numeric column with the similarity; its effect is |rho|."""

    rho: float
    none_below = 0.15

    def describe(self) -> str:
        return _(
            "rank correlation {rho} with the similarity according to {model}, on {rows} rows",
            rho=f"{self.rho:.2f}",
            model=self.model,
            rows=self.rows,
        )


@dataclass(frozen=True)
class ClassMean:
    """Mean similarity of the pairs of one class, with its standard error."""

    label: str
    mean: float
    error: float
    rows: int

    def exceeds(self, other: ClassMean, errors: float) -> bool:
        """Return True if this mean exceeds another by more than ``errors`` standard errors."""
        return bool(self.mean - other.mean > errors * (self.error**2 + other.error**2) ** 0.5)

    def distance(self, other: ClassMean) -> float:
        """Return the difference to another mean in standard deviations (Cohen's d)."""
        spread = math.sqrt((self.error**2 * self.rows + other.error**2 * other.rows) / 2)
        return (self.mean - other.mean) / spread if spread else math.inf


@dataclass(frozen=True, kw_only=True)
class ClassSeparation(Association):
    """Differences in similarity between the classes of a column.

    The effect is |2 AUC − 1| for two classes, and the square root of the Kruskal–Wallis ε² for more.

    Attributes:
        means: the classes, least similar first.
        step_ps: p-values of the difference between each class and the next (Mann–Whitney).
    """

    means: tuple[ClassMean, ...]
    step_ps: tuple[float, ...]
    none_below = 0.2

    @property
    def order(self) -> tuple[str, ...]:
        """The classes, least similar first."""
        return tuple(one.label for one in self.means)

    @property
    def is_distinct(self) -> bool:
        """True if each class differs significantly from the next."""
        return all(p < 0.01 for p in self.step_ps)

    @property
    def is_graded(self) -> bool:
        """True if the classes differ as grades do, by more than contradiction, neutral and entailment.

        In standard deviations: adjacent classes by 0.85, the first and the last by 2.3. SICK's classes (neutral is the least similar)
        differ by 0.8 and 1.7, SNLI's by 0.8 and 1.9, and STSb's scores in three bins by about 0.9 and 2.6.
        """
        gaps = [high.distance(low) for low, high in pairwise(self.means)]
        return min(one.rows for one in self.means) >= 25 and min(gaps) >= 0.85 and self.means[-1].distance(self.means[0]) >= 2.3

    @property
    def alternative_orders(self) -> tuple[tuple[str, ...], ...]:
        """Orders that swap two adjacent classes (of three, any two) whose difference may be due to chance, least certain first."""
        ranked = sorted(range(len(self.step_ps)), key=lambda place: -self.step_ps[place])
        places = [place for place in ranked if self.step_ps[place] >= 0.01 or len(self.means) == 3][:3]
        order = self.order
        return tuple((*order[:place], order[place + 1], order[place], *order[place + 2 :]) for place in places if len(order) > 2)

    def mean_of(self, label: str) -> ClassMean | None:
        """Return the mean of one class; None if the sample has too few rows of it."""
        return next((one for one in self.means if one.label == label), None)

    def describe(self) -> str:
        means = ", ".join(f"{one.label or BLANK} {one.mean:.2f}" for one in self.means[:6])
        return (
            _("mean similarity according to {model}, on {rows} rows: {means}, …", model=self.model, rows=self.rows, means=means)
            if len(self.means) > 6
            else _("mean similarity according to {model}, on {rows} rows: {means}", model=self.model, rows=self.rows, means=means)
        )


@dataclass(frozen=True)
class NeighborAgreement:
    """Share of texts in a sample of ``rows`` whose nearest neighbor has the same category, and the share expected by chance."""

    share: float
    chance: float
    rows: int

    @property
    def is_clear(self) -> bool:
        """True if the share is far above chance."""
        error = (self.chance * (1 - self.chance) / self.rows) ** 0.5
        return (self.share - self.chance) / (1 - self.chance) >= 0.3 and self.share - self.chance > 6 * error

    @property
    def is_saturated(self) -> bool:
        """True if the model separates the categories so well that almost nothing is left to learn."""
        return self.is_clear and self.share >= 0.98

    def describe(self) -> str:
        return _(
            "the nearest neighbor has the same category for {share} of {rows} texts (expected by chance: {chance})",
            share=f"{self.share:.0%}",
            rows=self.rows,
            chance=f"{self.chance:.0%}",
        )


class Evidence:
    """Evenly spaced sample of a table's rows, compared by a model. Each comparison is computed once.

    Args:
        table: the file.
        similar: the similarity function of a model; None: every result is None.
        rows: the size of the sample.
    """

    def __init__(self, table: Table, similar: SimilarityFunction | None, rows: int = SAMPLE_ROWS) -> None:
        self.table, self.similar, self.rows = table, similar, rows
        self._known: dict[tuple[str, str, int], np.ndarray] = {}

    @property
    def model(self) -> str:
        return self.similar.model if isinstance(self.similar, EncoderSimilarity) else UNNAMED_MODEL

    @cached_property
    def sample(self) -> Table:
        return self.table.select(_spread(len(self.table), self.rows))

    @cached_property
    def larger(self) -> Evidence:
        """Evidence from up to three times as many rows."""
        more = self.rows < LARGER_SAMPLE_ROWS and len(self.table) > self.rows
        return Evidence(self.table, self.similar, LARGER_SAMPLE_ROWS) if more else self

    def cells(self, name: str) -> list[str]:
        """Return the stripped cells of a column in the sample."""
        return [cell.strip() for cell in self.sample.column(name)]

    def cosines(self, first: str, second: str, shift: int = 0) -> np.ndarray:
        """Return the similarity of two columns, (rows,), the second shifted by ``shift`` rows; NaN where a text is blank."""
        if (key := (first, second, shift)) not in self._known:
            a, b = (blank_missing(self.cells(name)) for name in (first, second))
            self._known[key] = self.compare(a, b[shift:] + b[:shift])
        return self._known[key]

    def compare(self, a: Sequence[str], b: Sequence[str]) -> np.ndarray:
        """Return the similarity of n texts with n others, (n,); NaN where a text is blank."""
        assert self.similar is not None
        found = np.full(len(a), np.nan)
        places = [place for place, (x, y) in enumerate(zip(a, b, strict=True)) if x and y]
        if places:
            found[places] = self.similar([a[place][:_LONGEST_TEXT] for place in places], [b[place][:_LONGEST_TEXT] for place in places])
        return found

    def rank_correlation(self, texts: Sequence[str], target: str, *, as_written: bool = False) -> RankCorrelation | None:
        """Correlate a numeric column with the similarity of two text columns; missing-value codes are skipped."""
        if self.similar is None:
            return None
        numbers = numbers_of(self.cells(target), as_written=as_written)
        if (outside := off_scale(numbers)).any():
            numbers = np.where(outside, np.nan, numbers)
        good = ~np.isnan(cosines := self.cosines(texts[0], texts[1])) & ~np.isnan(numbers)
        if good.sum() < _LEAST_ROWS or np.ptp(numbers[good]) == 0 or np.ptp(cosines[good]) == 0:
            return None
        from scipy.stats import spearmanr

        rho, p = spearmanr(numbers[good], cosines[good])
        return RankCorrelation(rho=float(rho), effect=abs(float(rho)), p=float(p), rows=int(good.sum()), model=self.model)

    def class_separation(self, texts: Sequence[str], target: str, classes: Sequence[str]) -> ClassSeparation | None:
        """Compare the similarity of two text columns between the classes of a third column; cells without a class are skipped."""
        if self.similar is None:
            return None
        cosines, cells = self.cosines(texts[0], texts[1]), self.cells(target)
        place = {cell: class_index(cell, classes) for cell in set(cells)}
        members: dict[str, list[float]] = {}
        for cell, cosine in zip(cells, cosines.tolist(), strict=True):
            if place[cell] >= 0 and not math.isnan(cosine):
                members.setdefault(classes[place[cell]], []).append(cosine)
        return separate({name: np.array(values) for name, values in members.items()}, self.model)

    def alignment(self, first: str, second: str) -> float | None:
        """Return how much more similar two columns are row by row than after shuffling, as an AUC: 0.5 if they are unrelated."""
        if self.similar is None or len(self.sample) < _LEAST_ROWS:
            return None
        # Avoid shifting by half of the rows: a file may contain the same texts twice.
        straight, shifted = self.cosines(first, second), self.cosines(first, second, max(1, round(0.382 * len(self.sample))))
        return _auc(straight[~np.isnan(straight)], shifted[~np.isnan(shifted)])

    def positive_share(self, anchor: str, positive: str, negative: str) -> float | None:
        """Return the share of rows whose anchor is more similar to the positive than to the negative."""
        if self.similar is None:
            return None
        gaps = self.cosines(anchor, positive) - self.cosines(anchor, negative)
        gaps = gaps[~np.isnan(gaps)]
        return float((gaps > 0).mean()) if len(gaps) >= _LEAST_ROWS else None

    def category_separation(self, text: str, category: str) -> ClassSeparation | None:
        """Compare pairs of texts from the ``same`` category and from ``different`` ones; None if no two categories have two texts each."""
        if self.similar is None:
            return None
        part = self.table.select(_spread(len(self.table), _CATEGORY_ROWS))
        members: dict[str, list[str]] = {}
        for cell, name in zip(part.column(text), part.column(category), strict=True):
            if cell.strip() and name.strip():
                members.setdefault(name.strip(), []).append(cell.strip())
        generator = np.random.default_rng(12)
        several = [name for name in members if len(set(members[name])) > 1]
        if len(several) < 2:
            return None
        sizes = np.array([len(members[name]) for name in several], dtype=float)
        triples = []
        for place in generator.choice(len(several), min(self.rows, int(sizes.sum())) // 2, p=sizes / sizes.sum()).tolist():
            own = members[several[place]]
            one, same = (own[at] for at in generator.choice(len(own), 2, replace=False).tolist())
            index = int(generator.integers(len(several) - 1))
            other = members[several[index + (index >= place)]]
            triples.append((one, same, other[int(generator.integers(len(other)))]))
        a, b, c = zip(*triples, strict=True)
        return separate({"same": self.compare(a, b), "different": self.compare(a, c)}, self.model)

    def neighbor_agreement(self, text: str, category: str) -> NeighborAgreement | None:
        """Return how often the nearest neighbor of a text has the same category; None without a model or with too few texts."""
        if self.similar is None:
            return None
        rows = list({a: b for a, b in zip(self.cells(text), self.cells(category), strict=True) if a and b}.items())
        rows = [rows[place] for place in _spread(len(rows), _NEIGHBOR_ROWS)]
        number = len(rows)
        if number < _LEAST_NEIGHBOR_ROWS:
            return None
        texts, categories = [one for one, _ in rows], np.array([name for _, name in rows])
        a, b = np.triu_indices(number, 1)
        cosines = np.full((number, number), -np.inf)
        cosines[a, b] = cosines[b, a] = self.compare([texts[place] for place in a.tolist()], [texts[place] for place in b.tolist()])
        nearest = np.nan_to_num(cosines, nan=-np.inf).argmax(axis=1)
        _, counts = np.unique(categories, return_counts=True)
        chance = float((counts * (counts - 1)).sum() / (number * (number - 1)))
        return NeighborAgreement(float((categories == categories[nearest]).mean()), chance, number)


_TIMED_TEXTS = 16


class EncoderSimilarity:
    """Cosine similarity function of an encoder, which encodes each text only once.

    Args:
        encode: maps n texts to (n, d) vectors, which are then normalized.
        model: the name of the model.
    """

    def __init__(self, encode: Callable[[list[str]], np.ndarray], model: str = UNNAMED_MODEL) -> None:
        self.encode, self.model = encode, model
        self.seconds_per_character = 0.0  # of the fastest call with enough texts; 0 before: the first call also warms up
        self._known: dict[bytes, np.ndarray] = {}

    @property
    def count(self) -> int:
        """Number of texts that were encoded."""
        return len(self._known)

    def __call__(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Return the cosines of n texts with n others, (n,) in [-1, 1]."""
        known = self._known
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in (*first, *second)]
        new = {key: text for key, text in zip(keys, (*first, *second), strict=True) if key not in known}
        if new:
            began = time.perf_counter()
            vectors = np.asarray(self.encode(list(new.values())), dtype=np.float32)
            self._note_speed(list(new.values()), time.perf_counter() - began)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            known.update(zip(new, vectors / np.where(lengths > 0, lengths, 1), strict=True))
        a, b = (np.stack([known[key] for key in part]) for part in (keys[: len(first)], keys[len(first) :]))
        cosines: np.ndarray = np.einsum("ij,ij->i", a, b).astype(np.float64)
        return cosines

    def _note_speed(self, texts: Sequence[str], seconds: float) -> None:
        characters = sum(map(len, texts))
        if len(texts) >= _TIMED_TEXTS and characters:
            rate = seconds / characters
            self.seconds_per_character = min(rate, self.seconds_per_character or rate)


def separate(classes: dict[str, np.ndarray], model: str = UNNAMED_MODEL) -> ClassSeparation | None:
    """Compare the similarities of classes; classes with fewer than four rows (three in a small sample) are skipped."""
    from scipy.stats import kruskal, mannwhitneyu

    least = 3 if sum(map(len, classes.values())) < _FEW_ROWS else 4
    kept = {label: values for label, values in classes.items() if len(values) >= least}
    rows = sum(map(len, kept.values()))
    if len(kept) < 2 or rows < _LEAST_ROWS or np.ptp(np.concatenate(list(kept.values()))) == 0:
        return None
    means = [
        ClassMean(label, float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))
        for label, values in kept.items()
    ]
    means.sort(key=lambda one: one.mean)
    steps = tuple(float(mannwhitneyu(kept[a.label], kept[b.label]).pvalue) for a, b in pairwise(means))
    if len(kept) == 2:
        low, high = (kept[one.label] for one in means)
        effect, p = abs(2 * _auc(high, low) - 1), steps[0]
    else:
        statistic, p = kruskal(*kept.values())
        effect = float(np.sqrt(max(0.0, (statistic - len(kept) + 1) / (rows - len(kept)))))
    return ClassSeparation(means=tuple(means), effect=effect, p=float(p), step_ps=steps, rows=rows, model=model)


def _auc(high: np.ndarray, low: np.ndarray) -> float:
    from scipy.stats import rankdata

    if not len(high) or not len(low):
        return 0.5
    ranks = rankdata(np.concatenate([high, low]))[: len(high)]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(high) * len(low)))


def _spread(number: int, most: int) -> np.ndarray:
    return np.linspace(0, number - 1, min(most, number)).astype(np.int64) if number else np.array([], np.int64)
