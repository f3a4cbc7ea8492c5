"""Rows that say the same twice, or contradict each other."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ..findings import Finding, Mend, count, drop_rows
from ..vocabulary import label_order
from .patient import Patient


def duplicates(patient: Patient) -> list[Finding]:
    """Rows that repeat an earlier one exactly, and rows that do but for case, blanks and punctuation."""
    exact_keys, near_keys = patient.keys(str), patient.near_keys
    targets = patient.examples.targets
    firsts: dict[tuple[object, ...], int] = {}
    lookalikes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    exact, alike = [], []
    for place, key in enumerate(exact_keys):
        full = (*key, None if targets is None else float(targets[place]))
        if full in firsts:
            exact.append(place)
            continue
        firsts[full] = place
        earlier = lookalikes[near_keys[place]]
        if any(exact_keys[other] != key and patient.same_target(other, place) for other in earlier):
            alike.append(place)
        else:
            earlier.append(place)
    found = []
    if exact:
        rows = patient.rows(exact)
        found.append(Finding("warning", f"{count(len(rows), 'row')} repeating an earlier row", rows, drop_rows(rows)))
    if alike:
        rows = patient.rows(alike)
        message = f"{count(len(rows), 'row')} repeating an earlier row but for case, blanks or punctuation"
        found.append(Finding("info", message, rows, drop_rows(rows)))
    return found


def contradictions(patient: Patient) -> list[Finding]:
    """The same pair with different labels, or with scores more than a fifth of the scale apart."""
    if patient.examples.targets is None:
        return []
    same: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, key in enumerate(patient.near_keys):
        same[key].append(place)
    sets = []
    for places in same.values():
        values = patient.examples.targets[places]
        if len(places) > 1 and float(values.max() - values.min()) > (0.2 if patient.roles.kind == "scored_pairs" else 0.0):
            sets.append(patient.rows(places))
    if not sets:
        return []
    rows = tuple(sorted(row for part in sets for row in part))
    if patient.roles.kind == "scored_pairs":
        change = Mend(
            "average_scores",
            "Keep each pair once, with its mean score",
            {"column": patient.roles.target, "sets": [list(part) for part in sets]},
        )
        return [Finding("warning", f"{count(len(sets), 'pair')} with scores that contradict each other", rows, change)]
    message = f"{count(len(sets), 'pair')} with labels that contradict each other"
    return [Finding("warning", message, rows, drop_rows(rows, f"Leave out all {count(len(rows), 'row')} of them"))]


def same_on_both_sides(patient: Patient) -> list[Finding]:
    """A text paired with itself where that teaches nothing, or says that it is unlike itself."""
    kind, texts, targets = patient.roles.kind, patient.examples.texts, patient.examples.targets
    if kind == "sentences":
        return []
    if kind == "triplets":
        wrong = [place for place, row in enumerate(zip(*texts, strict=True)) if row[0] in row[2:] or row[1] in row[2:]]
        message = "whose negative is also the anchor or the positive"
    else:
        equal = [place for place, (a, b) in enumerate(zip(texts[0], texts[1], strict=True)) if a == b]
        if kind == "positive_pairs":
            wrong, message = equal, "pairing a text with itself"
        else:
            assert targets is not None
            middle = 0.5 if kind == "scored_pairs" else (len(patient.roles.labels) - 1) / 2
            ordered = kind == "scored_pairs" or label_order(set(patient.roles.labels)) is not None
            wrong = [place for place in equal if ordered and targets[place] < middle]
            message = "calling a text unlike itself"
    if not wrong:
        return []
    rows = patient.rows(np.array(wrong))
    return [Finding("warning", f"{count(len(rows), 'row')} {message}", rows, drop_rows(rows))]
