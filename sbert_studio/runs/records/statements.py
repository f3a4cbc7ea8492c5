"""How a run and its events are written to the database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

NUMBER = "rowid"  # in the order of which runs were added


def insert(db: sqlite3.Connection, values: Mapping[str, Any]) -> int:
    """Add a run; its number."""
    marks = ", ".join("?" for _ in values)
    return db.execute(f"INSERT INTO runs ({', '.join(values)}) VALUES ({marks})", tuple(values.values())).lastrowid or 0


def write(db: sqlite3.Connection, run_id: str, body: str | None, moment: float, row: Mapping[str, Any]) -> int:
    """Change columns of a run and append an event; its number, or 0. An event of a run that was deleted is dropped."""
    if row:
        db.execute(f"UPDATE runs SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", (*row.values(), run_id))
    if body is None or db.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone() is None:
        return 0
    (seq,) = db.execute("SELECT COALESCE(MAX(seq), 0) + 1 FROM events WHERE run = ?", (run_id,)).fetchone()
    db.execute("INSERT INTO events (run, seq, time, body) VALUES (?, ?, ?, ?)", (run_id, seq, moment, body))
    return int(seq)


def plain(event: Mapping[str, Any]) -> str:
    """An event as its body is kept."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))
