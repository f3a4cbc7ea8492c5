"""Application of fixes to a table. Rows are identified by spreadsheet row number, so that fixes can be applied one after another."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ..findings import Finding, Fix, drop_rows_fix
from ..loading.table import Table
from ..schema.numbers import numbers_of
from ..schema.roles import SchemaOverrides

_MOST_ESCAPES = 3  # maximum number of times that an export may have escaped a text
_HIDDEN = re.compile(r"(?is)<!--.*?-->|<(script|style)\b[^<>]*>.*?</\1\s*>")
# Known tag names only, because <name> may be a placeholder. Inline tags may occur within words.
_TAG = re.compile(
    r"(?i)</?(?:(?P<inline>a|abbr|b|code|em|font|i|mark|s|small|span|strong|sub|sup|u)|article|blockquote|body|br|center|dd|div|dl|dt|"
    r"figcaption|figure|footer|form|h[1-6]|head|header|hr|html|iframe|img|input|label|li|link|main|meta|nav|ol|p|pre|script|section|style|"
    r"table|tbody|td|tfoot|th|thead|title|tr|ul)(?:\s[^<>]*)?/?>"
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_Apply = Callable[[Table, Mapping[str, Any]], Table]


def apply_fix(table: Table, fix: Fix) -> Table:
    """Return the table with one fix applied.

    Raises:
        StudioError: the fix is unknown or does not apply to this table.
    """
    apply = _FIXES.get(fix.name)
    if apply is None:
        raise StudioError(_("there is no fix called {name}", name=repr(fix.name)), _("the fixes are: {fixes}", fixes=", ".join(_FIXES)))
    try:
        fixed = apply(table, fix.values)
    except (KeyError, TypeError, ValueError) as error:
        raise StudioError(
            _("the fix {name} does not apply to {name2}", name=repr(fix.name), name2=table.name),
            "check the file again and use its current fixes",
        ) from error
    if not len(fixed):
        raise StudioError(
            _("the fix {name} would leave no rows in {name2}", name=repr(fix.name), name2=table.name),
            "correct the rows in a spreadsheet instead",
        )
    return fixed


def apply_all_fixes(
    table: Table, overrides: SchemaOverrides, examine: Callable[[Table, SchemaOverrides], Sequence[Finding]]
) -> tuple[Table, SchemaOverrides, tuple[Finding, ...]]:
    """Apply the fixes of all findings, and repeat until there are no more findings with a fix.

    Fixes that change cells or columns are applied first, one at a time and each only once, because they may resolve other findings.
    Then all rows to be dropped are dropped together.

    Returns:
        the fixed table, the ``overrides`` that still apply, and the findings whose fixes were applied, in order.

    Raises:
        StudioError: no rows would remain.
    """
    solved: list[Finding] = []
    tried: set[str] = set()
    while True:
        findings = [finding for finding in examine(table, overrides) if finding.fix is not None]
        change = next((one for one in findings if one.fix and not one.dropped_rows and one.fix.label not in tried), None)
        if change is not None and change.fix is not None:
            tried.add(change.fix.label)
            table, overrides = apply_fix(table, change.fix), overrides.after(change.fix)
            solved.append(change)
            continue
        dropping = [finding for finding in findings if finding.dropped_rows]
        if not dropping:
            return table, overrides, tuple(solved)
        table = apply_fix(table, drop_rows_fix(tuple(sorted({row for finding in dropping for row in finding.dropped_rows}))))
        solved += dropping


def _swap(table: Table, values: Mapping[str, Any]) -> Table:
    first, second = values["columns"]
    a, b = table.column(first), table.column(second)
    for index in _indices(table, values["rows"]) if "rows" in values else range(len(table)):
        a[index], b[index] = b[index], a[index]
    return table.with_column(first, a).with_column(second, b)


def _average_scores(table: Table, values: Mapping[str, Any]) -> Table:
    """Replace each group of rows by its first row, with the mean of the scores."""
    name = values["column"]
    cells, scores = table.column(name), numbers_of(table.column(name))
    dropped: list[int] = []
    for rows in values["sets"]:
        indices = _indices(table, rows)
        if len(indices) > 1:
            cells[indices[0]] = f"{float(np.nanmean(scores[indices])):.6g}"
            dropped += table.lines[indices[1:]].tolist()
    return table.with_column(name, cells).without_lines(dropped)


def _set_cells(table: Table, values: Mapping[str, Any]) -> Table:
    cells = table.column(values["column"])
    for row, cell in values["cells"].items():
        for index in _indices(table, [row]):
            cells[index] = str(cell)
    return table.with_column(values["column"], cells)


def _change_texts(change: Callable[[str], str]) -> _Apply:
    def apply(table: Table, values: Mapping[str, Any]) -> Table:
        indices = _indices(table, values["rows"])
        for name in values["columns"]:
            cells = table.column(name)
            for index in indices:
                cells[index] = change(cells[index])
            table = table.with_column(name, cells)
        return table

    return apply


def remove_markup(text: str) -> str:
    """Remove HTML tags, comments, scripts and styles, and decode character entities. Texts without HTML are returned unchanged."""
    plain = text
    for _unused in range(_MOST_ESCAPES):
        if not ("<" in plain or "&" in plain):
            break
        before, plain = plain, _TAG.sub(lambda tag: "" if tag["inline"] else " ", _HIDDEN.sub(" ", plain))
        plain = _ENTITY.sub(lambda entity: html.unescape(entity[0]), plain)
        if plain == before:
            break
    return text if plain == text else " ".join(plain.split())


def repair_mojibake(text: str) -> str:
    """Repair UTF-8 that was decoded as Windows-1252 (``cafÃ©`` → ``café``). Other texts are returned unchanged."""
    for codec in ("cp1252", "latin-1"):
        try:
            return text.encode(codec).decode("utf-8")
        except UnicodeError:
            continue
    return text


def _indices(table: Table, rows: Sequence[int]) -> list[int]:
    return [int(index) for index in np.flatnonzero(np.isin(table.lines, np.asarray([int(row) for row in rows], dtype=np.int64)))]


_FIXES: dict[str, _Apply] = {
    "drop_rows": lambda table, values: table.without_lines([int(row) for row in values["rows"]]),
    "drop_column": lambda table, values: table.without_column(values["column"]),
    "set_cells": _set_cells,
    "swap_columns": _swap,
    "swap_cells": _swap,
    "average_scores": _average_scores,
    "repair_text": _change_texts(repair_mojibake),
    "remove_markup": _change_texts(remove_markup),
}
