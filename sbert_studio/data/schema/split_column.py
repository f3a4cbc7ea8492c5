"""Columns that assign each row to training, validation or test, as in many public datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import computed_field

from ...errors import StudioError
from ...i18n import _, join, ngettext
from ...serialization import Internal, JsonResult, doc
from ..findings import Finding, Question, Severity, count, drop_rows_fix
from .content import profile_table, quote_cells
from .hypotheses import example_rows
from .names import SPLIT_PARTS
from .roles import SchemaOverrides, option

if TYPE_CHECKING:
    from ..loading.table import Table

SplitPart = Literal["train", "dev", "test", ""]
"""A part of a data set; ``""``: none of them."""


@dataclass(frozen=True, eq=False)
class RowSplit(JsonResult):
    """Number of rows that a column of a table assigns to each part.

    Attributes:
        table: the whole :class:`~sbert_studio.data.loading.table.Table`.
        parts: (n,) str, the :data:`SplitPart` of each row.
    """

    table: Internal[Any]
    column: Annotated[str, doc("the column of the parts")]
    parts: Internal[np.ndarray]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def train(self) -> int:
        return self.count("train")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def dev(self) -> int:
        return self.count("dev")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def test(self) -> int:
        return self.count("test")

    @computed_field(description="assigned to no part")  # type: ignore[prop-decorator]
    @property
    def other(self) -> int:
        return self.count("")

    def select(self, part: SplitPart) -> Table:
        """Return the rows of a part; they keep their row numbers."""
        rows: Table = self.table.select(np.flatnonzero(self.parts == part))
        return rows

    def lines(self, *parts: SplitPart) -> tuple[int, ...]:
        """Return the row numbers of some parts."""
        return tuple(self.table.lines[np.isin(self.parts, parts)].tolist())

    def has(self, part: SplitPart) -> bool:
        return bool((self.parts == part).any())

    def count(self, part: SplitPart) -> int:
        return int((self.parts == part).sum())

    def describe(self, *, uses_dev: bool) -> str:
        """Return the column and the number of rows of each part as a clause; ``uses_dev``: validation rows are used for evaluation."""
        named = {"column": repr(self.column), "train": f"{self.train:,}", "dev": f"{self.dev:,}"}
        if uses_dev and self.dev:
            clauses = [_("split by the column {column}: {train} rows for training, {dev} for validation", **named)]
        else:
            clauses = [_("split by the column {column}: {train} rows for training", **named)]
        if uses_dev and not self.dev:
            clauses.append("there are no validation rows")
        elif self.dev and not uses_dev:
            clauses.append(ngettext("{n} validation row is not used", "{n} validation rows are not used", self.dev))
        if self.test:
            clauses.append(ngettext("{n} test row is not used", "{n} test rows are not used", self.test))
        if self.other:
            clauses.append(
                ngettext(
                    "{n} row is not assigned to a split and is not used",
                    "{n} rows are not assigned to a split and are not used",
                    self.other,
                )
            )
        return join("; ", clauses)

    def question(self, texts: Sequence[str]) -> Question | None:
        """Return the question about rows that belong to no part, with examples from the columns ``texts``; None without such rows."""
        if not self.has(""):
            return None
        places = np.flatnonzero(self.parts == "").tolist()
        text = _(
            "Should {rows} that the column {column} does not assign to a split be skipped?",
            rows=count(len(places), "row"),
            column=repr(self.column),
        )
        why = _("it contains {cells} instead of train, dev or test, which can be corrected in the file", cells=self._other_cells())
        options = (
            option("yes, and split by this column", split=self.column),
            option("no, ignore this column", split=""),
        )
        return Question("split", text, options, why, example_rows(self.table, texts, places[:3], self.column))

    def unused(self, *, uses_dev: bool) -> tuple[Finding, ...]:
        """Return the reasons for skipping test rows and validation rows that are not used, for :func:`~..row_report.report_rows`."""
        parts: dict[SplitPart, str] = {"test": "a test row", **({} if uses_dev else {"dev": "a validation row"})}
        return tuple(Finding("info", why, self.lines(part), skip_reason=why) for part, why in parts.items())

    def report_other(self) -> tuple[Finding, ...]:
        """Return a finding on the rows that belong to no part, if there are any."""
        if not self.has(""):
            return ()
        rows = self.lines("")
        message = _(
            "{rows} with {cells} in {column} instead of train, dev or test, skipped",
            rows=count(len(rows), "row"),
            cells=self._other_cells(),
            column=repr(self.column),
        )
        why = _("not assigned to a split by {column}", column=repr(self.column))
        return (Finding("warning", message, rows, drop_rows_fix(rows), why),)

    def report_groups(self, group: str, severity: Severity) -> tuple[Finding, ...]:
        """Return a finding if groups of the column ``group`` have rows in the training part and in another one."""
        groups = np.array([cell.strip() for cell in self.table.column(group)], dtype=object)
        trained, is_held = set(groups[self.parts == "train"]) - {""}, np.isin(self.parts, ["dev", "test"])
        shared = is_held & np.array([name in trained for name in groups], dtype=bool)
        if not shared.any():
            return ()
        message = _(
            "{rows} for validation or test in {groups} of the column {column} that also contain training rows: "
            "scores may not generalize to new groups",
            rows=count(int(shared.sum()), "row"),
            groups=count(len(set(groups[shared])), "group"),
            column=repr(group),
        )
        return (Finding(severity, message, tuple(self.table.lines[shared].tolist())),)

    def _other_cells(self) -> str:
        cells = dict.fromkeys(cell.strip() for cell in self.select("").column(self.column))
        blank = ["a blank cell"] if "" in cells else []
        return join(" and ", [*filter(None, [quote_cells([cell for cell in cells if cell])]), *blank])


def split_rows(table: Table, column: str) -> RowSplit | None:
    """Return the parts to which a column assigns the rows of a table; None if every row is for training.

    ``validation``, ``valid``, ``eval``, ``trial`` and the like are ``dev``. If no cell says ``train``, rows with a blank cell are for
    training.

    Raises:
        StudioError: no cell of the column names a part.
    """
    cells = [cell.strip().casefold() for cell in table.column(column)]
    part_of = {cell: SPLIT_PARTS.get(cell, "") for cell in set(cells)}
    if not any(part_of.values()):
        hint = "its cells should be train, dev or test, or similar words; choose another column, or '' for none"
        raise StudioError(_("the column {column} does not assign rows to splits", column=repr(column)), hint)
    if "" in part_of and "train" not in part_of.values():
        part_of[""] = "train"
    parts = np.array([part_of[cell] for cell in cells])
    return None if (parts == "train").all() else RowSplit(table, column, parts)


def find_split(table: Table, overrides: SchemaOverrides | None = None) -> RowSplit | None:
    """Return the split by the column in the overrides, else by one that looks like a split column; None if there is none.

    Raises:
        StudioError: the overrides specify a column that does not exist, or whose cells name no parts.
    """
    overrides = overrides or SchemaOverrides()
    column = overrides.split
    if column is None:
        used = (*(overrides.columns or ()), overrides.target, overrides.group)
        column = next((one.name for one in profile_table(table) if one.is_split and one.name not in used), None)
    return split_rows(table, column) if column else None
