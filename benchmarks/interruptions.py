"""Interrupt each step from documents to an evaluated model at random moments, and check that nothing is lost.

    python benchmarks/interruptions.py SET [--passages 10000] [--kills 3] [--only STEP…] [--seed 0]

`pairs`, `negatives`, `train` (so many steps of 32 rows) and `evaluate --retrieval` run on so many passages, made as by
``benchmarks/documents.py --scale``. Each runs once undisturbed; then again in a data folder of its own, where it is stopped once (Ctrl+C)
and killed so many times, each at a random moment of the time that is left, and started again each time: with the same command, or for a
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
            return json.dumps(without_times(answer)).encode()
        return (self.out / "model.safetensors" if self.out.is_dir() else self.out).read_bytes()

    def again(self, home: Path) -> Sequence[object]:
        """Return the command that goes on with what is in the data folder ``home``."""
        runs = [found.parent.name for found in (home / "runs").glob("run-*/run.json")]
        resumed = self.command[0] == "train" and runs
        arguments = ("train", "--resume", *runs) if resumed else self.command
        return (*arguments, "--out", self.out) if self.out else arguments


_STEPS = ("pairs", "negatives", "train", "evaluate")
Rows = Iterator[tuple[str, bool]]


def without_times(answer: Any) -> Any:
    """Return an answer without its times and its memory, which differ between runs."""
    if isinstance(answer, dict):
        return {key: without_times(value) for key, value in answer.items() if "second" not in key and key != "peak_bytes"}
    return [without_times(one) for one in answer] if isinstance(answer, list) else answer


def steps(folder: Path, data: Path, model: str, count: int) -> Iterator[Step]:
    """Yield the steps; each reads what the step before has written into ``folder``."""
    pairs, mined, trained = folder / "pairs.jsonl", folder / "triplets.jsonl", folder / "model"
    corpus, chosen = data / "corpus.jsonl", ("--model", model)
    yield Step(("pairs", corpus, *chosen), pairs)
    yield Step(("negatives", pairs, "--corpus", corpus, *chosen), mined)
    rows = len(mined.read_text(encoding="utf-8").splitlines()) * 0.9  # a tenth is held out
    yield Step(("train", mined, "--epochs", f"{count * BATCH / rows:.4f}", "--batch-size", BATCH, *chosen), trained)
    yield Step(("evaluate", trained, "--retrieval", data))


def interrupt(step: Step, home: Path, after: float, sent: signal.Signals) -> str:
    """Start a step, send it a signal after so many seconds, and return what was seen; an empty string if it had ended before."""
    with subprocess.Popen(studio_command(*step.again(home)), stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(sent)
            start = time.perf_counter()
            process.wait()
            return f"{sent.name} after {after:.0f} s, ended in {time.perf_counter() - start:.1f} s"
    return ""


def disturb(step: Step, home: Path, expected: bytes, seconds: float, signals: Sequence[signal.Signals], moments: random.Random) -> Rows:
    """Interrupt a step at random moments of the seconds that it has left, run it to its end, and compare its result."""
    os.environ["SBERT_STUDIO_HOME"] = str(home)
    name, whole, left, seen = step.command[0], {expected}, seconds, "not interrupted"
    for sent in signals:
        after = left * moments.uniform(0.05, 0.7)
        start = time.perf_counter()
        seen = interrupt(step, home, after, sent)
        written = [step.result({})] if step.out and step.out.exists() else []
        if sent == signal.SIGINT:  # a training that is stopped writes the model that it has
            whole.update(written)
        is_well = whole.issuperset(written)
        what = seen or f"had ended before {after:.0f} s"
        yield row(name, what, f"{(time.perf_counter() - start) / 60:.1f}", "" if is_well else "unfinished output"), is_well
        if not seen:
            break
        left = max(seconds / 4, left - after)
    start = time.perf_counter()
    answer = run_studio(*step.again(home)) if seen or step.out is None else {}
    same = step.result(answer) == expected
    yield row(name, "to its end", f"{(time.perf_counter() - start) / 60:.1f}", "same bytes" if same else "other bytes"), same


def measure(options: argparse.Namespace) -> Rows:
    """Yield a row for each run, and whether all is well."""
    moments = random.Random(options.seed)
    signals = [signal.SIGINT, *[signal.SIGKILL] * options.kills]
    with tempfile.TemporaryDirectory() as root:
        data, first, again = (Path(root) / name for name in ("set", "first", "again"))
        for folder in (data, first, again):
            folder.mkdir()
        write_scaled(options.set, data, options.passages)
        # Disturbed steps too read what the undisturbed ones before have written, so that each result can be compared.
        for step in steps(first, data, options.model, options.steps):
            name = str(step.command[0])
            os.environ["SBERT_STUDIO_HOME"] = str(Path(root) / "studio")
            start = time.perf_counter()
            expected = step.result(run_studio(*step.command, *(("--out", step.out) if step.out else ())))
            seconds = time.perf_counter() - start
            yield row(name, "undisturbed", f"{seconds / 60:.1f}", ""), True
            if name in options.only:
                own = Step(step.command, step.out and again / step.out.name)
                yield from disturb(own, Path(root) / f"studio-{name}", expected, seconds, signals, moments)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path, metavar="SET")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=3, help="of each step (3)")
    parser.add_argument("--steps", type=int, default=10, help="of training (10)")
    parser.add_argument("--only", nargs="+", choices=_STEPS, default=_STEPS, help="interrupt these only")
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
