"""What is looked at while a table's columns are read, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..evidence.similarity import Evidence
from ..lexicon.name_lexicon import CATEGORY, GROUP, LABEL, NEGATIVE
from ..lexicon.vocabulary import target_standing
from ..loading.table import Table
from ..questions import Question
from ..values.profile import ColumnProfile
from .roles import Roles

WORDS_OF_A_NAME = 3
UNUSED = "not learned from: "
"""How the sentence begins that names the columns without a part."""


@dataclass(frozen=True)
class Reading:
    """What a table is.

    Attributes:
        roles: its columns' parts.
        questions: what only its owner can say; none where the reading is certain.
        why: what tells so, a sentence each.
        known: that the model knows already what its rows teach, a sentence; empty where it is not known to.
    """

    roles: Roles
    questions: tuple[Question, ...] = ()
    why: tuple[str, ...] = ()
    known: str = ""

    @property
    def certain(self) -> bool:
        """Whether nothing is left to ask."""
        return not self.questions


@dataclass(frozen=True)
class View:
    """A table as it is looked at: its columns in figures, the evidence, and what was said of the order and the scale."""

    table: Table
    profiles: tuple[ColumnProfile, ...]
    evidence: Evidence
    order: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None

    def of(self, name: str) -> ColumnProfile:
        """The figures of one column."""
        return self.profiles[self.table.columns.index(name)]

    @property
    def texts(self) -> list[ColumnProfile]:
        """The columns of text; one of tags is one only where there is no other."""
        texts = [profile for profile in self.profiles if profile.is_text and not a_name(profile)]
        return [text for text in texts if text.named_text or not text.tags] or texts


def a_name(profile: ColumnProfile) -> bool:
    """Whether a column of a few words holds persons, places and the like, by what it is called."""
    return profile.words <= WORDS_OF_A_NAME and not profile.named_text and target_standing(profile.name) == "never"


def group_of(view: View, used: Sequence[str], labels: bool = False) -> str | None:
    """The column of topics: by its name; for sentences a column of labels will do too."""
    for names in (GROUP, LABEL | CATEGORY) if labels else (GROUP, CATEGORY - LABEL):
        for profile in view.profiles:
            small = profile.is_category or (profile.is_number and profile.distinct <= max(2, 0.2 * profile.filled))
            if profile.name not in used and profile.key in names and small and not profile.sequence:
                return profile.name
    if labels:
        return next((profile.name for profile in view.profiles if profile.name not in used and profile.is_category), None)
    return None


def unused(view: View, roles: Roles) -> tuple[str, ...]:
    """The columns that have no part, in a sentence."""
    parts = (*roles.texts, roles.target, roles.group)
    left = [
        profile.name for profile in view.profiles if profile.name not in parts and profile.filled and not NEGATIVE.fullmatch(profile.key)
    ]
    if not left:
        return ()
    shown = ", ".join(left[:8]) + (" …" if len(left) > 8 else "")
    return (f"{UNUSED}{shown}",)
