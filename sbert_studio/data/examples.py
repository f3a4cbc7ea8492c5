"""Training examples, built from a table whose columns have their roles."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import StudioError
from ..workspace import digest_texts
from .findings import Finding, count, drop_rows
from .loading.table import Table
from .schema.content import MISSING_LABELS, find_missing, quote_cells
from .schema.labels import class_index, label_key
from .schema.numbers import numbers_of
from .schema.roles import Kind, Roles
from .schema.scales import SCALE_TOLERANCE


@dataclass(frozen=True, eq=False)
class Examples:
    """n examples of one kind.

    Attributes:
        kind: what an example is.
        texts: one tuple of n texts a text column; none is blank.
        targets: (n,) float32 in [0, 1] for scored pairs, (n,) int64 class ids for labelled pairs and labelled texts, else None.
        lines: (n,) int64 row numbers.
        labels: the class names, a class' place being its id.
        groups: n group names, or empty.
        ordered: whether a larger class id means more alike; says nothing where there are no classes.
    """

    kind: Kind
    texts: tuple[tuple[str, ...], ...]
    targets: np.ndarray | None
    lines: np.ndarray
    labels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    ordered: bool = True

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, indices: Sequence[int] | np.ndarray) -> Examples:
        """The examples at these places, in this order."""
        places = np.asarray(indices, dtype=np.int64)
        order = places.tolist()
        return replace(
            self,
            texts=tuple(tuple(column[index] for index in order) for column in self.texts),
            targets=None if self.targets is None else self.targets[places],
            lines=self.lines[places],
            groups=tuple(self.groups[index] for index in order) if self.groups else (),
        )

    @property
    def digest(self) -> str:
        """32 hex digits that name the examples: kind, texts, targets and labels, in order."""
        state = hashlib.sha256("\0".join([self.kind, *map(digest_texts, self.texts), *self.labels]).encode("utf-8", "replace"))
        if self.targets is not None:
            state.update(np.ascontiguousarray(self.targets).tobytes())
        return state.hexdigest()[:32]


def build_examples(table: Table, roles: Roles) -> tuple[Examples, tuple[Finding, ...]]:
    """Build the examples; every row that cannot be one is left out and named in a finding.

    Left out are rows with a blank text or one that says that there is none (:mod:`.no_answer`), and rows whose score or label is
    missing, unreadable or off the scale. A triplet with fewer negatives than others has its first one repeated, and is named too;
    so are scores that 32 bits round off the scale, which are put back on it.

    Raises:
        StudioError: a column is absent, or no row is left.
    """
    table.require(*roles.texts, *(name for name in (roles.target, roles.group) if name))
    columns = [table.column(name) for name in roles.texts]
    silent = [find_missing(column) for column in columns]
    findings = [note for name, found in zip(roles.texts, silent, strict=True) for note in found.note(name, table.lines)]
    for column, found in zip(columns, silent, strict=True):
        for place in found.places.tolist():
            column[place] = ""
    findings += _few_negatives(table, columns)
    filled = np.array([[bool(cell.strip()) for cell in column] for column in columns], dtype=bool)
    usable = np.ones(len(table), dtype=bool)

    def leave_out(bad: np.ndarray, message: str, why: str, hint: str = "") -> None:
        bad = bad & usable
        if bad.any():
            rows = tuple(table.lines[bad].tolist())
            # They are left out as it is; what a click does is to take them out of the table as well.
            mend = drop_rows(rows, f"Remove {count(len(rows), 'row')} from the file")
            findings.append(Finding("warning", f"{count(len(rows), 'row')} {message}, left out{hint}", rows, mend, why))
            usable[bad] = False

    for name, found, column in zip(roles.texts, silent, filled, strict=True):
        told = np.zeros(len(table), dtype=bool)
        told[found.places] = True
        leave_out(
            told & ~column,
            f"that say only {quote_cells(found.values)} in {name!r}",
            f"the text says that there is none: {quote_cells(found.values)}",
        )
    some: np.ndarray = np.logical_or.reduce(filled)
    every: np.ndarray = np.logical_and.reduce(filled)
    leave_out(~some, "without any text", "no text")
    leave_out(some & ~every, "with text on one side only", "text on one side only")
    targets = _targets(table, roles, leave_out, findings)
    if not usable.any():
        raise StudioError(
            f"no row of {table.name} makes an example: {'; '.join(finding.message for finding in findings)}",
            "check the columns, their kind and the score scale",
            [row for finding in findings for row in finding.rows][:100],
        )
    groups = tuple(table.column(roles.group)) if roles.group else ()
    examples = Examples(roles.kind, tuple(map(tuple, columns)), targets, table.lines, roles.labels, groups, roles.ordered)
    return (examples if usable.all() else examples.take(np.flatnonzero(usable))), tuple(findings)


def _few_negatives(table: Table, columns: list[list[str]]) -> Iterator[Finding]:
    """Fill a row's missing further negatives with its first one, in place, and name the row."""
    short = set()
    for column in columns[3:]:
        for place, cell in enumerate(column):
            if not cell.strip() and columns[2][place].strip():
                column[place] = columns[2][place]
                short.add(place)
    if short:
        rows = tuple(table.lines[sorted(short)].tolist())
        yield Finding("info", f"{count(len(rows), 'row')} with fewer negatives than others; the first one stands in", rows)


