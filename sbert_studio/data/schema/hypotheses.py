"""Scored hypotheses about a table, and what they are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..questions import Question
from .evidence import Association, Evidence
from .names import CATEGORY, GROUP, LABEL, NEGATIVE, NameRating
from .profile import ColumnProfile
from .roles import Roles

if TYPE_CHECKING:
    from ..loading.table import Table

# Points for what a name says; values and the model add to them (see ColumnHypothesis.score).
NAME_SCORES: dict[NameRating, float] = {"certain": 3.0, "likely": 2.0, "unknown": 0.0, "mixed": -1.0, "never": -4.0}
ACCEPT = 2.4
"""The score from which a hypothesis is used."""
ASK = 0.9
"""The score from which the owner is asked about a hypothesis."""
EXPLICIT, BY_EVIDENCE, PAIRS, TEXTS = 6.0, 2.3, 1.0, 0.5
"""Scores of hypotheses without a target: the file names its parts; the model finds them; two texts a row; one text a row."""
UNUSED = "not used for training: "
"""How the sentence begins that lists the columns without a part."""


@dataclass(frozen=True)
class Hypothesis:
    """One reading of a table.

    Attributes:
        roles: the parts of its columns.
        score: how much speaks for it; the highest is used.
        why: the reasons, a sentence each.
        questions: what must be asked if it is used.
        saturation: a sentence if the model already knows what the rows teach; else empty.
    """

    roles: Roles
    score: float
    why: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    saturation: str = ""


@dataclass(frozen=True)
class ColumnHypothesis:
    """A column that may hold the scores, labels or categories of given texts.

    Attributes:
        column: its name.
        rating: the rating of its name.
        name_score, value_score, model_score: points for its name, its values, and the model's evidence.
        association: how closely it is associated with the similarity of the texts; None if that was not examined.
    """

    column: str
    rating: NameRating
    name_score: float
    value_score: float
    model_score: float
    association: Association | None

    @property
    def score(self) -> float:
        """The sum of the points; see :data:`ACCEPT` and :data:`ASK`."""
        return self.name_score + self.value_score + self.model_score

    @property
    def effect(self) -> float:
        """The size of the association, in [0, 1]."""
        return 0.0 if self.association is None else self.association.effect


@dataclass(frozen=True)
class SchemaContext:
    """A table with the statistics of its columns, the model's evidence, and the overrides of scale and label order."""

    table: Table
    profiles: tuple[ColumnProfile, ...]
    evidence: Evidence
    order: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None

    def profile(self, name: str) -> ColumnProfile:
        """Return the statistics of one column."""
        return self.profiles[self.table.columns.index(name)]

    @property
    def texts(self) -> list[ColumnProfile]:
        """The text columns; one of tags counts only if there is no other, and credit lines not beside two others."""
        texts = [profile for profile in self.profiles if profile.is_text and not profile.is_entity]
        texts = [text for text in texts if text.is_named_text or not text.is_tags] or texts
        own = [text for text in texts if text.is_named_text or not text.is_boilerplate]
        return own if len(own) > 1 else texts

    def find_group(self, used: Sequence[str | None], *, or_labels: bool = False) -> str | None:
        """Return the column of topics, by its name; with ``or_labels`` a column of labels or any categories will do."""
        free = [profile for profile in self.profiles if profile.name not in used]
        for names in (GROUP, LABEL | CATEGORY) if or_labels else (GROUP, CATEGORY - LABEL):
            for profile in free:
                few_numbers = profile.is_number and profile.distinct <= max(2, 0.2 * profile.filled)
                if profile.key in names and (profile.is_category or few_numbers) and not profile.is_sequence:
                    return profile.name
        return next((profile.name for profile in free if profile.is_category), None) if or_labels else None

    def find_split(self, used: Sequence[str | None] = ()) -> str | None:
        """Return the column of training, validation and test parts."""
        return next((one.name for one in self.profiles if one.is_split and one.name not in used), None)

    def describe_unused(self, roles: Roles) -> tuple[str, ...]:
        """Return a sentence that lists the columns without a part, if there are any."""
        parts = (*roles.texts, roles.target, roles.group, self.find_split())
        left = [one.name for one in self.profiles if one.name not in parts and one.filled and not NEGATIVE.fullmatch(one.key)]
        return (f"{UNUSED}{', '.join(left[:8])}{' …' if len(left) > 8 else ''}",) if left else ()
