"""Label service: list the rows whose label is contradicted most, of a file or of a run's training rows, and correct them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from ..data.findings import Fix
from ..data.loading.table import Table
from ..data.schema.names import rate_target_name
from ..data.schema.roles import Roles, SchemaOverrides, option
from ..errors import StudioError
from ..i18n import _, ngettext
from ..progress import Progress
from ..serialization import JsonResult, doc
from ..workspace import write_json
from .data import DataService
from .resources import Resources, Service

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..runs.files import RunFiles

_FILE = "labels.json"
MAX_LISTED = 100


@dataclass(frozen=True)
class SuspiciousLabel(JsonResult):
    """A row whose label is contradicted by models that were not trained on it."""

    row: Annotated[int, doc("row of the file, as a spreadsheet counts")]
    texts: list[str]
    label: Annotated[str, doc("label or score in the file")]
    predicted: Annotated[str, doc("predicted label, or score on the scale of the file")]
    doubt: Annotated[float, doc("how much the prediction contradicts the label")]


@dataclass(frozen=True)
class LabelCheck(JsonResult):
    """Rows with suspicious labels, most suspicious first."""

    kind: Annotated[str, doc("kind of examples")]
    rows: Annotated[int, doc("number of rows that were checked")]
    suspicious: Annotated[int, doc("number of rows, from the first, that are worth a look; at most 100 rows are listed")]
    by: Annotated[str, doc("folds: the fine-tuned models of a cross-validation; frozen: ridge regression on the vectors of the model")]
    choices: Annotated[list[str], doc("labels of the file; empty for scores")]
    listed: list[SuspiciousLabel]

    def describe(self) -> str:
        """Return the number of rows worth a look as a message."""
        if not self.suspicious:
            return _("No label of {rows} rows is suspicious.", rows=f"{self.rows:,}")
        return ngettext(
            "{n} label of {rows} rows is worth a look", "{n} labels of {rows} rows are worth a look", self.suspicious, rows=f"{self.rows:,}"
        )


class LabelService(Service):
    """Finds suspicious labels by out-of-fold predictions."""

    def __init__(self, resources: Resources, data: DataService) -> None:
        super().__init__(resources)
        self._data = data

    def check_file(
        self,
        file: str | Path | Table,
        model: str | None = None,
        *,
        overrides: SchemaOverrides | None = None,
        progress: Progress | None = None,
    ) -> LabelCheck:
        """Check the labels of a file by ridge regression on the vectors of a model.

        Raises:
            StudioError: the file cannot be read or is ambiguous, or has no labels that can be checked.
        """
        from .questions import OpenQuestionsError

        table = self._data.read_table(file, overrides=overrides)
        model = model or self._data.languages.default_model(self._data.count_languages(table))
        diagnosis = self._data.diagnose(table, overrides, None, model)
        if diagnosis.questions and not (overrides or SchemaOverrides()).as_read:
            raise OpenQuestionsError.of_file(table.name, diagnosis.questions)
        _require_labels(table, diagnosis.roles)
        return self._check(diagnosis.examples, diagnosis.roles, model, progress)

    def check_run(self, run_id: str, progress: Progress | None = None) -> LabelCheck:
        """Check the training rows of a run: by its folds if it was cross-validated, else by the frozen vectors of its base model.

        The result is stored with the run.
        """
        if (known := self.of_run(run_id)) is not None:
            return known
        files, run = self._files(run_id), self.store.get(run_id)
        found = self._check(files.examples()[0], files.roles(), run.model, progress)
        write_json(files.folder / _FILE, found.to_json())
        return found

    def of_run(self, run_id: str) -> LabelCheck | None:
        """Return the suspicious labels of a run; ``None`` if they were not checked yet."""
        from ..training.artifacts import MISTAKES, read_mistakes

        files, run = self._files(run_id), self.store.get(run_id)
        stored = _read(files.folder / _FILE)
        if stored is not None:
            return stored
        found = read_mistakes(files.folder / MISTAKES) if (run.after.get("kept") or run.after).get("folds") else None
        if found is None or "doubtful" not in found:
            return None
        return _label_check(found, files.roles(), "folds")

    def can_check(self, run_id: str) -> bool:
        """Return True if the training rows of a run have labels that can be checked."""
        from ..evaluation.label_errors import CHECKED_KINDS, MIN_ROWS

        try:
            return self._files(run_id).roles().kind in CHECKED_KINDS and self.store.get(run_id).rows >= MIN_ROWS
        except StudioError:
            return False

    def read_run_table(self, run_id: str) -> Table:
        """Return the training file of a run."""
        return self._files(run_id).table("data")

    def correction(self, run_id: str, labels: Mapping[int, str], dropped: Sequence[int]) -> list[Fix]:
        """Return the fixes that give rows of a run's file other labels, and drop others.

        Args:
            labels: new label or score by row; unchanged ones are ignored.
            dropped: rows to drop.

        Raises:
            StudioError: nothing would change, or a label or score does not exist.
        """
        roles, table = self._files(run_id).roles(), self.read_run_table(run_id)
        known = set(table.lines.tolist())
        if unknown := [row for row in (*labels, *dropped) if row not in known]:
            raise StudioError(_("the file has no row {row}", row=unknown[0]), "reload the run")
        assert roles.target is not None
        before = dict(zip(table.lines.tolist(), table.column(roles.target), strict=True))
        changed = {row: _parse_label(label, roles) for row, label in labels.items() if row not in dropped and label != before[row]}
        fixes = []
        if changed:
            label = ngettext("{n} label corrected", "{n} labels corrected", len(changed))
            fixes.append(Fix("set_cells", label, {"column": roles.target, "cells": changed}))
        if dropped:
            fixes.append(Fix("drop_rows", ngettext("{n} row dropped", "{n} rows dropped", len(dropped)), {"rows": list(dropped)}))
        if not fixes:
            raise StudioError("no label was changed", "choose another label, or drop a row")
        return fixes

    def _check(self, examples: Examples, roles: Roles, model: str | None, progress: Progress | None) -> LabelCheck:
        from ..evaluation.label_errors import find_doubts
        from ..training.artifacts import doubtful_rows

        encoder = self.catalog.load(model or self.settings.default_model)
        doubts = find_doubts(encoder, examples, progress=progress)
        found = {"kind": examples.kind, "rows": len(examples), "suspicious": doubts.suspicious}
        return _label_check({**found, "doubtful": doubtful_rows(examples, doubts)}, roles, "frozen")

    def _files(self, run_id: str) -> RunFiles:
        from ..runs.files import RunFiles

        return RunFiles(self.workspace.run(run_id))


def _require_labels(table: Table, roles: Roles) -> None:
    """Raise a StudioError with the reason why a file has no labels to check: no such column, or too few rows in its classes."""
    from ..evaluation.label_errors import CHECKED_KINDS

    if roles.kind in ("scored_pairs", "labelled_pairs"):
        return
    column = roles.target or roles.group or next((name for name in table.columns if _names_labels(name, roles)), None)
    if column is None:
        raise StudioError(
            _(
                "{name} has no column of labels or scores: its columns are {columns}",
                name=table.name,
                columns=", ".join(map(repr, table.columns[:20])),
            ),
            "add a column of labels, or specify it with --target",
        )
    counts = Counter(cell.strip() for cell in table.column(column) if cell.strip() or "" in roles.labels)
    repeated = [value for value, rows in counts.items() if rows > 1]
    if len(counts) < 2:
        shown = next(iter(counts), "")
        raise StudioError(
            _("the label column {column} of {name} has only one value: {value}", column=repr(column), name=table.name, value=repr(shown)),
            "use rows with at least two different labels",
        )
    if len(roles.texts) == 1 and len(repeated) < 2:
        single = [value for value, rows in counts.items() if rows == 1]
        raise StudioError(
            ngettext(
                "{n} of the {all} classes in the label column {column} of {name} has one row ({value}); two classes need several",
                "{n} of the {all} classes in the label column {column} of {name} have one row (as {value}); two classes need several",
                len(single),
                all=f"{len(counts):,}",
                column=repr(column),
                name=table.name,
                value=repr(single[0]),
            ),
            "add rows of the small classes, or specify the column of labels with --target",
        )
    if roles.kind not in CHECKED_KINDS:
        _refuse_unused_labels(table, roles, column)


def _names_labels(name: str, roles: Roles) -> bool:
    return name not in roles.texts and rate_target_name(name) in ("certain", "likely")


def _refuse_unused_labels(table: Table, roles: Roles, column: str) -> NoReturn:
    """Raise the error for a column that could contain labels but that the file's texts do not allow to use."""
    from ..evaluation.label_errors import MIN_TEXTS

    texts = {cell for name in roles.texts for cell in table.column(name)}
    shown = {"name": table.name, "rows": f"{len(table):,}", "texts": f"{len(texts):,}", "column": repr(column)}
    if len(texts) < MIN_TEXTS:
        message = _("the {rows} rows of {name} have only {texts} different texts, too few to check the labels in {column}", **shown)
        raise StudioError(message, "add rows with other texts")
    kind = "labelled_texts" if len(roles.texts) == 1 else "labelled_pairs"
    flags = option("", kind=kind, columns=roles.texts[:2], target=column).flag
    raise StudioError(
        _("{name} is read as {kind}, and its column {column} not as labels", kind=roles.kind.replace("_", " "), **shown),
        _("if it contains labels, specify {flags}", flags=flags),
    )


