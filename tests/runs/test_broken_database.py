"""The database locked, damaged, lost, full or moved: no run is lost, and no status lies."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny_studio import quick, studio_at, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.runs.records import database, migrations, outbox, store
from sbert_studio.runs.records.mirror import Mirror
from sbert_studio.runs.records.record import Run, new_run_id, now
from sbert_studio.runs.records.row import COLUMNS
from sbert_studio.runs.records.store import Store
from sbert_studio.services import Studio, TrainRequest


def added(store: Store, **values: object) -> Run:
    """A run with a folder, as a submitted one has."""
    run = Run(**{"id": new_run_id(), "owner": "local", "name": "n", "status": "queued", "created": now(), "model": "m", **values})  # type: ignore[arg-type]
    (store.path.parent / "runs" / run.id).mkdir(parents=True)
    store.add(run)
    return run


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    return Store(tmp_path / "studio.db")


@pytest.fixture
def locked(kept: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another program that holds the file."""
    for module in (store, outbox):
        monkeypatch.setattr(module, "SHORT", 0.1)
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    kept.runs()
    with sqlite3.connect(kept.path, isolation_level=None, check_same_thread=False) as other:
        yield other
    other.close()


def spoil_text(path: Path) -> None:
    path.write_text("this is not a database, but it is long enough to look like a header " * 20)


def spoil_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(4096, len(data)):
        data[place] ^= 0x5A
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("harm", [spoil_text, spoil_page, cut, remove])
def test_a_damaged_or_lost_database_is_made_anew_from_the_runs_folders(kept: Store, harm: Callable[[Path], None]) -> None:
    runs = [added(kept, owner=owner, spec={"epochs": 2.0}) for owner in ("ann", "bob")]
    for run in runs:
        kept.record(run.id, {"type": "step", "step": 1}, step=1)
        kept.record(
            run.id, {"type": "finished"}, status="finished", after={"score": 0.5}, model_path=kept.path.parent / "runs" / run.id / "model"
        )
    known, told = kept.runs(), kept.events(runs[0].id)
    kept.close()
    for end in ("-wal", "-shm"):
        Path(f"{kept.path}{end}").unlink(missing_ok=True)
    harm(kept.path)
    again = Store(kept.path)
    found = again.runs()
    assert found == known
    assert [event["type"] for _, event in again.events(runs[0].id)] == [event["type"] for _, event in told]
    if harm is not remove:
        assert "damaged" in again.notices[0]
        assert (kept.path.parent / "studio.db.damaged-1").is_file()
    assert Store(kept.path).runs() == found


def test_a_database_that_is_damaged_while_it_is_open_is_made_anew(kept: Store) -> None:
    run = added(kept)
    kept.record(run.id, status="finished")
    other = Store(kept.path)
    assert other.get(run.id).status == "finished"
    kept.close()
    other._database._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]
    spoil_page(kept.path)
    other._database._db.execute("PRAGMA shrink_memory")  # type: ignore[union-attr]
    assert Store(kept.path).get(run.id).status == "finished"
    # The other program still had the damaged file open; from now on it uses the new one.
    other.record(run.id, name="renamed")
    assert kept.get(run.id).name == "renamed"


def test_a_locked_database_is_an_error_in_words(kept: Store, locked: sqlite3.Connection) -> None:
    run = added(kept)
    locked.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StudioError, match="locked by another program") as caught:
        kept.record(run.id, status="running")
    assert caught.value.hint
    locked.execute("ROLLBACK")
    kept.record(run.id, status="running")


def test_what_a_locked_database_does_not_take_is_seen_here_and_written_later(kept: Store, locked: sqlite3.Connection) -> None:
    run = added(kept)
    locked.execute("BEGIN EXCLUSIVE")
    for step in range(5):
        kept.tell(run.id, {"type": "step", "step": step}, step=step)
    kept.tell(run.id, {"type": "failed"}, status="failed", message="the disk is full")
    assert kept.get(run.id).status == kept.runs()[0].status == "failed"
    assert Mirror(kept.path.parent / "runs" / run.id).read()["status"] == "failed"  # type: ignore[index]
    locked.execute("ROLLBACK")
    kept.close()
    found = Store(kept.path)
    assert (found.get(run.id).status, found.get(run.id).message, found.get(run.id).step) == ("failed", "the disk is full", 4)
    assert [event["type"] for _, event in found.events(run.id)] == ["step"] * 5 + ["failed"]


def test_an_end_that_only_the_runs_folder_knows_is_believed_once_nobody_has_the_run(kept: Store, locked: sqlite3.Connection) -> None:
    run = added(kept)
    kept.record(run.id, status="running")
    locked.execute("BEGIN EXCLUSIVE")
    kept.tell(run.id, {"type": "failed"}, status="failed", message="no memory", hint="h")
    kept._outbox._items.clear()  # as if the process had been killed
    kept._leases.release_all()
    locked.execute("ROLLBACK")
    other = Store(kept.path)
    assert other.recover() == [run.id]
    assert (other.get(run.id).status, other.get(run.id).message) == ("failed", "no memory")


