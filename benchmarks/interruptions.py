"""Interrupt each step from documents to an evaluated model at random moments, and check that nothing is lost.

    python benchmarks/interruptions.py SET [--passages 10000] [--kills 3] [--steps 10] [--model MODEL] [--seed 0]

`pairs`, `negatives`, `train` (so many steps of 32 rows) and `evaluate --retrieval` run on so many passages, made as by
``benchmarks/documents.py --scale``. Each runs once undisturbed; then again in a data folder of its own, where it is stopped once (Ctrl+C)
and killed so many times, each at a random moment of the first run's time, and started again each time: with the same command, or for a
recorded training with ``train --resume``. Prints a Markdown table. A result that differs from the undisturbed one in a byte, or an
unfinished file at its place after a kill, ends the program with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documents import BATCH, MODEL, write_scaled
from figures import row
from timing import run_studio, studio_command


@dataclass(frozen=True)
class Step:
    """A command with its output, ``out``; `evaluate` writes none, so that its answer is its result."""

    command: Sequence[object]
    out: Path | None = None

    def result(self, answer: dict[str, Any]) -> bytes:
        if self.out is None:
            return json.dumps({key: value for key, value in answer.items() if key not in _OF_THE_PROCESS}).encode()
        return (self.out / "model.safetensors" if self.out.is_dir() else self.out).read_bytes()

    def again(self, home: Path) -> Sequence[object]:
        """Return the command that goes on with what is in the data folder ``home``."""
        runs = [found.parent.name for found in (home / "runs").glob("run-*/run.json")]
        resumed = self.command[0] == "train" and runs
        arguments = ("train", "--resume", *runs) if resumed else self.command
        return (*arguments, "--out", self.out) if self.out else arguments


_OF_THE_PROCESS = ("peak_bytes", "processor_seconds", "seconds")


def steps(folder: Path, data: Path, model: str, count: int) -> Iterator[Step]:
    """Yield the steps; each reads what the step before has written into ``folder``."""
    pairs, mined, trained = folder / "pairs.jsonl", folder / "triplets.jsonl", folder / "model"
    corpus, chosen = data / "corpus.jsonl", ("--model", model)
    yield Step(("pairs", corpus, *chosen), pairs)
    yield Step(("negatives", pairs, "--corpus", corpus, *chosen), mined)
    rows = len(mined.read_text(encoding="utf-8").splitlines()) * 0.9  # a tenth is held out
    yield Step(("train", mined, "--epochs", f"{count * BATCH / rows:.4f}", "--batch-size", BATCH, *chosen), trained)
    yield Step(("evaluate", trained, "--retrieval", data))


def interrupt(step: Step, home: Path, seconds: float, sent: signal.Signals, moments: random.Random) -> str:
    """Start a step, send it a signal at a random moment of ``seconds``, and return what was seen."""
    after = seconds * moments.uniform(0.05, 0.95)
    with subprocess.Popen(studio_command(*step.again(home)), stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(sent)
            start = time.perf_counter()
            process.wait()
            return f"{sent.name} after {after:.0f} s, ended in {time.perf_counter() - start:.1f} s"
    return f"had ended before {after:.0f} s"


def measure(options: argparse.Namespace) -> Iterator[tuple[str, bool]]:
    """Yield a row for each run, and whether all is well."""
    moments = random.Random(options.seed)
    signals = [signal.SIGINT, *[signal.SIGKILL] * options.kills]
    with tempfile.TemporaryDirectory() as root:
        data, first, again = (Path(root) / name for name in ("set", "first", "again"))
        for folder in (data, first, again):
            folder.mkdir()
        write_scaled(options.set, data, options.passages)
        # Disturbed steps too read what the undisturbed ones before have written, so that each result can be compared.
        for number, step in enumerate(steps(first, data, options.model, options.steps)):
            name = step.command[0]
            os.environ["SBERT_STUDIO_HOME"] = str(Path(root) / "studio")
            start = time.perf_counter()
            expected = step.result(run_studio(*step.command, *(("--out", step.out) if step.out else ())))
            seconds = time.perf_counter() - start
            yield row(name, "undisturbed", f"{seconds / 60:.1f}", ""), True
            home = Path(root) / f"studio-{number}"
            os.environ["SBERT_STUDIO_HOME"] = str(home)
            disturbed = Step(step.command, step.out and again / step.out.name)
            whole = {expected}
            for sent in signals:
                start = time.perf_counter()
                seen = interrupt(disturbed, home, seconds, sent, moments)
                written = [disturbed.result({})] if disturbed.out and disturbed.out.exists() else []
                if sent == signal.SIGINT:  # a training that is stopped writes the model that it has
                    whole.update(written)
                is_well = whole.issuperset(written)
                yield row(name, seen, f"{(time.perf_counter() - start) / 60:.1f}", "" if is_well else "unfinished output"), is_well
            start = time.perf_counter()
            same = disturbed.result(run_studio(*disturbed.again(home))) == expected
            yield row(name, "to its end", f"{(time.perf_counter() - start) / 60:.1f}", "same bytes" if same else "other bytes"), same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, metavar="SET")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=3, help="of each step (3)")
    parser.add_argument("--steps", type=int, default=10, help="of training (10)")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments (0)")
    print(row("step", "what was done", "minutes", "result"))
    print(row(*["---"] * 4))
    failed = 0
    for line, well in measure(parser.parse_args()):
        print(line, flush=True)
        failed += not well
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
