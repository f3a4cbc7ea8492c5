"""Columns that are swapped, constant, or the same twice."""

from __future__ import annotations

import math
import re

import numpy as np

from ...findings import Finding, Mend, count
from ...schema.labels import is_yes
from ...schema.names import LABEL, SCORE
from ...schema.numbers import numbers_of, parse_number
from ...schema.profile import profile_column
from .context import CheckContext

_WORDS = re.compile(r"\w+")
_SAMPLE = 2_000
_ALIKE = 0.6  # the scores of pairs that belong together, as in the conversions


def swapped_columns(patient: CheckContext) -> list[Finding]:
    """A text column called score and a score column called text; positives farther from their anchors than negatives."""
    roles, table = patient.roles, patient.table
    found = []
    if roles.target and profile_column(roles.target, ()).is_named_text and not profile_column(roles.target, ()).is_named_target:
        for name in roles.texts:
            if profile_column(name, ()).key in SCORE | LABEL:
                found.append(
                    Finding(
                        "warning",
                        f"the columns {name!r} and {roles.target!r} look swapped: the one holds sentences, the other scores or labels",
                        tuple(table.lines.tolist()),
                        Mend("swap_columns", f"Swap {name} and {roles.target}", {"columns": [name, roles.target]}),
                    )
                )
    if roles.kind == "triplets" and (rows := _backward_triplets(patient)):
        _, positive, negative = roles.texts[:3]
        found.append(
            Finding(
                "warning",
                f"{positive!r} and {negative!r} look swapped: the anchor shares more words with the negative in most rows",
                rows,
                Mend("swap_columns", f"Swap {positive} and {negative}", {"columns": [positive, negative]}),
            )
        )
    return found


def swapped_cells(patient: CheckContext) -> list[Finding]:
    """Rows whose score stands in a text column, and whose text stands in the score column."""
    roles, table = patient.roles, patient.table
    if roles.kind != "scored_pairs" or roles.target is None:
        return []
    targets = table.column(roles.target)
    odd = [place for place in np.flatnonzero(np.isnan(numbers_of(targets))).tolist() if targets[place].strip()]
    found = []
    for name in roles.texts:
        cells = table.column(name)
        places = [place for place in odd if not math.isnan(parse_number(cells[place]))]
        if places:
            rows = tuple(table.lines[places].tolist())
            message = f"{count(len(rows), 'row')} with the text in {roles.target!r} and the score in {name!r}"
            found.append(
                Finding(
                    "warning", message, rows, Mend("swap_cells", "Swap them back", {"columns": [name, roles.target], "rows": list(rows)})
                )
            )
    return found


def constant_columns(patient: CheckContext) -> list[Finding]:
    """A column that says the same in every row, or two text columns that say the same."""
    roles, examples = patient.roles, patient.examples
    if len(examples) < 2:
        return []
    everything = patient.rows(np.arange(len(examples)))
    found = []
    for name, column in zip(roles.texts, examples.texts, strict=True):
        if len(set(column)) == 1:
            found.append(Finding("error", f"the column {name!r} holds the same text in every row", everything))
    for place, column in enumerate(examples.texts):
        for other in range(place):
            if column == examples.texts[other]:
                names = f"{roles.texts[other]!r} and {roles.texts[place]!r}"
                found.append(Finding("error", f"the columns {names} hold the same texts in every row", everything))
    targets = examples.targets
    if targets is not None and bool((targets == targets[0]).all()):
        what = "score" if roles.kind == "scored_pairs" else "label"
        message = f"every row has the same {what}, so that there is nothing to learn from {roles.target!r}"
        found.append(Finding("error", message, everything, _positive_pairs(patient)))
    return found


def _positive_pairs(patient: CheckContext) -> Mend | None:
    """Where every pair is alike, the column that says so can go: what remains are pairs that belong together."""
    roles, targets = patient.roles, patient.examples.targets
    assert roles.target is not None and targets is not None
    alike = targets[0] >= _ALIKE if roles.kind == "scored_pairs" else is_yes(roles.labels[int(targets[0])])
    if not alike:
        return None
    return Mend("drop_column", f"Take {roles.target} away: pairs that belong together", {"column": roles.target})


def _backward_triplets(patient: CheckContext) -> tuple[int, ...]:
    anchors, positives, negatives = patient.examples.texts[:3]
    step = max(1, len(anchors) // _SAMPLE)
    places = list(range(0, len(anchors), step))
    gaps = np.array([_overlap(anchors[at], negatives[at]) - _overlap(anchors[at], positives[at]) for at in places])
    backward = gaps > 0
    if len(places) >= 10 and backward.mean() > 0.75 and gaps.mean() > 0.15:
        return patient.rows([at for at, wrong in zip(places, backward, strict=True) if wrong])
    return ()


def _overlap(a: str, b: str) -> float:
    """Jaccard similarity of the words (of the characters, where a text has no spaces)."""
    first, second = (set(_WORDS.findall(text.casefold())) if " " in text else set(text.casefold()) for text in (a, b))
    return len(first & second) / max(1, len(first | second))
