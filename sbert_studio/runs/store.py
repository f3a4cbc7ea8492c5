"""The memory of all runs: one SQLite file that the page, the command line and the trainer's thread share."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import StudioError
from .migrations import migrate
from .processes import is_alive, own_process
from .record import ACTIVE, RESUMABLE, Run, Status

_COLUMNS = tuple(item.name for item in fields(Run))
_JSON = ("spec", "before", "after")


class Store:
    """Runs and their events. Safe for several threads (one connection, one lock) and several processes (WAL).

    The file is opened on first use.

    Raises:
        StudioError: the file cannot be opened, or is not a database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def add(self, run: Run) -> None:
        """Remember a new run, taken by this process."""
        process, birth = own_process()
        values = {**_to_row({name: getattr(run, name) for name in _COLUMNS}), "process": process, "birth": birth}
        marks = ", ".join("?" for _ in values)
        with self._write() as db:
            db.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))

    def get(self, run_id: str) -> Run:
        """One run.

        Raises:
            StudioError: there is none of this id.
        """
        with self._read() as db:
            row = db.execute(f"SELECT {', '.join(_COLUMNS)} FROM runs WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise StudioError(f"there is no run {run_id[:80]!r}", "`sbert-studio runs` lists the runs of this machine")
        return _to_run(row)

    def runs(self, owner: str | None = None, status: Status | None = None) -> list[Run]:
        """The runs, newest first; of one owner and one status where these are given."""
        asked = {"owner": owner, "status": status}
        wanted = {name: value for name, value in asked.items() if value is not None}
        where = f" WHERE {' AND '.join(f'{name} = ?' for name in wanted)}" if wanted else ""
        with self._read() as db:
            found = db.execute(f"SELECT {', '.join(_COLUMNS)} FROM runs{where} ORDER BY created DESC, rowid DESC", tuple(wanted.values()))
            return [_to_run(row) for row in found]

    def record(self, run_id: str, event: Mapping[str, Any] | None = None, **changes: Any) -> int:
        """Append an event and change columns of its run, both or neither.

        Returns:
            The event's number within the run; 0 without an event.
        """
        with self._write() as db:
            if changes:
                row = _to_row(changes)
                db.execute(f"UPDATE runs SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", (*row.values(), run_id))
            if event is None:
                return 0
            (seq,) = db.execute("SELECT COALESCE(MAX(seq), 0) + 1 FROM events WHERE run = ?", (run_id,)).fetchone()
            body = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
            db.execute("INSERT INTO events (run, seq, time, body) VALUES (?, ?, ?, ?)", (run_id, seq, time.time(), body))
            return int(seq)

    def events(self, run_id: str, after: int = 0, limit: int = 100_000) -> list[tuple[int, dict[str, Any]]]:
        """The events of a run numbered above ``after``, in order, each with its number and its ``time`` (seconds since 1970)."""
        with self._read() as db:
            found = db.execute("SELECT seq, time, body FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?", (run_id, after, limit))
            return [(seq, {**json.loads(body), "time": moment}) for seq, moment, body in found]

    def take(self, run_id: str) -> Run:
        """Make this process the one that goes on with a run that ended early; it is queued again.

        Raises:
            StudioError: it is finished, or another process has it.
        """
        process, birth = own_process()
        marks = ", ".join("?" for _ in RESUMABLE)
        with self._write() as db:
            taken = db.execute(
                f"UPDATE runs SET status = 'queued', stop = 0, message = '', hint = '', process = ?, birth = ? "
                f"WHERE id = ? AND status IN ({marks})",
                (process, birth, run_id, *RESUMABLE),
            ).rowcount
        run = self.get(run_id)
        if not taken:
            raise StudioError(f"the run {run_id} is {run.status} and cannot be resumed", "only an interrupted, stopped or failed run can")
        return run

    def ask_to_stop(self, run_id: str) -> None:
        """Leave the wish that a run stop where whichever process has it will see it."""
        with self._write() as db:
            db.execute("UPDATE runs SET stop = 1 WHERE id = ?", (run_id,))

    def asked_to_stop(self, run_id: str) -> bool:
        """Whether someone, here or in another process, wishes that the run stop (or has deleted it)."""
        with self._read() as db:
            row = db.execute("SELECT stop FROM runs WHERE id = ?", (run_id,)).fetchone()
        return row is None or bool(row[0])

    def recover(self) -> list[str]:
        """Mark as interrupted each run that reads as queued or running though its process is gone.

        Returns:
            Their ids. Runs of another living process on the same home stay as they are.
        """
        with self._read() as db:
            lost = [
                run_id
                for run_id, process, birth in db.execute(f"SELECT id, process, birth FROM runs WHERE status IN {ACTIVE}")
                if not is_alive(process, birth)
            ]
        if not lost:
            return []
        message = "the program ended while this run was under way; resume it to go on from its last checkpoint"
        with self._write() as db:
            for run_id in lost:
                db.execute(f"UPDATE runs SET status = 'interrupted', message = ? WHERE id = ? AND status IN {ACTIVE}", (message, run_id))
        return lost

    def delete(self, run_id: str) -> None:
        """Forget a run and its events."""
        with self._write() as db:
            db.execute("DELETE FROM runs WHERE id = ?", (run_id,))

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._open()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._open()
            # IMMEDIATE takes the write lock at once: a transaction that reads first could otherwise fail to upgrade.
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                db = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute("PRAGMA foreign_keys = ON")
                migrate(db)
            except (sqlite3.Error, OSError) as error:
                raise StudioError(f"the database {self.path.name} cannot be opened: {error}", "move it away to start afresh") from error
            self._db = db
        return self._db


def _to_row(values: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in values.items():
        if name in _JSON:
            row[name] = json.dumps(dict(value), ensure_ascii=False)
        else:
            row[name] = str(value) if isinstance(value, Path) else value
    return row


def _to_run(row: tuple[Any, ...]) -> Run:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in _JSON:
        values[name] = json.loads(values[name])
    values["model_path"] = Path(values["model_path"]) if values["model_path"] else None
    return Run(**values)
