"""Which column holds the texts and which their classes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..data.accounts import RowAccount, account_of
from ..data.findings import Finding
from ..data.schema.content import blank_missing
from ..data.schema.inference import infer_roles
from ..errors import StudioError, describe_rows

if TYPE_CHECKING:
    from ..data.schema.roles import Roles
    from ..data.tables import Table


@dataclass(frozen=True)
class ClassRoles:
    """The column of texts and the column of their classes."""

    text: str
    label: str


def class_roles(table: Table) -> ClassRoles:
    """The text column, and the column of topics, classes or labels beside it.

    Raises:
        StudioError: the table has no text, or no column that can hold classes.
    """
    with contextlib.suppress(StudioError):
        found = infer_roles(table)
        if found.kind == "labelled_texts" and found.target is not None:
            return ClassRoles(found.texts[0], found.target)
    roles = infer_roles(table, "sentences")
    if roles.group is None:
        raise StudioError(
            f"no column of {table.name} can hold classes",
            "needed are a column of texts and one of classes, with at least two classes and several rows of each",
        )
    return ClassRoles(roles.texts[0], roles.group)


def class_roles_of(roles: Roles) -> ClassRoles | None:
    """The text and the category or group of a table whose columns are known; ``None`` where they name none."""
    label = roles.target if roles.kind == "labelled_texts" else roles.group if roles.kind == "sentences" else None
    return None if label is None else ClassRoles(roles.texts[0], label)


def class_account(table: Table, roles: ClassRoles) -> RowAccount:
    """What became of the rows: those with a text and a class are judged."""
    both = zip(blank_missing(table.column(roles.text)), table.column(roles.label), strict=True)
    blank = [not (text.strip() and label.strip()) for text, label in both]
    rows = tuple(table.lines[np.array(blank, dtype=bool)].tolist())
    left = [Finding("warning", "left out", rows, left_out="no text or no class")] if rows else []
    return account_of(table, left, np.setdiff1d(table.lines, rows))


def classed_texts(table: Table, roles: ClassRoles) -> tuple[list[str], list[str], tuple[str, ...]]:
    """The texts, their classes, and a note on the rows left out because one of the two is blank.

    Raises:
        StudioError: fewer than two classes are left.
    """
    texts, labels, blank = [], [], []
    for text, label, line in zip(blank_missing(table.column(roles.text)), table.column(roles.label), table.lines, strict=True):
        if text.strip() and label.strip():
            texts.append(text)
            labels.append(label.strip())
        else:
            blank.append(int(line))
    if len(set(labels)) < 2:
        raise StudioError(f"the column {roles.label!r} holds a single class", "give texts of at least two classes")
    notes = (f"left out for a blank text or class: {describe_rows(blank)}",) if blank else ()
    return texts, labels, notes
