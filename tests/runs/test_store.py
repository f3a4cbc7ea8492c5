from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest
from processes import started
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.runs.records import migrations
from sbert_studio.runs.records.record import Run, new_run_id, now
from sbert_studio.runs.records.store import Store
from sbert_studio.runs.running.lease import Leases
from sbert_studio.runs.running.processes import birth_of, is_alive, own_process
from sbert_studio.workspace import atomic_folder


def _run(owner: str = "local", **values: object) -> Run:
    return Run(**{"id": new_run_id(), "owner": owner, "name": "n", "status": "queued", "created": now(), "model": "m", **values})  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "studio.db")


def test_a_run_comes_back_as_it_was_added(store: Store, tmp_path: Path) -> None:
    run = _run(spec={"epochs": 2.0, "objective_params": {"scale": 20}}, before={"score": 0.5}, rows=7, model_path=tmp_path / "model")
    store.add(run)
    store.close()
    assert Store(store.path).get(run.id) == run


def test_an_unknown_run_is_an_error_a_user_can_mend(store: Store) -> None:
    with pytest.raises(StudioError, match="there is no run"):
        store.get("run-0000000000")


def test_runs_are_listed_newest_first_and_by_owner(store: Store) -> None:
    mine, theirs, later = _run("ann"), _run("bob"), _run("ann")
    for run in (mine, theirs, later):
        store.add(run)
    assert [run.id for run in store.runs()] == [later.id, theirs.id, mine.id]
    assert [run.id for run in store.runs("ann")] == [later.id, mine.id]
    assert store.runs("nobody") == []


def test_events_are_numbered_within_their_run_and_read_from_a_cursor(store: Store) -> None:
    a, b = _run(), _run()
    store.add(a)
    store.add(b)
    assert [store.record(run.id, {"type": "step", "step": n}) for n in range(3) for run in (a, b)] == [1, 1, 2, 2, 3, 3]
    assert [(seq, event["step"]) for seq, event in store.events(a.id, after=1)] == [(2, 1), (3, 2)]
    assert store.events(a.id, after=3) == []


def test_an_event_and_the_change_it_makes_are_written_both_or_neither(store: Store) -> None:
    run = _run()
    store.add(run)
    with pytest.raises(StudioError, match="no such column"):
        store.record(run.id, {"type": "x"}, no_such_column=1)
    with pytest.raises(TypeError):
        store.record(run.id, {"type": object()}, step=9)
    assert store.get(run.id).step == 0
    assert store.events(run.id) == []


def test_many_threads_write_without_losing_or_doubling_an_event(store: Store) -> None:
    run = _run()
    store.add(run)

    def write() -> None:
        for _ in range(25):
            store.record(run.id, {"type": "step"})

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [seq for seq, _ in store.events(run.id)] == list(range(1, 151))


def test_two_stores_on_one_file_see_each_other(store: Store) -> None:
    other, run = Store(store.path), _run()
    store.add(run)
    assert not other.asked_to_stop(run.id)
    other.ask_to_stop(run.id)
    assert store.asked_to_stop(run.id)


def test_deleting_a_run_deletes_its_events(store: Store) -> None:
    run = _run()
    store.add(run)
    store.record(run.id, {"type": "step"})
    store.delete(run.id)
    assert store.events(run.id) == []
    assert store.asked_to_stop(run.id), "whoever still trains a deleted run should stop"


@pytest.mark.process
@pytest.mark.parametrize("status", ["running", "queued"])
def test_a_run_whose_process_is_gone_reads_as_interrupted(store: Store, status: str) -> None:
    gone = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    birth = birth_of(gone.pid)
    run = _run()
    store.add(run)
    store.record(run.id, status=status, process=gone.pid, birth=birth)
    assert store.recover() == [], "another living process keeps its run"
    gone.kill()
    gone.wait()
    assert store.recover() == [run.id]
    assert store.get(run.id).status == "interrupted"
    assert store.recover() == []


def write_halves(places: list[Path]) -> None:
    """Have the run of the first place, begin folders in all places, and wait to be killed."""
    leases, begun = Leases(places[0].parent), []
    places[0].mkdir(parents=True, exist_ok=True)
    assert leases.take(places[0].name)
    for place in places:
        whole = place / "checkpoints" / "step-000000001"
        whole.mkdir(parents=True)
        (whole / "state.json").write_text("{}")
        (place / ".old-x" / "model").mkdir(parents=True)
        (place / ".part-x.json").touch()
        for half in (place / "adapter", whole.with_name("step-000000002")):
            begun.append(atomic_folder(half))
            (begun[-1].__enter__() / "model.safetensors").write_bytes(bytes(1000))
    print("begun", flush=True)
    threading.Event().wait()


@pytest.mark.process
def test_what_a_killed_process_left_half_written_is_removed_once_its_run_is_interrupted(store: Store, tmp_path: Path) -> None:
    run = _run()
    store.add(run)
    folder = store.path.parent / "runs" / run.id
    places = [folder, folder / "folds" / "1"]
    parts = [place / "checkpoints" for place in places]
    with started(tmp_path / "writer", write_halves, places) as writer:
        wait_until(writer.out.read_text, what="all folders are begun")
        store.record(run.id, status="running", process=writer.pid, birth=birth_of(writer.pid))
        assert store.recover() == [] and all(list(part.glob(".part-*")) for part in parts), "a living process is at it"
    assert store.recover() == [run.id]
    assert [sorted(path.name for path in part.iterdir()) for part in parts] == [["step-000000001"]] * 2
    assert [sorted(path.name for path in place.iterdir()) for place in places] == [
        ["checkpoints", "folds", "lock", "model"],
        ["checkpoints", "model"],
    ]


@pytest.mark.process
def test_a_killed_process_that_nobody_waited_for_counts_as_gone() -> None:
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    birth = birth_of(child.pid)
    assert is_alive(child.pid, birth)
    child.send_signal(signal.SIGKILL)  # from here on it is a zombie, or nearly so
    wait_until(lambda: not is_alive(child.pid, birth), 10, "the zombie counts as gone")
    child.communicate()


def test_a_reused_process_id_is_told_from_the_process_that_had_it() -> None:
    pid, birth = own_process()
    assert pid == os.getpid()
    assert is_alive(pid, birth)
    assert not is_alive(pid, birth + "1")
    assert not is_alive(pid, "")


def test_only_a_run_that_ended_early_can_be_taken_up_again(store: Store) -> None:
    run = _run(status="finished")
    store.add(run)
    with pytest.raises(StudioError, match="cannot be resumed"):
        store.take(run.id)
    store.record(run.id, status="interrupted", message="x", stop=1)
    assert store.take(run.id).status == "queued"
    assert not store.asked_to_stop(run.id)
    with pytest.raises(StudioError):
        Store(store.path).take(run.id)


def test_an_older_database_gets_only_the_steps_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.db"
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        old = Store(path)
        run = _run()
        old.add(run)
        old.close()
    store = Store(path)
    assert store.get(run.id) == run
    assert store.record(run.id, {"type": "step"}) == 1
    with sqlite3.connect(path) as db:
        assert migrations.migrate(sqlite3.connect(path, isolation_level=None)) == []
        assert [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY name")] == [
            step.__name__ for step in migrations.MIGRATIONS
        ]
