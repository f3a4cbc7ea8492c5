"""Who has a run: by a lock in its folder, so that no run is trained twice and no live one reads as interrupted."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from processes import started
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.runs.records.store import Store
from sbert_studio.runs.running import lease
from sbert_studio.runs.running.lease import Leases

from .test_broken_database import added


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "studio.db")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever does not get a run gives up after a moment."""
    monkeypatch.setattr(Leases.take, "__defaults__", (0.1,))


def hold(database: Path, run_id: str) -> None:
    """Take a run and keep it until this process is killed."""
    store = Store(database)
    store.take(run_id)
    print("mine", flush=True)
    threading.Event().wait()


@pytest.mark.process
@pytest.mark.usefixtures("impatient")
def test_a_run_of_a_container_whose_process_ids_mean_nothing_here_is_alive_until_it_dies(store: Store, tmp_path: Path) -> None:
    run = added(store)
    store.record(run.id, status="interrupted")
    store.release(run.id)
    with started(tmp_path, hold, store.path, run.id) as child:
        assert wait_until(child.out.read_text, what="the run is held") == "mine\n"
        # What another container writes down: the same boot, and an id that is nobody's, or somebody else's, here.
        store.record(run.id, status="running", process=1, birth="0000-1")
        assert store.recover() == []
        with pytest.raises(StudioError, match="cannot be resumed"):
            store.take(run.id)
        with pytest.raises(StudioError, match="under way"):
            store.delete(run.id)
        assert not store.claim(run.id)
    assert store.recover() == [run.id]
    assert store.take(run.id).status == "queued"


def test_a_run_whose_process_id_was_given_to_another_process_is_interrupted(store: Store) -> None:
    run = added(store)
    store.record(run.id, status="running")  # with the id and birth of this process, which lives
    store.release(run.id)
    assert Store(store.path).recover() == [run.id]


