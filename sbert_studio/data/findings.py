"""Findings about a file, and questions that only its owner can answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import describe_rows
from ..i18n import _, ngettext

if TYPE_CHECKING:
    import numpy as np

Severity = Literal["error", "warning", "info"]
SHEET_NOTE_PREFIX = "the sheet "
"""Beginning of the message that names the sheets of a workbook."""


@dataclass(frozen=True)
class Fix:
    """A change to a table that can be applied with one click (see :func:`sbert_studio.data.doctor.fixes.apply_fix`).

    Attributes:
        name: the stable id of the fix, such as ``drop_rows``.
        label: the label of the button.
        values: the arguments of the fix as plain JSON data; rows are spreadsheet row numbers.
    """

    name: str
    label: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dropped_rows(self) -> tuple[int, ...]:
        return tuple(int(row) for row in self.values["rows"]) if self.name == "drop_rows" else ()

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "label": self.label, "values": dict(self.values)}


@dataclass(frozen=True)
class Finding:
    """An observation about a table or its examples.

    Attributes:
        severity: ``error`` (training would fail or learn nonsense), ``warning`` (worth checking) or ``info``.
        message: one sentence, without the row numbers.
        rows: the spreadsheet row numbers concerned; empty if it concerns the whole file.
        fix: a change that solves the problem, if any.
        skip_reason: why its rows are skipped (see :class:`~sbert_studio.data.row_report.SkippedRows`); empty if they are used.
    """

    severity: Severity
    message: str
    rows: tuple[int, ...] = ()
    fix: Fix | None = None
    skip_reason: str = ""

    @property
    def dropped_rows(self) -> tuple[int, ...]:
        return self.fix.dropped_rows if self.fix else ()

    def without(self, removed: np.ndarray) -> Finding | None:
        """Return the finding after rows were removed from the table, if its fix is to drop rows; ``None`` if it is resolved."""
        import numpy as np  # deferred: the command line formats counts before heavy imports

        if not self.dropped_rows:
            return self
        kept = np.asarray(self.rows, dtype=np.int64)
        rows = tuple(kept[~np.isin(kept, removed)].tolist())
        if len(rows) == len(self.rows):
            return self
        message = self.message.replace(count(len(self.rows), "row"), count(len(rows), "row"), 1)
        return replace(self, message=message, rows=rows, fix=drop_rows_fix(rows)) if rows else None

    def describe(self) -> str:
        """Return the message followed by the row numbers."""
        return _("{message} ({rows})", message=self.message, rows=describe_rows(self.rows)) if self.rows else self.message

    def to_json(self) -> dict[str, Any]:
        fix = self.fix.to_json() if self.fix else None
        return {"severity": self.severity, "message": self.message, "rows": list(self.rows), "fix": fix}


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a number with its noun: ``1 row``, ``1,204 rows``."""
    return ngettext(f"{{n}} {noun}", f"{{n}} {plural or noun + 's'}", number)


def drop_rows_fix(rows: tuple[int, ...], label: str | None = None) -> Fix:
    """Return the fix that removes ``rows`` from the table."""
    return Fix("drop_rows", label or _("Remove {rows}", rows=count(len(rows), "row")), {"rows": list(rows)})


@dataclass(frozen=True)
class Option:
    """One possible answer.

    Attributes:
        answer: the label of the button, such as ``yes``.
        flag: the equivalent command-line option, such as ``--order no,yes``, quoted for a shell.
        choice: the fields of :class:`~sbert_studio.data.schema.roles.SchemaOverrides` that it sets, as plain JSON data.
    """

    answer: str
    flag: str
    choice: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"answer": self.answer, "flag": self.flag, "choice": dict(self.choice)}


@dataclass(frozen=True)
class ExampleRow:
    """A row of the table, shown beside a question.

    Attributes:
        row: the spreadsheet row number.
        texts: its texts, shortened.
        value: its score, label or category as written; empty if there is none.
        read_as: how it would be read, such as ``most similar``; empty if that is not the question.
    """

    row: int
    texts: tuple[str, ...]
    value: str = ""
    read_as: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"row": self.row, "texts": list(self.texts), "value": self.value, "read_as": self.read_as}


@dataclass(frozen=True)
class Question:
    """One thing that names, values and the model leave open.

    Attributes:
        name: what is open: ``kind, columns, target, order, scale, encoding, delimiter`` or ``header``.
        text: one plain sentence that ends with a question mark.
        options: the answers; the first one is assumed if nobody answers.
        why: a sentence on the reason for the doubt.
        rows: two or three rows of the table.
        proposed: the index of the answer that names and evidence favour; ``None`` if they favour none or contradict each other.
    """

    name: str
    text: str
    options: tuple[Option, ...]
    why: str = ""
    rows: tuple[ExampleRow, ...] = ()
    proposed: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "question": self.text,
            "why": self.why,
            "options": [option.to_json() for option in self.options],
            "rows": [row.to_json() for row in self.rows],
            "proposed": self.proposed,
        }
