"""Background runs that the end of the program interrupted: they are queued again when it starts."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StudioError
from ..workspace import Workspace, write_json

if TYPE_CHECKING:
    from .run import Run
    from .runner import Runner
    from .store import RunStore

log = logging.getLogger(__name__)
_FILE = "background.json"
MOST_RESTARTS = 3
_GIVEN_UP = f"the program ended each of the {MOST_RESTARTS} times that it went on with this run; resume it to try again"


def mark_background(workspace: Workspace, run_id: str) -> None:
    """Note that a run was queued in the background, to be queued again if the program ends before the run does."""
    write_json(workspace.run(run_id) / _FILE, {"restarts": 0})


def unmark_background(workspace: Workspace, run_id: str) -> None:
    """Note that a run was resumed in a terminal: it is not queued by itself any more."""
    with suppress(OSError):
        _note(workspace, run_id).unlink(missing_ok=True)


def resume_background_runs(workspace: Workspace, store: RunStore, runner: Runner) -> list[Run]:
    """Queue the background runs that the end of the program interrupted, in their old order. Return them.

    A run that was resumed so three times, and the program ended each time, is left alone: it may be what ends it.
    """
    store.recover()
    resumed = []
    for run in reversed(store.runs(status="interrupted")):
        note = _note(workspace, run.id)
        try:
            restarts = int(json.loads(note.read_text(encoding="utf-8"))["restarts"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # executed in a terminal, or damaged
        try:
            if restarts >= MOST_RESTARTS:
                store.record(run.id, message=_GIVEN_UP)
                note.unlink()
                continue
            write_json(note, {"restarts": restarts + 1})
            store.claim(run.id)
            runner.submit(run.id)
            resumed.append(run)
        except (StudioError, OSError) as error:
            log.warning("the run %s could not be resumed: %s", run.id, error)
    return resumed


def _note(workspace: Workspace, run_id: str) -> Path:
    return workspace.home / "runs" / run_id / _FILE