def _label_check(errors: Mapping[str, Any], roles: Roles, by: str) -> LabelCheck:
    listed = [
        SuspiciousLabel(one["line"], one["texts"], format_label(one["gold"], roles), format_label(one["said"], roles), one["by"])
        for one in errors["doubtful"][:MAX_LISTED]
    ]
    return LabelCheck(errors["kind"], errors["rows"], errors["suspicious"], by, list(roles.labels), listed)


def _read(path: Path) -> LabelCheck | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return LabelCheck(**{**found, "listed": [SuspiciousLabel(**one) for one in found["listed"]]})
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or it is damaged
        return None


def format_label(value: float | str | None, roles: Roles | None) -> str:
    """Return a label, or a score in [0, 1] on the scale of the file."""
    if value is None or isinstance(value, str):
        return value or ""
    if roles is None or roles.low is None or roles.high is None:
        return f"{value:.2f}"
    return f"{float(f'{roles.low + value * (roles.high - roles.low):.3g}'):g}"


def _parse_label(label: str, roles: Roles) -> str:
    label = label.strip()
    if roles.labels:
        if label not in roles.labels:
            raise StudioError(_("{label} is no label of this file", label=repr(label[:80])), "choose one from the list")
        return label
    try:
        low, high = sorted((float(roles.low or 0), float(roles.high or 0)))
        if not low <= float(label) <= high:
            raise StudioError(
                _("the score {label} is outside {low} to {high}", label=label, low=f"{low:g}", high=f"{high:g}"), "correct the score"
            )
    except ValueError:
        raise StudioError(_("{label} is not a number", label=repr(label[:80])), "correct the score") from None
    return label
