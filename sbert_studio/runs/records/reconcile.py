"""The database and the runs' folders, each made to know the runs that the other knows."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from .mirror import Mirror
from .row import COLUMNS, is_run_id
from .statements import NUMBER, insert, plain, write

GONE = ".deleted-"  # begins the name of a deleted run's folder until it is removed
_NOT_KEPT = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError)


def reconcile(db: sqlite3.Connection, runs: Path) -> list[str]:
    """Take up the runs whose folders tell of them though the database does not, and the other way round.

    Args:
        db: within a transaction.
        runs: holds the runs' folders; what is left there of deleted ones is removed.

    Returns:
        What of them is damaged and not shown, in words.
    """
    known = {run_id for (run_id,) in db.execute("SELECT id FROM runs")}
    found, damaged = [], list[str]()
    for folder in runs.iterdir() if runs.is_dir() else ():
        if folder.name.startswith(GONE):
            shutil.rmtree(folder, ignore_errors=True)
        elif is_run_id(folder.name) and folder.name not in known and (mirror := Mirror(folder)).exists:
            row = mirror.read()
            if row is None:
                damaged.append(f"the run {folder.name} is not shown: the run.json in its folder is damaged")
            else:
                found.append(row)
    columns = {name for _, name, *_ in db.execute("PRAGMA table_info(runs)")} | {NUMBER}
    for row in sorted(found, key=lambda row: (str(row.get(NUMBER, "")).rjust(20), str(row.get("created")))):
        db.execute("SAVEPOINT adopted")
        try:
            left = _adopt(db, {name: value for name, value in row.items() if name in columns}, Mirror(runs / row["id"]))
        except (*_NOT_KEPT, ValueError, TypeError, OverflowError):
            db.execute("ROLLBACK TO adopted")
            damaged.append(f"the run {row['id']} is not shown: the run.json in its folder is damaged")
        else:
            if left:
                damaged.append(f"of the run {row['id']}, {left:,} damaged lines of its events.jsonl are left out")
        db.execute("RELEASE adopted")
    names = (NUMBER, *COLUMNS, "process", "birth", "stop")
    for run_id in known:
        mirror = Mirror(runs / run_id)
        if mirror.folder.is_dir() and not mirror.exists:
            row = db.execute(f"SELECT {', '.join(names)} FROM runs WHERE id = ?", (run_id,)).fetchone()
            mirror.write(dict(zip(names, row, strict=True)))
    return damaged


def _adopt(db: sqlite3.Connection, values: dict[str, Any], mirror: Mirror) -> int:
    """Take up a run from its folder, with its events and the step that they last told of; how many events were damaged."""
    number = values.get(NUMBER)
    if not isinstance(number, int) or db.execute(f"SELECT 1 FROM runs WHERE {NUMBER} = ?", (number,)).fetchone():
        values.pop(NUMBER, None)
    insert(db, values)
    damaged = 0
    for told in mirror.events():
        if told is None:
            damaged += 1
            continue
        moment, event = told
        write(db, values["id"], plain(event), moment, {"step": event.get("run_step") or event["step"]} if event["type"] == "step" else {})
    return damaged
