"""Too few rows, and classes or scores that are far from even."""

from __future__ import annotations

import numpy as np

from ...findings import Finding, Mend, count, drop_rows
from .context import CheckContext

_NEXT_TO_NOTHING, _FEW = 8, 100
_IMBALANCE = _LOPSIDED = 10  # one rare row against so many of the commonest class; one odd score in so many rows


def too_few(patient: CheckContext) -> list[Finding]:
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


def lonely(patient: CheckContext) -> list[Finding]:
    """Categories with a single text, which has nothing to lie beside."""
    if patient.roles.kind != "labelled_texts" or patient.examples.targets is None:
        return []
    sizes = np.bincount(patient.examples.targets, minlength=len(patient.roles.labels))
    where = np.flatnonzero(sizes[patient.examples.targets] == 1)
    if not len(where):
        return []
    rows = patient.rows(where)
    message = f"{count(len(where), 'category', 'categories')} with a single text, which has nothing to lie beside"
    return [
        Finding(
            "error" if len(where) == len(patient.examples) else "info", message, rows, None if len(where) == len(sizes) else drop_rows(rows)
        )
    ]


def imbalance(patient: CheckContext) -> list[Finding]:
    """A class ten times rarer than the commonest one; labels that no row has; scores that are nearly all alike."""
    examples, roles = patient.examples, patient.roles
    if examples.targets is None or not len(examples):
        return []
    if roles.kind == "scored_pairs":
        return _lopsided_scores(patient)
    sizes = np.bincount(examples.targets, minlength=len(roles.labels))
    found = []
    rare = [index for index, size in enumerate(sizes) if 0 < size * _IMBALANCE < sizes.max()]
    if rare:
        names = ", ".join(f"{roles.labels[index]} ({int(sizes[index]):,})" for index in rare[:6])
        most = int(sizes.argmax())
        message = f"the classes are uneven: {names} against {roles.labels[most]} ({int(sizes[most]):,})"
        where = np.flatnonzero(np.isin(examples.targets, rare))
        found.append(Finding("warning", message, patient.rows(where), _evened(patient, sizes, rare, where)))
    missing = [roles.labels[index] for index in np.flatnonzero(sizes == 0)]
    if missing:
        found.append(Finding("info", f"no usable row has the label {', '.join(missing[:6])}"))
    return found


def _evened(patient: CheckContext, sizes: np.ndarray, rare: list[int], where: np.ndarray) -> Mend | None:
    """Thin out the common classes to ten rows for each of the rarest one; classes of next to nothing are left out instead."""
    if sizes[rare].min() >= _NEXT_TO_NOTHING:
        return _thinned(patient, _IMBALANCE * int(sizes[rare].min()))
    if len(rare) < np.count_nonzero(sizes) - 1:
        names = " and ".join(patient.roles.labels[index] for index in rare[:3]) + (" …" if len(rare) > 3 else "")
        return drop_rows(patient.rows(where), f"Leave out {names} ({count(len(where), 'row')})")
    return None


def _thinned(patient: CheckContext, most: int) -> Mend:
    """At most this many rows of each target; which rows go is drawn by chance, the same ones each time."""
    assert patient.examples.targets is not None
    generator, gone = np.random.default_rng(12), []
    for target in np.unique(patient.examples.targets):
        places = np.flatnonzero(patient.examples.targets == target)
        if len(places) > most:
            gone.append(generator.permutation(places)[most:])
    rows = patient.rows(np.sort(np.concatenate(gone)))
    what = "commonest score" if patient.roles.kind == "scored_pairs" else "common classes" if len(gone) > 1 else "common class"
    return drop_rows(rows, f"Thin out the {what} to {count(most, 'row')}")


def _lopsided_scores(patient: CheckContext) -> list[Finding]:
    targets = patient.examples.targets
    assert targets is not None
    values, places, sizes = np.unique(targets, return_inverse=True, return_counts=True)
    share = sizes.max() / len(targets)
    if len(values) == 1 or share <= 1 - 1 / _LOPSIDED:
        return []
    others = patient.rows(np.flatnonzero(places != sizes.argmax()))
    change = _thinned(patient, (_LOPSIDED - 1) * len(others)) if len(others) >= _NEXT_TO_NOTHING else None
    return [Finding("warning", f"{share:.0%} of the rows have the same score; only these differ", others, change)]
