"""Import of the SQLite database in which versions 1 and 2 stored runs, events and the leaderboard."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing, suppress
from pathlib import Path, PureWindowsPath

from ..errors import StudioError
from ..i18n import _
from ..workspace import atomic_file, write_json
from .event_log import EVENTS_FILE
from .run import RUN_FILE, is_run_id
from .scores import LeaderboardEntry, ScoreStore

log = logging.getLogger(__name__)

DATABASE = "studio.db"
_PATIENCE = 2.0  # seconds to wait for a program of an earlier version
_NOT_OF_A_RUN = ("process", "birth", "stop")


def import_database(home: Path, scores: ScoreStore) -> None:
    """Convert data that exists only in the database (scores, and runs of version 1) to files, and rename it to ``studio.db.imported``.

    Raises:
        StudioError: the database cannot be read. A damaged one is renamed to ``studio.db.damaged``; in other cases the import is tried
            again next time.
    """
    database = home / DATABASE
    if not database.is_file():
        return
    try:
        with closing(sqlite3.connect(database, timeout=_PATIENCE)) as db:
            db.row_factory = sqlite3.Row
            _import_runs(db, home)
            scores.add(_read_scores(db))
    except (sqlite3.Error, OSError, ValueError, StudioError) as error:
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        if damaged:
            _set_aside(database, "damaged")
        raise StudioError(
            _("studio.db, the leaderboard of an earlier version, cannot be read: {error}", error=error),
            "it is kept as studio.db.damaged" if damaged else "close the other program, or wait, then try again",
        ) from error
    _set_aside(database, "imported")


def _import_runs(db: sqlite3.Connection, home: Path) -> None:
    for row in db.execute("SELECT rowid AS number, * FROM runs ORDER BY rowid") if _has_table(db, "runs") else ():
        values = {name: value for name, value in dict(row).items() if name not in _NOT_OF_A_RUN}
        folder = home / "runs" / str(values["id"])
        if not is_run_id(folder.name) or not folder.is_dir() or (folder / RUN_FILE).exists():
            continue
        path = PureWindowsPath(values["model_path"] or "")  # accepts both kinds of slashes
        if path.parts[-3:] == ("runs", folder.name, "model"):
            values["model_path"] = f"runs/{folder.name}/model"
        if not (folder / EVENTS_FILE).exists():
            _write_events(db, folder)
        write_json(folder / RUN_FILE, values)


def _read_scores(db: sqlite3.Connection) -> list[LeaderboardEntry]:
    found = list[LeaderboardEntry]()
    for row in db.execute("SELECT * FROM scores ORDER BY id") if _has_table(db, "scores") else ():
        try:
            found.append(LeaderboardEntry.model_validate({**dict(row), "public": bool(row["public"])}, strict=True))
        except ValueError:
            log.warning("a damaged entry of the leaderboard in %s is left out", DATABASE)
    return found


def _write_events(db: sqlite3.Connection, folder: Path) -> None:
    if not _has_table(db, "events"):
        return
    events = db.execute("SELECT time, body FROM events WHERE run = ? ORDER BY seq", (folder.name,))
    lines = [json.dumps({"time": row["time"], **json.loads(row["body"])}, ensure_ascii=False, separators=(",", ":")) for row in events]
    with atomic_file(folder / EVENTS_FILE) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _has_table(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone() is not None


def _set_aside(database: Path, ending: str) -> None:
    for more in ("-wal", "-shm", ""):
        with suppress(OSError):
            Path(f"{database}{more}").replace(f"{database}.{ending}{more}")
