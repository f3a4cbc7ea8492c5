"""Too few rows, and classes or scores that are far from even."""

from __future__ import annotations

import numpy as np

from ..findings import Finding, count
from .patient import Patient

_NEXT_TO_NOTHING, _FEW = 8, 100
_IMBALANCE = 10


def too_few(patient: Patient) -> list[Finding]:
    """Fewer than 100 examples: hardly anything to learn from, and a held-out score that means little."""
    number = len(patient.examples)
    if number >= _FEW:
        return []
    rows = patient.rows(np.arange(number))
    if number < _NEXT_TO_NOTHING:
        return [Finding("error", f"only {count(number, 'usable row')}: too few to train on", rows)]
    return [
        Finding("warning", f"only {count(number, 'usable row')}: expect a small gain, and a rough score; a few hundred do far better", rows)
    ]


def imbalance(patient: Patient) -> list[Finding]:
    """A class ten times rarer than the commonest one; labels that no row has; scores that are nearly all alike."""
    examples, roles = patient.examples, patient.roles
    if examples.targets is None or not len(examples):
        return []
    if roles.kind == "scored_pairs":
        return _lopsided_scores(patient)
    sizes = np.bincount(examples.targets, minlength=len(roles.labels))
    found = []
    rare = [index for index, size in enumerate(sizes) if 0 < size * _IMBALANCE <= sizes.max()]
    if rare:
        names = ", ".join(f"{roles.labels[index]} ({int(sizes[index]):,})" for index in rare[:6])
        most = int(sizes.argmax())
        message = f"the classes are uneven: {names} against {roles.labels[most]} ({int(sizes[most]):,})"
        found.append(Finding("warning", message, patient.rows(np.flatnonzero(np.isin(examples.targets, rare)))))
    missing = [roles.labels[index] for index in np.flatnonzero(sizes == 0)]
    if missing:
        found.append(Finding("info", f"no usable row has the label {', '.join(missing[:6])}"))
    return found


def _lopsided_scores(patient: Patient) -> list[Finding]:
    targets = patient.examples.targets
    assert targets is not None
    values, places, sizes = np.unique(targets, return_inverse=True, return_counts=True)
    share = sizes.max() / len(targets)
    if len(values) == 1 or share < 0.9:
        return []
    others = patient.rows(np.flatnonzero(places != sizes.argmax()))
    return [Finding("warning", f"{share:.0%} of the rows have the same score; only these differ", others)]
