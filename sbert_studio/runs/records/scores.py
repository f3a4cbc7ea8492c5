"""What models got: one row for a model on a set, the last time that it was judged there."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime

from ...errors import StudioError
from .database import Database
from .outbox import SHORT

MOST = 2_000
"""Rows of one owner; beyond it the oldest go."""


@dataclass(frozen=True)
class Score:
    """What one model got on one set.

    Attributes:
        owner: whose it is.
        public: whether everybody may see it: a model that came with the program, on a set that is nobody's own.
        model, title: the name by which verbs take it, and what people call it.
        fingerprint: changes with the model's weights and configuration; empty of a score that an earlier version stored without.
        data: the set's name; digest: changes with its rows.
        task, metric: what the score is.
        low, high: the 95% interval; ``None`` where there is none.
        rows: how many were judged.
        rate: sentences a second while they were read; 0 where nothing was read.
        dim: components of a vector; 0 of a model that scores pairs.
        seconds: that the model took for all sets of that evaluation.
        created: when, ISO 8601 in UTC.
        id: the row's number; 0 before it is stored.
    """

    owner: str
    public: bool
    model: str
    title: str
    fingerprint: str
    data: str
    digest: str
    task: str
    metric: str
    score: float
    low: float | None
    high: float | None
    rows: int
    rate: float
    dim: int
    seconds: float
    created: str
    id: int = 0


COLUMNS = tuple(field.name for field in fields(Score) if field.name != "id")
_MISSING = ("low", "high")
_NUMBERS = ("public", "score", "low", "high", "rows", "rate", "dim", "seconds")
_SAME = ("owner", "model", "fingerprint", "data", "digest", "task", "metric")


class Scores:
    """The rows of everybody, in the database of the runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, scores: Sequence[Score]) -> None:
        """Store them; each takes the place of an earlier one of its owner for the same model, rows and metric.

        Raises:
            StudioError: the database cannot be written.
        """
        same = " AND ".join(f"{name} = ?" for name in _SAME)
        insert = f"INSERT INTO scores ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"
        oldest = "DELETE FROM scores WHERE owner = ? AND id NOT IN (SELECT id FROM scores WHERE owner = ? ORDER BY id DESC LIMIT ?)"

        def write(db: sqlite3.Connection) -> None:
            for score in scores:
                db.execute(f"DELETE FROM scores WHERE {same}", tuple(getattr(score, name) for name in _SAME))
                db.execute(insert, astuple(score)[: len(COLUMNS)])
            for owner in {score.owner for score in scores}:
                db.execute(oldest, (owner, owner, MOST))

        self._database.change(write, SHORT)

    def seen_by(self, owner: str | None = None) -> list[Score]:
        """All of them, or those that one owner may see: their own and the public ones, of which one for each model and set; newest first.

        Raises:
            StudioError: the database cannot be read.
        """
        where, values = ("", ()) if owner is None else (" WHERE owner = ? OR public", (owner,))
        query = f"SELECT {', '.join(COLUMNS)}, id FROM scores{where} ORDER BY id DESC"
        rows = self._database.ask(lambda db: db.execute(query, values).fetchall(), SHORT)
        found = [Score(row[0], bool(row[1]), *row[2:]) for row in rows if _is_sound(row)]
        kept: dict[tuple[str, ...], Score] = {}
        for score in found:
            # Others' rows are there for what their own are not.
            place = tuple(getattr(score, name) for name in _SAME[1:])
            known = kept.get(place)
            if known is None or (score.owner == owner and known.owner != owner):
                kept[place] = score
        return found if owner is None else [score for score in found if kept[tuple(getattr(score, name) for name in _SAME[1:])] is score]

    def remove(self, score_id: int, owner: str | None = None) -> None:
        """Forget one (of one owner).

        Raises:
            StudioError: there is none, or the database cannot be written.
        """
        where, values = ("", (score_id,)) if owner is None else (" AND owner = ?", (score_id, owner))
        if not self._database.change(lambda db: db.execute(f"DELETE FROM scores WHERE id = ?{where}", values).rowcount, SHORT):
            raise StudioError("this entry of the leaderboard is not there, or is not yours", "look at the list again")


def _is_sound(row: Sequence[object]) -> bool:
    """Whether each value of a row is of its column's type: whoever has the file may have written to it."""
    for name, value in zip(COLUMNS, row, strict=False):
        if name in _MISSING and value is None:
            continue
        kind = (int, float) if name in _NUMBERS else str
        if not isinstance(value, kind) or (isinstance(value, float) and not math.isfinite(value)):
            return False
    return True


def now() -> str:
    """This moment, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
