"""Training history: the texts that a model was trained on, as far as known from its run and the runs it is based on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePath

from ..data.loading.table import Table
from ..data.split import normalize_text
from ..errors import StudioError
from ..i18n import _, ngettext
from ..models.base import Encoder
from ..runs.run import Run
from .resources import Service

TrainedRows = list[tuple[tuple[str, ...], set[tuple[str, ...]]]]
"""For each file, its text columns and the texts of every row."""


class TrainingHistory(Service):
    """Lineage of models. Only runs have one."""

    def lineage(self, model: str) -> Iterator[tuple[Run, TrainedRows]]:
        """Yield the run that trained a model with its training rows, then the runs it is based on. Other models yield nothing."""
        from ..runs.files import RunFiles

        known = self._runs(model)
        while (run := known.pop(model, None)) is not None:
            model = run.model
            with suppress(StudioError):  # the folder may have been deleted by hand
                yield run, RunFiles(self.workspace.run(run.id)).training_texts()

    def title(self, model: str) -> str:
        """Return a model's display name: the run's name, or the last part of a path."""
        run = self._runs(model).get(model)
        return (run.name if run else PurePath(model).name) or model

    def find_trained_rows(self, model: str, table: Table) -> Iterator[tuple[Run, int]]:
        """Yield each run of a model's lineage that was trained on rows of the table, and the number of those rows."""
        for run, files in self.lineage(model):
            for names, trained_rows in files:
                if rows := _count_trained(table, names, trained_rows):
                    yield run, rows

    def find_base_model(self, model: str) -> tuple[str, Encoder] | None:
        """Return the name and encoder of a run's base model, whose similarity is evidence of column meaning.

        ``None`` for models without vectors, folders and locally trained static models: their training data is unknown, and a model must not
        decide how the file it is evaluated on is interpreted.
        """
        from ..models.io.sources import find_source

        known = self._runs(model)
        while (run := known.pop(model, None)) is not None:
            model = run.model
        with suppress(StudioError):
            kind = find_source(model, self.workspace, allow_folders=True).kind
            if kind not in ("folder", "fitted") and not self.catalog.is_cross_encoder(model):
                return model, self.catalog.load_vector_encoder(model)
        return None

    def trained_texts(self, model: str) -> set[str]:
        """Return every text a model was trained on (without held-out texts), after :func:`~sbert_studio.data.split.normalize_text`."""
        found: set[str] = set()
        for run, files in self.lineage(model):
            held = self._held_out(run)
            found |= {normalize_text(text) for _, rows in files for row in rows - held for text in row}
        return found

    def _runs(self, model: str) -> dict[str, Run]:
        if model.startswith("run-"):
            with suppress(StudioError):
                return {run.id: run for run in self.store.runs()}
        return {}

    def _held_out(self, run: Run) -> set[tuple[str, ...]]:
        """Return a run's held-out rows. Cross-validation has none, because the final model is trained on all rows."""
        from ..training.artifacts import HELD_OUT

        path = self.workspace.run(run.id) / HELD_OUT
        if run.spec.get("folds") or "folds" in run.after:
            return set()
        try:
            return {tuple(json.loads(line)["texts"]) for line in path.read_text(encoding="utf-8").splitlines()}
        except (OSError, ValueError, KeyError, TypeError):
            return set()


def describe_overlap(rows: int, table: Table, run: Run) -> str:
    """Return a clause such as ``3 of these 23 rows are in the file that Mine was fine-tuned on``."""
    if len(table) == 1:
        return _("This row is in the file that {name} was fine-tuned on", name=run.name)
    return ngettext(
        "{n} of these {table} rows is in the file that {name} was fine-tuned on",
        "{n} of these {table} rows are in the file that {name} was fine-tuned on",
        rows,
        table=f"{len(table):,}",
        name=run.name,
    )


def _count_trained(table: Table, names: tuple[str, ...], trained_rows: set[tuple[str, ...]]) -> int:
    """Count rows of the table whose texts were trained on together, regardless of column names."""
    if set(names) <= set(table.columns):
        return sum(row in trained_rows for row in zip(*(table.column(name) for name in names), strict=True))
    begins: dict[str, list[tuple[str, ...]]] = {}
    for row in trained_rows:
        begins.setdefault(row[0], []).append(row)
    columns = [table.column(name) for name in table.columns]
    return sum(
        any(set(row) <= set(cells) for cell in cells if cell for row in begins.get(cell, ())) for cells in zip(*columns, strict=True)
    )
