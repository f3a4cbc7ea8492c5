"""Training examples, built from a table with roles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import StudioError
from ..i18n import _, join
from ..workspace import atomic_file, digest_texts
from .findings import Finding, count, drop_rows_fix
from .loading.table import Table
from .schema.content import MISSING_LABELS, find_missing, quote_cells
from .schema.labels import class_index, label_key
from .schema.numbers import SCALE_TOLERANCE, numbers_of, parse_numbers
from .schema.roles import SCORE_SUFFIX, Kind, Roles

_PARQUET_KEY = b"sbert-studio"
_DIGEST_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class TeacherSignal:
    """Scores or vectors of a teacher model, which losses imitate.

    Attributes:
        values: (m, w) float32, possibly memory-mapped: per row of scores, one score per candidate, positive first, or one margin per
            negative; or the vectors of distinct texts.
        rows: (c, n) int64, the row of ``values`` of each example, for each text column with vectors; c = 1 for scores.
    """

    values: np.ndarray
    rows: np.ndarray

    def take(self, indices: np.ndarray) -> TeacherSignal:
        """Return the signal of the examples at these indices."""
        return replace(self, rows=self.rows[:, indices])

    def at(self, indices: np.ndarray) -> np.ndarray:
        """Return the scores (b, w), or the vectors (b, w) of one column or (b, c, w) of several, of the examples at these indices."""
        found = np.asarray(self.values[self.rows[:, indices]], np.float32)
        return found[0] if len(found) == 1 else np.ascontiguousarray(found.swapaxes(0, 1))

    @property
    def digest(self) -> str:
        """32 hex digits that identify the values of every example, in order."""
        state = hashlib.sha256()
        for start in range(0, self.rows.shape[1], _DIGEST_ROWS):
            found = self.at(np.arange(start, min(start + _DIGEST_ROWS, self.rows.shape[1])))
            state.update(repr(found.shape).encode() + found.tobytes())
        return state.hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class Examples:
    """n examples of one kind.

    Attributes:
        kind: the kind of examples.
        texts: for each text column, n texts; never blank.
        targets: (n,) float32 in [0, 1] for scored pairs, (n,) int64 class ids for labelled pairs and labelled texts, else None.
        lines: (n,) int64 spreadsheet row numbers.
        labels: the class names by class id.
        groups: n group names; empty without groups.
        ordered: True if a larger class id means more similar; meaningless without classes.
        teacher: a teacher's scores or vectors; ``None`` without.
        mined: True for triplets whose negatives a model chose by its own similarity (``negatives``).
    """

    kind: Kind
    texts: tuple[tuple[str, ...], ...]
    targets: np.ndarray | None
    lines: np.ndarray
    labels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    ordered: bool = True
    teacher: TeacherSignal | None = None
    mined: bool = False

    def __len__(self) -> int:
        return len(self.lines)

    def take(self, indices: Sequence[int] | np.ndarray) -> Examples:
        """Return the examples at these indices, in this order."""
        places = np.asarray(indices, dtype=np.int64)
        order = places.tolist()
        return replace(
            self,
            texts=tuple(tuple(column[index] for index in order) for column in self.texts),
            targets=None if self.targets is None else self.targets[places],
            lines=self.lines[places],
            groups=tuple(self.groups[index] for index in order) if self.groups else (),
            teacher=None if self.teacher is None else self.teacher.take(places),
        )

    def as_pairs(self) -> Examples:
        """Return the anchors and positives of triplets as positive pairs."""
        return replace(self, kind="positive_pairs", texts=self.texts[:2], mined=False)

    @property
    def digest(self) -> str:
        """32 hex digits that identify kind, texts, targets, labels and the teacher's values, in order."""
        state = hashlib.sha256("\0".join([self.kind, *map(digest_texts, self.texts), *self.labels]).encode("utf-8", "replace"))
        if self.targets is not None:
            state.update(np.ascontiguousarray(self.targets).tobytes())
        if self.teacher is not None:
            state.update(self.teacher.digest.encode())
        return state.hexdigest()[:32]


