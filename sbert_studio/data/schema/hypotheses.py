"""Scored hypotheses about a table: what they are based on, and the questions that they leave open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...i18n import _
from ..findings import ExampleRow, Option, Question
from .content import ColumnProfile, no_text_error
from .evidence import Evidence
from .names import CATEGORY, GROUP, LABEL, NEGATIVE, SCORE, is_comment_name, split_words
from .numbers import parse_numbers
from .roles import Kind, Roles, format_names, option

if TYPE_CHECKING:
    from ..loading.table import Table

ACCEPT = 2.4
"""Minimum score of a hypothesis that is used."""
ASK = 0.9
"""Minimum score of a hypothesis that the user is asked about."""
EXPLICIT, BY_EVIDENCE, PAIRS, TEXTS = 6.0, 2.3, 1.0, 0.5
"""Scores of hypotheses without a target: roles named in the file; roles found by the model; two texts per row; one text per row."""
UNUSED = "not used for training: "
"""Start of the sentence that lists unused columns."""
_WITH_TEACHER = ("triplets", "positive_pairs", "sentences")
_TEACHER = {"margin", "margins"}
_MOSTLY = 0.9  # share of the rows with as many numbers
_LONGEST_TEXT = 160  # characters shown per example

Reading = tuple[Kind, Sequence[str], str | None]
"""A kind, its text columns and its target."""


@dataclass(frozen=True)
class SchemaContext:
    """A table with its column statistics, the model's evidence, and the overrides of scale and label order."""

    table: Table
    profiles: tuple[ColumnProfile, ...]
    evidence: Evidence
    order: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None

    def profile(self, name: str) -> ColumnProfile:
        return self.profiles[self.table.columns.index(name)]

    @property
    def texts(self) -> list[ColumnProfile]:
        """Text columns, with tags only if there are no other texts, and credit lines only if there are fewer than two other texts."""
        texts = [profile for profile in self.profiles if profile.is_text and not profile.is_entity]
        texts = [text for text in texts if text.is_named_text or not text.is_tags] or texts
        own = [text for text in texts if text.is_named_text or not text.is_boilerplate]
        return own if len(own) > 1 else texts

    def longest_text(self, names: Sequence[str]) -> str:
        return max(names, key=lambda name: self.profile(name).words)

    def main_text(self, target: str | None = None) -> str:
        """Return the text column to use if a single one is needed.

        Raises:
            StudioError: no column contains text.
        """
        texts = [text for text in self.texts if text.name != target]
        if not texts:
            raise no_text_error(
                self.table, self.profiles, _("specify one of its columns: {columns}", columns=", ".join(self.table.columns[:20]))
            )
        longest = max(text.words for text in texts)
        return min(texts, key=lambda text: (is_comment_name(text.name), not text.is_named_text, text.words < longest / 2)).name

    def find_group(self, used: Sequence[str | None], *, or_labels: bool = False) -> str | None:
        """Return the column of topics, found by its name; with ``or_labels``, also a column of labels or categories."""
        free = [profile for profile in self.profiles if profile.name not in used and not profile.is_split]
        for names in (GROUP, LABEL | CATEGORY) if or_labels else (GROUP, CATEGORY - LABEL):
            for profile in free:
                few_numbers = profile.is_number and profile.distinct <= max(2, 0.2 * profile.filled)
                if profile.key in names and (profile.is_category or few_numbers) and not profile.is_sequence:
                    return profile.name
        return next((profile.name for profile in free if profile.is_category), None) if or_labels else None

    def find_split(self, used: Sequence[str | None] = ()) -> str | None:
        """Return the column with training, validation and test splits."""
        return next((one.name for one in self.profiles if one.is_split and one.name not in used), None)

    def find_teacher(self, roles: Roles) -> str | None:
        """Return the column of a teacher's scores, margins or vectors: numbers or JSON lists of equal length, under a name that says so."""
        names = _TEACHER | (LABEL | SCORE if roles.kind == "triplets" else set())
        used = (*roles.texts, roles.target, roles.group, self.find_split())
        for profile in self.profiles if roles.kind in _WITH_TEACHER else ():
            if profile.name not in used and (profile.key in names or "teacher" in split_words(profile.name)):
                widths = Counter(len(parse_numbers(cell)) for cell in self.table.column(profile.name))
                width, rows = widths.most_common(1)[0]
                negatives = len(roles.texts) - 2
                fits = width in (negatives, negatives + 1) if roles.kind == "triplets" else width > 1
                if fits and rows >= _MOSTLY * len(self.table):
                    return profile.name
        return None

    def describe_unused(self, roles: Roles) -> tuple[str, ...]:
        """Return a sentence that lists the columns without a role, if any."""
        parts = (*roles.texts, roles.target, roles.group, self.find_split(), self.find_teacher(roles))
        left = [one.name for one in self.profiles if one.name not in parts and one.filled and not NEGATIVE.fullmatch(one.key)]
        names = ", ".join(left[:8]) + (" …" if len(left) > 8 else "")
        return (_("not used for training: {names}", names=names),) if left else ()


