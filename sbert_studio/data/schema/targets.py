"""Target columns: candidates for the scores or labels of pairs and for the categories of texts, rated by name, values and a model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import StudioError
from ...i18n import _
from .content import ColumnProfile
from .evidence import UNNAMED_MODEL, Association, ClassSeparation, Evidence, NeighborAgreement, RankCorrelation
from .labels import find_classes, is_blank_class, order_by_words
from .names import (
    COMBINED_RATING,
    LABEL,
    SCORE,
    NameRating,
    has_open_direction,
    is_numbering_name,
    is_spread_name,
    is_topic_name,
    rate_category_name,
    rate_target_name,
    split_words,
)
from .numbers import numbers_of

_NAME_SCORES: dict[NameRating, float] = {"certain": 3.0, "likely": 2.0, "unknown": 0.0, "mixed": -1.0, "never": -4.0}
_PAIR_EVIDENCE = {"strong": 3.0, "some": 1.5, "open": 0.0, "none": -1.5}
_CATEGORY_EVIDENCE = {"strong": 3.0, "some": 1.5, "open": 0.0, "none": -0.5}
_CLASSES = 12
_CLOSE = 0.5  # minimum effect that outweighs a column's name
_COMBINED = 0.8  # points for the mean of several ratings
_FEW_NUMBERS = 30

_LEAST_ROWS = 20  # fewer could match by chance
_SAME, _CORRELATED = 0.98, 0.99
_ROUNDING = 0.011  # share of the range: for marks from 0 to 5, means rounded to one decimal


@dataclass(frozen=True)
class ColumnHypothesis:
    """A column that may contain the scores, labels or categories of given texts.

    Attributes:
        column: its name.
        rating: the rating of its name.
        name_score, value_score, model_score: points for its name, its values, and the model's evidence.
        association: its association with the similarity of the texts; None if not computed.
    """

    column: str
    rating: NameRating
    name_score: float
    value_score: float
    model_score: float
    association: Association | None

    @property
    def score(self) -> float:
        return self.name_score + self.value_score + self.model_score

    @property
    def effect(self) -> float:
        return 0.0 if self.association is None else self.association.effect


# --- scores and labels of pairs


@dataclass(frozen=True)
class PairTarget(ColumnHypothesis):
    """A column that may contain the scores (``is_scores``) or labels of pairs."""

    is_scores: bool = False

    @property
    def is_contradicted(self) -> bool:
        """True if the name suggests a score, but on enough rows the values are unrelated to the similarity of the texts."""
        return self.is_scores and isinstance(self.association, RankCorrelation) and self.association.strength == "none"

    @property
    def is_certain(self) -> bool:
        if self.rating == "certain":
            return not self.is_contradicted
        if self.rating == "likely":
            return self.model_score >= 0 and (self.value_score > 0 or (self.is_scores and self.effect >= _CLOSE))
        return self.model_score >= _PAIR_EVIDENCE["strong"]


def find_pair_targets(
    profiles: Sequence[ColumnProfile], texts: tuple[str, str], evidence: Evidence, *, is_inference: bool = False
) -> list[PairTarget]:
    """Return the columns that may contain scores or labels of two text columns, most likely first, ties in table order."""
    rated = (_rate_pair_target(one, texts, evidence, is_inference) for one in profiles if one.name not in texts and one.filled)
    found = _prefer_means([one for one in rated if one is not None], evidence)
    return sorted(found, key=lambda one: (-round(one.score, 1), not one.is_scores))


def reads_as_scores(profile: ColumnProfile, is_inference: bool = False) -> bool:
    """Return True if a numeric column contains scores. Two values, inference labels 0–2, and up to three integer labels are classes."""
    if not profile.is_number:
        return False
    values = {value for value in numbers_of(sorted(profile.values)).tolist() if not math.isnan(value)}
    if not values:
        return True
    if values <= {0.0, 1.0} or values <= {-1.0, 1.0} or (is_inference and 2.0 in values and values <= {-1.0, 0.0, 1.0, 2.0}):
        return len(values) == 1 and profile.key in SCORE
    if len(values) > 3 or any(value % 1 for value in values):
        return True
    return len(values) != 2 and profile.key not in LABEL and "label" not in split_words(profile.name)


def _rate_pair_target(profile: ColumnProfile, texts: tuple[str, str], evidence: Evidence, is_inference: bool) -> PairTarget | None:
    if profile.is_split or profile.is_language or profile.is_code:
        return None
    rating = rate_target_name(profile.name)
    if rating == "never" and profile.has_few_answers and is_numbering_name(profile.name):
        rating = "unknown"  # the answers to question number 3, not row numbers
    target = PairTarget(profile.name, rating, _rate_name(profile, rating, evidence), 0.0, 0.0, None)
    if profile.distinct == 1 and is_blank_class(evidence.table.column(profile.name)):
        target = replace(target, value_score=1.0, association=_separation(profile.name, texts, evidence))
    elif profile.is_number:
        scored = _rate_numbers(target, profile, texts, evidence, is_inference)
        if scored is None:
            return None
        target = scored
    elif profile.is_text and not profile.is_inference and not (profile.has_few_values and profile.words <= 6):
        return None
    else:
        words = order_by_words(sorted(profile.values)) if len(profile.values) <= _CLASSES else None
        separation = _separation(profile.name, texts, evidence) if profile.distinct <= 4 * _CLASSES else None
        if words is not None and words.family == "relations" and rating in ("certain", "likely"):
            separation = None  # different relations may be equally similar
        target = replace(target, value_score=_rate_classes(profile, words is not None), association=separation)
    name_score, found = target.name_score, target.association
    model_score = 0.0 if found is None else _PAIR_EVIDENCE[found.strength]
    if target.rating == "never" and found is not None and found.strength == "strong" and found.effect >= _CLOSE:
        name_score = _NAME_SCORES["never"] / 2  # enough to be asked about, never to be used
    if profile.is_named_text and not profile.is_number and not profile.is_inference:
        name_score -= 1.0
    if target.is_scores and target.rating in ("certain", "likely"):
        name_score += 1.2  # scores take precedence over labels
    return replace(target, name_score=name_score, model_score=model_score)


def _rate_name(profile: ColumnProfile, rating: NameRating, evidence: Evidence) -> float:
    is_exact = profile.key in SCORE | LABEL
    is_spread = is_spread_name(profile.name)
    score = _NAME_SCORES[rating] - 1.0 * (is_spread and rating == "mixed")
    if rating == "mixed" and evidence.similar is None and not is_spread:
        score = 0.0  # no model to decide, so the user is asked
    if rating == "likely":
        score += 0.5 * bool(set(split_words(profile.name)) & COMBINED_RATING) + 0.3 * is_exact
    if rating in ("unknown", "likely") and not is_exact and is_topic_name(profile.name):
        score -= 2.0  # a topic next to pairs is a group
    return score


def _rate_numbers(
    target: PairTarget, profile: ColumnProfile, texts: tuple[str, str], evidence: Evidence, is_inference: bool
) -> PairTarget | None:
    found = evidence.rank_correlation(texts, profile.name)
    if target.rating != "certain":
        cells = evidence.cells
        if _follows_lengths(cells(texts[0]), cells(texts[1]), numbers_of(cells(profile.name))):
            target, found = replace(target, name_score=_NAME_SCORES["never"]), None
    is_close = found is not None and found.strength == "strong" and found.effect >= _CLOSE
    is_numbering = profile.is_consecutive and target.rating != "certain" and not has_open_direction(profile.name)
    if is_numbering or (profile.is_sequence and profile.filled > 30 and not is_close):
        return None
    target = replace(target, is_scores=reads_as_scores(profile, is_inference), value_score=_rate_number_values(profile), association=found)
    if found is None or target.rating != "mixed":
        return target
    # The name suggests both a score and something else: the model decides.
    if is_close and has_open_direction(profile.name):
        return replace(target, rating="likely", name_score=0.0, value_score=1.0)  # ranks
    if is_close:
        return replace(target, value_score=max(target.value_score, 0.0))
    if found.strength == "open" and not is_spread_name(profile.name):
        return replace(target, name_score=max(target.name_score, 0.0))  # too few rows to decide, so the user is asked
    return target


def _rate_number_values(profile: ColumnProfile) -> float:
    if profile.least == profile.most or profile.is_year:
        return -2.0
    tops = [float(re.sub(r"[.,' ]", "", number)) for number in re.findall(r"\d{1,3}(?:[.,' ]?000)+|\d+", profile.name)]
    reaches_named_top = profile.most > 100 and any(0.9 * top <= profile.most <= top for top in tops)  # score out of 10,000
    if profile.is_whole and not reaches_named_top and (profile.most > 1000 or profile.distinct > 0.9 * profile.filled > 30):
        return -2.0
    if reaches_named_top and profile.least >= 0:
        return 1.0
    if profile.least >= -1.0 - 1e-3 and profile.most <= 10.0 + 1e-3:
        return 1.0
    return 1.0 if profile.least >= 0 and profile.most <= 100.0 + 1e-3 and profile.most - profile.least > 10 else 0.0


def _rate_classes(profile: ColumnProfile, has_known_words: bool) -> float:
    if profile.distinct < 2:
        return -2.0
    if has_known_words or profile.is_inference:
        return 2.0
    if profile.distinct <= _CLASSES:
        return 1.0 if profile.distinct <= 5 else 0.7
    return -0.5 if profile.distinct <= 3 * _CLASSES else -2.0


def _separation(name: str, texts: tuple[str, str], evidence: Evidence) -> ClassSeparation | None:
    try:
        return evidence.class_separation(texts, name, find_classes(evidence.table.column(name)))
    except StudioError:
        return None


# --- numbers computed from other columns


def find_means(columns: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """Map columns that are the mean, median or sum of at least two others to those others; each column is (n,) numbers."""
    found: dict[str, tuple[str, ...]] = {}
    for name, numbers in columns.items():
        for parts in _group_raters([other for other in columns if other != name]):
            ratings = np.stack([columns[part] for part in parts])
            good = ~np.isnan(ratings).any(axis=0) & ~np.isnan(numbers)
            if name not in found and good.sum() >= _LEAST_ROWS and _is_mean(numbers[good], ratings[:, good]):
                found[name] = parts
    return found


def _is_mean(numbers: np.ndarray, ratings: np.ndarray) -> bool:
    spans = np.ptp(ratings, axis=1)
    if spans.max() > 2 * spans.min():
        return False
    return any(
        measure(made, numbers) >= least and all(measure(rating, numbers) < least for rating in ratings)
        for made in (ratings.mean(axis=0), np.median(ratings, axis=0))
        for measure, least in ((_correlation, _CORRELATED), (_share_equal, _SAME))
    )


def _prefer_means(targets: list[PairTarget], evidence: Evidence) -> list[PairTarget]:
    # A column that is the mean of several others takes precedence over them, regardless of its name.
    scores = {one.column: numbers_of(evidence.cells(one.column)) for one in targets if one.is_scores and one.rating != "never"}
    means = find_means(scores) if len(scores) > 2 else {}
    ratings = {part: one for one in targets for part in [one.column] if any(part in parts for parts in means.values())}
    for place, one in enumerate(targets):
        if one.column in means:
            own, rating, score = [ratings[part] for part in means[one.column]], one.rating, one.name_score
            if rating == "unknown" and all(rater.rating == "likely" for rater in own):
                rating, score = "likely", max(score, *(rater.name_score for rater in own))
            targets[place] = replace(one, rating=rating, name_score=score + _COMBINED)
        elif one.column in ratings:
            targets[place] = replace(one, name_score=one.name_score - _COMBINED)
    return targets


def _follows_lengths(first: Sequence[str], second: Sequence[str], numbers: np.ndarray) -> bool:
    # Numbers derived from the lengths of a row's texts: their characters or words, added, subtracted or divided.
    good = ~np.isnan(numbers)
    if good.sum() < _LEAST_ROWS or np.ptp(numbers[good]) == 0:
        return False
    from scipy.stats import rankdata

    ranks = rankdata(numbers[good])
    for size in (len, lambda text: len(text.split())):
        a, b = (np.array([size(text) for text in texts], dtype=np.float64) for texts in (first, second))
        shorter, longer = np.minimum(a, b), np.maximum(a, b)
        for made in (a, b, a + b, a - b, longer - shorter, longer, shorter, shorter / np.maximum(longer, 1)):
            if abs(_correlation(rankdata(made[good]), ranks)) >= _SAME:
                return True
    return False


def _group_raters(names: Sequence[str]) -> list[tuple[str, ...]]:
    # Names that differ only in their suffix (rater_1, rater_2), and all names.
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(name.rstrip("0123456789").rstrip("ABCDEFabcdef _-.#").casefold() or name, []).append(name)
    return list(dict.fromkeys(tuple(group) for group in (*stems.values(), names) if len(group) > 1))


def _share_equal(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.mean(np.abs(a - b) <= _ROUNDING * np.ptp(b)))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if len(a) > 1 and np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


# --- categories of texts


@dataclass(frozen=True)
class CategoryTarget(ColumnHypothesis):
    """A column that may contain the categories of texts.

    Attributes:
        classes: the number of categories.
        neighbors: how often nearest neighbors share a category; None if not computed.
        model: the name of the model.
    """

    classes: int = 0
    neighbors: NeighborAgreement | None = None
    model: str = UNNAMED_MODEL

    @property
    def is_cohesive(self) -> bool:
        """True if, according to the model, texts in the same category are more similar than others."""
        return isinstance(self.association, ClassSeparation) and self.association.order[-1] == "same"

    @property
    def is_certain(self) -> bool:
        """True if no question is needed: name and model agree, or the model is very certain."""
        if self.association is None or not self.is_cohesive:
            return False
        has_clear_neighbors = self.neighbors is not None and self.neighbors.is_clear
        if self.rating == "certain":
            return (self.effect >= 0.08 and self.association.p < 0.01) or has_clear_neighbors
        if has_clear_neighbors and self.rating in ("unknown", "likely"):
            return True
        return self.effect >= 0.6 and self.association.strength == "strong"

    @property
    def is_favored(self) -> bool:
        """True if name or model suggests that texts in the same category are similar, and neither contradicts it."""
        if self.association is None:
            return self.rating in ("certain", "likely")
        return self.is_cohesive and self.association.p < 0.01 and self.rating != "mixed"

    def describe(self) -> str:
        if not isinstance(self.association, ClassSeparation):
            return _("{column}: no model was used", column=self.column)
        if self.neighbors is not None and self.neighbors.is_clear:
            return _(
                "{column}: according to {model}, {neighbors}", column=self.column, model=self.model, neighbors=self.neighbors.describe()
            )
        means = {one.label: one.mean for one in self.association.means}
        return _(
            "{column}: according to {model}, the similarity of two texts is {same} within a category and {different} between categories",
            column=self.column,
            model=self.model,
            same=f"{means['same']:.2f}",
            different=f"{means['different']:.2f}",
        )

    @property
    def saturation(self) -> str:
        """A sentence if the model already separates the categories; else empty."""
        if self.neighbors is None or not self.neighbors.is_saturated:
            return ""
        share, rows = self.neighbors.share, self.neighbors.rows
        return _(
            "{model} already separates the categories of {column} (the nearest neighbor of {share} of {rows} "
            "texts is in the same category), so training on them can hardly improve it: train on examples that it"
            " confuses, such as categories that overlap on the map",
            model=self.model,
            column=repr(self.column),
            share=f"{share:.0%}",
            rows=rows,
        )


def find_categories(profiles: Sequence[ColumnProfile], text: str, evidence: Evidence) -> list[CategoryTarget]:
    """Return the columns that may contain the categories of a text column, most likely first."""
    found = [rated for one in profiles if one.name != text and (rated := _rate_category(one, text, evidence)) is not None]
    return sorted(found, key=lambda one: (-round(one.score, 1), -one.effect))


def _rate_category(profile: ColumnProfile, text: str, evidence: Evidence) -> CategoryTarget | None:
    rating = rate_category_name(profile.name)
    if rating == "never" and profile.has_paths:
        rating = "unknown"
    if not _can_be_categories(profile, rating):
        return None
    if rating == "never" and not (evidence.similar is not None and profile.distinct <= _FEW_NUMBERS and profile.has_few_values):
        return None
    found = evidence.category_separation(text, profile.name)
    if found is None and evidence.similar is not None:
        return None  # fewer than two values have two texts each
    if found is not None and rating != "certain" and found.strength != "strong" and evidence.larger is not evidence:
        found = evidence.larger.category_separation(text, profile.name)
    neighbors = evidence.neighbor_agreement(text, profile.name)
    is_clear = neighbors is not None and neighbors.is_clear
    if profile.is_code and rating not in ("certain", "likely") and not is_clear:
        return None  # order, customer or machine numbers may repeat as well
    if rating == "never" and not is_clear:
        return None
    model_score = 0.0
    if is_clear:
        model_score = _CATEGORY_EVIDENCE["strong"]
    elif found is not None:
        model_score = _CATEGORY_EVIDENCE[found.strength] if found.order[-1] == "same" else -1.5
    name_score, value_score = _NAME_SCORES[rating], 0.5
    if rating == "unknown" and (found is None or found.strength == "open"):
        value_score += 0.9  # no evidence against it
    if rating == "never":
        name_score, value_score = _NAME_SCORES["never"] / 2, 0.0  # enough to be asked about, never to be used
    return CategoryTarget(profile.name, rating, name_score, value_score, model_score, found, profile.distinct, neighbors, evidence.model)


def _can_be_categories(profile: ColumnProfile, rating: NameRating) -> bool:
    if profile.is_split or profile.is_language or profile.is_sequence or profile.is_year:
        return False
    if not 2 <= profile.distinct <= profile.filled / 2:
        return False
    if profile.is_number:
        is_small = rating in ("certain", "likely") or profile.distinct <= _FEW_NUMBERS
        return profile.is_whole and is_small and profile.distinct <= max(2, 0.2 * profile.filled)
    return profile.is_category or ((rating == "certain" or profile.has_paths) and profile.words <= 8)
