"""Homes of versions 1 and 2, which kept runs, events and the leaderboard in a database."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.runs.scores import LeaderboardEntry
from sbert_studio.runs.store import RunStore
from sbert_studio.services import Studio, TrainRequest

SCHEMA = """
CREATE TABLE migrations (name TEXT PRIMARY KEY, applied TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, created TEXT NOT NULL,
    model TEXT NOT NULL, objective TEXT NOT NULL, method TEXT NOT NULL, spec TEXT NOT NULL,
    rows INTEGER NOT NULL, dev_rows INTEGER NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL,
    step INTEGER NOT NULL, steps INTEGER NOT NULL, seconds REAL NOT NULL, pairs_per_second REAL NOT NULL,
    message TEXT NOT NULL, hint TEXT NOT NULL, model_path TEXT,
    process INTEGER NOT NULL DEFAULT 0, birth TEXT NOT NULL DEFAULT '', stop INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, seq INTEGER NOT NULL, time REAL NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) WITHOUT ROWID;
"""
SCORES = """
CREATE TABLE scores (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, public INTEGER NOT NULL, model TEXT NOT NULL, title TEXT NOT NULL,
    fingerprint TEXT NOT NULL, data TEXT NOT NULL, digest TEXT NOT NULL, task TEXT NOT NULL, metric TEXT NOT NULL,
    score REAL NOT NULL, low REAL, high REAL, rows INTEGER NOT NULL, rate REAL NOT NULL, dim INTEGER NOT NULL,
    seconds REAL NOT NULL, created TEXT NOT NULL
);
"""
RUN = {
    "id": "run-0123456789", "owner": "ann", "name": "pairs", "status": "failed", "created": "2026-11-22T10:00:00+00:00", "model": "m",
    "objective": "cosine", "method": "full", "spec": '{"epochs": 2.0}', "rows": 72, "dev_rows": 8, "before": '{"score": 0.5}',
    "after": "{}", "step": 0, "steps": 18, "seconds": 0, "pairs_per_second": 0, "message": "no memory", "hint": "",
    "model_path": "runs/run-0123456789/model",
}  # fmt: skip
STEP = {"type": "step", "step": 5, "steps": 9, "run_step": 5, "run_steps": 18, "pairs_per_second": 40.0}
SCORE = {
    "owner": "ann", "public": False, "model": "m", "title": "M", "fingerprint": "f", "data": "pairs.csv", "digest": "d", "task": "sts",
    "metric": "cosine_spearman", "score": 0.5, "low": None, "high": 0.6, "rows": 60, "rate": 900.0, "dim": 32, "seconds": 1.5,
    "created": "2026-11-22T10:00:00+00:00",
}  # fmt: skip


def insert(db: sqlite3.Connection, table: str, **values: object) -> None:
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))


def write_old_home(home: Path, version: int) -> Path:
    """Write a home with one run; version 1 knew no leaderboard, no relative paths, and no files beside the database."""
    folder = home / "runs" / RUN["id"]
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(home / "studio.db")) as db, db:
        db.executescript(SCHEMA if version == 1 else SCHEMA + SCORES)
        old_path = {"model_path": "C:\\home\\runs\\run-0123456789\\model"} if version == 1 else {}
        insert(db, "runs", **{**RUN, "step": 5, "pairs_per_second": 40.0} | old_path)
        insert(db, "events", run=RUN["id"], seq=1, time=1.7e9, body=json.dumps(STEP))
        if version == 2:
            insert(db, "scores", **SCORE)
    if version == 2:
        (folder / "run.json").write_text(json.dumps({**RUN, "process": 7, "birth": "x", "stop": 1, "rowid": 3}).ljust(4095) + "\n")
        (folder / "events.jsonl").write_text(json.dumps({"time": 1.7e9, **STEP}) + "\n")
        (folder / "lock").touch()
    return folder


@pytest.mark.parametrize(("version", "is_lost"), [(1, False), (2, False), (2, True)])
def test_runs_events_and_scores_of_an_old_home_are_read(tmp_path: Path, version: int, is_lost: bool) -> None:
    write_old_home(tmp_path, version)
    if is_lost:
        (tmp_path / "studio.db").unlink()
    for store in (RunStore(tmp_path), RunStore(tmp_path)):
        (run,) = store.runs()
        assert (run.owner, run.status, run.message, run.spec, run.before) == ("ann", "failed", "no memory", {"epochs": 2.0}, {"score": 0.5})
        assert (run.step, run.steps, run.pairs_per_second) == (5, 18, 40.0), "a failed run of version 2 has its step in its events alone"
        assert run.model_path == tmp_path / "runs" / run.id / "model"
        assert store.events(run.id) == [(1, {"time": 1.7e9, **STEP})]
        expected = [] if is_lost or version == 1 else [LeaderboardEntry(**SCORE, id=1)]
        assert store.scores.visible_to() == expected and store.notices == ()
    assert is_lost or ((tmp_path / "studio.db.imported").is_file() and not (tmp_path / "studio.db").exists())
    assert store.add(run.updated(id="run-aaaaaaaaaa")).number > run.number and store.claim(run.id).status == "queued"


def test_a_database_that_reappears_adds_no_second_copy_of_a_score(tmp_path: Path) -> None:
    write_old_home(tmp_path, 2)
    shutil.copy(tmp_path / "studio.db", tmp_path / "again")
    RunStore(tmp_path).scores.add([LeaderboardEntry(**{**SCORE, "model": "other"})])
    (tmp_path / "again").rename(tmp_path / "studio.db")
    assert [score.model for score in RunStore(tmp_path).scores.visible_to()] == ["m", "other"]


def spoil(path: Path) -> None:
    path.write_text("this is not a database, but it is long enough to look like one " * 20)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


@pytest.mark.parametrize("harm", [spoil, cut])
def test_a_damaged_database_is_set_aside_and_named_and_hides_no_run(tmp_path: Path, harm: object) -> None:
    write_old_home(tmp_path, 2)
    harm(tmp_path / "studio.db")  # type: ignore[operator]
    store = RunStore(tmp_path)
    assert [run.id for run in store.runs()] == [RUN["id"]] and store.scores.visible_to() == []
    assert "studio.db" in store.notices[0] and (tmp_path / "studio.db.damaged").is_file()
    assert RunStore(tmp_path).runs() and RunStore(tmp_path).notices == ()


def test_a_locked_database_is_named_and_imported_once_it_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_old_home(tmp_path, 2)
    monkeypatch.setattr("sbert_studio.runs.legacy._PATIENCE", 0.05)
    with closing(sqlite3.connect(tmp_path / "studio.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = RunStore(tmp_path)
        assert [run.id for run in store.runs()] == [RUN["id"]] and "locked" in store.notices[0]
    assert len(RunStore(tmp_path).scores.visible_to()) == 1


@pytest.mark.slow
def test_a_trained_run_of_version_1_opens_in_a_moved_home(studio: Studio, tmp_path: Path, tiny_model: Path) -> None:
    run = studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
    events, answer = studio.store.events(run.id), run.to_json()
    studio.close()
    home = studio.settings.home
    with closing(sqlite3.connect(home / "studio.db")) as db, db:
        db.executescript(SCHEMA)
        values = dict(run) | {name: json.dumps(dict(run)[name]) for name in ("before", "after")}
        values["objective"] = values.pop("loss")
        values["spec"] = json.dumps(
            {{"loss": "objective", "evaluation": "judge"}.get(name, name): value for name, value in run.spec.items()}
        )
        insert(db, "runs", rowid=values.pop("number"), **{**values, "model_path": str(run.model_path)})
        for number, event in events:
            insert(db, "events", run=run.id, seq=number, time=event.pop("time"), body=json.dumps(event))
    for path in (home / "runs" / run.id).rglob("*"):
        if path.name in ("run.json", "events.jsonl", "lock", "digests.json"):
            path.unlink()
    moved = Path(shutil.move(home, tmp_path / "elsewhere"))
    with studio_at(moved, tiny_model) as later:
        found = later.fine_tune.get_run(run.id)
        assert found.run.to_json() == answer and len(found.events) == len(events)
        assert found.run.spec == run.spec
        assert found.run.model_path == moved / "runs" / run.id / "model"
        assert [card.name for card in later.models.list_models()] == ["all-MiniLM-L6-v2", "multilingual-e5-small", run.id]
        assert later.similarity.compare("cat dog", "cat dog", run.id).cosine == pytest.approx(1, abs=1e-5)
        assert later.fine_tune.export(run.id).bytes > 1000
