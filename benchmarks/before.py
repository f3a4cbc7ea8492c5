"""The studio's speed beside its own earlier version: python benchmarks/before.py [DATA] [--revision ebbc7a0 --rounds 3].

The earlier version is checked out by git beside this one, and its own `bench` is run on this machine with the libraries that are
installed now, by turns with this version's (A B A B), each in a process of its own. Printed is how many times as fast this version is in
each precision as the earlier one was in float32: of encoding 10,000 sentences of STSb and of tuning on 300 of its pairs, a batch of 16,
or of the samples that come with the studio. ebbc7a0 is the version before encoding and training were made faster.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEFORE = "ebbc7a0"
PRECISIONS = {"encode": ("float32", "bfloat16", "int8"), "train": ("float32", "bfloat16")}
LIMITS = {"encode": 10_000, "train": 300}  # of texts and of pairs, for each round measures the peer of `bench` too


def known(revision: str = BEFORE) -> bool:
    """Whether git has it: a shallow clone has not, nor has a folder that was not cloned."""
    asked = subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{revision}^{{commit}}"], capture_output=True, check=False)
    return asked.returncode == 0


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """A folder with an earlier version, until the end."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "before"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", target, revision], check=True)
        try:
            yield target
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", target], check=True)


def rates(version: Path, work: str, precisions: Sequence[str], data: Path | None) -> dict[str, float]:
    """Texts or pairs a second in each precision, once."""
    given = () if data is None else ("--data", str((data / "stsb" / "train.csv").resolve()))
    limit = () if data is None else ("--limit", str(LIMITS[work]))
    command = [sys.executable, "-m", "sbert_studio", "bench", work, *given, *limit, "--precision", ",".join(precisions)]
    run = subprocess.run(
        [*command, "--repeats", "1", "--json"], check=True, stdout=subprocess.PIPE, text=True, cwd=version,
        env={**os.environ, "PYTHONPATH": str(version)},
    )  # fmt: skip
    rounds = json.loads(run.stdout)["rounds"]
    return {precision: rounds[precision][0] for precision in precisions}


def compare(work: str, data: Path | None, rounds: int, revision: str = BEFORE) -> tuple[dict[str, list[float]], list[float]]:
    """This version's rates by precision, and the earlier one's in float32, a number a round, by turns."""
    now: dict[str, list[float]] = {precision: [] for precision in PRECISIONS[work]}
    then: list[float] = []
    with checked_out(revision) as earlier:
        for _ in range(rounds):
            for precision, rate in rates(ROOT, work, PRECISIONS[work], data).items():
                now[precision].append(rate)
            then += rates(earlier, work, ("float32",), data).values()
    return now, then


def main() -> None:
    """Print a line for each work and precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--revision", default=BEFORE)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--works", nargs="*", choices=list(PRECISIONS), default=list(PRECISIONS))
    asked = parser.parse_args()
    if not known(asked.revision):
        parser.error(f"git does not know {asked.revision} here; clone the whole history")
    for work in asked.works:
        now, then = compare(work, asked.data, asked.rounds, asked.revision)
        print(f"{work}: {statistics.median(then):,.0f} a second in float32 at {asked.revision}")
        for precision, found in now.items():
            ratios = [ours / before for ours, before in zip(found, then, strict=True)]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            print(f"  {precision:9} {statistics.median(found):7,.0f} a second, {statistics.median(ratios):.2f} times as fast ({spread})")


if __name__ == "__main__":
    main()
