"""The database's shape, as an ordered list of named steps. A step that was released is never changed; a new one is added."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

Migration = Callable[[sqlite3.Connection], None]


def m001_runs(db: sqlite3.Connection) -> None:
    """One row a run; ``process`` and ``birth`` say who works on it, ``stop`` is the wish that it end."""
    db.execute(
        """
        CREATE TABLE runs (
            id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, created TEXT NOT NULL,
            model TEXT NOT NULL, objective TEXT NOT NULL, method TEXT NOT NULL, spec TEXT NOT NULL,
            rows INTEGER NOT NULL, dev_rows INTEGER NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
            step INTEGER NOT NULL, steps INTEGER NOT NULL, seconds REAL NOT NULL, pairs_per_second REAL NOT NULL,
            message TEXT NOT NULL, hint TEXT NOT NULL, model_path TEXT,
            process INTEGER NOT NULL DEFAULT 0, birth TEXT NOT NULL DEFAULT '', stop INTEGER NOT NULL DEFAULT 0
        )
        """
    )
    db.execute("CREATE INDEX runs_by_owner ON runs (owner, created)")


def m002_events(db: sqlite3.Connection) -> None:
    """One row an event, numbered from 1 within its run, so that a page reads on from where it was."""
    db.execute(
        """
        CREATE TABLE events (
            run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, seq INTEGER NOT NULL, time REAL NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (run, seq)
        ) WITHOUT ROWID
        """
    )


def m003_paths(db: sqlite3.Connection) -> None:
    """A model lies in its run's folder, wherever the home is: the way to it begins there."""
    db.execute(
        "UPDATE runs SET model_path = 'runs/' || id || '/model' WHERE replace(model_path, '\\', '/') LIKE '%/runs/' || id || '/model'"
    )


def m004_scores(db: sqlite3.Connection) -> None:
    """The leaderboard: one row for a model on a set of one owner."""
    db.execute(
        """
        CREATE TABLE scores (
            id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, public INTEGER NOT NULL, model TEXT NOT NULL, title TEXT NOT NULL,
            fingerprint TEXT NOT NULL, data TEXT NOT NULL, digest TEXT NOT NULL, task TEXT NOT NULL, metric TEXT NOT NULL,
            score REAL NOT NULL, low REAL, high REAL, rows INTEGER NOT NULL, rate REAL NOT NULL, dim INTEGER NOT NULL,
            seconds REAL NOT NULL, created TEXT NOT NULL
        )
        """
    )
    db.execute("CREATE INDEX scores_by_owner ON scores (owner, id)")


MIGRATIONS: tuple[Migration, ...] = (m001_runs, m002_events, m003_paths, m004_scores)


def migrate(db: sqlite3.Connection) -> list[str]:
    """Apply the steps that this database lacks, in one transaction; two processes that start together do not collide.

    Returns:
        The names of the steps applied.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)")
        done = {name for (name,) in db.execute("SELECT name FROM migrations")}
        missing = [step for step in MIGRATIONS if step.__name__ not in done]
        for step in missing:
            step(db)
            db.execute("INSERT INTO migrations (name) VALUES (?)", (step.__name__,))
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
    return [step.__name__ for step in missing]
