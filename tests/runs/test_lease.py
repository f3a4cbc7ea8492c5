"""Who has a run: by a lock in its folder, so that no run is trained twice and no live one reads as interrupted."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.runs.records.store import Store
from sbert_studio.runs.running import lease
from sbert_studio.runs.running.lease import Leases

from .test_broken_database import added

_HOLD = """
import sys, time
from pathlib import Path
from sbert_studio.runs.records.store import Store
store = Store(Path(sys.argv[1]))
store.take(sys.argv[2])
print("mine", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "studio.db")


def held_elsewhere(store: Store, run_id: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(store.path), run_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "mine\n"
    return child


def test_a_run_of_a_container_whose_process_ids_mean_nothing_here_is_alive_until_it_dies(store: Store) -> None:
    run = added(store)
    store.record(run.id, status="interrupted")
    store.release(run.id)
    child = held_elsewhere(store, run.id)
    try:
        # What another container writes down: the same boot, and an id that is nobody's, or somebody else's, here.
        store.record(run.id, status="running", process=1, birth="0000-1")
        assert store.recover() == []
        with pytest.raises(StudioError, match="cannot be resumed"):
            store.take(run.id)
        with pytest.raises(StudioError, match="under way"):
            store.delete(run.id)
        assert not store.claim(run.id)
    finally:
        child.kill()
        child.wait()
    assert store.recover() == [run.id]
    assert store.take(run.id).status == "queued"


def test_a_run_whose_process_id_was_given_to_another_process_is_interrupted(store: Store) -> None:
    run = added(store)
    store.record(run.id, status="running")  # with the id and birth of this process, which lives
    store.release(run.id)
    assert Store(store.path).recover() == [run.id]


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


def test_deleting_and_resuming_at_once_do_the_one_or_the_other(store: Store) -> None:
    for _ in range(10):
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
    time.sleep(0.1)
    os.utime(unlocked / "run-0" / "lock.1", (time.time() - 300,) * 2)
    assert two.take("run-0") and one.lost("run-0") and not two.lost("run-0")
    one.release("run-0")
    assert not Leases(unlocked).take("run-0", wait=0), "what the first lets go is no longer its own"


def test_without_locks_a_process_that_ends_lets_its_runs_go(unlocked: Path) -> None:
    code = "import sys; from pathlib import Path; from sbert_studio.runs.running import lease; lease.fcntl = None; "
    code += "print(lease.Leases(Path(sys.argv[1])).take('run-0'))"
    done = subprocess.run([sys.executable, "-c", code, str(unlocked)], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert Leases(unlocked).take("run-0", wait=0)


def test_without_locks_a_counter_that_moves_says_who_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    assert lease.fcntl is not None
    monkeypatch.setattr(lease.fcntl, "flock", none)
    monkeypatch.setattr(lease, "_BEAT", 0.05)
    monkeypatch.setattr(lease, "_SILENCE", 0.4)
    (tmp_path / "run-0").mkdir()
    one, two = Leases(tmp_path), Leases(tmp_path)
    assert one.take("run-0")
    time.sleep(0.1)
    assert not two.take("run-0", wait=1.0)
    one._beating["run-0"].end()  # as if it had been killed, but for what it left in the file
    time.sleep(0.2)
    (tmp_path / "run-0" / "lock.1").write_bytes(b"7-1-1".ljust(64))
    assert two.free("run-0") is False, "it has not been silent for long as seen from here"
    time.sleep(0.5)
    assert two.free("run-0") is True
    two.release("run-0")
    time.sleep(0.2)
    assert one.take("run-0") or "run-0" in one._held


_RACE = """
import sys, time
from pathlib import Path
from sbert_studio.runs.running import lease
lease.fcntl = None
lease._SILENCE = 0.05
leases = lease.Leases(Path(sys.argv[1]))
for line in sys.stdin:
    what, run, moment = line.split()
    if what == "let-go":
        leases.release(run)
        print("", flush=True)
        continue
    if what == "look":  # what is silent is known by two looks
        leases.take(run, wait=0)
        time.sleep(0.06)
    while time.time() < float(moment):
        pass
    print(leases.take(run, wait=0), flush=True)
"""


def test_of_processes_that_race_without_locks_exactly_one_has_the_run(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen([sys.executable, "-c", _RACE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]

    def all_of(what: str, run: str, after: float = 0.0) -> list[str]:
        for one in racers:
            assert one.stdin is not None
            print(what, run, time.time() + after, file=one.stdin, flush=True)
        return [one.stdout.readline().strip() for one in racers if one.stdout is not None]

    try:
        for number in range(60):
            run = f"run-{number}"
            (tmp_path / run).mkdir()
            if number % 3 == 1:  # let go by another
                (tmp_path / run / "lock.7").write_bytes(b"free".ljust(64))
            elif number % 3 == 2:  # of a process that was killed
                (tmp_path / run / "lock.7").write_bytes(b"7-1-1".ljust(64))
            found = all_of("look" if number % 3 == 2 else "take", run, 0.15 if number % 3 == 2 else 0.02)
            assert sorted(found) == ["False", "False", "True"], (number, found)
            all_of("let-go", run)
    finally:
        for one in racers:
            one.kill()
            one.wait()


def test_a_run_that_threads_take_and_let_go_without_locks_is_had_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "fcntl", None)
    (tmp_path / "run").mkdir()
    had, most, rounds, until = [], [], [], time.monotonic() + 3.0

    def race() -> None:
        leases = Leases(tmp_path)
        while time.monotonic() < until:
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
    assert len(rounds) > 20
    assert len(list((tmp_path / "run").glob("lock.*"))) <= 2, "what was let go is removed"
