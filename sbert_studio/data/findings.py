"""Findings about a file, and questions that only its owner can answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..errors import describe_rows
from ..i18n import _, ngettext
from ..serialization import Internal, JsonResult, doc

if TYPE_CHECKING:
    import numpy as np

Severity = Literal["error", "warning", "info"]
SHEET_NOTE_PREFIX = "the sheet "  # of the note that a sheet among several was read
"""Beginning of the message that names the sheets of a workbook."""


@dataclass(frozen=True)
class Fix(JsonResult):
    """A change to a table that one click applies.

    See :func:`sbert_studio.data.doctor.fixes.apply_fix`.
    """

    name: Annotated[str, doc("its stable id, such as drop_rows")]
    label: Annotated[str, doc("the label of its button")]
    values: Annotated[Mapping[str, Any], doc("its arguments; rows are spreadsheet row numbers")] = field(default_factory=dict)

    @property
    def dropped_rows(self) -> tuple[int, ...]:
        return tuple(int(row) for row in self.values["rows"]) if self.name == "drop_rows" else ()


@dataclass(frozen=True)
class Finding(JsonResult):
    """One observation about a table or its examples.

    Attributes:
        skip_reason: why its rows are skipped (see :class:`~sbert_studio.data.row_report.SkippedRows`); empty if they are used.
    """

    severity: Annotated[Severity, doc("error (training would fail or learn nonsense), warning (worth a look) or info")]
    message: Annotated[str, doc("one sentence without the row numbers")]
    rows: Annotated[tuple[int, ...], doc("spreadsheet row numbers; empty if it is about the whole file")] = ()
    fix: Annotated[Fix | None, doc("the change that solves the problem")] = None
    skip_reason: Internal[str] = ""

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


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a number with its noun: ``1 row``, ``1,204 rows``."""
    return ngettext(f"{{n}} {noun}", f"{{n}} {plural or noun + 's'}", number)


def drop_rows_fix(rows: tuple[int, ...], label: str | None = None) -> Fix:
    """Return the fix that removes ``rows`` from the table."""
    return Fix("drop_rows", label or _("Remove {rows}", rows=count(len(rows), "row")), {"rows": list(rows)})


@dataclass(frozen=True)
class Option(JsonResult):
    """A possible answer to a question."""

    answer: Annotated[str, doc("the label of its button, such as yes")]
    flag: Annotated[str, doc("the same on the command line, such as --order no,yes, quoted for a shell")]
    choice: Annotated[Mapping[str, Any], doc("arguments of /check, /train and /evaluate that give this answer")] = field(
        default_factory=dict
    )


@dataclass(frozen=True)
class ExampleRow(JsonResult):
    """A row of the file, as an example for a question."""

    row: Annotated[int, doc("as a spreadsheet numbers it")]
    texts: Annotated[tuple[str, ...], doc("shortened")]
    value: Annotated[str, doc("its score, label or category as written")] = ""
    read_as: Annotated[str, doc("how it would be read, such as: most similar; empty if that is not the question")] = ""


@dataclass(frozen=True)
class Question(JsonResult):
    """A question that only the owner of the file can answer, because names, values and the model leave it open."""

    name: Annotated[str, doc("what is open: kind, columns, target, order, scale, encoding, delimiter or header")]
    text: Annotated[str, doc("one sentence", name="question")]
    options: Annotated[tuple[Option, ...], doc("the first one is assumed if nobody answers")]
    why: Annotated[str, doc("the reason for the doubt")] = ""
    rows: Annotated[tuple[ExampleRow, ...], doc("two or three")] = ()
    proposed: Annotated[int | None, doc("index of the option that names and evidence favour, if they agree on one")] = None
