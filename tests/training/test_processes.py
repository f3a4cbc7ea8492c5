from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("together.py")


def test_two_processes_lose_as_one_does(tmp_path: Path) -> None:
    losses = []
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for name, how in (("one", []), ("two", launch)):
        (tmp_path / name).mkdir()
        command = [sys.executable, *how, str(SCRIPT), str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        losses.append(json.loads((tmp_path / name / "losses.json").read_text()))
    one, two = losses
    for objective, values in one.items():
        assert len(values) == 14
        assert two[objective] == pytest.approx(values, abs=1e-4), objective
