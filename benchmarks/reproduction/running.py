"""Rows one after the other: made, judged, kept."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .commands import CommandError, placed, sbert_studio
from .judging import cross_validated, described, judged
from .prepared import ROOT, prepare
from .results import Results
from .rows import Row


@dataclass(frozen=True)
class Places:
    """Where things lie: the public sets, and what is made of them."""

    data: Path
    work: Path

    def model(self, row: Row, seed: int) -> Path:
        """The model that a row makes with a seed."""
        return self.work / f"{row.name}-{seed}"

    def named(self, row: Row, seed: int, word: str) -> str:
        """One word of a row's commands with its paths put in."""
        return placed(word, self.data, self.work, self.model(row, seed), seed)


def run_rows(
    rows: Sequence[Row], places: Places, results: Results, *, minutes: float = float("inf"), seeds: int | None = None, hub: bool = False
) -> int:
    """Run what is left of ``rows``, and stop before a training that would go beyond ``minutes``.

    A training that fails is told, and the next one begins. With ``seeds``, only the first so many seeds of each row are run.

    Returns:
        How many failed.
    """
    _commit()  # of the code as it is now, whatever becomes of its files on the way
    began, failed = time.monotonic(), 0
    for row in rows:
        if row.sets is None or (row.lacks and not (hub and row.needs)):
            continue
        left = [seed for seed in results.left(row) if seed in row.seeds[:seeds]]
        if left and (absent := row.absent(places.data)):
            print(f"{row.name}: skipped, the folder of sets has no {', '.join(absent)}", file=sys.stderr)
            continue
        for seed in left:
            spent = (time.monotonic() - began) / 60
            if spent + row.minutes / len(row.seeds) > minutes:
                print(f"{row.name}: would go beyond {minutes:g} minutes; {spent:.1f} are spent", file=sys.stderr)
                return failed
            print(f"== {row.name}, seed {seed}", file=sys.stderr, flush=True)
            try:
                results.add(row, run_once(row, seed, places))
            except CommandError as error:
                if error.stopped:
                    raise KeyboardInterrupt from error
                print(f"{row.name}: {error}", file=sys.stderr)
                failed += 1
                break
    return failed


def run_once(row: Row, seed: int, places: Places) -> dict[str, Any]:
    """One training of a row and what became of it: scores on its sets, seconds, parameters, and under what it was measured.

    Raises:
        CommandError: a command failed, or was stopped.
    """
    assert row.sets is not None
    load = os.getloadavg()[0]
    prepare(row.prepared, places.data, places.work)
    before = time.process_time()
    answers = [sbert_studio(*(places.named(row, seed, word) for word in shlex.split(command))) for command in row.commands]
    processor = time.process_time() - before
    model = places.named(row, seed, row.model)
    if row.sets.task == "folds":
        scores = cross_validated(answers[-1])
    else:
        folder = places.work if row.sets.folder == "WORK" else places.data
        scores = {part: judged(model, folder / file, row.sets) for part, file in row.sets.files.items()}
    seconds = sum(float(answer["seconds"]) for answer in answers)
    steps = sum(int(answer.get("steps", 0)) for answer in answers)
    if any("run" in answer for answer in answers):
        sbert_studio("runs", "--clean", "0", "--yes")  # the model lies in WORK
    return {
        "seed": seed, **scores, "parameters": described(model)["parameters"], "training_seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1), "steps": steps,
        **circumstances(), "load_before": round(load, 1),
    }  # fmt: skip


def circumstances() -> dict[str, Any]:
    """The code, its libraries and the machine that a figure was measured with."""
    import torch

    names = ("sbert-studio", "torch", "transformers", "numpy")
    return {
        "commit": _commit(),
        "versions": {name: _version(name) for name in names} | {"python": platform.python_version()},
        "threads": torch.get_num_threads(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


@lru_cache(maxsize=1)
def _commit() -> str:
    """The commit of the code that this process runs; with ``+`` where it was changed since. The results themselves are no code."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "sbert_studio", "benchmarks", "requirements.txt")
    return _git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def _version(name: str) -> str:
    if name == "sbert-studio":
        from sbert_studio import __version__

        return __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
