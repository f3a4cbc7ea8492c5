"""Which column holds the scores or the labels: each is weighed by its name, by what it holds, and by what a model says."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import StudioError
from ..evidence.apart import Ranked, Separated
from ..evidence.similarity import Evidence
from ..lexicon.label_words import order_by_words
from ..lexicon.name_lexicon import LABEL, SCORE
from ..lexicon.vocabulary import Standing, either_way, is_spread, is_topic, numbers_rows, parts, target_standing
from ..values.derived import means, of_lengths
from ..values.profile import ColumnProfile, numbers_of
from ..values.scales import blank_is_a_class, classes_of

_NAMES: dict[Standing, float] = {"certain": 3.0, "likely": 2.0, "unknown": 0.0, "mixed": -1.0, "never": -4.0}
_EVIDENCE = {"strong": 3.0, "some": 1.5, "open": 0.0, "none": -1.5}
_COMBINED = frozenset(
    [
        "mean",
        "avg",
        "average",
        "median",
        "gold",
        "final",
        "consensus",
        "human",
        "majority",
        "mos",
        "mittel",
        "mittelwert",
        "moyenne",
        "media",
        "promedio",
        "среднее",
        "平均",
        "均值",
    ]
)
ENOUGH = 2.4  # what makes a target
WORTH_ASKING = 0.9
_CLASSES = 12
_DESPITE_ITS_NAME = 0.5
_OF_A_MEAN = 0.8


@dataclass(frozen=True)
class Target:
    """A column that may hold scores or labels.

    Attributes:
        name: the column.
        scores: whether it would be read as scores; else as labels.
        standing: what its name says.
        names, values, evidence: what speaks for it; see :attr:`total`.
        said: what the model says, None where it was not asked or has nothing to say.
    """

    name: str
    scores: bool
    standing: Standing
    names: float
    values: float
    evidence: float
    said: Ranked | Separated | None = None

    @property
    def total(self) -> float:
        """The three together; from :data:`ENOUGH` on it is a target."""
        return self.names + self.values + self.evidence

    @property
    def size(self) -> float:
        """How closely it follows the similarity, in [0, 1]."""
        return _size(self.said)

    @property
    def contradicted(self) -> bool:
        """Whether it is called a score, and the model, on rows enough, finds it has nothing to do with how alike the texts are."""
        return self.scores and isinstance(self.said, Ranked) and self.said.strength == "none"

    @property
    def certain(self) -> bool:
        """Whether it need not be asked for."""
        if self.standing == "certain":
            return not self.contradicted
        if self.standing == "likely":
            return self.evidence >= 0 and (self.values > 0 or (self.scores and self.size >= _DESPITE_ITS_NAME))
        return self.evidence >= _EVIDENCE["strong"]


def _size(said: Ranked | Separated | None) -> float:
    if said is None:
        return 0.0
    return abs(said.rho) if isinstance(said, Ranked) else said.effect


def find_targets(profiles: Sequence[ColumnProfile], texts: tuple[str, str], evidence: Evidence, *, inference: bool = False) -> list[Target]:
    """Every column beside the texts that could be one, the likeliest first; those of one weight as they stand in the table.

    Args:
        profiles: every column.
        texts: the two columns of text.
        evidence: what a model says.
        inference: the texts are premise and hypothesis.
    """
    found = []
    for profile in profiles:
        if profile.name in texts or not profile.filled:
            continue
        one = _weighed(profile, texts, evidence, inference)
        if one is not None:
            found.append(one)
    found = _with_means(found, evidence)
    return sorted(found, key=lambda one: (-round(one.total, 1), not one.scores))


def _with_means(found: list[Target], evidence: Evidence) -> list[Target]:
    """The column that is the mean of several others stands before them, whatever it is called; they are what it was made of."""
    scores = {one.name: numbers_of(evidence.cells(one.name)) for one in found if one.scores and one.standing != "never"}
    made = means(scores) if len(scores) > 2 else {}
    known = {one.name: one for one in found}
    parts = {part for name in made for part in made[name]}
    return [
        _mean_of(one, [known[part] for part in made[one.name]])
        if one.name in made
        else replace(one, names=one.names - _OF_A_MEAN)
        if one.name in parts
        else one
        for one in found
    ]


def _mean_of(one: Target, marks: Sequence[Target]) -> Target:
    """A mean is worth more than its marks; where they all are called scores by several people, it is what they say together."""
    if one.standing == "unknown" and all(mark.standing == "likely" for mark in marks):
        best = max(mark.names for mark in marks)
        return replace(one, standing="likely", names=max(one.names, best) + _OF_A_MEAN)
    return replace(one, names=one.names + _OF_A_MEAN)


def reads_as_scores(profile: ColumnProfile, inference: bool = False) -> bool:
    """Whether a column of numbers holds scores; 0 and 1 (or −1 and 1), inference's 0, 1, 2, and up to three whole labels make classes."""
    if not profile.is_number:
        return False
    values = _numbers(profile)
    if values is None:
        return True
    inference_numbers = inference and 2.0 in values and values <= {-1.0, 0.0, 1.0, 2.0}
    if values <= {0.0, 1.0} or values <= {-1.0, 1.0} or inference_numbers:
        return len(values) == 1 and profile.key in SCORE
    whole = len(values) <= 3 and all(value % 1 == 0 for value in values)
    if whole and len(values) == 2:
        return False  # two answers, whatever they are called
    return not (whole and (profile.key in LABEL or "label" in parts(profile.name)))


def _numbers(profile: ColumnProfile) -> set[float] | None:
    """The different numbers of a column of few values."""
    return {value for value in numbers_of(sorted(profile.values)).tolist() if not math.isnan(value)} or None


