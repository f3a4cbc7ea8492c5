"""The house kept while it is open: runs that go on for too long, old runs, full folders, memory that nothing uses."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..caches import give_back, unread_noted
from ..errors import StudioError, plainly
from ..runs.records.record import Run
from ..workspace import Workspace, write_json
from .static_embeddings import remove_old_fitted

if TYPE_CHECKING:
    from ..settings import Settings
    from .studio import Studio

log = logging.getLogger(__name__)
_EVERY = 15.0
_LEFT = 3_600.0  # seconds after which nobody writes to a file any more that has its temporary name
_NOTICE = timedelta(days=1)
_GROWN = 8 << 20  # bytes more than there were, from which what is free is looked for and given back
_UNUSED = 600.0  # seconds after which what was made of a corpus leaves memory
_READ = 32  # the share of the memory of caches beyond which what was read of mapped vectors is let go


class Keeper:
    """Looks after a studio from a thread of its own; nothing that goes wrong in it reaches anybody else.

    Args:
        also: called each time, for what else must be looked after.
        holds: the bytes of what else is held in memory, by name, for the log.
    """

    def __init__(self, studio: Studio, also: Callable[[], None] = lambda: None, holds: Callable[[], dict[str, int]] = dict) -> None:
        self._studio, self._also, self._holds = studio, also, holds
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._resident = 0
        self._trained = False
        self._told: frozenset[str] = frozenset()
        self._next_sweep = 0.0

    def start(self) -> None:
        """Look every quarter of a minute, until :meth:`close`."""
        self._thread = threading.Thread(target=self._work, name="sbert-studio-keeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, and wait for what goes on."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(5)

    def look(self, now: datetime | None = None) -> None:
        """Do once what there is to do; what of the machine hinders it, such as a full disk, is logged once until it changes."""
        now = now or datetime.now(UTC)
        troubles: dict[str, None] = {}
        for task in (
            lambda: self._end_long(now),
            lambda: remove_old(self._studio, now),
            lambda: self._fitted(now),
            self._folders,
            self._parts,
            self._also,
            self._memory,
            self._tell,
        ):
            try:
                task()
            except Exception as error:
                known = error if isinstance(error, StudioError) else plainly(error)
                if known is None:
                    log.exception("something that is looked after from time to time could not be")
                else:
                    troubles[str(known)] = None
        for words in troubles:
            if words not in self._told:
                log.warning("something that is looked after from time to time could not be: %s", words)
        self._told = frozenset(troubles)

    def _work(self) -> None:
        while not self._ended.wait(_EVERY):
            self.look()

    def _end_long(self, now: datetime) -> None:
        """Stop a run that has trained for as long as a run may."""
        minutes = self._studio.settings.limits.minutes
        for run in self._studio.store.runs(status="running") if minutes else ():
            began = next((event["time"] for _, event in self._studio.store.events(run.id) if event["type"] == "started"), None)
            if began is None or now.timestamp() - began < minutes * 60 or self._studio.store.asked_to_stop(run.id):
                continue
            words = f"a run trains for {minutes} minutes at most here; it was stopped, and its best model is kept"
            self._studio.store.record(run.id, {"type": "notice", "message": words})
            self._studio.tune.stop(run.id)

    def _fitted(self, now: datetime) -> None:
        remove_old_fitted(self._studio.workspace, self._studio.settings.limits, now)

    def _folders(self) -> None:
        """Keep what can be made again within its part of the disk."""
        from ..explore.vector_store import evict_files

        part = self._studio.settings.disk_mb * (1 << 20) // 10
        evict_files(self._studio.workspace.home / "projections", part, Path())
        evict_files(self._studio.workspace.home / "exports", part, Path(), "*.zip")

    def _parts(self) -> None:
        """Remove what was being written, under a temporary name, when a process was killed an hour ago or earlier."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + _LEFT
        remove_parts(self._studio.workspace.home, time.time() - _LEFT)

    def _memory(self) -> None:
        """Return memory once a training has ended, or much was used and let go of since, which is seen without the store too."""
        from ..training.schedule import resident_bytes

        self._studio.forget_unused(_UNUSED)
        busy = self._trained
        try:
            busy = any(run.active for run in self._studio.store.runs(status="running"))
        finally:
            if (self._trained and not busy) or resident_bytes() > self._resident + _GROWN:
                give_back()
                unread_noted(self._studio.workspace.home, self._studio.settings.memory_mb * (1 << 20) // _READ)
                self._resident = resident_bytes()
            self._trained = busy

    def _tell(self) -> None:
        """What is held in memory, to whoever listens to this log at its finest."""
        if log.isEnabledFor(logging.DEBUG):
            from ..training.schedule import resident_bytes

            log.debug("memory %s", json.dumps({"resident": resident_bytes(), **self._studio.held(), **self._holds()}))


def remove_parts(home: Path, before: float) -> None:
    """Remove the half-written files and folders below ``home`` that were last changed before a moment, in seconds of the epoch."""
    for path in list(home.rglob(".part-*")):
        with suppress(OSError):
            if path.stat().st_mtime < before:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


def kept_until(settings: Settings, workspace: Workspace, run: Run) -> datetime | None:
    """When a run that has ended will be removed; ``None`` where it stays."""
    limits = settings.limits
    if run.active or not (limits.keep_days or limits.runs_mb):
        return None
    dates = [datetime.fromisoformat(run.created) + timedelta(days=limits.keep_days)] if limits.keep_days else []
    given = _notices(workspace).get(run.id)
    return min([*dates, datetime.fromisoformat(given)] if given else dates, default=None)


def remove_old(studio: Studio, now: datetime) -> list[str]:
    """Remove the runs whose day has come, and give notice to the oldest where all together take too much of the disk.

    Returns:
        The ids of those that were removed.
    """
    limits = studio.settings.limits
    if not (limits.keep_days or limits.runs_mb):
        return []
    gone = []
    runs = [run for run in reversed(studio.store.runs()) if not run.active]
    for run in runs:
        due = kept_until(studio.settings, studio.workspace, run)
        if due is not None and now >= due:
            try:
                studio.tune.delete_run(run.id)
            except StudioError:
                continue  # it was taken up again meanwhile
            gone.append(run.id)
    if limits.runs_mb:
        _give_notice(studio, [run for run in runs if run.id not in gone], limits.runs_mb << 20, now)
    return gone


def bytes_of_run(studio: Studio, run_id: str) -> int:
    """What a run takes on disk."""
    return folder_bytes(studio.workspace.home / "runs" / run_id)


def folder_bytes(folder: Path) -> int:
    """What all files below a folder take; those that vanish meanwhile take nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _give_notice(studio: Studio, runs: list[Run], most: int, now: datetime) -> None:
    notices = _notices(studio.workspace)
    known = {run.id for run in runs}
    kept = {run_id: when for run_id, when in notices.items() if run_id in known}
    sizes = {run.id: bytes_of_run(studio, run.id) for run in runs}
    staying = sum(size for run_id, size in sizes.items() if run_id not in kept)
    for run in runs:
        if staying <= most:
            break
        if run.id not in kept:
            kept[run.id] = (now + _NOTICE).isoformat(timespec="seconds")
            staying -= sizes[run.id]
    if kept != notices:
        write_json(studio.workspace.notices, kept)


def _notices(workspace: Workspace) -> dict[str, str]:
    """Run ids and the day on which they go, as it was told."""
    try:
        found = json.loads(workspace.notices.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(run): str(when) for run, when in found.items()} if isinstance(found, dict) else {}
