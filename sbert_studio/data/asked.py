"""What a person says of a file's columns; the rest is found out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import StudioError
from .detection import detect_roles
from .findings import Mend
from .roles import Kind, Roles
from .scales import describe_scale
from .tables import Table

_NUMBER = r"-?\d+(?:\.\d+)?"
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?:-|–|:|to|\.\.)\s*({_NUMBER})\s*")
_WITH_TARGET = ("scored_pairs", "labelled_pairs")


@dataclass(frozen=True)
class Asked:
    """Choices made by hand; ``None`` stands for what the file itself says.

    Attributes:
        kind: what the rows are.
        columns: the text columns, in the order of their parts.
        target: the column of scores or labels.
        group: the column of topics or classes; ``""`` for none.
        scale: the lowest and the highest score.
        order: the labels from least to most alike; an empty tuple says that they have no order.
        encoding, delimiter, header: how the file is to be read (see :func:`~sbert_studio.data.tables.read_table`).
        as_read: whether to go on with what was read though it is uncertain.
    """

    kind: Kind | None = None
    columns: tuple[str, ...] | None = None
    target: str | None = None
    group: str | None = None
    scale: tuple[float, float] | None = None
    order: tuple[str, ...] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    as_read: bool = False

    def after(self, change: Mend) -> Asked:
        """What still holds once a mend was applied."""
        if change.name != "drop_column":
            return self
        return Asked(columns=self.columns, group=None if self.group == change.values["column"] else self.group)

    def __bool__(self) -> bool:
        return self != Asked()


def roles_as_asked(table: Table, asked: Asked | None = None, kinds: Sequence[Kind] = ()) -> Roles:
    """The roles of a table's columns: what was asked, and what is found out.

    A table with scores and labels has two kinds of pairs in it. Where no kind was asked for, ``kinds``, those that the
    objective learns from, decide between them, and the roles' note says so.

    Raises:
        StudioError: what was asked cannot be had from this table.
    """
    asked = asked or Asked()
    roles = detect_roles(table, asked.kind, asked.columns, asked.target)
    if asked.kind is None and asked.target is None and kinds and roles.kind not in kinds:
        roles = _other_target(table, asked, roles, kinds)
    if asked.scale is not None:
        roles = _scaled(roles, asked.scale)
    if asked.group is not None:
        roles = _grouped(table, roles, asked.group)
    return roles


def _other_target(table: Table, asked: Asked, found: Roles, kinds: Sequence[Kind]) -> Roles:
    """Labels in place of the scores, or scores in place of the labels, if the table has a column of its own for them."""
    for kind in kinds:
        if found.kind in _WITH_TARGET and kind in _WITH_TARGET:
            try:
                roles = detect_roles(table, kind, asked.columns)
            except StudioError:
                continue  # there are none, and what was found stays
            if roles.target != found.target:
                what = "labels" if kind == "labelled_pairs" else "scores"
                return replace(
                    roles, note=f"{roles.note}, from {roles.target!r}: the objective learns from {what}, not from {found.target!r}"
                )
    return found


def _scaled(roles: Roles, scale: tuple[float, float]) -> Roles:
    if roles.kind != "scored_pairs":
        raise StudioError(f"{roles.kind.replace('_', ' ')} have no scale of scores", "leave the scale out, or choose the kind scored_pairs")
    low, high = scale
    return replace(roles, low=low, high=high, note=describe_scale(low, high))


def _grouped(table: Table, roles: Roles, group: str) -> Roles:
    if group:
        table.require(group)
        if group in (*roles.texts, roles.target):
            raise StudioError(f"the column {group!r} is chosen for two parts", "choose a column of its own for the group")
    return replace(roles, group=group or None)


def asked_in_words(
    kind: str | None = None, columns: str | None = None, target: str | None = None, group: str | None = None, scale: str | None = None
) -> Asked:
    """Choices as a person types them, each ``None`` where nothing was typed: ``"scored pairs", "a, b", "score", "topic", "0-5"``.

    Raises:
        StudioError: one of them cannot be read.
    """
    return Asked(
        kind=None if kind is None else kind.strip().replace("-", "_").replace(" ", "_"),  # type: ignore[arg-type]
        columns=None if columns is None else parse_columns(columns),
        target=target,
        group=group,
        scale=None if scale is None else parse_scale(scale),
    )


def parse_columns(text: str) -> tuple[str, ...]:
    """Column names with commas between them; a name that holds one stands in quotation marks, as in a CSV."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise StudioError(f"{text!r} names no columns", "write their names with commas between them, such as sentence1,sentence2")
    return tuple(names)


def in_one_line(columns: Sequence[str]) -> str:
    """The inverse of :func:`parse_columns`."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(columns)
    return line.getvalue()


def parse_scale(text: str) -> tuple[float, float]:
    """``0-5`` → (0.0, 5.0); ``-1 to 1`` works too."""
    found = _SCALE.fullmatch(text)
    if not found:
        raise StudioError(f"{text!r} is no scale of scores", "write the lowest and the highest score, such as 0-5")
    return float(found[1]), float(found[2])


def scale_in_words(low: float, high: float) -> str:
    """The inverse of :func:`parse_scale`."""
    first, last = (np.format_float_positional(end, trim="-") for end in (low, high))
    return f"{first}-{last}" if low >= 0 else f"{first} to {last}"
