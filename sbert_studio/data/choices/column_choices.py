"""What a person says of a file's columns; the rest is found out."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import StudioError
from ..columns.detection import Reading, read_columns
from ..columns.roles import Kind, Roles
from ..evidence.similarity import Similar
from ..findings import Mend
from ..loading.table import Table
from ..values.scales import describe_scale
from .asking import NO_ORDER, in_one_line, scale_in_words

__all__ = [
    "ColumnChoices",
    "asked_in_words",
    "in_one_line",
    "parse_columns",
    "parse_order",
    "parse_scale",
    "read_roles",
    "roles_as_asked",
    "scale_in_words",
]

_NUMBER = r"-?\d+(?:\.\d+)?"
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?:-|–|:|to|\.\.)\s*({_NUMBER})\s*")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_WITH_TARGET = ("scored_pairs", "labelled_pairs")


@dataclass(frozen=True)
class ColumnChoices:
    """Choices made by hand; ``None`` stands for what the file itself says.

    Attributes:
        kind: what the rows are.
        columns: the text columns, in the order of their parts.
        target: the column of scores or labels.
        group: the column of topics or classes; ``""`` for none.
        scale: the score of what is least alike, and of what is most alike: (0, 5), or (5, 0) where 0 is most alike.
        order: the labels from least to most alike; an empty tuple says that they have no order.
        encoding, delimiter, header: how the file is to be read (see :func:`~sbert_studio.data.loading.table.read_table`).
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

    def after(self, change: Mend) -> ColumnChoices:
        """What still holds once a mend was applied."""
        if change.name != "drop_column":
            return self
        return ColumnChoices(columns=self.columns, group=None if self.group == change.values["column"] else self.group)

    def __bool__(self) -> bool:
        return self != ColumnChoices()


def read_roles(table: Table, asked: ColumnChoices | None = None, kinds: Sequence[Kind] = (), similar: Similar | None = None) -> Reading:
    """What a table is: what was asked, and what names, values and a model say of the rest.

    A table with scores and labels has two kinds of pairs in it. Where no kind was asked for, ``kinds``, those that the
    objective learns from, decide between them, and the roles' note says so. What was said by hand is not asked again;
    ``asked.as_read`` leaves no question.

    Args:
        table: the file; its doubts, what reading it left open, are among the questions.
        asked: choices made by hand.
        kinds: see above.
        similar: the cosines of a model; None: names and values only, which leaves more questions.

    Raises:
        StudioError: what was asked cannot be had from this table.
    """
    asked = asked or ColumnChoices()
    reading = read_columns(table, asked.kind, asked.columns, asked.target, asked.order, asked.scale, similar=similar)
    if asked.kind is None and asked.target is None and kinds and reading.roles.kind not in kinds:
        reading = _other_target(table, asked, reading, kinds, similar)
    roles = reading.roles
    if asked.order is not None and roles.kind != "labelled_pairs":
        raise StudioError(
            f"{roles.kind.replace('_', ' ')} have no order of labels", "leave the order out, or choose the kind labelled_pairs"
        )
    if asked.scale is not None:
        roles = _scaled(roles, asked.scale)
    if asked.group is not None:
        roles = _grouped(table, roles, asked.group)
    questions = () if asked.as_read else (*table.doubts, *reading.questions)
    return replace(reading, roles=roles, questions=questions)


def roles_as_asked(table: Table, asked: ColumnChoices | None = None, kinds: Sequence[Kind] = (), similar: Similar | None = None) -> Roles:
    """The roles of :func:`read_roles` alone."""
    return read_roles(table, asked, kinds, similar).roles


def _other_target(table: Table, asked: ColumnChoices, reading: Reading, kinds: Sequence[Kind], similar: Similar | None) -> Reading:
    """Labels in place of the scores, or scores in place of the labels, if the table has a column of its own for them."""
    found = reading.roles
    for kind in kinds:
        if found.kind in _WITH_TARGET and kind in _WITH_TARGET:
            try:
                other = read_columns(table, kind, asked.columns, None, asked.order, asked.scale, similar=similar)
            except StudioError:
                continue  # there are none, and what was found stays
            roles = other.roles
            if roles.target != found.target:
                what = "labels" if kind == "labelled_pairs" else "scores"
                note = f"{roles.note}, from {roles.target!r}: the objective learns from {what}, not from {found.target!r}"
                return replace(other, roles=replace(roles, note=note))
    return reading


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
    kind: str | None = None,
    columns: str | None = None,
    target: str | None = None,
    group: str | None = None,
    scale: str | None = None,
    order: str | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    as_read: bool = False,
) -> ColumnChoices:
    """Choices as a person types them, each ``None`` where nothing was typed: ``"scored pairs", "a, b", "score", "topic", "0-5", "no,yes"``.

    ``order`` is ``none`` where the labels have none, ``scale`` is ``5-0`` where 0 is most alike, and ``delimiter`` may be called
    by its name: ``tab``, ``comma``, ``semicolon``, ``pipe``.

    Raises:
        StudioError: one of them cannot be read.
    """
    return ColumnChoices(
        kind=None if kind is None else kind.strip().replace("-", "_").replace(" ", "_"),  # type: ignore[arg-type]
        columns=None if columns is None else parse_columns(columns),
        target=target,
        group=group,
        scale=None if scale is None else parse_scale(scale),
        order=None if order is None else parse_order(order),
        encoding=encoding or None,
        delimiter=None if not delimiter else _DELIMITERS.get(delimiter.strip().casefold(), delimiter),
        header=header,
        as_read=as_read,
    )


def parse_order(text: str) -> tuple[str, ...]:
    """Labels with commas between them, least alike first; nothing, or ``none``, for labels without an order.

    Raises:
        StudioError: it names a single label, or one twice.
    """
    if text.strip().casefold() in ("", NO_ORDER):
        return ()
    labels = tuple(label.strip() for label in _listed(text))
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise StudioError(
            f"{text!r} is no order of labels", "write all of them with commas between them, least alike first, such as no,yes"
        )
    return labels


def parse_columns(text: str) -> tuple[str, ...]:
    """Column names with commas between them; a name that holds one stands in quotation marks, as in a CSV."""
    names = [name.strip() for name in _listed(text)]
    if not names or not all(names):
        raise StudioError(f"{text!r} names no columns", "write their names with commas between them, such as sentence1,sentence2")
    return tuple(names)


def _listed(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise StudioError(
            f"{text[:80]!r} cannot be read as a list: {error}", "write it in one line, with commas between its parts"
        ) from None


def parse_scale(text: str) -> tuple[float, float]:
    """``0-5`` → (0.0, 5.0); ``-1 to 1`` and, where 0 is most alike, ``5-0`` work too."""
    found = _SCALE.fullmatch(text)
    if not found or not all(math.isfinite(float(end)) for end in found.groups()):
        raise StudioError(f"{text[:80]!r} is no scale of scores", "write the lowest and the highest score, such as 0-5")
    return float(found[1]), float(found[2])
