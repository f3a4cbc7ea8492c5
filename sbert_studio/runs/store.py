"""Store of all runs of a home folder, each in its own folder."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import StudioError, is_disk_full
from ..i18n import _
from ..workspace import atomic_file
from .event_log import EventLog, dump_event
from .lease import SHORT, RunLeases, WriteLock
from .legacy import DATABASE, import_database
from .run import ACTIVE, RESUMABLE, RUN_FILE, Run, Status, dump_run, is_run_id, load_run
from .scores import ScoreStore

STOP_FILE, DELETED = "stop", ".deleted-"
_RETRY = 15.0  # seconds between two attempts to write unsaved data
_MOST_LINES = 20_000
_BLOCK = 4096
_LIVE = {"step", "pairs_per_second"}  # fields taken from the event log while a run is training
_RACY = 0.5  # seconds after a change during which another change may have the same timestamp
_INTERRUPTION = {
    "status": "interrupted",
    "message": "the program ended during this run; resume it to continue from its last checkpoint",
    "hint": "",
}
log = logging.getLogger(__name__)


@dataclass
class _Unsaved:
    # Lines and changes of one run that could not be written yet.
    lines: deque[bytes] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    changes: dict[str, Any] = field(default_factory=dict)
    released: bool = False
    next_try: float = 0.0


class RunStore:
    """Runs and their events, safe for several threads and processes.

    A run is stored in the folder ``runs/<id>`` of the home folder: ``run.json`` describes it (:class:`~sbert_studio.runs.run.Run`),
    ``events.jsonl`` is its event log, ``lock`` is held by the process that executes it, and a file ``stop`` requests that it stop.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._runs = home, home / "runs"
        self._lock = threading.RLock()
        self._write_lock = WriteLock(home / ".runs.lock", "the folder of runs is locked by another program")
        self._leases = RunLeases(self._runs)
        self._notices: dict[str, str] = {}
        self._scores = ScoreStore(home / "leaderboard.jsonl", self._notices)
        self._is_prepared = False
        self._cache: dict[str, tuple[tuple[int, int, int] | None, Run]] = {}
        self._logs: dict[str, EventLog] = {}
        self._unsaved: dict[str, _Unsaved] = {}
        self._abandoned: set[str] = set()  # runs without a process whose final status could not be written

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self._notices.values())

    @property
    def scores(self) -> ScoreStore:
        self._prepare()
        return self._scores

    def close(self) -> None:
        """Write unsaved data and release all runs; the store can still be used."""
        with self._lock:
            for run_id in list(self._unsaved):
                self._flush(run_id, at_once=True)
            self._leases.release_all()

    def add(self, run: Run) -> Run:
        """Store a new run, acquire its lock, and return it with its number. If this fails, nothing is stored."""
        self._prepare()
        folder = self._runs / run.id
        with self._lock, _to_user_errors(run.id), self._write_lock.held():
            folder.mkdir(parents=True, exist_ok=True)
            if not self._leases.try_acquire(run.id, SHORT):
                raise StudioError(_("the run {id} belongs to another program", id=run.id), "start a new run")
            run = run.updated(number=1 + max((one.number for one in self._read_all()), default=0))
            try:
                self._write(run)
            except BaseException:
                self._leases.release(run.id)
                raise
        return run

    def get(self, run_id: str) -> Run:
        self._prepare()
        self._flush(run_id)
        run = self._read(run_id) if is_run_id(run_id) else None
        if run is None:
            raise _no_run(run_id)
        return self._current(run)

    def title(self, model: str) -> str:
        """Return the name of the run whose model it is; other names of models are returned as they are."""
        try:
            return self.get(model).name or model if is_run_id(model) else model
        except StudioError:
            return model

    def runs(self, owner: str | None = None, status: Status | None = None) -> list[Run]:
        self._prepare()
        for run_id in list(self._unsaved):
            self._flush(run_id)
        found = [self._current(run) for run in self._read_all() if owner in (None, run.owner)]
        found = [run for run in found if status in (None, run.status)]
        return sorted(found, key=lambda run: (run.number, run.created, run.id), reverse=True)

    def record(self, run_id: str, event: Mapping[str, Any] | None = None, **changes: Any) -> None:
        line = b"" if event is None else dump_event(event)
        with _to_user_errors(run_id):
            self._flush(run_id, at_once=True)
            self._save(run_id, line, changes)

    def try_record(self, run_id: str, event: Mapping[str, Any] | None = None, **changes: Any) -> None:
        """Record like :meth:`record`, but never raise: data that cannot be written now is kept in memory, listed, and written later."""
        try:
            line = b"" if event is None else dump_event(event)
            with self._lock:
                unsaved = self._unsaved.setdefault(run_id, _Unsaved())
                if line:
                    unsaved.lines.append(line)
                unsaved.changes |= changes
                self._flush(run_id, at_once="status" in changes)
        except Exception:
            log.warning("an event or a change of run %s could not be recorded", run_id, exc_info=True)

    def events(self, run_id: str, after: int = 0, limit: int = 100_000) -> list[tuple[int, dict[str, Any]]]:
        """Return the events of a run numbered above ``after``, each with its number and its ``time`` (seconds since 1970)."""
        self._prepare()
        if not is_run_id(run_id):
            return []
        log_ = self._log(run_id)
        found = log_.read(after, limit)
        if log_.damaged:
            self._notices[f"events {run_id}"] = _(
                "{damaged} damaged lines of events.jsonl of the run {run_id} are skipped", run_id=run_id, damaged=f"{log_.damaged:,}"
            )
        return found

    def last_event(self, run_id: str, kind: str) -> dict[str, Any] | None:
        """Return the newest event of a type among the last few events of a run, or ``None``."""
        return next((event for event in self._log(run_id).newest() if event["type"] == kind), None)

    def claim(self, run_id: str) -> Run:
        """Requeue a run that ended early, and acquire its lock. If several processes try, exactly one succeeds."""
        self._flush(run_id, at_once=True)  # may release it
        run = self.get(run_id)
        if run.resumable and self._leases.try_acquire(run_id, SHORT):
            try:
                run = self.get(run_id)
                if run.resumable:
                    (self._runs / run_id / STOP_FILE).unlink(missing_ok=True)
                    self.record(run_id, status="queued", message="", hint="")
                    return self.get(run_id)
            except BaseException:
                self._leases.release(run_id)
                raise
            self._leases.release(run_id)
        run = self.get(run_id)
        why = "it is used by another program" if run.status in RESUMABLE else "only interrupted, stopped or failed runs can be resumed"
        raise StudioError(_("the run {run_id} is {status} and cannot be resumed", run_id=run_id, status=run.status), why)

    def try_acquire(self, run_id: str) -> bool:
        return self._leases.is_held(run_id) or self._leases.try_acquire(run_id, SHORT)

    def is_lost(self, run_id: str) -> bool:
        """Return True if another process took over a run from this process, which must then stop writing to it."""
        return self._leases.is_lost(run_id)

    def release(self, run_id: str) -> None:
        """Release a run's lock after everything recorded was written."""
        with self._lock:
            if run_id in self._unsaved:
                self._unsaved[run_id].released = True
            else:
                self._leases.release(run_id)

    def request_stop(self, run_id: str) -> None:
        with _to_user_errors(run_id):
            (self._runs / run_id / STOP_FILE).touch()

    def is_stop_requested(self, run_id: str) -> bool:
        folder = self._runs / run_id
        return (folder / STOP_FILE).exists() or not folder.exists()

    def recover(self) -> list[str]:
        """Mark queued or running runs that no process holds as interrupted, remove their incomplete files, and return their ids."""
        lost = []
        for run in self.runs():
            if run.status not in ACTIVE and run.id not in self._abandoned:
                continue
            if self._leases.is_held(run.id) or not self._leases.try_acquire(run.id):
                self._abandoned.discard(run.id)
                continue
            from ..training.checkpoints import remove_leftovers

            try:
                if self._mark_interrupted(run.id):
                    lost.append(run.id)
                remove_leftovers(self._runs / run.id)
            finally:
                self._leases.release(run.id)
        return lost

    def delete(self, run_id: str) -> None:
        """Delete a run and its folder, unless a process is executing it."""
        folder = self._runs / run_id
        self._flush(run_id, at_once=True)
        if folder.is_dir() and not self._leases.try_acquire(run_id, 0.5):
            raise StudioError(_("the run {run_id} is in progress", run_id=run_id), "stop it before deleting it")
        gone = folder.with_name(f"{DELETED}{run_id}")
        try:
            with _to_user_errors(run_id):
                try:
                    folder.replace(gone)  # atomic
                except OSError:  # Windows moves no folder with an open lock
                    (folder / RUN_FILE).unlink(missing_ok=True)
            for left in (gone, folder):
                shutil.rmtree(left, ignore_errors=True)
        finally:
            self._leases.release(run_id)
            with self._lock:
                for known in (self._cache, self._logs, self._unsaved):
                    known.pop(run_id, None)  # type: ignore[attr-defined]

    def _prepare(self) -> None:
        with self._lock:
            if self._is_prepared:
                return
            self._is_prepared = True
            with suppress(OSError):
                for left in self._runs.glob(f"{DELETED}*"):
                    shutil.rmtree(left, ignore_errors=True)
            try:
                import_database(self._home, self._scores)
            except StudioError as error:
                self._notices[DATABASE] = error.message
                log.warning("%s", error)

    def _read_all(self) -> Iterator[Run]:
        try:
            names = [entry.name for entry in os.scandir(self._runs) if is_run_id(entry.name)]
        except OSError:
            return
        for name in names:
            if (run := self._read(name)) is not None:
                yield run

    def _read(self, run_id: str) -> Run | None:
        path = self._runs / run_id / RUN_FILE
        with self._lock:
            known_key, known = self._cache.get(run_id, (None, None))
            try:
                state = path.stat()
                key = (state.st_mtime_ns, state.st_size, state.st_ino)
                if known is not None and known_key == key:
                    return known
                run = load_run(path.read_bytes(), run_id, self._home)
                if run.status in ("failed", "interrupted"):  # version 2 did not write the last step to the file
                    run = self._with_last_step(run)
            except (OSError, ValueError) as error:
                if known is not None and self._leases.is_held(run_id) and path.parent.is_dir():
                    return known  # this process is the one that writes it
                self._cache.pop(run_id, None)
                if not isinstance(error, FileNotFoundError):
                    self._notices[run_id] = _("the run {run_id} is not shown: the run.json in its folder is damaged", run_id=run_id)
                return None
            self._notices.pop(run_id, None)
            self._remember(run, state)
            return run

    def _current(self, run: Run) -> Run:
        """Add data that is not in the run's file: its last step, and unsaved changes."""
        changes: dict[str, Any] = {}
        if run.active:
            run = self._with_last_step(run)
            changes = dict(_INTERRUPTION) if run.id in self._abandoned else {}
        if (unsaved := self._unsaved.get(run.id)) is not None:
            changes |= unsaved.changes
        return run.updated(**changes) if changes else run

    def _with_last_step(self, run: Run) -> Run:
        step = self.last_event(run.id, "step")
        if step is None:
            return run
        rate = step.get("pairs_per_second") or run.pairs_per_second
        return run.updated(step=step.get("run_step") or step["step"], pairs_per_second=rate)

    def _save(self, run_id: str, lines: bytes, changes: Mapping[str, Any]) -> None:
        with self._lock, self._write_lock.held():
            run = self._read(run_id)
            if run is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), RUN_FILE)
            updated = self._current(run).updated(**changes) if changes.keys() - _LIVE else None
            try:
                if lines:
                    self._log(run_id).append(lines)
            finally:  # the final status can still be written on a full disk, in place
                if updated is not None:
                    self._write(updated)

    def _write(self, run: Run) -> None:
        """Write a ``run.json``, padded to whole disk blocks, so that it can be overwritten in place on a full disk."""
        text = dump_run(run, self._home)
        text = text.ljust(-(-(len(text) + 1) // _BLOCK) * _BLOCK - 1) + b"\n"
        path = self._runs / run.id / RUN_FILE
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
        try:
            with atomic_file(path) as part:
                part.write_bytes(text)
        except OSError as error:
            if not path.is_file() or path.stat().st_size < len(text):
                raise
            try:
                with path.open("r+b") as target:
                    target.write(text)
                    target.truncate()
                    target.flush()
                    os.fsync(target.fileno())
            except OSError:
                raise error from None
        self._notices.pop(run.id, None)
        self._remember(run, path.stat())

    def _remember(self, run: Run, state: os.stat_result) -> None:
        # Read the file again next time if it changed very recently: another change may have the same timestamp.
        is_settled = time.time() - state.st_mtime > _RACY
        self._cache[run.id] = (state.st_mtime_ns, state.st_size, state.st_ino) if is_settled else None, run

    def _flush(self, run_id: str, at_once: bool = False) -> None:
        """Write the unsaved data of a run; after a failure, only after a delay unless ``at_once``."""
        with self._lock:
            unsaved = self._unsaved.get(run_id)
            if unsaved is None or (not at_once and time.monotonic() < unsaved.next_try):
                return
            try:
                self._save(run_id, b"".join(unsaved.lines), unsaved.changes)
            except FileNotFoundError:
                log.warning("the run %s was deleted; its last events are dropped", run_id)
            except (OSError, StudioError) as error:
                if not unsaved.next_try:
                    log.warning("the run %s goes on though its folder cannot be written, which is tried again: %s", run_id, error)
                unsaved.next_try = time.monotonic() + _RETRY
                return
            except (ValueError, TypeError):  # a bug, which must not prevent the run from being listed
                log.exception("the run %s could not be changed", run_id)
            del self._unsaved[run_id]
            if unsaved.released:
                self._leases.release(run_id)

    def _mark_interrupted(self, run_id: str) -> bool:
        run = self._read(run_id)
        if run is None or not run.active:
            self._abandoned.discard(run_id)
            return False
        try:
            self._save(run_id, b"", _INTERRUPTION)
        except (OSError, StudioError):
            self._abandoned.add(run_id)  # only displayed as interrupted: another process may resume the run before it can be written
            return False
        self._abandoned.discard(run_id)
        return True

    def _log(self, run_id: str) -> EventLog:
        with self._lock:
            return self._logs.setdefault(run_id, EventLog(self._runs / run_id))


def _no_run(run_id: str) -> StudioError:
    return StudioError(_("there is no run {run_id}", run_id=repr(run_id[:80])), "`sbert-studio runs` lists the runs of this machine")


@contextmanager
def _to_user_errors(run_id: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise _no_run(run_id) from error
    except OSError as error:
        if is_disk_full(error):
            raise StudioError(
                _("the disk is full: the run {run_id} cannot be written", run_id=run_id), "free some disk space, then try again"
            ) from error
        raise StudioError(
            _("the run {run_id} cannot be written: {strerror}", run_id=run_id, strerror=error.strerror),
            "check its folder: the owner, the permissions and the free space",
        ) from error
