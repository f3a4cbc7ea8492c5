"""Which column says what a text is about: its name, how its values repeat, and whether texts of one value are more alike than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .evidence import Evidence, Separated
from .profile import ColumnProfile
from .vocabulary import Standing, category_standing

_NAMES: dict[Standing, float] = {"certain": 3.0, "likely": 2.0, "unknown": 0.0, "mixed": -1.0, "never": -4.0}
_EVIDENCE = {"strong": 3.0, "some": 1.5, "open": 0.0, "none": -0.5}


@dataclass(frozen=True)
class Category:
    """A column that may hold the categories of texts.

    Attributes:
        name: the column.
        classes: how many there are.
        standing: what its name says.
        total: what speaks for it; see :mod:`.targets` for the scale.
        said: how alike texts of the same and of different categories are, by the untuned model; None: it was not asked.
    """

    name: str
    classes: int
    standing: Standing
    total: float
    said: Separated | None

    @property
    def certain(self) -> bool:
        """Whether it need not be asked for: its name says it and the model agrees, or the model is very sure."""
        if self.said is None or self.said.order[-1] != "same":
            return False
        if self.standing == "certain":
            return self.said.effect >= 0.08 and self.said.p < 0.01
        return self.said.effect >= 0.6 and self.said.strength == "strong"

    def in_words(self) -> str:
        """What the model says, or that it was not asked."""
        if self.said is None:
            return f"{self.name}: no model was asked"
        means = {one.label: one.mean for one in self.said.means}
        return (
            f"{self.name}: by the untuned model two texts of one category have the similarity {means['same']:.2f}, "
            f"of two {means['different']:.2f}"
        )


def find_categories(profiles: Sequence[ColumnProfile], text: str, evidence: Evidence) -> list[Category]:
    """Every column beside a text that could hold its categories, the likeliest first."""
    found = []
    for profile in profiles:
        standing = category_standing(profile.name)
        if profile.name == text or standing == "never" or not _repeats(profile, standing):
            continue
        said = evidence.together(text, profile.name)
        if said is None and evidence.similar is not None:
            continue  # no two of its values have two texts each
        if said is not None and standing != "certain" and said.strength != "strong" and evidence.closer is not evidence:
            said = evidence.closer.together(text, profile.name)
        weight = _EVIDENCE[said.strength] if said is not None else 0.0
        if said is not None and said.order[-1] != "same":
            weight = -1.5
        total = _NAMES[standing] + 0.5 + weight + (0.9 if standing == "unknown" and (said is None or said.strength == "open") else 0.0)
        found.append(Category(profile.name, profile.distinct, standing, total, said))
    return sorted(found, key=lambda one: (-round(one.total, 1), -(one.said.effect if one.said else 0.0)))


def _repeats(profile: ColumnProfile, standing: Standing) -> bool:
    """Whether a column holds few different values, each of several rows."""
    if profile.is_split or profile.is_language or profile.codes or profile.sequence or profile.is_year:
        return False
    if not 2 <= profile.distinct <= profile.filled / 2:
        return False
    if profile.is_number:
        return profile.whole and standing == "certain" and profile.distinct <= max(2, 0.2 * profile.filled)
    return profile.is_category or (standing == "certain" and profile.words <= 6)
