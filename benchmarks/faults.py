"""Inject faults into runs, and print a table of what was lost and which status the run ended in.

    python benchmarks/faults.py [TIMES] [FAULT…]

Each fault is injected TIMES (5) times, into runs of a few steps of a random BERT of two layers, in a home of its own. A disturbed run is
resumed and compared, weight by weight, with the same run undisturbed. Takes about three minutes, on Linux. FAULT selects faults by words.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from tiny_studio import quick, studio_at, write_model, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.runs.records.record import Run
from sbert_studio.services import Studio, TrainRequest

ROOT = Path(__file__).parents[1]
# Children are forked from a server that has imported everything and computed nothing: a process that has computed must not be forked.
_FORKS = multiprocessing.get_context("forkserver")
Child = BaseProcess
_NEW_PROCESS_IDS, _DIE_WITH_PARENT = 0x20000000, 1
STEPS = quick(judge="split", epochs=6, checkpoint_every=5, evaluations_per_epoch=1)
LONG = quick(judge="split", epochs=400, checkpoint_every=5, evaluations_per_epoch=1)


@dataclass
class Outcome:
    """The outcome of one fault over all its injections: what was lost, and which statuses or messages were wrong."""

    times: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    def row(self, name: str, seconds: float) -> str:
        statuses = ", ".join(f"{status} {self.statuses.count(status)}" for status in dict.fromkeys(self.statuses))
        failures = [*self.lost, *self.wrong]
        verdict = "passed" if not failures else f"FAILED: {failures[0]}"
        return f"| {name} | {self.times} | {'; '.join(dict.fromkeys(self.lost)) or 'nothing'} | {statuses} | {verdict} | {seconds:.0f} s |"


class Laboratory:
    """A tiny model, its data, and the weights of an undisturbed run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = write_model(folder / "tiny")
        self.data = write_pairs(folder / "pairs.csv")
        self.random = random.Random(12)
        with self.studio(folder / "whole") as studio:
            self.weights_undisturbed = self.weights(self.train(studio))
        self.finished_home = folder / "whole"

    def studio(self, home: Path) -> contextlib.AbstractContextManager[Studio]:
        return studio_at(home, self.model)

    def new_home(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder, prefix="home-"))

    def copied_home(self) -> Path:
        home = self.new_home()
        shutil.copytree(self.finished_home, home, dirs_exist_ok=True)
        return home

    def submit(self, studio: Studio, overrides: dict[str, object] = STEPS) -> Run:
        return studio.tune.submit(TrainRequest(self.data, overrides=overrides))

    def train(self, studio: Studio, overrides: dict[str, object] = STEPS) -> Run:
        """Train a run to its end."""
        return self.wait_for(studio, self.submit(studio, overrides))

    def wait_for(self, studio: Studio, run: Run) -> Run:
        """Wait until the runner is done with a run, and return it."""
        if not studio.runner.wait(run.id, 60):
            raise TimeoutError("the run does not end")
        return studio.tune.run(run.id).run

    def weights(self, run: Run) -> bytes:
        assert run.model_path is not None
        return (run.model_path / "model.safetensors").read_bytes()

    def kill_run(self, home: Path) -> tuple[str, Path]:
        """Kill a run in ``home`` halfway; return its id and its newest checkpoint."""
        with self.child(home, STEPS) as child:
            wait_until(lambda: len(list(home.glob("runs/*/checkpoints/step-*/state.json"))) >= 2)
            kill(child)
        return next((home / "runs").glob("run-*")).name, max(home.glob("runs/*/checkpoints/step-*"))

    @contextlib.contextmanager
    def child(self, home: Path, overrides: dict[str, object], namespace: bool = False) -> Iterator[Child]:
        """Train a run in ``home`` in another process; with ``namespace``, in a process namespace of its own, as in a container."""
        child = _FORKS.Process(target=train_in_child, args=(home, self.model, self.data, overrides, namespace), daemon=True)
        child.start()
        try:
            yield child
        finally:
            kill(child)

    def resume_run(self, home: Path, run_id: str, outcome: Outcome) -> Run:
        """Resume a run, and compare its weights with those of the undisturbed run."""
        with self.studio(home) as studio:
            if studio.tune.run(run_id).run.status not in ("interrupted", "failed", "stopped"):
                outcome.wrong.append(f"reads as {studio.tune.run(run_id).run.status}")
            studio.tune.resume(run_id)
            run = self.wait_for(studio, studio.store.get(run_id))
            if run.status != "finished":
                outcome.lost.append(f"{run.status}: {run.message}")
            elif self.weights(run) != self.weights_undisturbed:
                outcome.lost.append("other weights")
            return run


