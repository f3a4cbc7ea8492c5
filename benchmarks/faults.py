"""What can go wrong with a run, done to it on purpose: a table of what was lost and which status it left.

    python benchmarks/faults.py [TIMES] [FAULT…]

TIMES is 5. Each fault is injected so often, on runs of a few steps of a random BERT of two layers, in a home of its own. A run that
was disturbed is resumed and compared with the same run left alone, weight by weight. In about three minutes, on Linux.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import random
import re
import shutil
import signal
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

from filelock import FileLock
from tiny_studio import quick, studio_at, write_model, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.runs.run import Run
from sbert_studio.services import Studio, TrainRequest

ROOT = Path(__file__).parents[1]
# Children come from a server that has imported everything and computed nothing: a process that has must not be forked.
_FORKS = multiprocessing.get_context("forkserver")
Child = BaseProcess
_NEW_PROCESS_IDS, _DIE_WITH_PARENT = 0x20000000, 1
STEPS = quick(evaluation="split", epochs=6, checkpoint_every=5, evaluations_per_epoch=1)
LONG = quick(evaluation="split", epochs=400, checkpoint_every=5, evaluations_per_epoch=1)


@dataclass
class Found:
    """What became of one fault, over all its injections."""

    times: int = 0
    lost: list[str] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    def row(self, name: str, seconds: float) -> str:
        """A line of the table."""
        statuses = ", ".join(f"{status} {self.statuses.count(status)}" for status in dict.fromkeys(self.statuses))
        wrong = [*self.lost, *self.lies]
        verdict = "held" if not wrong else f"FAILED: {wrong[0]}"
        return f"| {name} | {self.times} | {'; '.join(dict.fromkeys(self.lost)) or 'nothing'} | {statuses} | {verdict} | {seconds:.0f} s |"


class Bench:
    """A tiny model, its data, and the weights of a run that was left alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = write_model(folder / "tiny")
        self.data = write_pairs(folder / "pairs.csv")
        self.random = random.Random(12)
        with self.studio(folder / "whole") as studio:
            self.whole = self.weights(self.trained(studio))
        self.trained_home = folder / "whole"

    def studio(self, home: Path) -> contextlib.AbstractContextManager[Studio]:
        """A studio on ``home``."""
        return studio_at(home, self.model)

    def home(self) -> Path:
        """A new home."""
        return Path(tempfile.mkdtemp(dir=self.folder, prefix="home-"))

    def copied(self) -> Path:
        """A new home with a finished run in it."""
        home = self.home()
        shutil.copytree(self.trained_home, home, dirs_exist_ok=True)
        return home

    def submit(self, studio: Studio, overrides: dict[str, object] = STEPS) -> Run:
        """Queue a run."""
        return studio.fine_tune.submit(TrainRequest(self.data, overrides=overrides))

    def trained(self, studio: Studio, overrides: dict[str, object] = STEPS) -> Run:
        """A run to its end."""
        return self.ended(studio, self.submit(studio, overrides))

    def ended(self, studio: Studio, run: Run) -> Run:
        """A run when the runner is done with it."""
        if not studio.runner.wait(run.id, 60):
            raise TimeoutError("the runner does not end it")
        return studio.fine_tune.get_run(run.id).run

    def weights(self, run: Run) -> bytes:
        """The weights of a run's model."""
        assert run.model_path is not None
        return (run.model_path / "model.safetensors").read_bytes()

    def stopped(self, home: Path) -> tuple[str, Path]:
        """A run of ``home`` that was killed half way, and its newest checkpoint."""
        with self.child(home, STEPS) as child:
            until(lambda: len(list(home.glob("runs/*/checkpoints/step-*/state.json"))) >= 2)
            kill(child)
        return next((home / "runs").glob("run-*")).name, max(home.glob("runs/*/checkpoints/step-*"))

    @contextlib.contextmanager
    def child(self, home: Path, overrides: dict[str, object], namespace: bool = False) -> Iterator[Child]:
        """Another process that trains a run in ``home``; with ``namespace`` where its process ids mean nothing here, as in a container."""
        child = _FORKS.Process(target=train_in_child, args=(home, self.model, self.data, overrides, namespace), daemon=True)
        child.start()
        try:
            yield child
        finally:
            kill(child)

    def resumed(self, home: Path, run_id: str, found: Found) -> Run:
        """Go on with a run, and compare what comes out with the run that was left alone."""
        with self.studio(home) as studio:
            if studio.fine_tune.get_run(run_id).run.status not in ("interrupted", "failed", "stopped"):
                found.lies.append(f"reads as {studio.fine_tune.get_run(run_id).run.status}")
            studio.fine_tune.resubmit(run_id)
            run = self.ended(studio, studio.store.get(run_id))
            if run.status != "finished":
                found.lost.append(f"{run.status}: {run.message}")
            elif self.weights(run) != self.whole:
                found.lost.append("other weights")
            return run


