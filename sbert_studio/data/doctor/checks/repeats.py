"""Rows that say the same twice, or contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...findings import Finding, Mend, count, drop_rows
from .context import CheckContext


def duplicates(patient: CheckContext) -> list[Finding]:
    """Rows that repeat an earlier one exactly, and rows that do but for case, blanks and punctuation."""
    exact_keys, near_keys, targets = patient.exact_keys, patient.near_keys, patient.examples.targets
    full = exact_keys
    if targets is not None:
        values = np.unique(targets, return_inverse=True)[1]
        full = exact_keys * (int(values.max()) + 1) + values
    first = np.zeros(len(full), dtype=bool)
    first[np.unique(full, return_index=True)[1]] = True
    exact = np.flatnonzero(~first)
    alike: list[int] = []
    for places in _together(near_keys, np.flatnonzero(first)):
        earlier: list[int] = []
        for place in places.tolist():
            if any(exact_keys[other] != exact_keys[place] and patient.same_target(other, place) for other in earlier):
                alike.append(place)
            else:
                earlier.append(place)
    alike.sort()
    found = []
    if len(exact):
        rows = patient.rows(exact)
        found.append(Finding("warning", f"{count(len(rows), 'row')} repeating an earlier row", rows, drop_rows(rows)))
    if alike:
        rows = patient.rows(alike)
        message = f"{count(len(rows), 'row')} repeating an earlier row but for case, blanks or punctuation"
        found.append(Finding("info", message, rows, drop_rows(rows)))
    return found


def contradictions(patient: CheckContext) -> list[Finding]:
    """The same pair with different labels, or with scores more than a fifth of the scale apart."""
    if patient.examples.targets is None:
        return []
    targets, most = patient.examples.targets, 0.2 if patient.roles.kind == "scored_pairs" else 0.0
    together = _together(patient.near_keys, np.arange(len(targets)))
    sets = [patient.rows(places) for places in together if float(targets[places].max() - targets[places].min()) > most]
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
    what = "text in several categories" if patient.roles.kind == "labelled_texts" else "pair with labels that contradict each other"
    message = count(len(sets), what, what.replace("text", "texts", 1).replace("pair", "pairs", 1))
    return [Finding("warning", message, rows, drop_rows(rows, f"Leave out all {count(len(rows), 'row')} of them"))]


def same_on_both_sides(patient: CheckContext) -> list[Finding]:
    """A text paired with itself where that teaches nothing, or says that it is unlike itself."""
    kind, texts, targets = patient.roles.kind, patient.examples.texts, patient.examples.targets
    if kind in ("sentences", "labelled_texts"):
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
            ordered = kind == "scored_pairs" or patient.roles.ordered
            wrong = [place for place in equal if ordered and targets[place] < middle]
            message = "calling a text unlike itself"
    if not wrong:
        return []
    rows = patient.rows(np.array(wrong))
    return [Finding("warning", f"{count(len(rows), 'row')} {message}", rows, drop_rows(rows))]


def _together(keys: np.ndarray, places: np.ndarray) -> Iterator[np.ndarray]:
    """The places that share their key with others of them, in the order of the places within each set."""
    order = places[np.argsort(keys[places], kind="stable")]
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        yield order[start : start + size]
