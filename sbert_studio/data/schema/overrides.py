"""Overrides of a file's schema by a person, as values and as typed on a command line."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import StudioError
from ..findings import Fix
from .roles import Kind

NO_ORDER = "none"
"""What is typed for "these labels have no order"."""
_NUMBER = r"-?\d+(?:\.\d+)?"
_SCALE = re.compile(rf"\s*({_NUMBER})\s*(?:-|–|:|to|\.\.)\s*({_NUMBER})\s*")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class SchemaOverrides:
    """Overrides by a person; fields that are None are inferred.

    Attributes:
        kind: the kind of examples.
        columns: the text columns, in the order of their parts.
        target: the column of scores, labels or categories.
        group: the column of topics or classes; ``""`` for none.
        scale: the scores of "least similar" and "most similar": (0, 5), or (5, 0) if 0 is most similar.
        order: the labels from least to most similar; an empty tuple if they have no order.
        encoding, delimiter, header: how to read the file (see :func:`~sbert_studio.data.loading.table.read_table`).
        as_read: accept what was inferred although it is uncertain.
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

    def after(self, change: Fix) -> SchemaOverrides:
        """Return what still holds once a fix was applied."""
        if change.name != "drop_column":
            return self
        return SchemaOverrides(columns=self.columns, group=None if self.group == change.values["column"] else self.group)

    def __bool__(self) -> bool:
        return self != SchemaOverrides()


def parse_overrides(
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
) -> SchemaOverrides:
    """Parse overrides as a person types them: ``"scored pairs", "a, b", "score", "topic", "0-5", "no,yes"``.

    ``order`` is ``none`` for labels without one, ``scale`` is ``5-0`` if 0 is most similar, and ``delimiter`` may be a name: ``tab``,
    ``comma``, ``semicolon``, ``pipe``.

    Raises:
        StudioError: an argument cannot be parsed.
    """
    return SchemaOverrides(
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
    """Parse labels separated by commas, least similar first; nothing, or ``none``, for labels without an order.

    Raises:
        StudioError: it names a single label, or one twice.
    """
    if text.strip().casefold() in ("", NO_ORDER):
        return ()
    labels = tuple(label.strip() for label in _parse_list(text))
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise StudioError(f"{text!r} is not an order of labels", "list all labels separated by commas, least similar first, such as no,yes")
    return labels


def parse_columns(text: str) -> tuple[str, ...]:
    """Parse column names separated by commas; one that holds a comma is quoted, as in a CSV."""
    names = [name.strip() for name in _parse_list(text)]
    if not names or not all(names):
        raise StudioError(f"{text!r} does not name any columns", "list column names separated by commas, such as sentence1,sentence2")
    return tuple(names)


def format_names(names: Sequence[str]) -> str:
    """Return names separated by commas, as :func:`parse_columns` and :func:`parse_order` read them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def parse_scale(text: str) -> tuple[float, float]:
    """Parse ``0-5`` as (0.0, 5.0); ``-1 to 1`` and, if 0 is most similar, ``5-0`` work too."""
    found = _SCALE.fullmatch(text)
    if not found or not all(math.isfinite(float(end)) for end in found.groups()):
        raise StudioError(f"{text[:80]!r} is not a scale", "give the lowest and the highest score, such as 0-5")
    return float(found[1]), float(found[2])


def format_scale(low: float, high: float) -> str:
    """Return a scale as :func:`parse_scale` reads it: ``0-5``; ``-1 to 1``; ``5-0`` if 0 is most similar."""
    first, last = (np.format_float_positional(end, trim="-") for end in (low, high))
    return f"{first}-{last}" if low >= 0 and high >= 0 else f"{first} to {last}"


def _parse_list(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise StudioError(f"{text[:80]!r} cannot be read as a list: {error}", "write it on one line, separated by commas") from None