def train_in_child(home: Path, model: Path, data: Path, overrides: dict[str, object], namespace: bool) -> None:
    """Train a run until this process is killed."""
    if namespace:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_PROCESS_IDS):
            raise OSError(ctypes.get_errno(), "no process namespace")
        if child := os.fork():
            os.waitpid(child, 0)
            os._exit(0)
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with studio_at(home, model) as studio:
        studio.tune.submit(TrainRequest(data, overrides=overrides))
        while True:
            time.sleep(1)


def kill(child: Child) -> None:
    child.kill()
    child.join()


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the condition does not come true")
        time.sleep(0.01)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of some size."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(folder: Path) -> Path:
    """Write a file until the disk is full."""
    path = folder / "ballast"
    with path.open("wb", buffering=0) as target, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12, 1 << 8, 1):
            with contextlib.suppress(OSError):
                while True:
                    target.write(b"\0" * size)
    return path


def full_disk(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """The disk fills up while a run trains and another waits."""
    with small_disk(lab.folder / f"disk-{number}", 60) as disk, lab.studio(disk / "home") as studio:
        run, waiting = lab.submit(studio, LONG), lab.submit(studio)
        wait_until(lambda: studio.tune.run(run.id).run.step > 5)
        ballast = fill(disk)
        try:
            failed = lab.wait_for(studio, run)
            second = lab.wait_for(studio, waiting)
            for one in (failed, second):
                outcome.statuses.append(one.status)
                if one.status != "failed" or not one.hint:
                    outcome.wrong.append(f"{one.status}: {one.message}")
            studio.explore.similarity("cat dog", "dog cat")
            if not studio.explore.search(studio.read.corpus(lab.data), "cat dog").hits:
                outcome.lost.append("a search")
        finally:
            ballast.unlink()
        studio.tune.resume(waiting.id)
        if lab.weights(lab.wait_for(studio, waiting)) != lab.weights_undisturbed:
            outcome.lost.append("other weights")


def killed(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """SIGKILL at a random moment."""
    home = lab.new_home()
    with lab.child(home, STEPS) as child:
        wait_until(lambda: any((home / "runs").glob("*/run.json")) if (home / "runs").is_dir() else False)
        time.sleep(lab.random.random() * 0.6)
        kill(child)
    with lab.studio(home) as studio:
        (run,) = studio.tune.runs()
        outcome.statuses.append(run.status)
    if run.status != "finished":
        lab.resume_run(home, run.id, outcome)


def flipped_checkpoint(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """A bit of the newest checkpoint flips."""
    home = lab.new_home()
    run_id, newest = lab.kill_run(home)
    path = newest / lab.random.choice(["encoder.safetensors", "optimiser.safetensors", "state.json"])
    data = bytearray(path.read_bytes())
    data[lab.random.randrange(len(data))] ^= 1 << lab.random.randrange(8)
    path.write_bytes(data)
    _resume_with_notice(lab, outcome, home, run_id)


def cut_checkpoint(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """A file of the newest checkpoint is truncated or missing."""
    home = lab.new_home()
    run_id, newest = lab.kill_run(home)
    path = newest / lab.random.choice(["encoder.safetensors", "optimiser.safetensors", "objective.safetensors", "state.json"])
    if number % 2:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    _resume_with_notice(lab, outcome, home, run_id)


def _resume_with_notice(lab: Laboratory, outcome: Outcome, home: Path, run_id: str) -> None:
    outcome.statuses.append(lab.resume_run(home, run_id, outcome).status)
    with lab.studio(home) as studio:
        events = [event for _, event in studio.tune.run(run_id).events]
        if not any(event["type"] == "notice" and "damaged" in event["message"] for event in events):
            outcome.wrong.append("the damage was not reported")


def damaged_model(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """A bit of a finished model flips, or it is truncated."""
    home = lab.copied_home()
    with lab.studio(home) as studio:
        (run,) = studio.tune.runs()
        weights = studio.workspace.run(run.id) / "model" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        data[lab.random.randrange(2000, len(data))] ^= 1
        weights.write_bytes(data if number % 2 else data[: len(data) // 2])
        outcome.statuses.append("damaged" if studio.judge.models()[-1].damaged else "finished")
        for use in (lambda: studio.explore.similarity("a", "b", run.id), lambda: studio.tune.export(run.id)):
            try:
                use()
                outcome.wrong.append("a damaged model was used")
            except StudioError as error:
                if "model.safetensors" not in error.message:
                    outcome.wrong.append(error.message)
        studio.tune.delete_run(run.id)


def damaged_cache(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """A byte of cached vectors changes."""
    home = lab.new_home()
    with lab.studio(home) as studio:
        corpus = studio.read.corpus(lab.data)
        right = studio.explore.vectors_of(corpus).tobytes()
    path = next((home / "vectors").glob("*.npy"))
    data = bytearray(path.read_bytes())
    data[lab.random.randrange(len(data))] ^= 1
    path.write_bytes(data)
    with lab.studio(home) as studio:
        if studio.explore.vectors_of(studio.read.corpus(lab.data)).tobytes() != right:
            outcome.wrong.append("other vectors were served")
    outcome.statuses.append("rebuilt")


def locked_database(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """Another program holds the database while a run trains, past its end."""
    home = lab.new_home()
    with lab.studio(home) as studio:
        run = lab.submit(studio)
        other = sqlite3.connect(home / "studio.db", isolation_level=None, timeout=30)
        other.execute("BEGIN EXCLUSIVE")
        if not studio.runner.wait(run.id, 60):
            outcome.lost.append("the run did not end")
        other.execute("ROLLBACK")
        other.close()
        ended = studio.tune.run(run.id).run
        outcome.statuses.append(ended.status)
        if ended.status != "finished" or lab.weights(ended) != lab.weights_undisturbed:
            outcome.lost.append(f"{ended.status}: {ended.message}")
    with lab.studio(home) as studio:
        if studio.tune.run(run.id).run.status != "finished" or studio.tune.run(run.id).events[-1][1]["type"] != "finished":
            outcome.wrong.append("events of the meantime are missing")


def damaged_database(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """The database is overwritten, truncated, or missing."""
    home = lab.copied_home()
    with lab.studio(home) as studio:
        before = [(run, studio.tune.run(run.id).events) for run in studio.tune.runs()]
    event_types = [[event["type"] for _, event in events] for _, events in before]
    path = home / "studio.db"
    if number % 3 == 0:
        path.write_bytes(os.urandom(path.stat().st_size))
    elif number % 3 == 1:
        path.write_bytes(path.read_bytes()[:6000])
    else:
        path.unlink()
    with lab.studio(home) as studio:
        after = [(run, studio.tune.run(run.id).events) for run in studio.tune.runs()]
        outcome.statuses += [run.status for run, _ in after]
        if [run for run, _ in after] != [run for run, _ in before]:
            outcome.lost.append("runs")
        if [[event["type"] for _, event in events] for _, events in after] != event_types:
            outcome.lost.append("events")
        if number % 3 != 2 and not studio.store.notices:
            outcome.wrong.append("no notice")


def resumed_by_two(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """Two studios resume the same run at once."""
    home = lab.new_home()
    run_id, _ = lab.kill_run(home)
    with lab.studio(home) as one, lab.studio(home) as two:
        one.tune.runs()
        won, barrier = [], threading.Barrier(2)

        def resume(studio: Studio) -> None:
            barrier.wait()
            with contextlib.suppress(StudioError):
                studio.tune.resume(run_id)
                won.append(studio)

        threads = [threading.Thread(target=resume, args=(studio,)) for studio in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(won) != 1:
            outcome.wrong.append(f"{len(won)} processes resumed it")
        for studio in won:
            run = lab.wait_for(studio, studio.store.get(run_id))
        outcome.statuses.append(run.status)
        if lab.weights(run) != lab.weights_undisturbed:
            outcome.lost.append("other weights")


def container(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """A process in a container on the same volume trains and is killed; this one reads its status."""
    home = lab.new_home()
    with lab.child(home, LONG, namespace=True) as child, lab.studio(home) as studio:
        wait_until(lambda: bool(studio.tune.runs()) and studio.tune.runs()[0].step > 5)
        (run,) = studio.tune.runs()
        outcome.statuses.append(run.status)
        if run.status != "running":
            outcome.wrong.append(f"a live run reads as {run.status}")
        try:
            studio.tune.resume(run.id)
            outcome.wrong.append("it was resumed while it trains")
        except StudioError:
            pass
        kill(child)
        wait_until(lambda: studio.tune.runs()[0].status != "running", 10)
        outcome.statuses.append(studio.tune.runs()[0].status)
        if studio.tune.runs()[0].status != "interrupted":
            outcome.wrong.append(f"a dead run reads as {studio.tune.runs()[0].status}")


def clock_set_back(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """All files are dated a year ahead; a new run trains, is listed first, and another process reads its status."""
    home = lab.copied_home()
    later = time.time() + 365 * 86400
    with sqlite3.connect(home / "studio.db", isolation_level=None) as db:
        db.execute("UPDATE runs SET created = '2099-01-01T00:00:00+00:00'")
        db.execute("UPDATE events SET time = time + 31536000")
    db.close()
    for path in home.rglob("*"):
        os.utime(path, (later, later))
    with lab.studio(home) as studio, lab.studio(home) as other:
        run = lab.submit(studio)
        if other.tune.runs()[0].id != run.id:
            outcome.wrong.append("the newest run is not listed first")
        if not other.tune.runs()[0].active and studio.tune.run(run.id).run.active:
            outcome.wrong.append("a live run reads as ended")
        ended = lab.wait_for(studio, run)
        outcome.statuses.append(ended.status)
        if lab.weights(ended) != lab.weights_undisturbed:
            outcome.lost.append("other weights")


def moved_home(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """The home is moved; a killed run in it is resumed."""
    home = lab.new_home()
    run_id, _ = lab.kill_run(home)
    moved = lab.folder / f"moved-{number}"
    home.rename(moved)
    outcome.statuses.append(lab.resume_run(moved, run_id, outcome).status)
    again = lab.folder / f"again-{number}"
    moved.rename(again)
    with lab.studio(again) as studio:
        if studio.judge.models()[-1].name != run_id or studio.tune.export(run_id).bytes < 1000:
            outcome.lost.append("the model")
        studio.explore.similarity("cat", "dog", run_id)


def bug(lab: Laboratory, outcome: Outcome, number: int) -> None:
    """A run fails by a bug, lack of memory, or an error that would end a program; the next one trains."""
    from unittest import mock

    trouble = (IndexError("x"), MemoryError(), SystemExit(1), KeyboardInterrupt(), RuntimeError("y"))[number % 5]
    with lab.studio(lab.new_home()) as studio:
        with mock.patch("sbert_studio.training.trials.train", side_effect=trouble):
            broken = lab.train(studio)
        outcome.statuses.append(broken.status)
        if broken.status not in ("failed", "interrupted") or not broken.message:
            outcome.wrong.append(f"{broken.status}: {broken.message}")
        if lab.weights(lab.train(studio)) != lab.weights_undisturbed:
            outcome.lost.append("the next run")
        studio.tune.resume(broken.id)
        if lab.weights(lab.wait_for(studio, broken)) != lab.weights_undisturbed:
            outcome.lost.append("the run itself")


FAULTS = {
    "a full disk": full_disk,
    "SIGKILL": killed,
    "a bug, no memory, SystemExit": bug,
    "a flipped bit in the newest checkpoint": flipped_checkpoint,
    "a file of it truncated or missing": cut_checkpoint,
    "a damaged model": damaged_model,
    "a damaged cache": damaged_cache,
    "a locked database": locked_database,
    "a damaged or lost database": damaged_database,
    "two processes that resume one run": resumed_by_two,
    "another container on the volume": container,
    "a clock set back": clock_set_back,
    "a moved home": moved_home,
}


def main(arguments: list[str]) -> int:
    """Print the table; return 1 where something was lost or a status was wrong."""
    import logging

    logging.disable(logging.ERROR)
    os.environ["PYTHONPATH"] = str(ROOT)
    _FORKS.set_forkserver_preload(
        ["benchmarks.faults", "sbert_studio.training.trials", "sbert_studio.models.catalog", "transformers.models.bert"]
    )
    times = int(arguments[0]) if arguments and arguments[0].isdigit() else 5
    chosen = [name for name in FAULTS if not arguments[1:] or any(word in name for word in arguments[1:])]
    print("| fault | times | lost | statuses | verdict | time |\n| --- | --- | --- | --- | --- | --- |")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        lab = Laboratory(Path(folder))
        for name in chosen:
            outcome, start = Outcome(), time.perf_counter()
            for number in range(times):
                outcome.times += 1
                try:
                    FAULTS[name](lab, outcome, number)
                except Exception as error:
                    outcome.wrong.append(f"{type(error).__name__}: {error}")
            print(outcome.row(name, time.perf_counter() - start), flush=True)
            failures += bool(outcome.lost or outcome.wrong)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