def _weighed(profile: ColumnProfile, texts: tuple[str, str], evidence: Evidence, inference: bool) -> Target | None:
    if profile.is_split or profile.is_language or profile.codes:
        return None
    standing = _standing(profile)
    names = _by_name(profile, standing, evidence)
    if profile.distinct == 1 and blank_is_a_class(evidence.table.column(profile.name)):
        scores, values = False, 1.0
        said: Ranked | Separated | None = _separated(profile.name, texts, evidence)
    elif profile.is_number:
        said = evidence.ranked(texts, profile.name)
        if standing != "certain" and _computed(profile, texts, evidence):
            names, said = _NAMES["never"], None
        follows = said is not None and said.strength == "strong" and _size(said) >= _DESPITE_ITS_NAME
        if profile.sequence and profile.filled > 30 and not follows:
            return None
        scores, values = reads_as_scores(profile, inference), _of_numbers(profile)
        standing, names, values = _of_two_minds(profile, standing, said, names, values)
    else:
        if profile.is_text and not profile.nli and not (profile.few and profile.words <= 6):
            return None
        words = order_by_words(sorted(profile.values)) if len(profile.values) <= _CLASSES else None
        scores, values = False, _of_classes(profile, words is not None)
        said = _separated(profile.name, texts, evidence) if profile.distinct <= 4 * _CLASSES else None
        if words is not None and words.family == "relations" and standing in ("certain", "likely"):
            said = None  # kinds of relations need not differ in how alike the texts are
    weight = _EVIDENCE[said.strength] if said is not None else 0.0
    if standing == "never" and weight == _EVIDENCE["strong"] and _size(said) >= _DESPITE_ITS_NAME:
        names = _NAMES["never"] / 2  # enough to be asked for, never to be read without
    if profile.named_text and not profile.is_number and not profile.nli:
        names -= 1.0
    # Scores come before the labels beside them.
    return Target(profile.name, scores, standing, names + 1.2 * (scores and standing in ("certain", "likely")), values, weight, said)


def _of_two_minds(
    profile: ColumnProfile, standing: Standing, said: Ranked | None, names: float, values: float
) -> tuple[Standing, float, float]:
    """What name and values of numbers are worth where the name says both a score and something else, by what the model finds."""
    if said is None or standing != "mixed":
        return standing, names, values
    follows = said.strength == "strong" and _size(said) >= _DESPITE_ITS_NAME
    if follows and either_way(profile.name):
        return "likely", 0.0, 1.0  # places in a ranking
    if follows:
        return standing, names, max(values, 0.0)  # enough to be asked for, however unlike a score its numbers look
    if said.strength == "open" and not is_spread(profile.name):
        return standing, max(names, 0.0), values  # too few rows for the model to tell, so that its owner is asked
    return standing, names, values


def _standing(profile: ColumnProfile) -> Standing:
    """What a column's name says; of one called a number or a key that holds a few answers over and over, nothing."""
    standing = target_standing(profile.name)
    return "unknown" if standing == "never" and profile.answers and numbers_rows(profile.name) else standing


def _by_name(profile: ColumnProfile, standing: Standing, evidence: Evidence) -> float:
    exactly = profile.key in SCORE | LABEL
    names = _NAMES[standing] - 1.0 * (is_spread(profile.name) and standing == "mixed")
    if standing == "mixed" and evidence.similar is None and not is_spread(profile.name):
        names = 0.0  # nobody was asked who could tell, so that its owner is
    names += 0.5 * bool(set(parts(profile.name)) & _COMBINED) * (standing == "likely") + 0.3 * (exactly and standing == "likely")
    if standing in ("unknown", "likely") and not exactly and is_topic(profile.name):
        names -= 2.0  # a topic beside pairs is a group
    return names


def _computed(profile: ColumnProfile, texts: tuple[str, str], evidence: Evidence) -> bool:
    """Whether a column was computed from the texts' lengths."""
    return of_lengths(evidence.cells(texts[0]), evidence.cells(texts[1]), numbers_of(evidence.cells(profile.name)))


def _separated(name: str, texts: tuple[str, str], evidence: Evidence) -> Separated | None:
    try:
        return evidence.separated(texts, name, classes_of(evidence.table.column(name)))
    except StudioError:
        return None


def _of_numbers(profile: ColumnProfile) -> float:
    """What numbers themselves say: scores lie on a scale; years, counts and times do not."""
    if profile.least == profile.most or profile.is_year:
        return -2.0
    span = profile.most - profile.least
    names_its_top = profile.most > 100 and any(0.9 * top <= profile.most <= top for top in _numbers_named(profile.name))
    if profile.whole and not names_its_top and (profile.most > 1000 or (profile.distinct > 0.9 * profile.filled > 30)):
        return -2.0
    if names_its_top and profile.least >= 0:
        return 1.0
    if profile.least >= -1.0 - 1e-3 and profile.most <= 10.0 + 1e-3:
        return 1.0
    return 1.0 if profile.least >= 0 and profile.most <= 100.0 + 1e-3 and span > 10 else 0.0


def _numbers_named(name: str) -> list[float]:
    """The numbers in a column's name: ``score of 10,000``."""
    return [float(re.sub(r"[.,' ]", "", number)) for number in re.findall(r"\d{1,3}(?:[.,' ]?000)+|\d+", name)]


def _of_classes(profile: ColumnProfile, known: bool) -> float:
    if profile.distinct < 2:
        return -2.0
    if known or profile.nli:
        return 2.0
    if profile.distinct <= _CLASSES:
        return 1.0 if profile.distinct <= 5 else 0.7
    return -0.5 if profile.distinct <= 3 * _CLASSES else -2.0
