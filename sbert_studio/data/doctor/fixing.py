"""All the mends that a file's findings offer, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..findings import Finding, drop_rows
from ..loading.table import Table
from ..schema.overrides import SchemaOverrides
from .mends import mend


def fix_all(
    table: Table, asked: SchemaOverrides, examine: Callable[[Table, SchemaOverrides], Sequence[Finding]]
) -> tuple[Table, SchemaOverrides, tuple[Finding, ...]]:
    """Apply every mend that ``examine`` finds, and look again, until it finds none.

    What changes cells or columns comes first, one at a time and each but once, for what else is wrong may vanish with it;
    then the rows that are to be left out, together.

    Returns:
        the mended table, what of ``asked`` still holds, and the findings whose mends were applied, in that order.

    Raises:
        StudioError: no row would be left.
    """
    done: list[Finding] = []
    tried: set[str] = set()
    while True:
        open_ones = [finding for finding in examine(table, asked) if finding.mend is not None]
        change = next((one for one in open_ones if one.mend and one.mend.name != "drop_rows" and one.mend.label not in tried), None)
        if change is not None and change.mend is not None:
            tried.add(change.mend.label)
            table, asked = mend(table, change.mend), asked.after(change.mend)
            done.append(change)
            continue
        leaving = [one for one in open_ones if one.mend and one.mend.name == "drop_rows"]
        if not leaving:
            return table, asked, tuple(done)
        table = mend(table, drop_rows(tuple(sorted({int(row) for one in leaving if one.mend for row in one.mend.values["rows"]}))))
        done += leaving