def train_in_child(home: Path, model: Path, data: Path, overrides: dict[str, object], namespace: bool) -> None:
    """Train a run, and wait to be killed."""
    if namespace:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_PROCESS_IDS):
            raise OSError(ctypes.get_errno(), "no namespace of its own")
        if child := os.fork():
            os.waitpid(child, 0)
            os._exit(0)
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with studio_at(home, model) as studio:
        studio.fine_tune.submit(TrainRequest(data, overrides=overrides))
        while True:
            time.sleep(1)


def kill(child: Child) -> None:
    """SIGKILL, and wait until it is gone."""
    child.kill()
    child.join()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("waited too long")
        time.sleep(0.01)


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own of some size."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(folder: Path) -> Path:
    """Leave no byte free."""
    path = folder / "ballast"
    with path.open("wb", buffering=0) as target, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12, 1 << 8, 1):
            with contextlib.suppress(OSError):
                while True:
                    target.write(b"\0" * size)
    return path


def full_disk(bench: Bench, found: Found, number: int) -> None:
    """The disk fills up while a run trains and another waits."""
    with small_disk(bench.folder / f"disk-{number}", 60) as disk, bench.studio(disk / "home") as studio:
        run, waiting = bench.submit(studio, LONG), bench.submit(studio)
        until(lambda: studio.fine_tune.get_run(run.id).run.step > 5)
        ballast = fill(disk)
        try:
            failed = bench.ended(studio, run)
            second = bench.ended(studio, waiting)
            for one in (failed, second):
                found.statuses.append(one.status)
                if one.status != "failed" or not one.hint:
                    found.lies.append(f"{one.status}: {one.message}")
            studio.similarity.compare("cat dog", "dog cat")
            if not studio.search.search(studio.data.read_corpus(bench.data), "cat dog").hits:
                found.lost.append("a search")
        finally:
            ballast.unlink()
        studio.fine_tune.resubmit(waiting.id)
        if bench.weights(bench.ended(studio, waiting)) != bench.whole:
            found.lost.append("other weights")


def killed(bench: Bench, found: Found, number: int) -> None:
    """SIGKILL at a random moment."""
    home = bench.home()
    with bench.child(home, STEPS) as child:
        until(lambda: any((home / "runs").glob("*/run.json")) if (home / "runs").is_dir() else False)
        time.sleep(bench.random.random() * 0.6)
        kill(child)
    with bench.studio(home) as studio:
        (run,) = studio.fine_tune.list_runs()
        found.statuses.append(run.status)
    if run.status != "finished":
        bench.resumed(home, run.id, found)


def flipped_checkpoint(bench: Bench, found: Found, number: int) -> None:
    """A bit of the newest checkpoint flips."""
    home = bench.home()
    run_id, newest = bench.stopped(home)
    path = newest / bench.random.choice(["encoder.safetensors", "optimiser.safetensors", "state.json"])
    data = bytearray(path.read_bytes())
    data[bench.random.randrange(len(data))] ^= 1 << bench.random.randrange(8)
    path.write_bytes(data)
    _told_and_resumed(bench, found, home, run_id)


def cut_checkpoint(bench: Bench, found: Found, number: int) -> None:
    """A file of the newest checkpoint is cut short, or gone."""
    home = bench.home()
    run_id, newest = bench.stopped(home)
    path = newest / bench.random.choice(["encoder.safetensors", "optimiser.safetensors", "objective.safetensors", "state.json"])
    if number % 2:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    _told_and_resumed(bench, found, home, run_id)


def _told_and_resumed(bench: Bench, found: Found, home: Path, run_id: str) -> None:
    found.statuses.append(bench.resumed(home, run_id, found).status)
    with bench.studio(home) as studio:
        events = [event for _, event in studio.fine_tune.get_run(run_id).events]
        if not any(event["type"] == "notice" and "damaged" in event["message"] for event in events):
            found.lies.append("the damage was not told")


