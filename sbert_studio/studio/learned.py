"""The texts that a model has learned from, as far as they are known: those of the run that made it, and of the runs that it began from."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..errors import StudioError

if TYPE_CHECKING:
    from ..runs.records.record import Run
    from ..runs.records.store import Store
    from ..workspace import Workspace

    # Of each file: its text columns, and the texts of every row in them.
    Learned = list[tuple[tuple[str, ...], set[tuple[str, ...]]]]


def learned_by(store: Callable[[], Store], workspace: Workspace, model: str) -> Iterator[tuple[Run, Learned]]:
    """The run that made a model, and what it learned from; then those that it began from. Nothing of a model that no run has made.

    Args:
        store: opens the memory of runs, which is asked for a run only: without it other models are judged all the same.
    """
    from ..runs.run_files import RunFiles

    known: dict[str, Run] = {}
    if model.startswith("run-"):
        with contextlib.suppress(StudioError):
            known = {run.id: run for run in store().runs()}
    while (run := known.pop(model, None)) is not None:
        model = run.model
        # Where its folder was tidied by hand, what it learned can no longer be told.
        with contextlib.suppress(StudioError):
            yield run, RunFiles(workspace.run(run.id)).learned()


def learned_texts(store: Callable[[], Store], workspace: Workspace, model: str) -> set[str]:
    """Every text that a model has learned from, as :func:`~sbert_studio.data.splits.splitting.plain` writes it; none that was held out."""
    from ..data.splits.splitting import plain

    found: set[str] = set()
    for run, files in learned_by(store, workspace, model):
        held = _held_out(workspace, run)
        found |= {plain(text) for _, rows in files for row in rows - held for text in row}
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