def build_examples(table: Table, roles: Roles) -> tuple[Examples, tuple[Finding, ...]]:
    """Build the examples; every skipped row is reported in a finding.

    Rows are skipped if a text is blank or a placeholder such as ``n/a``, or if the score or label is missing, unreadable or off the
    scale. If a triplet has fewer negatives than others, its first one is repeated. Scores that are off the scale only because of float32
    rounding are clipped. Both are reported too.

    Raises:
        StudioError: a column is missing, or no rows remain.
    """
    table.require(*roles.texts, *(name for name in (roles.target, roles.group) if name))
    return _Builder(table, roles).build()


class _Builder:
    def __init__(self, table: Table, roles: Roles) -> None:
        self._table, self._roles = table, roles
        self._usable = np.ones(len(table), dtype=bool)
        self._findings: list[Finding] = []

    def build(self) -> tuple[Examples, tuple[Finding, ...]]:
        table, roles = self._table, self._roles
        columns = [table.column(name) for name in roles.texts]
        self._skip_missing_texts(columns)
        targets = None
        if roles.target is not None and roles.kind == "scored_pairs":
            targets = self._scores(table.column(roles.target))
        elif roles.target is not None and roles.kind in ("labelled_pairs", "labelled_texts"):
            targets = self._classes(table.column(roles.target))
        if not self._usable.any():
            raise StudioError(
                _(
                    "no row of {name} can be used as an example: {findings}",
                    name=table.name,
                    findings=join("; ", (finding.message for finding in self._findings)),
                ),
                "check the columns, their kind and the score scale",
                [row for finding in self._findings for row in finding.rows][:100],
            )
        groups = tuple(table.column(roles.group)) if roles.group else ()
        mined = roles.kind == "triplets" and f"{roles.texts[2]}{SCORE_SUFFIX}" in table.columns
        texts = tuple(map(tuple, columns))
        examples = Examples(roles.kind, texts, targets, table.lines, roles.labels, groups, roles.ordered, mined=mined)
        if roles.teacher is not None:
            examples = self._with_teacher(examples, table.column(roles.teacher))
        return (examples if self._usable.all() else examples.take(np.flatnonzero(self._usable))), tuple(self._findings)

    def _skip(self, bad: np.ndarray, describe: Callable[[str], str], why: str) -> None:
        """Skip rows that are ``bad``. ``describe`` returns the finding for their number, such as ``3 rows``."""
        bad = bad & self._usable
        if bad.any():
            rows = tuple(self._table.lines[bad].tolist())
            # They are skipped even without the fix, which also removes them from the table.
            number = count(len(rows), "row")
            fix = drop_rows_fix(rows, _("Remove {rows} from the file", rows=number))
            self._findings.append(Finding("warning", describe(number), rows, fix, why))
            self._usable[bad] = False

    def _skip_missing_texts(self, columns: list[list[str]]) -> None:
        # Blank placeholders and fill missing additional negatives in place.
        names = self._roles.texts
        placeholders = [find_missing(column) for column in columns]
        for name, column, found in zip(names, columns, placeholders, strict=True):
            self._findings += found.note(name, self._table.lines)
            for place in found.places.tolist():
                column[place] = ""
        self._findings += _repeat_first_negative(self._table, columns)
        filled: np.ndarray = np.array([[bool(cell.strip()) for cell in column] for column in columns], dtype=bool)
        for name, found, is_filled in zip(names, placeholders, filled, strict=True):
            is_placeholder = np.zeros(len(self._table), dtype=bool)
            is_placeholder[found.places] = True
            cells = quote_cells(found.values)

            def describe(rows: str, cells: str = cells, column: str = repr(name)) -> str:
                return _("{rows} with only {cells} in {column}, skipped", rows=rows, cells=cells, column=column)

            self._skip(
                is_placeholder & ~is_filled,
                describe,
                _("a placeholder for a missing text: {cells}", cells=cells),
            )
        has_any: np.ndarray = np.logical_or.reduce(filled)
        has_all: np.ndarray = np.logical_and.reduce(filled)
        self._skip(~has_any, lambda rows: _("{rows} without any text, skipped", rows=rows), "no text")
        self._skip(~has_all, lambda rows: _("{rows} with text on one side only, skipped", rows=rows), "text on one side only")

    def _classes(self, cells: list[str]) -> np.ndarray:
        roles = self._roles
        if roles.kind == "labelled_texts":
            what = "category"
            ids = {label: place for place, label in enumerate(roles.labels)}
            class_of = {cell: ids.get(cell.strip(), -1) for cell in set(cells)}
        else:
            what = "label"
            class_of = {cell: class_index(cell, roles.labels) for cell in set(cells)}
        classes = np.fromiter((class_of[cell] for cell in cells), dtype=np.int64, count=len(cells))
        blank = np.array([not cell.strip() for cell in cells], dtype=bool) & (classes < 0)  # a blank may be a class
        self._skip(blank, lambda rows: _("{rows} without a {what}, skipped", rows=rows, what=what), _("no {what}", what=what))
        no_label = {cell for cell, found in class_of.items() if found < 0 and label_key(cell) in MISSING_LABELS}
        unlabelled = np.fromiter((cell in no_label for cell in cells), dtype=bool, count=len(cells))
        shown = _first_cells(cells, unlabelled)
        self._skip(
            unlabelled,
            lambda rows: _("{rows} with a placeholder as {what} ({shown}), skipped", rows=rows, what=what, shown=shown),
            _("a placeholder for a missing {what}: {shown}", what=what, shown=shown),
        )
        names, unknown = ", ".join(roles.labels[:6]), (classes < 0) & ~blank & ~unlabelled
        self._skip(
            unknown,
            lambda rows: _("{rows} whose {what} is not one of {names}, skipped", rows=rows, what=what, names=names),
            _("the {what} is not one of {names}, such as {first_cells}", what=what, names=names, first_cells=_first_cells(cells, unknown)),
        )
        return classes

    def _scores(self, cells: list[str]) -> np.ndarray:
        """Return the scores rescaled to [0, 1], (n,) float32."""
        low, high = float(self._roles.low or 0.0), float(self._roles.high or 0.0)
        least, most = min(low, high), max(low, high)
        scores = numbers_of(cells, as_written=most > 1)  # on 0–100, 60% is 60 and 0.6 is 0.6
        blank = np.array([not cell.strip() for cell in cells], dtype=bool)
        self._skip(blank, lambda rows: _("{rows} without a score, skipped", rows=rows), "no score")
        text = np.isnan(scores) & ~blank
        self._skip(
            text,
            lambda rows: _("{rows} whose score is not a number, skipped", rows=rows),
            _("the score is not a number, such as {first_cells}", first_cells=_first_cells(cells, text)),
        )
        tolerance = SCALE_TOLERANCE * (most - least)
        rounded = ((scores < least) & (scores >= least - tolerance)) | ((scores > most) & (scores <= most + tolerance))
        if rounded.any():
            rows = tuple(self._table.lines[rounded].tolist())
            message = _(
                "{rows} with a score just outside {least}–{most} because of rounding, clipped to the scale",
                rows=count(len(rows), "row"),
                least=f"{least:g}",
                most=f"{most:g}",
            )
            self._findings.append(Finding("info", message, rows))
            scores = np.where(rounded, scores.clip(least, most), scores)
        outside = (scores < least) | (scores > most)
        scale = {"least": f"{least:g}", "most": f"{most:g}"}
        self._skip(
            outside,
            lambda rows: _("{rows} with a score outside {least}–{most}, skipped (the scale can be changed)", rows=rows, **scale),
            _("the score is outside {least}–{most}, such as {first_cells}", **scale, first_cells=_first_cells(cells, outside)),
        )
        return ((scores - low) / (high - low)).astype(np.float32)

    def _with_teacher(self, examples: Examples, cells: list[str]) -> Examples:
        """Add the numbers of a teacher's column: a margin, or a JSON list of scores, margins or components per row."""
        found = [parse_numbers(cell) for cell in cells]
        usable = [len(one) for place, one in enumerate(found) if self._usable[place] and one]
        width = max(set(usable), key=usable.count) if usable else 0
        bad = np.array([len(one) != width for one in found], dtype=bool)
        shown, column = _first_cells(cells, bad & self._usable), repr(self._roles.teacher)
        self._skip(
            bad,
            lambda rows: _("{rows} without {n} numbers of the teacher in {column}, skipped", rows=rows, n=width, column=column),
            _("not {n} numbers of the teacher, such as {shown}", n=width, shown=shown),
        )
        values = np.array([[0.0] * width if is_bad else one for one, is_bad in zip(found, bad, strict=True)], np.float32)
        return replace(examples, teacher=TeacherSignal(values.reshape(len(found), width), np.arange(len(found))[None]))


