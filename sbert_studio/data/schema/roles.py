"""The kind of examples in a table and the roles of its columns, as inferred and as overridden by the user."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from ...errors import StudioError
from ...i18n import _, ngettext
from ...serialization import JsonResult, doc
from ..findings import Fix, Option, Question

Kind = Literal["scored_pairs", "labelled_pairs", "positive_pairs", "triplets", "labelled_texts", "sentences"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SCORE_SUFFIX = "_score"  # of the columns with the scores of mined negatives
PAIR_COLUMNS = ("query", "document", "origin", "document_id")
"""Columns of the pairs that this program makes from documents; see :mod:`sbert_studio.data.document_pairs`."""

_TEXTS = {
    "scored_pairs": (2, 2),
    "labelled_pairs": (2, 2),
    "positive_pairs": (2, 2),
    "triplets": (3, 32),
    "labelled_texts": (1, 1),
    "sentences": (1, 1),
}
_TARGETS = {"scored_pairs": "scores", "labelled_pairs": "labels", "labelled_texts": "categories"}


@dataclass(frozen=True)
class Roles(JsonResult):
    """Roles of the columns.

    Raises:
        StudioError: they do not fit the kind.
    """

    kind: Annotated[Kind, doc("the kind of examples")]
    texts: Annotated[tuple[str, ...], doc("sentence 1 and 2; or anchor, positive, negative and further negatives; or the text")]
    target: Annotated[str | None, doc("column of scores (scored pairs), labels (labelled pairs) or categories (labelled texts)")] = None
    low: Annotated[float | None, doc("score of the least similar, which becomes 0; greater than high for distances")] = None
    high: Annotated[float | None, doc("score of the most similar, which becomes 1")] = None
    labels: Annotated[tuple[str, ...], doc("class names by class id; ordered classes from least to most similar")] = ()
    group: Annotated[str | None, doc("column of topics or classes, for splits that keep a group together")] = None
    note: Annotated[str, doc("the scale or the labels in words")] = ""
    ordered: Annotated[bool, doc("a larger class id means more similar: contradiction, neutral, entailment; no, yes")] = True
    split: Annotated[str | None, doc("column of training, validation and test parts")] = None
    teacher: Annotated[str | None, doc("column of a teacher's scores, margins or vectors, for losses that imitate it")] = None

    def __post_init__(self) -> None:
        require_kind(self.kind)
        kind = self.kind.replace("_", " ")
        least, most = _TEXTS[self.kind]
        if not least <= len(self.texts) <= most:
            needed = f"{least}" if least == most else _("at least {least}", least=least)
            message = ngettext(
                "{kind} need {needed} text column, not {texts}",
                "{kind} need {needed} text columns, not {texts}",
                least,
                kind=kind,
                needed=needed,
                texts=len(self.texts),
            )
            raise StudioError(message, "choose the columns, or another kind")
        if len(set(self.texts)) < len(self.texts) or self.target in self.texts:
            raise StudioError("one column has two roles", "choose a different column for each role")
        if self.kind in _TARGETS and self.target is None:
            raise StudioError(_("{kind} need a column of {targets}", kind=kind, targets=_TARGETS[self.kind]), "specify that column")
        if self.kind == "scored_pairs" and (None in (self.low, self.high) or self.low == self.high):
            raise StudioError(
                _("the score scale from {low} to {high} is empty", low=self.low, high=self.high),
                "specify two different scores, for least similar and most similar",
            )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Roles:
        """Return the roles from the result of :meth:`to_json`; unknown fields, as of other versions, are ignored."""
        known = {one.name: value[one.name] for one in fields(cls) if one.name in value}
        return cls(**{**known, "texts": tuple(value["texts"]), "labels": tuple(value.get("labels") or ())})


@dataclass(frozen=True)
class InferredSchema:
    """Inferred meaning of a table, or a hypothesis about it.

    Attributes:
        roles: the roles of its columns.
        score: the total score; the hypothesis with the highest one is used.
        why: the reasons for the roles, one sentence each.
        questions: questions that only the user can answer; empty if the roles are certain.
        saturation: a sentence if the model already knows what the rows teach; else empty.
    """

    roles: Roles
    score: float = 0.0
    why: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    saturation: str = ""

    @property
    def certain(self) -> bool:
        return not self.questions


def require_kind(kind: str) -> None:
    """Raise a StudioError unless ``kind`` is one of :data:`KINDS`."""
    if kind not in KINDS:
        raise StudioError(_("{kind} is not a known kind of examples", kind=repr(kind)), _("choose one of {kinds}", kinds=", ".join(KINDS)))


NO_ORDER = "none"
"""Input that means "these labels have no order"."""
_NUMBER = r"-?\d+(?:\.\d+)?"
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?:-|–|:|to|\.\.)\s*({_NUMBER})\s*")
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")


@dataclass(frozen=True)
class SchemaOverrides:
    """The user's choices; fields that are None are inferred.

    Attributes:
        kind: the kind of examples.
        columns: the text columns, in the order of their roles.
        target: the column of scores, labels or categories.
        group: the column of topics or classes; ``""`` for none.
        split: the column that assigns rows to train, dev and test; ``""`` for none.
        scale: the scores of "least similar" and "most similar": (0, 5), or (5, 0) if 0 is most similar.
        order: the labels from least to most similar; an empty tuple if they have no order.
        encoding, delimiter, header: how to read the file (see :func:`~sbert_studio.data.loading.table.read_table`).
        as_read: accept the inferred schema even if it is uncertain.
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
    split: str | None = None

    def after(self, change: Fix) -> SchemaOverrides:
        """Return the overrides that still apply after a fix."""
        if change.name != "drop_column":
            return self
        column = change.values["column"]
        group, split = (None if name == column else name for name in (self.group, self.split))
        return SchemaOverrides(columns=self.columns, group=group, split=split)

    def __bool__(self) -> bool:
        return self != SchemaOverrides()


