"""The memory of all runs: one SQLite file that the page, the command line and the trainer's thread share."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ..running.lease import Leases
from ..running.processes import is_alive, own_process
from .database import Database
from .mirror import Mirror
from .outbox import SHORT, Outbox
from .reconcile import GONE, reconcile
from .record import ACTIVE, RESUMABLE, Run, Status
from .row import COLUMNS, from_row, to_row
from .scores import Scores
from .statements import NUMBER, insert, plain, write

_LOST = "the program ended while this run was under way; resume it to go on from its last checkpoint"
_LAST_FEW = 20
log = logging.getLogger(__name__)


class Store:
    """Runs and their events. Safe for several threads (one connection, one lock) and several processes (WAL).

    The file is opened on first use. Beside each run's model lies a :class:`~sbert_studio.runs.records.mirror.Mirror` of what is known
    of it, from which a lost or damaged database is made anew. Which process works on a run is told by a
    :class:`~sbert_studio.runs.running.lease.Leases`.

    Args:
        path: the database's; the runs' folders lie beside it, in ``runs``.

    Attributes:
        scores: the leaderboard, which lies in the same file, and nowhere else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._runs = path.parent / "runs"
        self._database = Database(path, self._fill)
        self.scores = Scores(self._database)
        self._leases = Leases(self._runs)
        self._outbox = Outbox(self._database, self._leases.release)
        self._given_up: dict[str, dict[str, Any]] = {}  # how runs ended that nobody has, while it cannot be written

    @property
    def notices(self) -> tuple[str, ...]:
        """What happened to the database that a person should know."""
        return tuple(self._database.notices)

    def close(self) -> None:
        """Write what waits, let all runs go and close the file; the next use opens it again."""
        self._outbox.write(at_once=True)
        self._leases.release_all()
        self._database.close()

    def add(self, run: Run) -> None:
        """Remember a new run, taken by this process.

        Raises:
            StudioError: the database cannot be written; nothing is remembered.
        """
        process, birth = own_process()
        if not self._leases.take(run.id):
            raise StudioError(f"the run {run.id} is another program's", "start a new run")
        values = {**to_row({name: getattr(run, name) for name in COLUMNS}, self.path.parent), "process": process, "birth": birth}
        try:
            number = self._database.change(lambda db: insert(db, values))
        except BaseException:
            self._leases.release(run.id)
            raise
        self._mirror(run.id).write({**values, NUMBER: number})

    def get(self, run_id: str) -> Run:
        """One run.

        Raises:
            StudioError: there is none of this id, or the database cannot be read.
        """
        self._outbox.write()
        row = self._database.ask(lambda db: db.execute(f"SELECT {', '.join(COLUMNS)} FROM runs WHERE id = ?", (run_id,)).fetchone())
        if row is None:
            raise StudioError(f"there is no run {run_id[:80]!r}", "`sbert-studio runs` lists the runs of this machine")
        return self._as_told(from_row(row, self.path.parent))

    def runs(self, owner: str | None = None, status: Status | None = None) -> list[Run]:
        """The runs, newest first; of one owner and one status where these are given."""
        self._outbox.write()
        where, values = ("", ()) if owner is None else (" WHERE owner = ?", (owner,))
        # By the order in which they were added: a clock can be set back.
        query = f"SELECT {', '.join(COLUMNS)} FROM runs{where} ORDER BY rowid DESC"
        found = [
            self._as_told(from_row(row, self.path.parent)) for row in self._database.ask(lambda db: db.execute(query, values).fetchall())
        ]
        return [run for run in found if status in (None, run.status)]

    def record(self, run_id: str, event: Mapping[str, Any] | None = None, **changes: Any) -> int:
        """Append an event and change columns of its run, both or neither.

        Returns:
            The event's number within the run; 0 without an event.

        Raises:
            StudioError: the database cannot be written.
        """
        self._outbox.write()
        row, body = to_row(changes, self.path.parent), None if event is None else plain(event)
        seq = self._database.change(lambda db: write(db, run_id, body, time.time(), row))
        self._note(run_id, event, row)
        return seq

    def tell(self, run_id: str, event: Mapping[str, Any] | None = None, **changes: Any) -> None:
        """As :meth:`record`, for a run that must go on whatever becomes of the database. Nothing is raised.

        What cannot be written now is kept in memory, where every list of this process sees it, and in the run's folder; it is
        written when it can be.
        """
        try:
            row = to_row(changes, self.path.parent)
            self._outbox.add(run_id, None if event is None else plain(event), row)
            self._note(run_id, event, row)
            self._outbox.write(at_once="status" in row)
        except Exception:
            log.warning("the end or a step of run %s could not be kept", run_id, exc_info=True)

    def events(self, run_id: str, after: int = 0, limit: int = 100_000) -> list[tuple[int, dict[str, Any]]]:
        """The events of a run numbered above ``after``, in order, each with its number and its ``time`` (seconds since 1970)."""
        query = "SELECT seq, time, body FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?"
        found = self._database.ask(lambda db: db.execute(query, (run_id, after, limit)).fetchall())
        return [(seq, {**json.loads(body), "time": moment}) for seq, moment, body in found]

    def last(self, run_id: str, kind: str) -> dict[str, Any] | None:
        """The newest event of a kind among the last few of a run; ``None`` where there is none among them."""
        query = "SELECT body FROM events WHERE run = ? ORDER BY seq DESC LIMIT ?"
        found = self._database.ask(lambda db: db.execute(query, (run_id, _LAST_FEW)).fetchall())
        return next((event for (body,) in found if (event := json.loads(body)).get("type") == kind), None)

    def take(self, run_id: str) -> Run:
        """Make this process the one that goes on with a run that ended early; it is queued again. Of several, one alone succeeds.

        Raises:
            StudioError: it is finished, or another process has it.
        """
        process, birth = own_process()
        marks = ", ".join("?" for _ in RESUMABLE)
        self._outbox.write(at_once=True)
        run = self.get(run_id)
        mine = run.resumable and self._leases.take(run_id)
        if mine:
            query = (
                f"UPDATE runs SET status = 'queued', stop = 0, message = '', hint = '', process = ?, birth = ? "
                f"WHERE id = ? AND status IN ({marks})"
            )
            try:
                taken = self._database.change(lambda db: db.execute(query, (process, birth, run_id, *RESUMABLE)).rowcount)
            except BaseException:
                self._leases.release(run_id)
                raise
            if taken:
                changes = {"status": "queued", "stop": 0, "message": "", "hint": "", "process": process, "birth": birth}
                if not self._mirror(run_id).change(changes):
                    self._mirror(run_id).forget()
                return self.get(run_id)
            self._leases.release(run_id)
            run = self.get(run_id)
        why = "another program has it" if run.resumable else "only an interrupted, stopped or failed run can"
        raise StudioError(f"the run {run_id} is {run.status} and cannot be resumed", why)

    def claim(self, run_id: str) -> bool:
        """Have a run, as one must to train it; whether no other process has it."""
        return self._leases.has(run_id) or self._leases.take(run_id)

    def lost(self, run_id: str) -> bool:
        """Whether another process has taken a run that this one had; what becomes of it is told there."""
        return self._leases.lost(run_id)

    def release(self, run_id: str) -> None:
        """Say that this process does no more to a run; it is let go once all that was told of it is written."""
        if not self._outbox.keeps(run_id):
            self._leases.release(run_id)

    def ask_to_stop(self, run_id: str) -> None:
        """Leave the wish that a run stop where whichever process has it will see it."""
        self._database.change(lambda db: db.execute("UPDATE runs SET stop = 1 WHERE id = ?", (run_id,)), SHORT)

    def asked_to_stop(self, run_id: str) -> bool:
        """Whether someone, here or in another process, wishes that the run stop (or has deleted it); not while that cannot be read."""
        try:
            row = self._database.ask(lambda db: db.execute("SELECT stop FROM runs WHERE id = ?", (run_id,)).fetchone(), SHORT)
        except (StudioError, sqlite3.Error):
            return False
        return (row is None and not self._mirror(run_id).exists) or bool(row and row[0])

    def recover(self) -> list[str]:
        """Mark as interrupted each run that reads as queued or running though no process has it.

        One whose end stands in its folder alone, since the database could not be written then, gets that end. What it was killed
        in the midst of writing is removed; its checkpoints stay.

        Returns:
            Their ids. Runs of another living process on the same home stay as they are.
        """
        found = self._database.ask(lambda db: db.execute(f"SELECT id, process, birth FROM runs WHERE status IN {ACTIVE}").fetchall())
        lost = []
        for run_id, process, birth in found:
            if self._leases.has(run_id):
                continue
            free = self._leases.free(run_id)
            if free is False or (free is None and is_alive(process, birth)):
                self._given_up.pop(run_id, None)
                continue
            try:
                if self._give_up(run_id):
                    lost.append(run_id)
                from ...training.checkpoints import sweep

                sweep(self._runs / run_id)
            finally:
                self._leases.release(run_id)
        return lost

    def delete(self, run_id: str) -> None:
        """Forget a run, its events and its folder.

        Raises:
            StudioError: a process has it.
        """
        if not self._leases.take(run_id, 0.5):
            raise StudioError(f"the run {run_id} is under way", "stop it before deleting it")
        try:
            folder = self._runs / run_id
            gone = folder.with_name(f"{GONE}{run_id}")
            # What a row is made anew from goes first, so that it does not come back; the folder, and the lock in it, after the row.
            self._mirror(run_id).forget()
            self._database.change(lambda db: db.execute("DELETE FROM runs WHERE id = ?", (run_id,)))
            if folder.is_dir():
                with suppress(OSError):
                    folder.replace(gone)
            for left in (gone, folder):
                shutil.rmtree(left, ignore_errors=True)
        finally:
            self._leases.release(run_id)

    def _give_up(self, run_id: str) -> bool:
        """Write down how a run ended that nobody has any more; whether it had not been written down."""
        noted = self._mirror(run_id).read() or {}
        ended = noted.get("status") not in (None, *ACTIVE)
        row: dict[str, Any] = {"status": "interrupted", "message": _LOST, "hint": ""}
        if ended:
            row = {name: noted[name] for name in COLUMNS if name in noted and name not in ("id", "owner", "created")}
        names = ", ".join(f"{name} = ?" for name in row)
        query = f"UPDATE runs SET {names} WHERE id = ? AND status IN {ACTIVE}"
        try:
            changed = self._database.change(lambda db: db.execute(query, (*row.values(), run_id)).rowcount, SHORT)
        except StudioError:  # until it can be written, it is only shown: someone else may take the run up meanwhile
            self._given_up[run_id] = row
            return False
        self._given_up.pop(run_id, None)
        if changed and not ended:
            self._mirror(run_id).change(row)
        return bool(changed)

    def _as_told(self, run: Run) -> Run:
        """A run with what was told of it and is not written yet."""
        changes = dict(self._given_up.get(run.id, {})) if run.active else {}
        changes |= self._outbox.changes(run.id)
        known = {name: value for name, value in changes.items() if name in COLUMNS}
        if not known:
            return run
        row = to_row({name: getattr(run, name) for name in COLUMNS}, self.path.parent) | known
        return replace(from_row(tuple(row[name] for name in COLUMNS), self.path.parent), id=run.id)

    def _note(self, run_id: str, event: Mapping[str, Any] | None, row: Mapping[str, Any]) -> None:
        """The same in the run's folder. How many steps were taken is not worth writing a file for."""
        mirror = self._mirror(run_id)
        if event is not None:
            mirror.append(event)
        if row.keys() - {"step", "pairs_per_second"} and not mirror.change(row):
            mirror.forget()

    def _fill(self, db: sqlite3.Connection) -> None:
        self._database.notices += [words for words in reconcile(db, self._runs) if words not in self._database.notices]

    def _mirror(self, run_id: str) -> Mirror:
        return Mirror(self._runs / run_id)