def _repeat_first_negative(table: Table, columns: list[list[str]]) -> Iterator[Finding]:
    places = set()
    for column in columns[3:]:
        for place, cell in enumerate(column):
            if not cell.strip() and columns[2][place].strip():
                column[place] = columns[2][place]
                places.add(place)
    if places:
        rows = tuple(table.lines[sorted(places)].tolist())
        yield Finding("info", _("{rows} with fewer negatives than others; the first one is repeated", rows=count(len(rows), "row")), rows)


def _first_cells(cells: Sequence[str], bad: np.ndarray) -> str:
    shown = dict.fromkeys(cells[place].strip()[:30] for place in np.flatnonzero(bad)[:200].tolist())
    return ", ".join(repr(cell) for cell in list(shown)[:3])


def write_examples(examples: Examples, path: Path) -> None:
    """Write examples to a Parquet file atomically: texts, targets, lines, groups and teacher as columns, the rest in metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"text{place}": pa.array(texts, pa.large_string()) for place, texts in enumerate(examples.texts)}
    columns["line"] = pa.array(examples.lines)
    if examples.targets is not None:
        columns["target"] = pa.array(examples.targets)
    if examples.groups:
        columns["group"] = pa.array(examples.groups, pa.large_string())
    if examples.teacher is not None:
        given = examples.teacher.at(np.arange(len(examples)))
        columns["teacher"] = pa.FixedSizeListArray.from_arrays(pa.array(given.ravel()), given.shape[1])
    metadata = {
        "kind": examples.kind,
        "labels": list(examples.labels),
        "ordered": examples.ordered,
        "digest": examples.digest,
        "mined": examples.mined,
    }
    table = pa.table(columns).replace_schema_metadata({_PARQUET_KEY: json.dumps(metadata).encode()})
    with atomic_file(path) as part:
        pq.write_table(table, part)


def read_examples(path: Path) -> Examples:
    """Read examples written by :func:`write_examples`.

    Raises:
        StudioError: the file is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    damaged = StudioError(_("the run's rows ({name}) are damaged", name=path.name), "start a new run with the file")
    try:
        table = pq.read_table(path)
        metadata = json.loads(table.schema.metadata[_PARQUET_KEY])
        names = [name for name in table.column_names if name.startswith("text")]
        targets = None
        if "target" in table.column_names:
            targets = table["target"].to_numpy().astype(np.float32 if metadata["kind"] == "scored_pairs" else np.int64)
        teacher = None
        if "teacher" in table.column_names:
            given = np.asarray(table["teacher"].combine_chunks().flatten(), np.float32).reshape(len(table), -1)
            teacher = TeacherSignal(given, np.arange(len(table))[None])
        examples = Examples(
            metadata["kind"],
            tuple(tuple(table[name].to_pylist()) for name in names),
            targets,
            table["line"].to_numpy().astype(np.int64),
            tuple(metadata["labels"]),
            tuple(table["group"].to_pylist()) if "group" in table.column_names else (),
            bool(metadata["ordered"]),
            teacher,
            bool(metadata.get("mined")),  # absent from files of earlier versions
        )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise damaged from error
    if examples.digest != metadata["digest"]:
        raise damaged
    return examples
