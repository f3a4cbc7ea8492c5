"""The commands that a user would type, as functions that give their answers; what the figures are made of."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = tuple[str, str]
Figure = Callable[[Path, Path], Iterator[Row]]
"""Called with the folder of the public sets and a path to write below; gives rows of a table."""


def studio(*arguments: object) -> dict[str, Any]:
    """Run ``sbert-studio ... --json`` and return its answer, with ``peak_bytes``: the most memory that the process had."""
    command = ["sbert-studio", *map(str, arguments), "--json"]
    print("$", shlex.join(command), file=sys.stderr, flush=True)
    with subprocess.Popen([sys.executable, "-m", "sbert_studio", *command[1:]], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        written = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, written)
    answer: dict[str, Any] = json.loads(written)
    return answer | {"peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)}


def score(model: object, data: Path) -> float:
    """Spearman of the cosine on the STS benchmark's test set."""
    return float(studio("evaluate", model, "--data", data / "stsb/test.csv", "--task", "sts")["cosine"]["spearman"])


def trained(data: Path, out: Path, title: str, *options: object, dev: bool = True, rows: Path | None = None) -> Iterator[Row]:
    """Train on ``rows``, or the STS benchmark's training set, and judge on its test set."""
    held_out = ("--dev", data / "stsb/dev.csv") if dev else ()
    found = studio("train", rows or data / "stsb/train.csv", *held_out, *options, "--out", out)
    took = f"{found['steps']} steps in {found['seconds']:.0f} s ({found['pairs_per_second']:.1f} pairs/s)"
    yield title, f"STSb test {score(out, data):.4f} after {took}"
