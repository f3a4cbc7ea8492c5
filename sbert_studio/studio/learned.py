"""The texts that a model has learned from, as far as they are known: those of the run that made it, and of the runs that it began from."""

from __future__ import annotations

import contextlib
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
    """Every text that a model has learned from."""
    return {text for _, files in learned_by(store, workspace, model) for _, rows in files for row in rows for text in row}
