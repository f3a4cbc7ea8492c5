"""Which column says what a text is about: its name, how its values repeat, and whether texts of one value are more alike than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..evidence.apart import THE_MODEL, Separated
from ..evidence.similarity import Evidence
from ..evidence.together import Neighbours, neighbours, together
from ..lexicon.vocabulary import Standing, category_standing
from ..values.profile import ColumnProfile

_NAMES: dict[Standing, float] = {"certain": 3.0, "likely": 2.0, "unknown": 0.0, "mixed": -1.0, "never": -4.0}
_EVIDENCE = {"strong": 3.0, "some": 1.5, "open": 0.0, "none": -0.5}
_NAMED: tuple[Standing, ...] = ("certain", "likely")
_FEW_NUMBERS = 30
_DESPITE_ITS_NAME = 0.9  # enough to be asked for, never to be read without


@dataclass(frozen=True)
class Category:
    """A column that may hold the categories of texts.

    Attributes:
        name: the column.
        classes: how many there are.
        standing: what its name says.
        total: what speaks for it; see :mod:`.targets` for the scale.
        said: how alike texts of the same and of different categories are, by a model; None: it was not asked.
        near: what the nearest neighbours of texts are; None: it was not looked at, or there are too few.
        model: what people call the model that was asked.
    """

    name: str
    classes: int
    standing: Standing
    total: float
    said: Separated | None
    near: Neighbours | None = None
    model: str = THE_MODEL

    @property
    def certain(self) -> bool:
        """Whether it need not be asked for: its name says it and the model agrees, or the model is very sure."""
        if self.said is None or self.said.order[-1] != "same":
            return False
        if self.standing == "certain":
            return (self.said.effect >= 0.08 and self.said.p < 0.01) or (self.near is not None and self.near.clear)
        if self.near is not None and self.near.clear and self.standing in ("unknown", "likely"):
            return True
        return self.said.effect >= 0.6 and self.said.strength == "strong"

    @property
    def favoured(self) -> bool:
        """Whether name or model say that texts of one category belong together, and neither says otherwise."""
        if self.said is None:
            return self.standing in ("certain", "likely")
        return self.said.order[-1] == "same" and self.said.p < 0.01 and self.standing != "mixed"

    def in_words(self) -> str:
        """What the model says, or that it was not asked."""
        if self.said is None:
            return f"{self.name}: no model was asked"
        if self.near is not None and self.near.clear:
            return f"{self.name}: by {self.model} {self.near.in_words()}"
        means = {one.label: one.mean for one in self.said.means}
        return (
            f"{self.name}: by {self.model} two texts of one category have the similarity {means['same']:.2f}, "
            f"of two {means['different']:.2f}"
        )

    @property
    def known(self) -> str:
        """That the model tells them apart already, and what to teach instead; empty where it does not, or was not asked."""
        if self.near is None or not self.near.known:
            return ""
        return (
            f"the categories of {self.name!r} are told apart already by {self.model} ({self.near.same:.0%} of {self.near.rows} texts lie "
            "next to one of their own), so training on them can hardly gain: teach it what it mixes up, such as categories that lie on top "
            "of each other on the map"
        )


def find_categories(profiles: Sequence[ColumnProfile], text: str, evidence: Evidence) -> list[Category]:
    """Every column beside a text that could hold its categories, the likeliest first."""
    found = []
    for profile in profiles:
        standing = category_standing(profile.name)
        if standing == "never" and profile.paths:
            standing = "unknown"
        if (
            profile.name == text
            or not _repeats(profile, standing)
            or (standing == "never" and not _may_despite_its_name(profile, evidence))
        ):
            continue
        said = together(evidence, text, profile.name)
        if said is None and evidence.similar is not None:
            continue  # no two of its values have two texts each
        if said is not None and standing != "certain" and said.strength != "strong" and evidence.closer is not evidence:
            said = together(evidence.closer, text, profile.name)
        weight = _EVIDENCE[said.strength] if said is not None else 0.0
        near = neighbours(evidence, text, profile.name)
        if near is not None and near.clear:
            weight = _EVIDENCE["strong"]
        elif said is not None and said.order[-1] != "same":
            weight = -1.5
        if profile.codes and standing not in _NAMED and (near is None or not near.clear):
            continue  # numbers of orders, customers or machines may repeat as well
        total = _NAMES[standing] + 0.5 + weight + (0.9 if standing == "unknown" and (said is None or said.strength == "open") else 0.0)
        if standing == "never":
            if near is None or not near.clear:
                continue
            total = _DESPITE_ITS_NAME
        found.append(Category(profile.name, profile.distinct, standing, total, said, near, evidence.model))
    return sorted(found, key=lambda one: (-round(one.total, 1), -(one.said.effect if one.said else 0.0)))


def _may_despite_its_name(profile: ColumnProfile, evidence: Evidence) -> bool:
    """Whether a column called a source, a status or a number is looked at: few values, and a model that can tell."""
    return evidence.similar is not None and profile.distinct <= _FEW_NUMBERS and profile.few


def _repeats(profile: ColumnProfile, standing: Standing) -> bool:
    """Whether a column holds few different values, each of several rows."""
    if profile.is_split or profile.is_language or profile.sequence or profile.is_year:
        return False
    if not 2 <= profile.distinct <= profile.filled / 2:
        return False
    if profile.is_number:
        named = standing in _NAMED or profile.distinct <= _FEW_NUMBERS
        return profile.whole and named and profile.distinct <= max(2, 0.2 * profile.filled)
    return profile.is_category or ((standing == "certain" or profile.paths) and profile.words <= 8)
