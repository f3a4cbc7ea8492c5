"""What is worth telling about a table: how grave, which rows, and the mend where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

from ..errors import describe_rows

Severity = Literal["error", "warning", "info"]
OF_SHEETS = "the sheet "
"""How the message begins that names the sheets of a workbook."""


@dataclass(frozen=True)
class Mend:
    """A change to a table that one click applies (see :func:`sbert_studio.data.doctor.mends.mend`).

    Attributes:
        name: the stable id of the mend, such as ``drop_rows``.
        label: what the button says.
        values: what the mend needs, as plain JSON data; rows are spreadsheet row numbers.
    """

    name: str
    label: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"name": self.name, "label": self.label, "values": dict(self.values)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Mend:
        """The inverse of :meth:`to_json`."""
        return cls(str(value["name"]), str(value.get("label", "")), dict(value.get("values") or {}))


@dataclass(frozen=True)
class Finding:
    """One observation about a table or its examples.

    Attributes:
        severity: ``error`` (training would fail or learn nonsense), ``warning`` (worth a look) or ``info``.
        message: one sentence without the row numbers.
        rows: the spreadsheet row numbers it is about; empty where it is about the file as a whole.
        mend: the change that puts it right, if there is one.
        left_out: why its rows are left out, as :class:`~sbert_studio.data.accounts.LeftOut` words it; empty where they are used.
    """

    severity: Severity
    message: str
    rows: tuple[int, ...] = ()
    mend: Mend | None = None
    left_out: str = ""

    def without(self, gone: np.ndarray) -> Finding | None:
        """What remains to be told once the rows of these numbers are left out, if leaving rows out is its mend; ``None``: nothing."""
        import numpy as np  # not above: the command line counts things before it loads anything heavy

        if self.mend is None or self.mend.name != "drop_rows":
            return self
        kept = np.asarray(self.rows, dtype=np.int64)
        rows = tuple(kept[~np.isin(kept, gone)].tolist())
        if len(rows) == len(self.rows):
            return self
        message = self.message.replace(count(len(self.rows), "row"), count(len(rows), "row"), 1)
        return replace(self, message=message, rows=rows, mend=drop_rows(rows)) if rows else None

    def in_words(self) -> str:
        """The message, with the row numbers behind it."""
        return f"{self.message} ({describe_rows(self.rows)})" if self.rows else self.message

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: ``severity, message, rows, mend``."""
        return {
            "severity": self.severity,
            "message": self.message,
            "rows": list(self.rows),
            "mend": self.mend.to_json() if self.mend else None,
        }


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: ``1 row``, ``1,204 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def drop_rows(rows: tuple[int, ...], label: str | None = None) -> Mend:
    """The mend that leaves ``rows`` out."""
    return Mend("drop_rows", label or f"Leave out {count(len(rows), 'row')}", {"rows": list(rows)})
