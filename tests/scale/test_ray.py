"""A local Ray cluster of two workers: the same bytes as one process, whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import studio_at, write_model, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.scale.engines import How
from sbert_studio.settings import keep_ray_quiet
from sbert_studio.studio.scaling import Sharding

from .shards import digests, encoded, write_texts

keep_ray_quiet(alone=True)  # before Ray is imported
pytest.importorskip("ray")
RAY = How("ray", workers=2)


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Started once: it takes seconds."""
    import ray

    from sbert_studio.scale.engines.cluster import _start

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SBERT_STUDIO_HOME", str(tmp_path_factory.mktemp("workers")))
        _start(ray, "", 2, 100)
    yield
    ray.shutdown()


def children(of: int) -> dict[int, str]:
    """The processes below one, and what they are called."""
    above, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            above[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):
            continue

    def below(pid: int) -> bool:
        return pid == of or (pid in above and below(above[pid]))

    return {pid: name for pid, name in names.items() if pid != of and below(pid)}


@pytest.fixture
def plain(home: Path, tmp_path: Path) -> Path:
    """What one process makes of the texts."""
    encoded(home, write_texts(tmp_path / "texts", 3, 400), tmp_path / "plain")
    return tmp_path / "plain"


def test_two_workers_write_the_bytes_of_one(home: Path, plain: Path, tmp_path: Path) -> None:
    found = encoded(home, tmp_path / "texts", tmp_path / "out", RAY)
    assert (found.rows, found.shards, found.resumed) == (1194, 21, 0)
    assert digests(tmp_path / "out") == digests(plain) and len(digests(plain)) == 21
    with studio_at(home, home / "model") as studio:
        assert studio.scale.mine(tmp_path / "out", RAY, 25).pairs == studio.scale.mine(plain, How(), 25).pairs
        pairs = write_pairs(tmp_path / "pairs.csv", 150)
        studio.read.table(pairs).to_parquet(tmp_path / "pairs.parquet")
        both = [
            studio.scale.evaluate(None, tmp_path / "pairs.parquet", how, Sharding(1, 40), out=tmp_path / how.engine) for how in (How(), RAY)
        ]
    assert both[0].scores == both[1].scores


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are found in /proc")
def test_a_worker_that_is_killed_is_replaced(home: Path, plain: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(done: int, total: int) -> None:
        if done >= 200 and not killed:
            workers = [pid for pid, name in children(os.getpid()).items() if name.startswith("ray::MapWorker(")]
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])

    found = encoded(home, tmp_path / "texts", tmp_path / "out", RAY, progress=kill)
    assert killed and found.shards == 21
    assert digests(tmp_path / "out") == digests(plain)


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are found in /proc")
def test_a_driver_that_is_killed_leaves_no_processes_and_is_resumed(home: Path, tmp_path: Path) -> None:
    texts, out = write_texts(tmp_path / "texts", 4, 1200), tmp_path / "out"
    write_model(home / "model")
    command = [sys.executable, "-m", "sbert_studio", "encode", str(texts), "--engine", "ray", "--workers", "2", "--out", str(out)]
    command += ["--model", str(home / "model"), "--shard-rows", "64", "--id", "key"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 90
    while len(list((out / "receipts").glob("0*.json"))) < 3 and time.monotonic() < until and driver.poll() is None:
        time.sleep(0.005)
    # Two idle agents of Ray's stay for another minute; all others go with the driver.
    theirs = {pid: name for pid, name in children(driver.pid).items() if "Agent" not in name}
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    done = len(list((out / "receipts").glob("0*.json")))
    assert 3 <= done < 76 and any("raylet" in name for name in theirs.values())
    while (left := [pid for pid in theirs if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left
    again = encoded(home, texts, out)
    assert done - 1 <= again.resumed < 76
    encoded(home, texts, tmp_path / "plain")
    assert digests(out) == digests(tmp_path / "plain")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_no_worker_can_do_is_told_once(home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 1, 100)
    encoded(home, texts, tmp_path / "first")
    out, seen = tmp_path / "out", []

    def lose(done: int, total: int) -> None:  # the files go between the plan and the work
        if not seen:
            (texts / "0.parquet").rename(tmp_path / "gone.parquet")
        seen.append(done)

    with pytest.raises(StudioError, match=r"0\.parquet cannot be read"):
        encoded(home, texts, out, RAY, progress=lose)


def test_a_cluster_that_is_not_there_is_said(home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 1, 100)
    with pytest.raises(StudioError, match="--address goes with an engine of several machines"):
        encoded(home, texts, tmp_path / "out", How("local", address="127.0.0.1:1"))
