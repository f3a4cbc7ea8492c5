"""Two processes on a CPU, as accelerate (which runs torchrun) starts them, against one at the same global batch.

The launcher runs in a process of its own that has imported PyTorch and computed nothing, so that the two workers, which do all that is
compared, are forked from it instead of importing PyTorch once more each.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import started
from tiny_studio import write_pairs

from sbert_studio.cli.main import main
from sbert_studio.cli.main import run as run_command
from sbert_studio.losses.base import process_count
from sbert_studio.runs.store import RunStore
from sbert_studio.settings import is_launched_alone
from sbert_studio.training import events

from .tiny import weights
from .together import BATCH_SIZE, DATA, EPOCHS, GATHERED, ROWS, SHARES, gathered_step, own_loss, train_each

SCRIPT = Path(__file__).with_name("together.py")


def launch_by_accelerate(*arguments: str) -> None:
    """Run a script as ``accelerate launch`` does, in workers that torchrun forks from this process.

    On a CPU accelerate starts companions only when told multi_gpu: with --cpu it starts one process, whatever number is asked for.
    """
    from accelerate.commands.launch import launch_command, launch_command_parser

    options = launch_command_parser().parse_args(["--multi_gpu", "--num_processes", "2", "--main_process_port", "0", *arguments])
    options.run_path, options.start_method = True, "fork"  # options of torchrun, which accelerate passes on but has no flags for
    launch_command(options)


@pytest.fixture(scope="module")
def command(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the command line is given."""
    folder = tmp_path_factory.mktemp("files")
    pairs, dev = write_pairs(folder / "pairs.csv", 34), write_pairs(folder / "dev.csv", 20, 5)
    given = ["train", str(pairs), "--dev", str(dev), "--model", str(tiny_model), "--json"]
    return [*given, "--epochs", "2", "--batch-size", "10", "--set", "dropout=0", "--set", "precision=float32"]


@pytest.fixture(scope="module")
def two(command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes have written."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "command.json").write_text(json.dumps(command), encoding="utf-8")
    on_the_processor = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}  # NCCL refuses two processes on one GPU
    with started(folder / "launcher", launch_by_accelerate, str(SCRIPT), str(folder), **on_the_processor) as launcher:
        launcher.succeed(240)
    return folder


@pytest.mark.process
@pytest.mark.slow
def test_two_processes_lose_as_one_does(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SHOWN_EVERY", 0.0)
    alone, together = train_each(tmp_path), json.loads((two / "losses.json").read_text(encoding="utf-8"))
    assert alone["notices"] == []
    (notice,) = together["notices"]
    assert notice.startswith("2 processes")
    assert alone["losses"].keys() == together["losses"].keys() == DATA.keys() | {"cross"}
    for name, losses in alone["losses"].items():
        assert len(losses) >= EPOCHS * -(-ROWS // BATCH_SIZE)
        assert together["losses"][name] == pytest.approx(losses, abs=1e-4), name


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), GATHERED)
def test_a_gathered_loss_and_its_averaged_gradient_are_those_of_one_process(name: str, kind: str, two: Path) -> None:
    """The shares of the two processes differ in size."""
    assert process_count() == 1
    loss, gradients = gathered_step(name, kind, slice(0, 9))
    for rank, share in enumerate(SHARES):
        found: dict[str, Any] = torch.load(two / f"{name}-{rank}.pt", weights_only=True)
        assert found["loss"] == pytest.approx(loss, abs=1e-12)
        for ours, theirs in zip(gradients, found["gradients"], strict=True):
            assert torch.allclose(ours, theirs, atol=1e-12)
        assert found["own"] == pytest.approx(own_loss(name, kind, share), abs=1e-12), "evaluation gathers nothing"


@pytest.mark.process
@pytest.mark.slow
def test_the_command_line_trains_with_companions_as_it_is(
    command: list[str], two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One answer, one run, the same model."""
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "home"))
    assert run_command(command) == 0
    assert (two / "printed-1.txt").read_text(encoding="utf-8") == "", "the second process keeps quiet"
    printed = {"alone": capsys.readouterr().out, "two": (two / "printed-0.txt").read_text(encoding="utf-8")}
    ends, losses, notices = {}, {}, {}
    for name, home in (("alone", tmp_path / "home"), ("two", two / "home")):
        ends[name] = json.loads(printed[name])
        store = RunStore(home)
        (run,) = store.runs()
        assert (run.id, run.status) == (ends[name]["run"], "finished")
        events = [body for _, body in store.events(run.id)]
        notices[name] = [body["message"] for body in events if body["type"] == "notice" and "processes" in body["message"]]
        losses[name] = {body["step"]: body["loss"] for body in events if body["type"] == "step"}
    assert notices["alone"] == [] and [message.split()[:2] for message in notices["two"]] == [["2", "processes"]]
    last = max(losses["alone"])
    assert ends["two"]["steps"] == ends["alone"]["steps"] == last == 8
    assert ends["two"]["after"]["score"] == pytest.approx(ends["alone"]["after"]["score"], abs=1e-4)
    assert {1, last} <= losses["two"].keys()
    for step in losses["two"].keys() & losses["alone"].keys():
        assert losses["two"][step] == pytest.approx(losses["alone"][step], abs=1e-4)
    one, other = (weights(Path(ends[end]["model"])) for end in ("alone", "two"))
    for tensor, values in one.items():
        assert other[tensor].numpy() == pytest.approx(values.numpy(), abs=1e-4), tensor


def test_a_launch_that_started_one_process_of_several_is_told() -> None:
    cpu = {"ACCELERATE_USE_CPU": "True", "MASTER_PORT": "29500"}
    assert is_launched_alone(cpu)
    assert not is_launched_alone({"ACCELERATE_USE_CPU": "True"})  # asked for one
    assert not is_launched_alone({**cpu, "OMPI_COMM_WORLD_SIZE": "2"})
    assert not is_launched_alone({"MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "0"})  # torchrun
    assert not is_launched_alone({})


def node(*arguments: str) -> None:
    """Do what ``torchrun ARGUMENTS`` does, but fork the process that trains instead of starting a new interpreter."""
    from torch.distributed.launcher.api import elastic_launch
    from torch.distributed.run import config_from_args, parse_args

    config, _, words = config_from_args(parse_args(list(arguments)))
    config.start_method = "fork"
    elastic_launch(config, main)(words[words.index("sbert_studio") + 1 :])


@pytest.mark.process
@pytest.mark.slow
def test_two_nodes_train_as_one_process_does(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, dev = write_pairs(tmp_path / "pairs.csv", 24), write_pairs(tmp_path / "dev.csv", 12, 5)
    command = ["train", str(pairs), "--dev", str(dev), "--model", str(tiny_model), "--json", "--epochs", "1"]
    command += ["--batch-size", "10", "--set", "dropout=0", "--set", "precision=float32"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    nodes = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", port]
    where = {"SBERT_STUDIO_HOME": str(tmp_path / "two"), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    one, other = (
        started(tmp_path / rank, node, *nodes, "--node-rank", rank, "-m", "sbert_studio", *command, **where) for rank in ("0", "1")
    )
    with one as first, other as second:
        answers = [out for child in (first, second) if (out := child.succeed(200)).strip()]
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "one"))
    assert run_command(command) == 0
    found: list[Any] = [*map(json.loads, answers), json.loads(capsys.readouterr().out)]
    together, alone = found
    assert together["steps"] == alone["steps"] == 3
    assert together["after"]["score"] == pytest.approx(alone["after"]["score"], abs=1e-4)