def damaged_model(bench: Bench, found: Found, number: int) -> None:
    """A bit of a finished model flips, or it is cut in half."""
    home = bench.copied()
    with bench.studio(home) as studio:
        (run,) = studio.fine_tune.list_runs()
        weights = studio.workspace.run(run.id) / "model" / "model.safetensors"
        data = bytearray(weights.read_bytes())
        data[bench.random.randrange(2000, len(data))] ^= 1
        weights.write_bytes(data if number % 2 else data[: len(data) // 2])
        found.statuses.append("damaged" if studio.models.list_models()[-1].damaged else "finished")
        for use in (lambda: studio.similarity.compare("a", "b", run.id), lambda: studio.fine_tune.export(run.id)):
            try:
                use()
                found.lies.append("a damaged model was used")
            except StudioError as error:
                if "model.safetensors" not in error.message:
                    found.lies.append(error.message)
        studio.fine_tune.delete_run(run.id)


def damaged_cache(bench: Bench, found: Found, number: int) -> None:
    """A byte of kept vectors changes."""
    home = bench.home()
    with bench.studio(home) as studio:
        corpus = studio.data.read_corpus(bench.data)
        right = studio.search.vectors(corpus).tobytes()
    path = next((home / "vectors").glob("*.npy"))
    data = bytearray(path.read_bytes())
    data[bench.random.randrange(len(data))] ^= 1
    path.write_bytes(data)
    with bench.studio(home) as studio:
        if studio.search.vectors(studio.data.read_corpus(bench.data)).tobytes() != right:
            found.lies.append("other vectors were served")
    found.statuses.append("made anew")


def locked_runs(bench: Bench, found: Found, number: int) -> None:
    """Another program holds the lock of the run folders while a run trains, past its end."""
    home = bench.home()
    with bench.studio(home) as studio:
        run = bench.submit(studio)
        with FileLock(home / ".runs.lock"):
            if not studio.runner.wait(run.id, 60):
                found.lost.append("the run did not end")
        ended = studio.fine_tune.get_run(run.id).run
        found.statuses.append(ended.status)
        if ended.status != "finished" or bench.weights(ended) != bench.whole:
            found.lost.append(f"{ended.status}: {ended.message}")
    with bench.studio(home) as studio:
        if (
            studio.fine_tune.get_run(run.id).run.status != "finished"
            or studio.fine_tune.get_run(run.id).events[-1][1]["type"] != "finished"
        ):
            found.lies.append("what was recorded meanwhile is gone")


def damaged_records(bench: Bench, found: Found, number: int) -> None:
    """A run's record is overwritten or cut, or its event log is."""
    home = bench.copied()
    with bench.studio(home) as studio:
        before = studio.fine_tune.list_runs()
    name = "run.json" if number % 3 < 2 else "events.jsonl"
    path = home / "runs" / before[0].id / name
    path.write_bytes(os.urandom(path.stat().st_size) if number % 3 == 0 else path.read_bytes()[: path.stat().st_size // 4])
    with bench.studio(home) as studio:
        after = studio.fine_tune.list_runs()
        for run in after:
            studio.fine_tune.get_run(run.id)
        found.statuses += [run.status for run in after]
        if [run.id for run in after if run.id != before[0].id] != [run.id for run in before[1:]]:
            found.lost.append("other runs")
        if name == "run.json" and not any(before[0].id in notice for notice in studio.store.notices):
            found.lies.append("nothing was said")
        if name == "events.jsonl" and after[0].status != before[0].status:
            found.lies.append(f"{before[0].status} reads as {after[0].status}")


def resumed_by_two(bench: Bench, found: Found, number: int) -> None:
    """Two studios resume the same run at once."""
    home = bench.home()
    run_id, _ = bench.stopped(home)
    with bench.studio(home) as one, bench.studio(home) as two:
        one.fine_tune.list_runs()
        won, barrier = [], threading.Barrier(2)

        def resume(studio: Studio) -> None:
            barrier.wait()
            with contextlib.suppress(StudioError):
                studio.fine_tune.resubmit(run_id)
                won.append(studio)

        threads = [threading.Thread(target=resume, args=(studio,)) for studio in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(won) != 1:
            found.lies.append(f"{len(won)} resumed it")
        for studio in won:
            run = bench.ended(studio, studio.store.get(run_id))
        found.statuses.append(run.status)
        if bench.weights(run) != bench.whole:
            found.lost.append("other weights")


def container(bench: Bench, found: Found, number: int) -> None:
    """A process in a container on the same volume trains; this one looks, and then it is killed."""
    home = bench.home()
    with bench.child(home, LONG, namespace=True) as child, bench.studio(home) as studio:
        until(lambda: bool(studio.fine_tune.list_runs()) and studio.fine_tune.list_runs()[0].step > 5)
        (run,) = studio.fine_tune.list_runs()
        found.statuses.append(run.status)
        if run.status != "running":
            found.lies.append(f"a live run reads as {run.status}")
        try:
            studio.fine_tune.resubmit(run.id)
            found.lies.append("it was resumed while it trains")
        except StudioError:
            pass
        kill(child)
        until(lambda: studio.fine_tune.list_runs()[0].status != "running", 10)
        found.statuses.append(studio.fine_tune.list_runs()[0].status)
        if studio.fine_tune.list_runs()[0].status != "interrupted":
            found.lies.append(f"a dead run reads as {studio.fine_tune.list_runs()[0].status}")


def clock_set_back(bench: Bench, found: Found, number: int) -> None:
    """All that was written bears a time of next year; a run trains, another process looks, and a new run is listed first."""
    home = bench.copied()
    later = time.time() + 365 * 86400
    for path in home.glob("runs/*/run.json"):
        path.write_text(re.sub('"created": "20[0-9]{2}', '"created": "2099', path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in home.glob("runs/*/events.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace('{"time":1', '{"time":2'), encoding="utf-8")
    for path in home.rglob("*"):
        os.utime(path, (later, later))
    with bench.studio(home) as studio, bench.studio(home) as other:
        run = bench.submit(studio)
        if other.fine_tune.list_runs()[0].id != run.id:
            found.lies.append("the newest run is not listed first")
        if not other.fine_tune.list_runs()[0].active and studio.fine_tune.get_run(run.id).run.active:
            found.lies.append("a live run reads as ended")
        ended = bench.ended(studio, run)
        found.statuses.append(ended.status)
        if bench.weights(ended) != bench.whole:
            found.lost.append("other weights")


def moved_home(bench: Bench, found: Found, number: int) -> None:
    """The home is moved; a killed run in it goes on."""
    home = bench.home()
    run_id, _ = bench.stopped(home)
    moved = bench.folder / f"moved-{number}"
    home.rename(moved)
    found.statuses.append(bench.resumed(moved, run_id, found).status)
    again = bench.folder / f"again-{number}"
    moved.rename(again)
    with bench.studio(again) as studio:
        if studio.models.list_models()[-1].name != run_id or studio.fine_tune.export(run_id).bytes < 1000:
            found.lost.append("the model")
        studio.similarity.compare("cat", "dog", run_id)


def bug(bench: Bench, found: Found, number: int) -> None:
    """A run meets a bug, no memory, or an error that would end a program; the next one trains."""
    from unittest import mock

    trouble = (IndexError("x"), MemoryError(), SystemExit(1), KeyboardInterrupt(), RuntimeError("y"))[number % 5]
    with bench.studio(bench.home()) as studio:
        with mock.patch("sbert_studio.training.trials.train", side_effect=trouble):
            broken = bench.trained(studio)
        found.statuses.append(broken.status)
        if broken.status not in ("failed", "interrupted") or not broken.message:
            found.lies.append(f"{broken.status}: {broken.message}")
        if bench.weights(bench.trained(studio)) != bench.whole:
            found.lost.append("the next run")
        studio.fine_tune.resubmit(broken.id)
        if bench.weights(bench.ended(studio, broken)) != bench.whole:
            found.lost.append("the run itself")


FAULTS = {
    "a full disk": full_disk,
    "SIGKILL": killed,
    "a bug, no memory, SystemExit": bug,
    "a flipped bit in the newest checkpoint": flipped_checkpoint,
    "a file of it cut short or gone": cut_checkpoint,
    "a damaged model": damaged_model,
    "a damaged cache": damaged_cache,
    "a lock on the run folders": locked_runs,
    "a damaged record of a run": damaged_records,
    "two that resume one run": resumed_by_two,
    "another container on the volume": container,
    "a clock set back": clock_set_back,
    "a moved home": moved_home,
}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where something was lost or a status lied."""
    import logging

    logging.disable(logging.ERROR)
    os.environ["PYTHONPATH"] = str(ROOT)
    _FORKS.set_forkserver_preload(
        ["benchmarks.faults", "sbert_studio.training.trials", "sbert_studio.models.catalog", "transformers.models.bert"]
    )
    times = int(arguments[0]) if arguments and arguments[0].isdigit() else 5
    chosen = [name for name in FAULTS if not arguments[1:] or any(word in name for word in arguments[1:])]
    print("| fault | times | lost | statuses | verdict | time |\n| --- | --- | --- | --- | --- | --- |")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for name in chosen:
            found, start = Found(), time.perf_counter()
            for number in range(times):
                found.times += 1
                try:
                    FAULTS[name](bench, found, number)
                except Exception as error:
                    found.lies.append(f"{type(error).__name__}: {error}")
            print(found.row(name, time.perf_counter() - start), flush=True)
            wrong += bool(found.lost or found.lies)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
