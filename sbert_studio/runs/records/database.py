"""The SQLite file: opened when it is needed, its errors in words, and set aside when it is damaged."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

from ...errors import StudioError
from .migrations import migrate

T = TypeVar("T")
PATIENCE = 15.0  # seconds for which another program may hold the file
_DAMAGE = ("not a database", "malformed", "database corruption", "unsupported file format")
_CHECKED_BELOW = 64 << 20  # bytes up to which the whole file is looked through when it is opened
log = logging.getLogger(__name__)


class Database:
    """One connection and one lock for the threads of this process; other processes share the file (WAL).

    A damaged file is renamed, with a note in :attr:`notices`, and a new one is filled by ``fill``. A file that another process
    has put in the place of this one is opened anew.

    Args:
        fill: called within a transaction after the file was opened.
    """

    def __init__(self, path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
        self.path = path
        self.notices: list[str] = []
        self.lock = threading.RLock()
        self._fill = fill
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self.lock:
            db, self._db = self._db, None
            if db is not None:
                with contextlib.suppress(sqlite3.Error):
                    db.close()

    def ask(self, work: Callable[[sqlite3.Connection], T], patience: float | None = None) -> T:
        """What ``work`` reads.

        Raises:
            StudioError: the file is locked, or cannot be read.
        """
        return self._do(work, PATIENCE if patience is None else patience)

    def change(self, work: Callable[[sqlite3.Connection], T], patience: float | None = None) -> T:
        """What ``work`` returns, its changes written all or none.

        Raises:
            StudioError: the file is locked, the disk is full, or it cannot be written.
        """
        return self._do(lambda db: _whole(db, work), PATIENCE if patience is None else patience)

    def _do(self, work: Callable[[sqlite3.Connection], T], patience: float) -> T:
        with self.lock:
            try:
                return work(self._open(patience))
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    _raise(error, self.path)
                self._set_aside(error)
            try:
                return work(self._open(patience))
            except sqlite3.DatabaseError as error:
                _raise(error, self.path)

    def _open(self, patience: float) -> sqlite3.Connection:
        if self._db is not None and self._file != _identity(self.path):
            self.close()
        if self._db is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StudioError(
                    f"the folder of {self.path.name} cannot be made: {error.strerror}", "make room, or free the path"
                ) from error
            self._file = _identity(self.path)
            db = sqlite3.connect(self.path, timeout=patience, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute("PRAGMA foreign_keys = ON")
                if self.path.stat().st_size < _CHECKED_BELOW:
                    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
                    if found != "ok":
                        raise sqlite3.DatabaseError(f"malformed: {found}")
                migrate(db)
                _whole(db, self._fill)
            except OSError as error:
                db.close()
                raise StudioError(f"the database {self.path.name} cannot be opened: {error.strerror}", "look at its folder") from error
            except BaseException:
                db.close()
                raise
            self._db, self._file = db, _identity(self.path)
        self._db.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")
        return self._db

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Rename the damaged file and what belongs to it, unless another process already has."""
        damaged = self._file
        self.close()
        with _alone(self.path.with_name(f"{self.path.name}.lock")):
            if _identity(self.path) != damaged or damaged is None:
                return
            number = 1
            while (kept := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
                number += 1
            try:
                for end in ("-wal", "-shm", ""):
                    with contextlib.suppress(FileNotFoundError):
                        Path(f"{self.path}{end}").replace(f"{kept}{end}")
            except OSError:
                _raise(error, self.path)
        self.notices.append(
            f"the list of runs was damaged ({error}) and was made anew from the runs' folders, without the leaderboard; "
            f"it is kept as {kept.name}"
        )
        log.warning("%s", self.notices[-1])


def _whole(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    # IMMEDIATE takes the write lock at once: a transaction that reads first could otherwise fail to upgrade.
    db.execute("BEGIN IMMEDIATE")
    try:
        found = work(db)
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    return found


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return any(words in str(error) for words in _DAMAGE)


def _raise(error: sqlite3.DatabaseError, path: Path) -> NoReturn:
    """The error as a person can mend it; as it is where it is a bug of ours."""
    found = _in_words(error, path)
    if found is None:
        raise error
    raise found from error


def _in_words(error: sqlite3.DatabaseError, path: Path) -> StudioError | None:
    words = str(error)
    if "locked" in words or "busy" in words:
        return StudioError(f"the list of runs, {path.name}, is locked by another program", "close what has it open, then try again")
    if any(part in words for part in ("no such column", "no such table", "has no column")):
        return StudioError(
            f"the list of runs, {path.name}, is not as this version wrote it: {words}",
            "move it away: it is made anew from the runs' folders, without the leaderboard",
        )
    if "full" in words:
        return StudioError(f"the disk is full: {path.name} cannot be written", "make room, then try again")
    if any(part in words for part in ("I/O", "unable to open", "readonly", "read-only", *_DAMAGE)):
        return StudioError(
            f"the list of runs, {path.name}, cannot be used: {words}", "look at the folder, its owner and the room on its disk"
        )
    return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Only one process at a time, where the system knows locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = -1
    try:
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle >= 0:
            os.close(handle)
