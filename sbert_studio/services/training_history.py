"""The texts that a model has learned from, as far as they are known: those of the run that made it, and of the runs that it began from;
and what it was before it learned them."""

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

    # Of each file: its text columns, and the texts of every row in them.
    Learned = list[tuple[tuple[str, ...], set[tuple[str, ...]]]]


def training_lineage(store: Callable[[], RunStore], workspace: Workspace, model: str) -> Iterator[tuple[Run, Learned]]:
    """The run that made a model, and what it learned from; then those that it began from. Nothing of a model that no run has made.

    Args:
        store: opens the memory of runs, which is asked for a run only: without it other models are judged all the same.
    """
    from ..runs.files import RunFiles

    known: dict[str, Run] = {}
    if model.startswith("run-"):
        with contextlib.suppress(StudioError):
            known = {run.id: run for run in store().runs()}
    while (run := known.pop(model, None)) is not None:
        model = run.model
        # Where its folder was tidied by hand, what it learned can no longer be told.
        with contextlib.suppress(StudioError):
            yield run, RunFiles(workspace.run(run.id)).training_texts()


def model_title(store: Callable[[], RunStore], model: str) -> str:
    """What people call a model: a run by its name, a folder by its last part."""
    if model.startswith("run-"):
        with contextlib.suppress(StudioError):
            return store().get(model).name or model
    return PurePath(model).name or model


def find_trained_rows(store: Callable[[], RunStore], workspace: Workspace, model: str, table: Table) -> Iterator[tuple[Run, int]]:
    """Each run whose file holds rows of the table, of those that made a model, and how many of the table's rows that are."""
    for run, files in training_lineage(store, workspace, model):
        for names, learned in files:
            if rows := _seen(table, names, learned):
                yield run, rows


def describe_overlap(rows: int, table: Table, run: Run) -> str:
    """``3 of these 23 rows are in the file that Mine was tuned on``."""
    said = f"{rows:,} of these {len(table):,} rows are" if len(table) > 1 else "This row is"
    return f"{said} in the file that {run.name} was tuned on"


def find_base_model(store: Callable[[], RunStore], workspace: Workspace, catalog: Catalog, model: str) -> tuple[str, Encoder] | None:
    """What a model was before it was tuned, by its name, whose similarity is evidence of what columns mean.

    ``None`` where it gives no vectors, and of a folder, of which nobody knows what it was: it may have learned to see things otherwise
    than people do, and shall not have the file that it is judged by read to suit it. So may a table of words that was fitted here.
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
    """Every text that a model has learned from, as :func:`~sbert_studio.data.split.normalize_text` writes it; none that was held out."""
    from ..data.split import normalize_text

    found: set[str] = set()
    for run, files in training_lineage(store, workspace, model):
        held = _held_out(workspace, run)
        found |= {normalize_text(text) for _, rows in files for row in rows - held for text in row}
    return found


def _held_out(workspace: Workspace, run: Run) -> set[tuple[str, ...]]:
    """The rows of a run's own file that it only judged by. In folds there are none: in the end it learned from all of them."""
    from ..training.artifacts import HELD_OUT

    path = workspace.run(run.id) / HELD_OUT
    if run.spec.get("folds") or "folds" in run.after:
        return set()
    try:
        return {tuple(json.loads(line)["texts"]) for line in path.read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _seen(table: Table, names: tuple[str, ...], learned: set[tuple[str, ...]]) -> int:
    """How many rows of the table hold texts that were learned from together, whatever its columns are called."""
    if set(names) <= set(table.columns):
        return sum(row in learned for row in zip(*(table.column(name) for name in names), strict=True))
    begins: dict[str, list[tuple[str, ...]]] = {}
    for row in learned:
        begins.setdefault(row[0], []).append(row)
    columns = [table.column(name) for name in table.columns]
    return sum(
        any(set(row) <= set(cells) for cell in cells if cell for row in begins.get(cell, ())) for cells in zip(*columns, strict=True)
    )