@pytest.mark.usefixtures("impatient")
def test_of_many_that_resume_one_run_at_once_exactly_one_has_it(store: Store) -> None:
    run = added(store)
    store.record(run.id, status="interrupted")
    store.release(run.id)
    stores, won, barrier = [Store(store.path) for _ in range(6)], [], threading.Barrier(6)

    def take(one: Store) -> None:
        barrier.wait()
        try:
            one.take(run.id)
            won.append(one)
        except StudioError:
            pass

    threads = [threading.Thread(target=take, args=(one,)) for one in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert [one.claim(run.id) for one in stores].count(True) == 1


def test_many_that_look_at_once_neither_lose_a_live_run_nor_find_a_lost_one_twice(store: Store) -> None:
    live, lost = added(store), added(store)
    store.release(lost.id)
    others, found = [Store(store.path) for _ in range(4)], []

    def look(one: Store) -> None:
        for _ in range(20):
            found.extend(one.recover())

    threads = [threading.Thread(target=look, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [lost.id]
    assert store.get(live.id).status == "queued"


@pytest.mark.usefixtures("impatient")
def test_deleting_and_resuming_at_once_do_the_one_or_the_other(store: Store) -> None:
    for _ in range(6):
        run = added(store)
        store.record(run.id, status="stopped")
        store.release(run.id)
        other, done = Store(store.path), []

        def resume(other: Store = other, done: list[str] = done, run_id: str = run.id) -> None:
            try:
                other.take(run_id)
                done.append("resumed")
            except StudioError:
                pass

        thread = threading.Thread(target=resume)
        thread.start()
        try:
            store.delete(run.id)
            done.append("deleted")
        except StudioError:
            pass
        thread.join()
        assert len(done) == 1
        assert (store.path.parent / "runs" / run.id).exists() == (done == ["resumed"])


def test_a_clock_set_back_changes_neither_the_order_nor_who_is_alive(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = added(store, created="2031-01-01T00:00:00+00:00")
    monkeypatch.setattr(time, "time", lambda: 0.0)
    second = added(store, created="1970-01-01T00:00:00+00:00")
    store.record(second.id, {"type": "step"})
    assert [run.id for run in store.runs()] == [second.id, first.id]
    assert Store(store.path).recover() == []


@pytest.fixture
def unlocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs on a file system that knows no locks, with one run."""

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    assert lease.fcntl is not None
    monkeypatch.setattr(lease.fcntl, "flock", none)
    (tmp_path / "run-0").mkdir()
    return tmp_path


def test_without_locks_a_run_whose_process_was_killed_is_had_at_once_when_that_was_long_ago(unlocked: Path) -> None:
    (unlocked / "run-0" / "lock").touch()
    path = unlocked / "run-0" / "lock.1"
    path.write_bytes(b"7-1-1".ljust(64))
    assert not Leases(unlocked).take("run-0", wait=0)
    os.utime(path, (time.time() - 300,) * 2)
    assert Leases(unlocked).free("run-0") is True
    assert not path.exists()


def test_without_locks_who_slept_sees_that_the_run_was_taken(unlocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_BEAT", 60.0)  # it sleeps from now on
    one, two = Leases(unlocked), Leases(unlocked)
    assert one.take("run-0") and not one.lost("run-0")
    wait_until((unlocked / "run-0" / "lock.1").read_bytes, what="its counter is written")
    os.utime(unlocked / "run-0" / "lock.1", (time.time() - 300,) * 2)
    assert two.take("run-0") and one.lost("run-0") and not two.lost("run-0")
    one.release("run-0")
    assert not Leases(unlocked).take("run-0", wait=0), "what the first lets go is no longer its own"


@pytest.mark.process
def test_without_locks_a_process_that_ends_lets_its_runs_go(unlocked: Path) -> None:
    code = "import sys; from pathlib import Path; from sbert_studio.runs.running import lease; lease.fcntl = None; "
    code += "print(lease.Leases(Path(sys.argv[1])).take('run-0'))"
    done = subprocess.run([sys.executable, "-c", code, str(unlocked)], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert Leases(unlocked).take("run-0", wait=0)


def test_without_locks_a_counter_that_moves_says_who_is_alive(unlocked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_BEAT", 0.01)
    monkeypatch.setattr(lease, "_SILENCE", 0.4)
    file = unlocked / "run-0" / "lock.1"

    def counter() -> int:
        return int(file.read_bytes().strip().rpartition(b"-")[2] or 0)

    one, two = Leases(unlocked), Leases(unlocked)
    assert one.take("run-0")
    wait_until(lambda: counter() > 1, what="the counter moves")
    assert two.free("run-0") is False
    before = counter()
    wait_until(lambda: counter() > before, what="the counter moves on")
    monkeypatch.setattr(lease, "_SILENCE", 0.0)  # however short the silence that is asked for: there was none
    assert two.free("run-0") is False
    monkeypatch.setattr(lease, "_SILENCE", 0.4)
    one._beating["run-0"].end()  # as if it had been killed, but for what it left in the file
    file.write_bytes(b"7-1-1".ljust(64))
    assert two.free("run-0") is False, "it has not been silent for long as seen from here"
    wait_until(lambda: two.free("run-0"), what="it is silent for long")
    two.release("run-0")
    assert one.take("run-0") or "run-0" in one._held


def race(orders: Connection, folder: Path) -> None:
    """Take and let go what the orders name, at the moments that they name, without locks."""
    lease.fcntl = None  # type: ignore[assignment, unused-ignore]
    lease._SILENCE = 0.05
    leases = Leases(folder)
    while True:
        what, run, moment = orders.recv()
        if what == "let-go":
            leases.release(run)
            orders.send(None)
            continue
        if what == "look":  # what is silent is known by two looks
            leases.take(run, wait=0)
            time.sleep(0.06)
        while time.time() < moment:
            pass
        orders.send(leases.take(run, wait=0))


@pytest.mark.process
@pytest.mark.slow
def test_of_processes_that_race_without_locks_exactly_one_has_the_run(tmp_path: Path) -> None:
    pipes = [Pipe() for _ in range(3)]

    def all_of(what: str, run: str, after: float = 0.0) -> list[bool]:
        moment = time.time() + after
        for here, _ in pipes:
            here.send((what, run, moment))
        return [here.recv() for here, _ in pipes]

    with ExitStack() as racers:
        for _, there in pipes:
            racers.enter_context(started(tmp_path / "racers", race, there, tmp_path))
        for number in range(36):
            run = f"run-{number}"
            (tmp_path / run).mkdir()
            if number % 3 == 1:  # let go by another
                (tmp_path / run / "lock.7").write_bytes(b"free".ljust(64))
            elif number % 3 == 2:  # of a process that was killed
                (tmp_path / run / "lock.7").write_bytes(b"7-1-1".ljust(64))
            found = all_of("look" if number % 3 == 2 else "take", run, 0.1 if number % 3 == 2 else 0.01)
            assert sorted(found) == [False, False, True], (number, found)
            all_of("let-go", run)


def test_a_run_that_threads_take_and_let_go_without_locks_is_had_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "fcntl", None)
    (tmp_path / "run").mkdir()
    had, most, rounds, until = [], [], [], time.monotonic() + 60

    def race() -> None:
        leases = Leases(tmp_path)
        while len(rounds) < 40 and time.monotonic() < until:
            if leases.take("run", wait=0):
                had.append(1)
                most.append(len(had))
                time.sleep(0.001)
                had.pop()
                rounds.append(1)
                leases.release("run")
            time.sleep(0.0005)

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(rounds) >= 40
    assert len(list((tmp_path / "run").glob("lock.*"))) <= 2, "what was let go is removed"
