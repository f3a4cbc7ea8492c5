"""Training over two nodes, both on this machine: as one process trains at the same batch size."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from processes import started
from tiny_studio import write_pairs

from sbert_studio.cli.main import main, run

pytestmark = [pytest.mark.process, pytest.mark.slow]


def node(*arguments: str) -> None:
    """Do what ``torchrun ARGUMENTS`` does, but fork the process that trains instead of starting a new interpreter."""
    from torch.distributed.launcher.api import elastic_launch
    from torch.distributed.run import config_from_args, parse_args

    config, _, words = config_from_args(parse_args(list(arguments)))
    config.start_method = "fork"
    elastic_launch(config, main)(words[words.index("sbert_studio") + 1 :])


def test_two_nodes_train_as_one_process_does(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, dev = write_pairs(tmp_path / "pairs.csv", 24), write_pairs(tmp_path / "dev.csv", 12, 5)
    command = ["train", str(pairs), "--dev", str(dev), "--model", str(model), "--json", "--epochs", "1"]
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
    assert run(command) == 0
    found: list[Any] = [*map(json.loads, answers), json.loads(capsys.readouterr().out)]
    together, alone = found
    assert together["steps"] == alone["steps"] == 3
    assert together["after"]["score"] == pytest.approx(alone["after"]["score"], abs=1e-4)