def test_the_end_of_a_run_is_noted_on_a_disk_that_takes_no_new_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run-0123456789"
    folder.mkdir()
    mirror = Mirror(folder)
    assert mirror.write({"id": folder.name, "status": "running"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sbert_studio.runs.records.mirror.atomic_file", full)
    assert mirror.change({"status": "failed", "message": "the disk is full"})
    assert mirror.read() == {"id": folder.name, "status": "failed", "message": "the disk is full"}


def test_one_damaged_entry_does_not_hide_the_others(kept: Store) -> None:
    runs = [added(kept) for _ in range(2)]
    with sqlite3.connect(kept.path) as db:
        db.execute("UPDATE runs SET spec = '{\"a', before = '[1]', seconds = 'x', steps = 'y' WHERE id = ?", (runs[0].id,))
    assert [run.id for run in kept.runs()] == [runs[1].id, runs[0].id]
    assert kept.get(runs[0].id).to_json()["seconds"] == 0


@pytest.mark.slow
def test_a_run_ends_and_the_next_begins_though_the_database_takes_nothing(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_AGAIN", 0.05)
    path = write_pairs(tmp_path / "pairs.csv")
    real, began = database.Database.change, threading.Event()

    def refuse(self: database.Database, work: object, patience: float = 1) -> object:
        began.set()
        raise StudioError("the disk is full: studio.db cannot be written", "make room, then try again")

    runs = [studio.tune.submit(TrainRequest(path, overrides=quick(epochs=epochs))) for epochs in (40, 1)]
    with monkeypatch.context() as patch:
        patch.setattr(database.Database, "change", refuse)
        assert began.wait(30)
        studio.tune.stop(runs[0].id)
        assert studio.runner.wait(runs[0].id, 60) and studio.runner.wait(runs[1].id, 60)
        assert [studio.store.get(run.id).status for run in runs] == ["stopped", "finished"]
    assert database.Database.change is real
    studio.close()
    with studio_at(studio.settings.home) as later:
        assert [later.tune.run(run.id).run.status for run in runs] == ["stopped", "finished"]
        assert later.tune.run(runs[1].id).events[-1][1]["type"] == "finished"


@pytest.mark.slow
def test_an_old_database_and_its_run_open_and_both_may_be_moved(studio: Studio, tmp_path: Path, tiny_model: Path) -> None:
    run = studio.tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv"), overrides=quick()))
    studio.close()
    home = studio.settings.home
    as_first_version(home, run.id)
    with studio_at(home, tiny_model) as old:
        assert old.tune.run(run.id).run.to_json() == run.to_json()
    as_first_version(home, run.id)
    moved = shutil.move(home, tmp_path / "elsewhere")
    with studio_at(Path(moved), tiny_model) as later:
        found = later.tune.run(run.id)
        assert found.run.model_path == Path(moved) / "runs" / run.id / "model"
        assert [card.name for card in later.judge.models()] == ["all-MiniLM-L6-v2", "multilingual-e5-small", run.id]
        assert later.explore.similarity("cat dog", "cat dog", run.id).cosine == pytest.approx(1, abs=1e-5)
        assert later.tune.export(run.id).bytes > 1000
        assert found.events


def as_first_version(home: Path, run_id: str) -> None:
    """The home as the first version wrote it: two migrations, absolute paths, no mirror, no lock, no digests."""
    with sqlite3.connect(home / "studio.db", isolation_level=None) as db:
        db.execute("UPDATE runs SET model_path = ?", (str(home / "runs" / run_id / "model"),))
        db.execute("DELETE FROM migrations WHERE name NOT IN ('m001_runs', 'm002_events')")
        db.execute("DROP TABLE scores")
    db.close()
    for path in (home / "runs" / run_id).rglob("*"):
        if path.name in ("run.json", "events.jsonl", "lock", "digests.json"):
            path.unlink()


def test_the_step_that_makes_paths_relative_leaves_others_alone(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrations.migrate(db)
    columns = ", ".join(COLUMNS)
    for name, path in (
        ("run-a", "/old/runs/run-a/model"),
        ("run-b", None),
        ("run-c", "/elsewhere/model"),
        ("run-d", "C:\\h\\runs\\run-d\\model"),
    ):
        db.execute(
            f"INSERT INTO runs ({columns}) VALUES ({', '.join('?' * 20)})",
            (name, *[""] * 7, "{}", 0, 0, "{}", "{}", 0, 0, 0, 0, "", "", path),
        )
    migrations.m003_paths(db)
    found = dict(db.execute("SELECT id, model_path FROM runs"))
    assert found == {"run-a": "runs/run-a/model", "run-b": None, "run-c": "/elsewhere/model", "run-d": "runs/run-d/model"}


def test_the_mirror_keeps_the_owner_and_no_path_of_this_machine(kept: Store) -> None:
    run = added(kept, owner="ann")
    kept.record(run.id, model_path=kept.path.parent / "runs" / run.id / "model")
    text = (kept.path.parent / "runs" / run.id / "run.json").read_text()
    assert json.loads(text)["owner"] == "ann"
    assert str(kept.path.parent) not in text


def test_a_run_is_let_go_only_when_what_was_told_of_it_is_written(kept: Store, locked: sqlite3.Connection) -> None:
    run = added(kept)
    kept.record(run.id, status="running")
    locked.execute("BEGIN EXCLUSIVE")
    kept.tell(run.id, status="failed", message="no memory")
    kept.release(run.id)
    locked.execute("ROLLBACK")
    other = Store(kept.path)
    assert other.recover() == []
    kept._outbox.write(at_once=True)
    assert other.take(run.id).status == "queued"
    kept._outbox.write(at_once=True)
    assert other.get(run.id).status == "queued"


def test_a_lost_run_is_shown_as_such_though_that_cannot_be_written(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = added(kept)
    kept.record(run.id, status="running")
    kept.close()
    other = Store(kept.path)
    other.runs()
    with monkeypatch.context() as patch:

        def refuse(*_: object, **__: object) -> None:
            raise StudioError("the disk is full", "make room")

        patch.setattr(database.Database, "change", refuse)
        assert other.recover() == []
        assert other.get(run.id).status == "interrupted"
    assert other.recover() == [run.id]
    assert other.take(run.id).status == "queued"