# --- questions

_KINDS: dict[Kind, str] = {
    "scored_pairs": "pairs with a score",
    "labelled_pairs": "pairs with a label",
    "positive_pairs": "pairs that belong together",
    "triplets": "an anchor, a similar text and a dissimilar one",
    "labelled_texts": "texts with a category: texts in the same category are similar",
    "sentences": "no, use the texts without labels",
}


def category_option(text: str, target: str) -> Option:
    """Return the answer that a column contains the category of one text of a pair, instead of a similarity."""
    return option(_("it is a category of {text}", text=repr(text)), kind="labelled_texts", columns=(text,), target=target)


def ask_columns(table: Table, candidates: Sequence[Sequence[str]], why: str, *, is_favored: bool) -> Question:
    """Ask which text columns to use, and in which order; the first choice is the default.

    Args:
        is_favored: whether some evidence supports the first choice, and none contradicts it.
    """
    options = tuple(option(" and ".join(names), columns=tuple(names)) for names in candidates)
    every = list(dict.fromkeys(name for names in candidates for name in names))
    rows = example_rows(table, every, spread_rows(table, every, 2))
    return Question("columns", "Which columns contain the two texts?", options, why, rows, 0 if is_favored else None)


def ask_kind(
    table: Table, roles: Roles, others: Sequence[Reading], text: str, why: str, columns: Sequence[str] = (), *, is_favored: bool
) -> Question:
    """Ask for the kind of examples.

    Args:
        roles: the default, which is the first answer.
        others: the alternatives.
        text: the question.
        columns: the text columns whose rows are shown; empty: those of the roles.
        is_favored: whether some evidence supports the default, and none contradicts it.
    """
    readings: list[Reading] = [(roles.kind, roles.texts, roles.target), *others]
    kinds = [kind for kind, _, _ in readings]
    options = []
    for kind, texts, target in readings:
        answer = _KINDS[kind]
        if kinds.count(kind) > 1:
            answer = f"{answer}: {format_names(texts)}"
        elif text.endswith("be similar?") and kind == "labelled_texts":
            answer = "yes"
        options.append(option(answer, kind=kind, columns=tuple(texts), target=target))
    target = next((name for _, _, name in readings if name), None)
    rows = example_rows(table, columns or roles.texts, spread_rows(table, columns or roles.texts), target)
    return Question("kind", text, tuple(options), why, rows, 0 if is_favored else None)


def example_rows(
    table: Table, texts: Sequence[str], indices: Sequence[int], target: str | None = None, read_as: str = ""
) -> tuple[ExampleRow, ...]:
    """Return rows of the table for a question, with shortened texts."""
    part = table.select(list(indices))
    values = part.column(target) if target else [""] * len(part)
    rows = zip(*(part.column(name) for name in texts), strict=True)
    cut = [tuple(text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…" for text in row) for row in rows]
    return tuple(
        ExampleRow(int(line), row, value[:_LONGEST_TEXT], read_as) for line, row, value in zip(part.lines, cut, values, strict=True)
    )


def complete_rows(table: Table, names: Sequence[str]) -> list[int]:
    """Return the indices of the rows that have a text in every column in ``names``; if no row has, return all indices."""
    columns = [table.column(name) for name in names]
    return [place for place in range(len(table)) if all(column[place].strip() for column in columns)] or list(range(len(table)))


def spread_rows(table: Table, names: Sequence[str], most: int = 3) -> list[int]:
    """Return a few evenly spaced indices of :func:`complete_rows`."""
    places = complete_rows(table, names)
    return [places[at] for at in np.linspace(0, len(places) - 1, min(most, len(places))).astype(int).tolist()]


def rows_with_values(table: Table, texts: Sequence[str], names: Sequence[str]) -> tuple[ExampleRow, ...]:
    """Return example rows with the values of several columns."""
    places = spread_rows(table, texts)
    columns = {name: table.column(name) for name in names}
    values = [", ".join(f"{name}: {column[place]}" for name, column in columns.items()) for place in places]
    return tuple(replace(row, value=value) for row, value in zip(example_rows(table, texts, places), values, strict=True))