def _targets(table: Table, roles: Roles, leave_out: Callable[..., None], findings: list[Finding]) -> np.ndarray | None:
    if roles.target is None or roles.kind not in ("scored_pairs", "labelled_pairs", "labelled_texts"):
        return None
    cells = table.column(roles.target)
    blank = np.array([not cell.strip() for cell in cells], dtype=bool)
    if roles.kind == "scored_pairs":
        return _scores(table, roles, cells, blank, leave_out, findings)
    what = "category" if roles.kind == "labelled_texts" else "label"
    if roles.kind == "labelled_texts":
        ids = {label: place for place, label in enumerate(roles.labels)}
        known = {cell: ids.get(cell.strip(), -1) for cell in set(cells)}
    else:
        known = {cell: class_index(cell, roles.labels) for cell in set(cells)}
    classes = np.fromiter((known[cell] for cell in cells), dtype=np.int64, count=len(cells))
    blank &= classes < 0  # a blank may be a class
    leave_out(blank, f"without a {what}", f"no {what}")
    none = {cell for cell, found in known.items() if found < 0 and label_key(cell) in MISSING_LABELS}
    unlabelled = np.fromiter((cell in none for cell in cells), dtype=bool, count=len(cells))
    shown = _shown(cells, unlabelled)
    leave_out(unlabelled, f"whose {what} says that there is none ({shown})", f"the {what} says that there is none: {shown}")
    names, strange = ", ".join(roles.labels[:6]), (classes < 0) & ~blank & ~unlabelled
    leave_out(strange, f"whose {what} is none of {names}", f"the {what} is none of {names}, such as {_shown(cells, strange)}")
    return classes


def _scores(
    table: Table, roles: Roles, cells: list[str], blank: np.ndarray, leave_out: Callable[..., None], findings: list[Finding]
) -> np.ndarray:
    """(n,) float32 in [0, 1]."""
    low, high = float(roles.low or 0.0), float(roles.high or 0.0)
    least, most = min(low, high), max(low, high)
    scores = numbers_of(cells, as_written=most > 1)  # on 0–100 a percentage is what it says, and so is 0.6 beside it
    leave_out(blank, "without a score", "no score")
    words = np.isnan(scores) & ~blank
    leave_out(words, "whose score is not a number", f"the score is not a number, such as {_shown(cells, words)}")
    slack = SCALE_TOLERANCE * (most - least)
    rounded = ((scores < least) & (scores >= least - slack)) | ((scores > most) & (scores <= most + slack))
    if rounded.any():
        rows = tuple(table.lines[rounded].tolist())
        message = f"{count(len(rows), 'row')} with a score rounded off the scale {least:g}–{most:g}, put back on it"
        findings.append(Finding("info", message, rows))
        scores = np.where(rounded, scores.clip(least, most), scores)
    outside = (scores < least) | (scores > most)
    span = f"outside {least:g}–{most:g}"
    why = f"the score lies {span}, such as {_shown(cells, outside)}"
    leave_out(outside, f"with a score {span}", why, " (the scale can be changed)")
    return ((scores - low) / (high - low)).astype(np.float32)


def _shown(cells: Sequence[str], bad: np.ndarray) -> str:
    """The first three different cells of some rows, as they are written."""
    found = dict.fromkeys(cells[place].strip()[:30] for place in np.flatnonzero(bad)[:200].tolist())
    return ", ".join(repr(cell) for cell in list(found)[:3])
