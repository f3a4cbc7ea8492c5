"""A local Ray cluster: the same bytes as one process, also if a worker or the driver is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import command_line
from tiny_studio import studio_at, write_pairs
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.scale.engines import How
from sbert_studio.settings import keep_ray_quiet
from sbert_studio.studio.scaling import Sharding

from .shards import digests, encoded, write_texts

keep_ray_quiet(alone=True)  # before Ray is imported
pytest.importorskip("ray")

pytestmark = [pytest.mark.process, pytest.mark.slow]
ONE = How("ray", workers=1)
"""Each worker of Ray is a new interpreter that imports PyTorch, so that tests take one where the number is not the point."""


@pytest.fixture(scope="session", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two cores for workers; started once, because it takes seconds."""
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


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def receipts(out: Path) -> int:
    return len(list((out / "receipts").glob("0*.json")))


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are found in /proc")
def test_two_workers_one_of_which_is_killed_write_the_bytes_of_one_process(home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 3, 200)
    encoded(home, texts, tmp_path / "plain", rows=32)
    killed: dict[int, int] = {}

    def kill(done: int, total: int) -> None:
        if done and not killed:
            workers = [pid for pid, name in children(os.getpid()).items() if name.startswith("ray::MapWorker(")]
            os.kill(workers[0], signal.SIGKILL)
            killed[len(workers)] = receipts(tmp_path / "out")

    found = encoded(home, texts, tmp_path / "out", How("ray", workers=2), rows=32, progress=kill)
    assert killed.keys() == {2} and killed[2] < 21, "one of two, while there was work left"
    assert (found.rows, found.shards, found.resumed) == (594, 21, 0)
    assert digests(tmp_path / "out") == digests(tmp_path / "plain") and len(digests(tmp_path / "out")) == 21


def test_a_worker_finds_the_pairs_and_scores_of_one_process(home: Path, tmp_path: Path) -> None:
    out, pairs = tmp_path / "out", write_pairs(tmp_path / "pairs.csv", 60)
    encoded(home, write_texts(tmp_path / "texts", 2, 60), out, rows=32)
    with studio_at(home, home / "model") as studio:
        assert studio.scale.mine(out, ONE, 25).pairs == studio.scale.mine(out, How(), 25).pairs
        studio.read.table(pairs).to_parquet(tmp_path / "pairs.parquet")
        both = [
            studio.scale.evaluate(None, tmp_path / "pairs.parquet", how, Sharding(1, 20), out=tmp_path / how.engine) for how in (How(), ONE)
        ]
    assert both[0].scores == both[1].scores


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are found in /proc")
def test_a_driver_that_is_killed_leaves_no_processes_and_is_resumed(home: Path, tmp_path: Path) -> None:
    texts, out = write_texts(tmp_path / "texts", 4, 200), tmp_path / "out"
    asked = ["--engine", "ray", "--workers", "1", "--out", out, "--model", home / "model", "--shard-rows", "16", "--id", "key"]
    with command_line(tmp_path, "encode", texts, *asked) as driver:
        wait_until(lambda: receipts(out) >= 3 or not driver.runs, 120, "three shards")
        # Two idle agents of Ray's stay for another minute; all others go with the driver.
        theirs = {pid: name for pid, name in children(driver.pid).items() if "Agent" not in name}
        driver.kill()
    done = receipts(out)
    assert 3 <= done < 52 and any("raylet" in name for name in theirs.values()), driver.err.read_text()
    wait_until(lambda: not any(map(_runs, theirs)), 90, "the end of all processes that the driver started")
    again = encoded(home, texts, out, rows=16)
    assert done - 1 <= again.resumed < 52
    encoded(home, texts, tmp_path / "plain", rows=16)
    assert digests(out) == digests(tmp_path / "plain")


def test_what_no_worker_can_do_is_told_once(home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 1, 100)
    seen: list[int] = []

    def lose(done: int, total: int) -> None:  # the files go between the plan and the work
        if not seen:
            (texts / "0.parquet").rename(tmp_path / "gone.parquet")
        seen.append(done)

    with pytest.raises(StudioError, match=r"0\.parquet cannot be read"):
        encoded(home, texts, tmp_path / "out", ONE, progress=lose)


def test_a_cluster_that_is_not_there_is_said(home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 1, 100)
    with pytest.raises(StudioError, match="--address"):
        encoded(home, texts, tmp_path / "out", How("local", address="127.0.0.1:1"))
