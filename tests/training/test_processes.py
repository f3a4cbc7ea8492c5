"""Two processes on a CPU, as torchrun and as accelerate start them, against one at the same global batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import write_model, write_pairs

from sbert_studio.runs.records.store import Store
from sbert_studio.settings import launched_alone

from .tiny import weights

SCRIPT = Path(__file__).with_name("together.py")
# On a CPU accelerate starts companions only when told multi_gpu: with --cpu it starts one process, whatever number is asked for.
LAUNCHERS = {
    "torchrun": ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
    "accelerate": ["-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", "0"],
}
TOGETHER = ["2 processes train together, each on its share of every batch"]


def python(*arguments: object, **environment: str) -> str:
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=250, check=False, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def script(folder: Path, *how: str) -> dict[str, Any]:
    folder.mkdir()
    python(*how, SCRIPT, folder)
    found: dict[str, Any] = json.loads((folder / "losses.json").read_text())
    return found


def test_two_processes_lose_as_one_does(tmp_path: Path) -> None:
    alone, two = script(tmp_path / "one"), script(tmp_path / "two", *LAUNCHERS["accelerate"])
    assert alone["notices"] == [] and two["notices"] == TOGETHER
    for objective, values in alone["losses"].items():
        assert len(values) == 14
        assert two["losses"][objective] == pytest.approx(values, abs=1e-4), objective


def test_the_command_line_trains_with_companions_as_it_is(tmp_path: Path) -> None:
    """``torchrun -m sbert_studio train``: one answer, one run, the same model."""
    model, pairs, dev = write_model(tmp_path / "model"), write_pairs(tmp_path / "pairs.csv", 64), write_pairs(tmp_path / "dev.csv", 20, 5)
    command = ["-m", "sbert_studio", "train", pairs, "--dev", dev, "--model", model, "--json"]
    command += ["--epochs", "2", "--batch-size", "10", "--set", "dropout=0", "--set", "precision=float32"]
    ends, losses = {}, {}
    for name, how in {"alone": [], "two": LAUNCHERS["torchrun"]}.items():
        home = tmp_path / f"home-{name}"
        ends[name] = json.loads(python(*how, *command, SBERT_STUDIO_HOME=str(home)))
        store = Store(home / "studio.db")
        (run,) = store.runs()
        assert (run.id, run.status) == (ends[name]["run"], "finished")
        events = [body for _, body in store.events(run.id)]
        notices = [body["message"] for body in events if body["type"] == "notice" and "processes" in body["message"]]
        assert notices == ([] if name == "alone" else TOGETHER)
        losses[name] = {body["step"]: body["loss"] for body in events if body["type"] == "step"}
    last = max(losses["alone"])
    assert ends["two"]["steps"] == ends["alone"]["steps"] == last
    assert ends["two"]["after"]["score"] == pytest.approx(ends["alone"]["after"]["score"], abs=1e-4)
    assert {1, last} <= losses["two"].keys()
    for step in losses["two"].keys() & losses["alone"].keys():
        assert losses["two"][step] == pytest.approx(losses["alone"][step], abs=1e-4)
    one, two = (weights(Path(ends[end]["model"])) for end in ("alone", "two"))
    for tensor, values in one.items():
        assert two[tensor].numpy() == pytest.approx(values.numpy(), abs=1e-4), tensor


def test_a_launch_that_started_one_process_of_several_is_told() -> None:
    cpu = {"ACCELERATE_USE_CPU": "True", "MASTER_PORT": "29500"}
    assert launched_alone(cpu)
    assert not launched_alone({"ACCELERATE_USE_CPU": "True"})  # asked for one
    assert not launched_alone({**cpu, "OMPI_COMM_WORLD_SIZE": "2"})
    assert not launched_alone({"MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "0"})  # torchrun
    assert not launched_alone({})
