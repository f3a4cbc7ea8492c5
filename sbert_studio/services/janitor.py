"""Background janitor: enforces run time limits, retention and disk quotas, and returns unused memory."""

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

from ..caches import release_memory, release_registered_pages
from ..errors import StudioError, to_user_error
from ..i18n import _
from ..runs.run import LOCAL_OWNER, Run
from ..settings import Settings
from ..workspace import Workspace, atomic_file, write_json

if TYPE_CHECKING:
    from .studio import Studio

log = logging.getLogger(__name__)
_INTERVAL = 15.0
_PARTIAL_AGE = 3_600.0  # seconds after which a temporary file is no longer being written
_NOTICE_PERIOD = timedelta(days=1)
_SEEN = "retention.txt"  # when runs were checked for their removal, at most an hour ago, and when they may be removed again
_SEEN_AGE = timedelta(hours=1)
_GROWTH = 8 << 20  # minimum growth of resident memory, in bytes, before unused memory is released
_UNUSED = 600.0  # seconds after which corpus caches are evicted
_MAPPED_SHARE = 32  # share of the cache memory; mapped pages of vectors beyond it are released


class Janitor:
    """Maintenance thread of a studio; its errors never affect other work.

    Args:
        extra_task: additional task, called each time.
        extra_memory: returns the bytes of other memory in use, by name, for the log.
    """

    def __init__(
        self, studio: Studio, extra_task: Callable[[], None] = lambda: None, extra_memory: Callable[[], dict[str, int]] = dict
    ) -> None:
        self._studio, self._extra_task, self._extra_memory = studio, extra_task, extra_memory
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._resident = 0
        self._was_training = False
        self._logged: frozenset[str] = frozenset()
        self._next_sweep = 0.0

    def start(self) -> None:
        """Run every 15 seconds until :meth:`close`."""
        self._thread = threading.Thread(target=self._work, name="sbert-studio-janitor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait for the current task."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(5)

    def run_once(self, now: datetime | None = None) -> None:
        """Do everything that is due. A problem of the machine, such as a full disk, is logged once until it changes."""
        now = now or datetime.now(UTC)
        problems: dict[str, None] = {}
        tasks: tuple[Callable[[], object], ...] = (
            lambda: self._stop_long_runs(now),
            lambda: self._remove_expired(now),
            self._limit_folders,
            self._remove_partial_files,
            self._extra_task,
            self._return_memory,
            self._log_memory,
        )
        for task in tasks:
            try:
                task()
            except Exception as error:
                known = error if isinstance(error, StudioError) else to_user_error(error)
                if known is None:
                    log.exception("a task of the janitor failed")
                else:
                    problems[str(known)] = None
        for problem in problems:
            if problem not in self._logged:
                log.warning("a task of the janitor could not be done: %s", problem)
        self._logged = frozenset(problems)

    def _work(self) -> None:
        while not self._stopping.wait(_INTERVAL):
            self.run_once()

    def _stop_long_runs(self, now: datetime) -> None:
        minutes, store = self._studio.settings.limits.minutes, self._studio.store
        for run in store.runs(status="running") if minutes else ():
            began = next((event["time"] for _, event in store.events(run.id, limit=100) if event["type"] == "started"), None)
            if began is None or now.timestamp() - began < minutes * 60 or store.is_stop_requested(run.id):
                continue
            message = _("a run may train for at most {minutes} minutes here; it was stopped, and its best model is kept", minutes=minutes)
            store.record(run.id, {"type": "notice", "message": message})
            self._studio.fine_tune.stop(run.id)

    def _remove_expired(self, now: datetime) -> None:
        if self._studio.settings.limits.keep_days and not _may_remove(self._studio.workspace, now):
            return
        for run in remove_old_runs(self._studio, now):
            log.warning("the run %s was deleted (SBERT_STUDIO_LIMIT_KEEP_DAYS, SBERT_STUDIO_LIMIT_RUNS_MB)", run)
        for model in self._studio.static_embeddings.remove_expired(now):
            log.warning("the static embeddings %s were deleted (SBERT_STUDIO_LIMIT_KEEP_DAYS)", model)

    def _limit_folders(self) -> None:
        from ..explore.vector_store import evict_files

        part = self._studio.settings.disk_mb * (1 << 20) // 10
        evict_files(self._studio.workspace.home / "projections", part, Path())
        evict_files(self._studio.workspace.home / "exports", part, Path(), "*.zip")

    def _remove_partial_files(self) -> None:
        """Remove incomplete files and folders that are no longer being written, and folders that a killed process had replaced."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + _PARTIAL_AGE
        home = self._studio.workspace.home
        for path in [*home.rglob(".part-*"), *home.rglob(".old-*")]:
            with suppress(OSError):
                if path.stat().st_mtime >= time.time() - _PARTIAL_AGE:
                    continue
                for replaced in path.iterdir() if path.name.startswith(".old-") else ():
                    if not (path.parent / replaced.name).exists():  # the process was killed before the new folder took its place
                        replaced.replace(path.parent / replaced.name)
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()

    def _return_memory(self) -> None:
        from ..memory import resident_memory

        self._studio.evict_unused(_UNUSED)
        is_training = self._was_training
        try:
            is_training = bool(self._studio.store.runs(status="running"))
        finally:  # even if the runs cannot be read
            if (self._was_training and not is_training) or resident_memory() > self._resident + _GROWTH:
                release_memory()
                release_registered_pages(self._studio.workspace.home, self._studio.settings.memory_mb * (1 << 20) // _MAPPED_SHARE)
                self._resident = resident_memory()
            self._was_training = is_training

    def _log_memory(self) -> None:
        if log.isEnabledFor(logging.DEBUG):
            from ..memory import resident_memory

            log.debug("memory %s", json.dumps({"resident": resident_memory(), **self._studio.cache_sizes(), **self._extra_memory()}))


def removal_date(settings: Settings, workspace: Workspace, run: Run) -> datetime | None:
    """Return when an ended run will be removed; ``None`` if it is kept, as runs of commands on a shared page's machine are."""
    limits = settings.limits
    if run.active or not (limits.keep_days or limits.runs_mb) or (settings.shared and run.owner == LOCAL_OWNER):
        return None
    dates = [datetime.fromisoformat(run.created) + timedelta(days=limits.keep_days)] if limits.keep_days else []
    notice = _read_notices(workspace).get(run.id)
    return min([*dates, datetime.fromisoformat(notice)] if notice else dates, default=None)


def remove_old_runs(studio: Studio, now: datetime) -> list[str]:
    """Remove the runs whose removal date has passed, and announce the removal of the oldest runs if the disk quota is exceeded.

    Returns:
        The ids of the removed runs.
    """
    limits = studio.settings.limits
    if not (limits.keep_days or limits.runs_mb):
        return []
    removed = []
    runs = [run for run in reversed(studio.store.runs()) if not run.active]
    for run in runs:
        date = removal_date(studio.settings, studio.workspace, run)
        if date is not None and now >= date:
            try:
                studio.fine_tune.delete_run(run.id)
            except StudioError:
                continue  # it was resumed in the meantime
            removed.append(run.id)
    if limits.runs_mb:
        staying = [run for run in runs if run.id not in removed and not (studio.settings.shared and run.owner == LOCAL_OWNER)]
        _give_notice(studio, staying, limits.runs_mb << 20, now)
    return removed


def _may_remove(workspace: Workspace, now: datetime) -> bool:
    """Return False for a day after a time without this page, or a jump of its clock, of more than a day: nobody saw the dates."""
    path, last, written = workspace.home / _SEEN, None, None
    with suppress(OSError, ValueError):
        last, written = map(datetime.fromisoformat, path.read_text(encoding="utf-8").split())
    until = written or now
    if last is None or now - last > _NOTICE_PERIOD:
        until = now + _NOTICE_PERIOD
        if last is not None:
            log.warning("this page did not run for more than a day, so that nothing is deleted before %s UTC", f"{until:%Y-%m-%d %H:%M}")
    until = min(until, now + _NOTICE_PERIOD)  # the clock may have been ahead
    if last is None or until != written or not timedelta() <= now - last < _SEEN_AGE:
        with atomic_file(path) as part:
            part.write_text(f"{now.isoformat()} {until.isoformat()}", encoding="utf-8")
    return now >= until


def run_bytes(studio: Studio, run_id: str) -> int:
    """Return the size of a run's folder on disk."""
    return folder_bytes(studio.workspace.home / "runs" / run_id)


def folder_bytes(folder: Path) -> int:
    """Return the size of all files in a folder, ignoring files that disappear in the meantime."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _give_notice(studio: Studio, runs: list[Run], quota: int, now: datetime) -> None:
    notices = _read_notices(studio.workspace)
    known = {run.id for run in runs}
    dates = {run_id: date for run_id, date in notices.items() if run_id in known}
    sizes = {run.id: run_bytes(studio, run.id) for run in runs}
    staying = sum(size for run_id, size in sizes.items() if run_id not in dates)
    for run in runs:
        if staying <= quota:
            break
        if run.id not in dates:
            dates[run.id] = (now + _NOTICE_PERIOD).isoformat(timespec="seconds")
            staying -= sizes[run.id]
    if dates != notices:
        write_json(studio.workspace.notices, dates)


def _read_notices(workspace: Workspace) -> dict[str, str]:
    try:
        found = json.loads(workspace.notices.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(run): str(date) for run, date in found.items()} if isinstance(found, dict) else {}
