"""Which process works on a run: no run is trained twice, and no live one reads as interrupted."""

from __future__ import annotations

import errno
import os
import threading
import time
from contextlib import ExitStack
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from filelock import SoftFileLease
from processes import started
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.runs import lease, store
from sbert_studio.runs.lease import RunLeases
from sbert_studio.runs.run import Run
from sbert_studio.runs.store import RunStore

from .test_store import new_run


@pytest.fixture
def kept(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever does not get a run gives up after a moment."""
    monkeypatch.setattr(store, "SHORT", 0.1)


def ended(kept: RunStore, status: str = "interrupted") -> Run:
    run = kept.add(new_run(status=status))
    kept.release(run.id)
    return run


def hold(home: Path, run_id: str) -> None:
    """Claim a run and keep it until this process is killed."""
    kept = RunStore(home)
    kept.claim(run_id)
    print("mine", flush=True)
    threading.Event().wait()


@pytest.mark.process
@pytest.mark.usefixtures("impatient")
def test_a_run_of_another_process_is_alive_until_that_is_killed(kept: RunStore, tmp_path: Path) -> None:
    run = ended(kept)
    with started(tmp_path, hold, tmp_path, run.id) as child:
        assert wait_until(child.out.read_text, what="the run is held") == "mine\n"
        assert kept.recover() == []
        with pytest.raises(StudioError, match="cannot be resumed"):
            kept.claim(run.id)
        with pytest.raises(StudioError, match="in progress"):
            kept.delete(run.id)
        assert not kept.try_acquire(run.id)
    assert kept.recover() == [run.id]
    assert kept.claim(run.id).status == "queued"


@pytest.mark.usefixtures("impatient")
def test_of_many_that_resume_one_run_at_once_exactly_one_has_it(kept: RunStore) -> None:
    run = ended(kept)
    stores, won, barrier = [RunStore(kept._home) for _ in range(6)], [], threading.Barrier(6)

    def claim(one: RunStore) -> None:
        barrier.wait()
        try:
            one.claim(run.id)
            won.append(one)
        except StudioError:
            pass

    threads = [threading.Thread(target=claim, args=(one,)) for one in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert [one.try_acquire(run.id) for one in stores].count(True) == 1


@pytest.fixture(params=[True, False], ids=["locks", "no locks"])
def runs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one run, on a file system with locks or without."""
    if not request.param:
        forget_locks(monkeypatch)
    (tmp_path / "run-0").mkdir()
    return tmp_path


def forget_locks(patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    fcntl = pytest.importorskip("fcntl", reason="locks of POSIX")
    patch.setattr(fcntl, "flock", refuse)


def test_a_run_is_held_by_one_object_at_a_time(runs: Path) -> None:
    one, two = RunLeases(runs), RunLeases(runs)
    assert one.try_acquire("run-0") and one.is_held("run-0") and not one.is_lost("run-0")
    assert not one.try_acquire("run-0") and not two.try_acquire("run-0", 0.1)
    two.release("run-0")
    assert not two.try_acquire("run-0"), "what one does not hold one cannot release"
    one.release_all()
    assert two.try_acquire("run-0") and not one.is_held("run-0") and not one.is_lost("run-0")
    assert not one.try_acquire("run-1") and not (runs / "run-1").exists(), "no folder is made for a lock"


def test_threads_that_acquire_and_release_hold_it_one_at_a_time(runs: Path) -> None:
    held, most, rounds, until = [], [], [], time.monotonic() + 60
    shared = RunLeases(runs)

    def race(leases: RunLeases) -> None:
        while len(rounds) < 40 and time.monotonic() < until:
            if leases.try_acquire("run-0"):
                held.append(1)
                most.append(len(held))
                time.sleep(0.001)
                held.pop()
                rounds.append(1)
                leases.release("run-0")
            time.sleep(0.0005)

    threads = [threading.Thread(target=race, args=(leases,)) for leases in (shared, shared, RunLeases(runs), RunLeases(runs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and len(rounds) >= 40


def hold_without_locks(orders: Connection, folder: Path) -> None:
    """Acquire and release what the orders name, at the moments that they name."""
    patch = pytest.MonkeyPatch()
    forget_locks(patch)
    leases = RunLeases(folder)
    while True:
        what, run, moment = orders.recv()
        while time.time() < moment:
            pass
        orders.send(leases.try_acquire(run) if what == "acquire" else leases.release(run))


@pytest.mark.process
@pytest.mark.slow
def test_of_processes_that_race_without_locks_one_has_the_run_and_it_outlives_no_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipes = [Pipe() for _ in range(3)]

    def all_of(what: str, run: str) -> list[bool]:
        moment = time.time() + 0.02
        for here, _ in pipes:
            here.send((what, run, moment))
        return [here.recv() for here, _ in pipes]

    with ExitStack() as racers:
        for _, there in pipes:
            racers.enter_context(started(tmp_path / "racers", hold_without_locks, there, tmp_path))
        for number in range(12):
            (tmp_path / f"run-{number}").mkdir()
            assert sorted(all_of("acquire", f"run-{number}")) == [False, False, True], number
            all_of("release", f"run-{number}")
            assert sorted(all_of("acquire", f"run-{number}")) == [False, False, True], number
    forget_locks(monkeypatch)
    leases = RunLeases(tmp_path)
    for number in range(12):
        assert leases.try_acquire(f"run-{number}", 1), "its process was killed"


def test_without_locks_a_silent_holder_loses_the_run_and_can_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_locks(monkeypatch)
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.3)
    (tmp_path / "run-0").mkdir()
    sleeper, other = RunLeases(tmp_path), RunLeases(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(SoftFileLease, "_start_heartbeat", lambda *_: None)  # as on a laptop that sleeps
        assert sleeper.try_acquire("run-0")
    assert not other.try_acquire("run-0"), "it has not been silent for long"
    wait_until(lambda: other.try_acquire("run-0"), what="its lease has run out")
    assert sleeper.is_lost("run-0") and not other.is_lost("run-0")
    sleeper.release("run-0")
    assert not RunLeases(tmp_path).try_acquire("run-0"), "what the first releases is no longer its own"
    time.sleep(0.5)
    assert not RunLeases(tmp_path).try_acquire("run-0") and not other.is_lost("run-0"), "a heartbeat keeps it"


def test_a_folder_that_takes_no_lock_is_held_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run-0").mkdir()

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert not RunLeases(tmp_path).try_acquire("run-0")
