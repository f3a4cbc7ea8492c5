"""The texts a model was trained on, as far as they are known: by its run, and by the runs it started from."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..errors import StudioError

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..models.base import Encoder
    from ..models.catalog import Catalog
    from ..runs.run import Run
    from ..runs.store import RunStore
    from ..workspace import Workspace

    # For each file: its text columns, and the texts of every row.
    TrainedRows = list[tuple[tuple[str, ...], set[tuple[str, ...]]]]


def training_lineage(store: Callable[[], RunStore], workspace: Workspace, model: str) -> Iterator[tuple[Run, TrainedRows]]:
    """Yield the run that trained a model and its training rows, then the runs it started from. Other models yield nothing.

    Args:
        store: opens the run store; called only for runs, so that other models work without a database.
    """
    from ..runs.files import RunFiles

    known: dict[str, Run] = {}
    if model.startswith("run-"):
        with contextlib.suppress(StudioError):
            known = {run.id: run for run in store().runs()}
    while (run := known.pop(model, None)) is not None:
        model = run.model
        # The folder may have been deleted by hand.
        with contextlib.suppress(StudioError):
            yield run, RunFiles(workspace.run(run.id)).training_texts()


def model_title(store: Callable[[], RunStore], model: str) -> str:
    """Return a model's display name: the run's name, or the last part of a path."""
    if model.startswith("run-"):
        with contextlib.suppress(StudioError):
            return store().get(model).name or model
    return PurePath(model).name or model


def find_trained_rows(store: Callable[[], RunStore], workspace: Workspace, model: str, table: Table) -> Iterator[tuple[Run, int]]:
    """Yield each run of a model's lineage trained on rows of the table, and the number of those rows."""
    for run, files in training_lineage(store, workspace, model):
        for names, learned in files:
            if rows := _count_trained(table, names, learned):
                yield run, rows


def describe_overlap(rows: int, table: Table, run: Run) -> str:
    """Return a clause such as ``3 of these 23 rows are in the file that Mine was tuned on``."""
    rows_are = f"{rows:,} of these {len(table):,} rows are" if len(table) > 1 else "This row is"
    return f"{rows_are} in the file that {run.name} was tuned on"


def find_base_model(store: Callable[[], RunStore], workspace: Workspace, catalog: Catalog, model: str) -> tuple[str, Encoder] | None:
    """Return the name and encoder of the model a run started from, whose similarity is evidence of column meaning.

    ``None`` for models without vectors, folders and static models trained here: their training is unknown, and a model must not decide
    how the file it is evaluated on is read.
    """
    from ..models.io.sources import find_source

    known: dict[str, str] = {}
    if model.startswith("run-"):
        with contextlib.suppress(StudioError):
            known = {run.id: run.model for run in store().runs()}
    while (earlier := known.pop(model, None)) is not None:
        model = earlier
    try:
        if find_source(model, workspace, allow_folders=True).kind in ("folder", "fitted") or catalog.is_cross_encoder(model):
            return None
        return model, catalog.load_vector_encoder(model)
    except StudioError:
        return None


def trained_texts(store: Callable[[], RunStore], workspace: Workspace, model: str) -> set[str]:
    """Return every text a model was trained on, normalized by :func:`~sbert_studio.data.split.normalize_text`, without held-out texts."""
    from ..data.split import normalize_text

    found: set[str] = set()
    for run, files in training_lineage(store, workspace, model):
        held = _held_out(workspace, run)
        found |= {normalize_text(text) for _, rows in files for row in rows - held for text in row}
    return found


def _held_out(workspace: Workspace, run: Run) -> set[tuple[str, ...]]:
    """Return a run's held-out rows. Cross-validation has none: the final model is trained on all rows."""
    from ..training.artifacts import HELD_OUT

    path = workspace.run(run.id) / HELD_OUT
    if run.spec.get("folds") or "folds" in run.after:
        return set()
    try:
        return {tuple(json.loads(line)["texts"]) for line in path.read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _count_trained(table: Table, names: tuple[str, ...], learned: set[tuple[str, ...]]) -> int:
    """Count rows of the table whose texts were trained on together, whatever the columns are named."""
    if set(names) <= set(table.columns):
        return sum(row in learned for row in zip(*(table.column(name) for name in names), strict=True))
    begins: dict[str, list[tuple[str, ...]]] = {}
    for row in learned:
        begins.setdefault(row[0], []).append(row)
    columns = [table.column(name) for name in table.columns]
    return sum(
        any(set(row) <= set(cells) for cell in cells if cell for row in begins.get(cell, ())) for cells in zip(*columns, strict=True)
    )
