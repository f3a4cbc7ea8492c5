"""A local Ray cluster: the same bytes as one process, also if a worker or the driver is killed."""

from __future__ import annotations

import json
import os
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from processes import started
from tiny_studio import studio_at, write_pairs, write_static
from waiting import wait_until

from sbert_studio.errors import StudioError
from sbert_studio.services.shards import ShardingOptions
from sbert_studio.shards.executor import ExecutionOptions, RayEngine

from .shards import digests, encoded, write_texts

ONE, TWO = ExecutionOptions("ray", workers=1), ExecutionOptions("ray", workers=2)


@pytest.fixture(autouse=True)
def model(home: Path) -> Path:
    """A table of words, instead of a transformer, whose code every worker would import for seconds."""
    return write_static(home / "model")


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


def drive(home: Path, folder: Path) -> None:
    """Do jobs on a cluster of this process, write what came of each to ``told.json``, and be killed during the last."""
    told: dict[str, Any] = {}

    def note(**found: Any) -> None:
        (folder / "told.json").write_text(json.dumps(told | found))
        told.update(found)

    def lose(done: int, total: int) -> None:  # vectors go between the plan and the work
        shard = folder / "plain" / "shards" / "part-000001.parquet"
        if shard.exists():
            shard.rename(folder / "lost.parquet")

    def kill_a_worker(done: int, total: int) -> None:
        if done and "workers" not in told:
            workers = [pid for pid, name in children(os.getpid()).items() if name.startswith("ray::MapWorker(Map(_Worker")]
            os.kill(workers[0], signal.SIGKILL)
            note(workers=len(workers), before=receipts(folder / "out"))

    def be_killed(done: int, total: int) -> None:
        if receipts(folder / "judged") >= 3:
            # Two idle agents of Ray's stay for another minute; all others go with the driver.
            note(children={pid: name for pid, name in children(os.getpid()).items() if "Agent" not in name})
            os.kill(os.getpid(), signal.SIGKILL)

    with RayEngine(TWO)._connected(1), studio_at(home, home / "model") as studio:  # one cluster for all, because it takes seconds
        found = encoded(home, folder / "texts", folder / "out", TWO, rows=32, progress=kill_a_worker)
        note(encoded=[found.rows, found.shards, found.resumed])
        try:
            studio.shards.mine(folder / "plain", ONE, 25, progress=lose)
        except StudioError as error:
            note(refused=error.message)
        studio.shards.evaluate(None, folder / "pairs.parquet", ONE, ShardingOptions(1, 4), out=folder / "judged", progress=be_killed)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are found in /proc")
def test_workers_and_a_driver_are_killed_and_the_results_are_those_of_one_process(home: Path, tmp_path: Path) -> None:
    """Of two workers one is killed; what no worker can do is told once; a driver that is killed leaves no processes and is resumed."""
    encoded(home, write_texts(tmp_path / "texts", 3, 200), tmp_path / "plain", rows=32)
    whole = digests(tmp_path / "plain")
    with studio_at(home, home / "model") as studio:
        studio.data.read_table(write_pairs(tmp_path / "pairs.csv", 240)).to_parquet(tmp_path / "pairs.parquet")
        with started(tmp_path / "child", drive, home, tmp_path) as driver:
            assert driver.wait(240) == -signal.SIGKILL, driver.err.read_text()
        told = json.loads((tmp_path / "told.json").read_text())
        done = receipts(tmp_path / "judged")
        assert told["workers"] == 2 and told["before"] < 21, "one of two, while there was work left"
        assert told["encoded"] == [594, 21, 0]
        assert digests(tmp_path / "out") == whole and len(whole) == 21
        assert "part-000001.parquet" in told["refused"]
        assert any("raylet" in name for name in told["children"].values())
        wait_until(lambda: not any(_runs(int(pid)) for pid in told["children"]), 90, "the end of all processes of the driver")
        assert 3 <= done < 60
        again, plain = (
            studio.shards.evaluate(None, tmp_path / "pairs.parquet", ExecutionOptions(), ShardingOptions(1, 4), out=tmp_path / name)
            for name in ("judged", "new")
        )
    assert again.scores == plain.scores


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere", "127.0.0.1:99999999"])
def test_an_address_at_which_no_cluster_answers_is_said_at_once(address: str, home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 1, 100)
    with pytest.raises(StudioError, match="no Ray cluster responds at"):
        encoded(home, texts, tmp_path / "out", ExecutionOptions("ray", address=address))


def test_a_cluster_that_is_not_there_is_said(home: Path, tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts", 1, 100)
    with pytest.raises(StudioError, match="--address"):
        encoded(home, texts, tmp_path / "out", ExecutionOptions("local", address="127.0.0.1:1"))
