"""Scores written in more than one form, such as 0.8, 80% and 4/5: each form has a scale of its own."""

from __future__ import annotations

from ...findings import Finding, count, drop_rows
from ...schema.numbers import mixes_percentages, number_form, parse_number
from .context import CheckContext

_WORDS = {"percent": "as percentages", "fraction": "as fractions", "number": "as plain numbers"}


def mixed_forms(patient: CheckContext) -> list[Finding]:
    """Rows whose score is written otherwise than most: a percentage is read as 0–100, a fraction as 0–1, unless both are of one scale."""
    roles, table = patient.roles, patient.table
    if roles.kind != "scored_pairs" or roles.target is None:
        return []
    known: dict[str, str | None] = {}
    rows: dict[str, list[int]] = {}
    for line, cell in zip(table.lines.tolist(), table.column(roles.target), strict=True):
        if cell not in known:
            known[cell] = number_form(cell) if parse_number(cell) else None  # nought is nought on every scale
        if form := known[cell]:
            rows.setdefault(form, []).append(line)
    if len(rows) < 2:
        return []
    usual, *others = sorted(rows, key=lambda form: -len(rows[form]))
    found = []
    if max(roles.low or 0.0, roles.high or 0.0) <= 1 and mixes_percentages(known):
        odd = tuple(rows["percent"])
        return [Finding("info", f"{count(len(odd), 'row')} with the score written as percentages, read as parts of 1: 60% as 0.6", odd)]
    for form in others:
        odd = tuple(rows[form])
        scores = count(len(odd), "row")
        message = f"{scores} with the score written {_WORDS[form]}, most others {_WORDS[usual]}: two scales in one column"
        found.append(Finding("warning", message, odd, drop_rows(odd)))
    return found
