"""What the scripts of this folder share: comparisons by turns, commands that are run, the memory of a process."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sbert_studio.errors import StudioError

Round = Callable[[int], float]
"""Do the work once; called with the round's number from 0, returns a time or a rate."""


@dataclass(frozen=True)
class Comparison:
    """The rounds of our variants and of a peer library, and their medians.

    Attributes:
        task: what was done.
        unit: of all values; with ``smaller_is_faster`` a time, else a rate.
        ours, peer: medians over the rounds.
        variants: medians of our further variants, compared with the same peer.
        rounds: the values by contestant, in order.
        facts: anything else that was measured, such as how equal the results are.
    """

    task: str
    unit: str
    ours: float
    peer: float
    smaller_is_faster: bool = False
    variants: Mapping[str, float] = field(default_factory=dict)
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Our speed divided by the peer's."""
        return self._speedup(self.ours)

    def to_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"task": self.task, "unit": self.unit, "ours": self.ours, "peer": self.peer, "ratio": self.ratio}
        if self.variants:
            answer["variants"] = {name: {"ours": value, "ratio": self._speedup(value)} for name, value in self.variants.items()}
        return {**answer, "rounds": {name: list(values) for name, values in self.rounds.items()}, **self.facts}

    def _speedup(self, ours: float) -> float:
        return self.peer / ours if self.smaller_is_faster else ours / self.peer


def compare(
    task: str,
    unit: str,
    contestants: Mapping[str, Round],
    repeats: int,
    *,
    smaller_is_faster: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run the contestants by turns (A B A B) in this process, so that a noisy machine is noisy for all.

    Args:
        contestants: ours first, our variants next, the peer last.

    Raises:
        StudioError: ``repeats`` is below 1.
    """
    if repeats < 1:
        raise StudioError(f"repeats is {repeats}", "choose at least 1")
    values: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats):
        for place, (name, once) in enumerate(contestants.items()):
            values[name].append(once(turn))
            if progress:
                progress(turn * len(contestants) + place + 1, repeats * len(contestants))
    medians = {name: statistics.median(rounds) for name, rounds in values.items()}
    ours, *variants, peer = contestants
    return Comparison(task, unit, medians[ours], medians[peer], smaller_is_faster, {name: medians[name] for name in variants}, values)


def seconds(once: Callable[[], object]) -> float:
    start = time.perf_counter()
    once()
    return time.perf_counter() - start


def rate(amount: float, once: Callable[[], object]) -> float:
    """Return ``amount`` divided by the seconds that ``once`` takes."""
    return amount / max(seconds(once), 1e-9)


def import_peer(name: str = "sentence_transformers") -> Any:
    """Import a library that we compare with; only benchmarks may import it.

    Raises:
        StudioError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise StudioError(
            f"{name.replace('_', '-')} is not installed, so there is nothing to compare with",
            "pip install 'sbert-studio[peers]', or -r requirements-dev.txt in a checkout",
        ) from error


def run_studio(*arguments: object) -> dict[str, Any]:
    """Run ``sbert-studio … --json`` in a process and return its answer, with its ``peak_bytes`` and ``processor_seconds``."""
    return _run("-m", "sbert_studio", *arguments)


def studio_command(*arguments: object) -> list[str]:
    """Return the command line of ``sbert-studio …``, for a process of one's own."""
    return [sys.executable, "-m", "sbert_studio", *map(str, arguments)]


def run_speed(*arguments: object) -> dict[str, Any]:
    """Run ``benchmarks/speed.py … --json`` in a process and return its answer."""
    return _run(Path(__file__).with_name("speed.py"), *arguments)


def _run(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, *map(str, arguments), "--json"]
    print("$", shlex.join(["python", *command[1:]]), file=sys.stderr, flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        written = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, written)
    answer: dict[str, Any] = json.loads(written)
    return answer | {"peak_bytes": _to_bytes(usage.ru_maxrss), "processor_seconds": usage.ru_utime + usage.ru_stime}


def score_on_stsb(model: object, data: Path) -> float:
    """Evaluate a model on STSb's test set; return Spearman's correlation of the cosine."""
    return float(run_studio("evaluate", model, "--data", data / "stsb/test.csv", "--task", "sts")["cosine"]["spearman"])


def peak_memory() -> int:
    """Return the largest resident memory this process has had, in bytes."""
    import resource  # not available on Windows

    return _to_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _to_bytes(most: int) -> int:
    return most * (1 if sys.platform == "darwin" else 1024)  # macOS counts bytes, Linux KiB
