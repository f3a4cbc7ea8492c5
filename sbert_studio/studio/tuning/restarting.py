"""Runs of the background that the end of the program interrupted: they wait again once it is started anew."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...runs.records.record import Run
from ...workspace import Workspace, write_json

if TYPE_CHECKING:
    from ...runs.records.store import Store
    from ...runs.running.runner import Runner

log = logging.getLogger(__name__)
_FILE = "background.json"
_MOST = 3
_GIVEN_UP = f"the program ended each of the {_MOST} times that it went on with this run; resume it to try again"


def mark(workspace: Workspace, run_id: str) -> None:
    """Note that a run was put into the queue, whose end by the end of the program is not its end."""
    write_json(workspace.run(run_id) / _FILE, {"restarts": 0})


def forget(workspace: Workspace, run_id: str) -> None:
    """A run is gone on with in a terminal: it is not put into the queue by itself any more."""
    with suppress(OSError):
        (workspace.home / "runs" / run_id / _FILE).unlink(missing_ok=True)


def take_up(workspace: Workspace, store: Store, runner: Runner) -> list[Run]:
    """Put the runs into the queue that the end of the program interrupted while they waited or trained there, in their old order.

    A run that was gone on with so three times, and had the program end each time, is left: it may be what ends it.
    """
    store.recover()
    taken = []
    for run in reversed(store.runs(status="interrupted")):
        note = workspace.home / "runs" / run.id / _FILE
        try:
            restarts = int(json.loads(note.read_text(encoding="utf-8"))["restarts"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # it was carried out in a terminal, or is damaged
        try:
            if restarts >= _MOST:
                store.record(run.id, message=_GIVEN_UP)
                note.unlink()
                continue
            write_json(note, {"restarts": restarts + 1})
            store.take(run.id)
            runner.submit(run.id)
            taken.append(run)
        except (StudioError, OSError) as error:
            log.warning("the run %s could not be gone on with: %s", run.id, error)
    return taken