def parse_overrides(**typed: Any) -> SchemaOverrides:
    """Parse overrides typed by a person; None, or an empty encoding or delimiter, means that the value is inferred.

    Raises:
        StudioError: a value cannot be parsed.
    """
    inferred = {"encoding": "", "delimiter": ""}
    given = {name: value for name, value in typed.items() if value is not None and value != inferred.get(name)}
    return SchemaOverrides(**parse_fields(given))


def parse_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Parse typed values of :class:`SchemaOverrides`: ``"scored pairs"``, ``"a, b"``, ``"0-5"``, ``"no,yes"``; others are unchanged.

    ``none`` as ``order`` or ``split`` means no order or no split column; the ``scale`` is ``5-0`` if 0 is most similar.
    """
    parsers: dict[str, Callable[[str], Any]] = {
        "kind": lambda text: text.strip().replace("-", "_").replace(" ", "_"),
        "columns": parse_columns,
        "order": parse_order,
        "scale": parse_scale,
        "header": _parse_yes_no,
        "split": lambda text: "" if text.strip().casefold() == NO_ORDER else text,
    }
    return {name: parsers[name](value) if isinstance(value, str) and name in parsers else value for name, value in values.items()}


def parse_order(text: str) -> tuple[str, ...]:
    """Parse comma-separated labels, least similar first; empty, or ``none``, for labels without an order.

    Raises:
        StudioError: there is a single label, or a duplicate.
    """
    if text.strip().casefold() in ("", NO_ORDER):
        return ()
    labels = tuple(label.strip() for label in _parse_list(text))
    if len(labels) < 2 or len(set(labels)) < len(labels):
        hint = "list all labels separated by commas, least similar first, such as no,yes"
        raise StudioError(_("{text} is not a valid label order", text=repr(text)), hint)
    return labels


def parse_columns(text: str) -> tuple[str, ...]:
    """Parse comma-separated column names; names that contain a comma are quoted, as in CSV."""
    names = [name.strip() for name in _parse_list(text)]
    if not names or not all(names):
        hint = "list column names separated by commas, such as sentence1,sentence2"
        raise StudioError(_("{text} does not name any columns", text=repr(text)), hint)
    return tuple(names)


def format_names(names: Sequence[str]) -> str:
    """Join names with commas, in the format of :func:`parse_columns` and :func:`parse_order`."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def format_flags(fields: Mapping[str, Any]) -> list[str]:
    """Return the command-line flags that set fields of :class:`SchemaOverrides`."""
    words: list[str] = []
    for name, value in fields.items():
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        else:
            words += [f"--{name}", format_value(value)]
    return words


def option(answer: str, **fields: Any) -> Option:
    """Return the answer to a question that sets fields of :class:`SchemaOverrides`; fields that are None are unchanged."""
    choice = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items() if value is not None}
    return Option(answer, shlex.join(format_flags(choice)), choice)


def format_value(value: Any) -> str:
    """Format a value as it would be typed: names separated by commas, a scale as ``0-5``."""
    if isinstance(value, list | tuple) and not value:
        return NO_ORDER
    if isinstance(value, list | tuple):
        if len(value) == 2 and all(isinstance(end, int | float) for end in value):
            return format_scale(float(value[0]), float(value[1]))
        return format_names([str(item) for item in value])
    return {True: "yes", False: "no", None: ""}.get(value, str(value)) if isinstance(value, bool | None) else str(value)


def parse_scale(text: str) -> tuple[float, float]:
    """Parse ``0-5`` as (0.0, 5.0); ``-1 to 1`` and, if 0 is most similar, ``5-0`` are also accepted."""
    found = _SCALE.fullmatch(text)
    if not found or not all(math.isfinite(float(end)) for end in found.groups()):
        raise StudioError(_("{text} is not a scale", text=repr(text[:80])), "specify the lowest and the highest score, such as 0-5")
    return float(found[1]), float(found[2])


def format_scale(low: float, high: float) -> str:
    """Format a scale for :func:`parse_scale`: ``0-5``; ``-1 to 1``; ``5-0`` if 0 is most similar."""
    first, last = (f"{Decimal(repr(float(end))).normalize():f}" for end in (low, high))
    return f"{first}-{last}" if low >= 0 and high >= 0 else _("{first} to {last}", first=first, last=last)


def _parse_yes_no(text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES + _NO:
        raise StudioError(_("header is {text}", text=repr(text)), "use yes if the first row contains the column names, otherwise no")
    return word in _YES


def _parse_list(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        message = _("{text} cannot be read as a list: {error}", text=repr(text[:80]), error=error)
        raise StudioError(message, "write it on one line, separated by commas") from None
