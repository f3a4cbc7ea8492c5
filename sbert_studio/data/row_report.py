"""Account for every row of a file: used, held out, or skipped and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import computed_field

from ..errors import describe_rows
from ..i18n import _, join
from ..serialization import OMIT_EMPTY, JsonResult, doc
from .findings import Finding, count

if TYPE_CHECKING:
    from .loading.table import Table

# Reasons for skipping valid rows.
REMOVED_BY_USER = "removed on request"
NOT_NEEDED = "not needed"
SHARES_HELD_OUT_TEXT = "shares a text with a held-out row"


def _used(number: str, use: str) -> str:
    # Whole phrases, because word order differs between languages.
    phrases = {
        "used": _("{number} used", number=number),
        "evaluated": _("{number} evaluated", number=number),
        "compared": _("{number} compared", number=number),
        "used for training": _("{number} used for training", number=number),
        "used for validation": _("{number} used for validation", number=number),
        "for training": _("{number} for training", number=number),
        "for validation": _("{number} for validation", number=number),
        "usable for training": _("{number} usable for training", number=number),
    }
    return phrases.get(use, f"{number} {use}")


@dataclass(frozen=True)
class SkippedRows(JsonResult):
    """Rows that were skipped, and why."""

    why: Annotated[str, doc("the reason, such as: the score is not a number")]
    rows: Annotated[tuple[int, ...], doc("as a spreadsheet numbers them")]


@dataclass(frozen=True)
class RowReport(JsonResult):
    """Row counts of a file: read = used + held_out + left_out."""

    read: Annotated[int, doc("all rows of the file, including blank ones")]
    used: Annotated[int, doc("rows used for training, encoding or evaluation")]
    held_out: Annotated[int, doc("rows for validation; 0 if nothing is trained")] = 0
    reasons: Annotated[tuple[SkippedRows, ...], doc("the rows that were left out, by reason; no row has two reasons")] = ()
    in_turn: Annotated[bool, doc("each row was used for training and validation in turn (cross-validation)"), OMIT_EMPTY] = False
    examples: Annotated[int, doc("number of examples, if lists in rows were expanded"), OMIT_EMPTY] = 0

    @computed_field(alias="left_out", description="number of skipped rows")  # type: ignore[prop-decorator]
    @property
    def skipped(self) -> int:
        return sum(len(reason.rows) for reason in self.reasons)

    def describe(self, use: str = "used") -> str:
        """Return :meth:`summarize` with the reasons: ``…, 46 skipped: the score is not a number (46: rows 3, 5, …)``."""
        reasons = join(
            "; ",
            (
                _("{why} ({rows}: {rows2})", why=reason.why, rows=f"{len(reason.rows):,}", rows2=describe_rows(reason.rows))
                for reason in self.reasons
            ),
        )
        summary = self.summarize(use)
        return _("{summary}: {reasons}", summary=summary, reasons=reasons) if reasons else summary

    def summarize(self, use: str = "used") -> str:
        """Return the counts: ``120 rows read, 74 used for training, 46 skipped``.

        Args:
            use: what the rows are used for, such as ``evaluated`` or ``used for training``.
        """
        read, skipped = count(self.read, "row"), f"{self.skipped:,}"
        used = _used(f"{self.used:,}", use) + (f" ({count(self.examples, 'example')})" if self.examples else "")
        if self.held_out:
            return _(
                "{read} read, {used}, {held_out} held out, {skipped} skipped",
                read=read,
                used=used,
                held_out=f"{self.held_out:,}",
                skipped=skipped,
            )
        if self.in_turn:
            return _("{read} read, {used}, each held out in one fold, {skipped} skipped", read=read, used=used, skipped=skipped)
        return _("{read} read, {used}, {skipped} skipped", read=read, used=used, skipped=skipped)

    def after_split(self, rows: np.ndarray, train: np.ndarray, held_out: np.ndarray, why: str) -> RowReport:
        """Return the report after the used ``rows`` were split; rows in neither part are skipped for the reason ``why``."""
        train_rows = _distinct(train)
        held_out_rows = np.setdiff1d(_distinct(held_out), train_rows)
        others = np.setdiff1d(_distinct(rows), np.union1d(train_rows, held_out_rows))
        reasons = (*self.reasons, SkippedRows(why, tuple(others.tolist()))) if len(others) else self.reasons
        examples = len(train) if self.examples else 0
        return replace(self, used=len(train_rows), held_out=len(held_out_rows), reasons=reasons, examples=examples)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RowReport:
        reasons: Sequence[Mapping[str, Any]] = value.get("reasons") or ()
        return cls(
            int(value["read"]),
            int(value["used"]),
            int(value.get("held_out", 0)),
            tuple(SkippedRows(str(reason["why"]), tuple(int(row) for row in reason["rows"])) for reason in reasons),
            bool(value.get("in_turn", False)),
            int(value.get("examples", 0)),
        )


def report_rows(
    table: Table,
    findings: Iterable[Finding],
    used: Sequence[int] | np.ndarray,
    held_out: Sequence[int] | np.ndarray = (),
    *,
    otherwise: str = NOT_NEEDED,
) -> RowReport:
    """Account for every row of a file, based on the notes from reading it and from building its examples.

    A row that occurs several times (a list expanded into several examples) counts once: as used, else as held out, else as skipped for the
    first reason.

    Args:
        table: the file as read and fixed; its notes name the rows skipped while reading.
        findings: further findings; those with a ``skip_reason`` count.
        used, held_out: the row numbers of the used and the held-out examples.
        otherwise: the reason for skipping all other rows of the table.
    """
    used_rows = _distinct(used)
    held_out_rows = np.setdiff1d(_distinct(held_out), used_rows)
    reported = np.union1d(used_rows, held_out_rows)
    skipped: dict[str, np.ndarray] = {}
    causes: list[tuple[str, Sequence[int] | np.ndarray]] = [
        (finding.skip_reason, finding.rows) for finding in (*table.notes, *findings) if finding.skip_reason
    ]
    for why, rows in [*causes, (REMOVED_BY_USER, table.dropped), (otherwise, table.lines)]:
        new = np.setdiff1d(_distinct(rows), reported)
        if len(new):
            reported = np.union1d(reported, new)
            skipped[why] = np.union1d(skipped.get(why, _distinct(())), new)
    reasons = tuple(SkippedRows(why, tuple(rows.tolist())) for why, rows in skipped.items())
    examples = len(used) if len(used) > len(used_rows) else 0
    return RowReport(len(reported), len(used_rows), len(held_out_rows), reasons, examples=examples)


def _distinct(rows: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.unique(np.asarray(rows, dtype=np.int64))
