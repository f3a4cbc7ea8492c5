"""Which column holds the texts and which their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.corpus import text_columns
from ..errors import StudioError, describe_rows

if TYPE_CHECKING:
    from ..data.tables import Table

_CLASS_NAMES = ("label", "labels", "category", "class", "intent", "topic", "target", "type", "tag", "标签", "类别", "分类")


@dataclass(frozen=True)
class ClassRoles:
    """The column of texts and the column of their classes."""

    text: str
    label: str


def class_roles(table: Table) -> ClassRoles:
    """The text column and, of the others, the one that best looks like classes.

    A column can hold classes when it has at least two distinct values and some value twice; a telling name wins,
    then the fewest distinct values.

    Raises:
        StudioError: the table has no text, or no column that can hold classes.
    """
    candidates = text_columns(table)
    usable: list[tuple[bool, int, str]] = []
    for name in table.columns:
        filled = [value for value in table.column(name) if value.strip()]
        if 2 <= len(set(filled)) < len(filled):
            usable.append((name.strip().lower() not in _CLASS_NAMES, len(set(filled)), name))
    usable.sort()
    for text in candidates:
        for _, _, label in usable:
            if label != text:
                return ClassRoles(text, label)
    raise StudioError(
        f"no column of {table.name} can hold classes",
        "transfer and clustering need a column of texts and one of classes, with at least two classes and several rows of each",
    )


def classed_texts(table: Table, roles: ClassRoles) -> tuple[list[str], list[str], tuple[str, ...]]:
    """The texts, their classes, and a note on the rows left out because one of the two is blank."""
    texts, labels, blank = [], [], []
    for text, label, line in zip(table.column(roles.text), table.column(roles.label), table.lines, strict=True):
        if text.strip() and label.strip():
            texts.append(text)
            labels.append(label.strip())
        else:
            blank.append(int(line))
    notes = (f"left out for a blank text or class: {describe_rows(blank)}",) if blank else ()
    return texts, labels, notes
