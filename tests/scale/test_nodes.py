"""Training over two nodes, both on this machine: as one process trains at the same batch size."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_studio import write_model, write_pairs


def test_two_nodes_train_as_one_process_does(tmp_path: Path) -> None:
    model, pairs, dev = write_model(tmp_path / "model"), write_pairs(tmp_path / "pairs.csv", 64), write_pairs(tmp_path / "dev.csv", 20, 5)
    command = ["-m", "sbert_studio", "train", str(pairs), "--dev", str(dev), "--model", str(model), "--json", "--epochs", "1"]
    command += ["--batch-size", "10", "--set", "dropout=0", "--set", "precision=float32"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nodes = ["-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1"]

    def start(home: str, *how: str) -> subprocess.Popen[str]:
        env = {**os.environ, "OMP_NUM_THREADS": "1", "SBERT_STUDIO_HOME": str(tmp_path / home), "GLOO_SOCKET_IFNAME": "lo"}
        return subprocess.Popen([sys.executable, *how, *command], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(process: subprocess.Popen[str]) -> str:
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err[-3000:]
        return out

    both = [start("two", *nodes, "--master-port", str(port), "--node-rank", rank) for rank in ("0", "1")]
    answers = [out for out in map(end, both) if out.strip()]
    (together,), alone = map(json.loads, answers), json.loads(end(start("one")))
    found: list[Any] = [together, alone]
    assert together["steps"] == alone["steps"] == 7
    assert found[0]["after"]["score"] == pytest.approx(found[1]["after"]["score"], abs=1e-4)
