"""The studio's speed beside its own earlier version: python benchmarks/before.py [DATA] [--revision ebbc7a0 --rounds 3].

The earlier version is checked out by git beside this one, and its own `bench` is run on this machine with the libraries that are
installed now, by turns with this version's (A B A B), each in a process of its own. Printed is how many times as fast this version is in
each precision as the earlier one was in float32: of encoding 10,000 sentences of STSb and of tuning on all of its pairs, a batch of 16,
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
_PRECISIONS = {"encode": ("float32", "bfloat16", "int8"), "train": ("float32", "bfloat16")}
_TEXTS = 10_000


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
    limit = ("--limit", str(_TEXTS)) if work == "encode" and data is not None else ()
    command = [sys.executable, "-m", "sbert_studio", "bench", work, *given, *limit, "--precision", ",".join(precisions)]
    run = subprocess.run(
        [*command, "--repeats", "1", "--json"], check=True, stdout=subprocess.PIPE, text=True, cwd=version,
        env={**os.environ, "PYTHONPATH": str(version)},
    )  # fmt: skip
    rounds = json.loads(run.stdout)["rounds"]
    return {precision: rounds[precision][0] for precision in precisions}


def main() -> None:
    """Print a line for each work and precision."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--revision", default=BEFORE)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--works", nargs="*", choices=list(_PRECISIONS), default=list(_PRECISIONS))
    asked = parser.parse_args()
    with checked_out(asked.revision) as earlier:
        for work in asked.works:
            now: list[dict[str, float]] = []
            then: list[float] = []
            for _ in range(asked.rounds):
                now.append(rates(ROOT, work, _PRECISIONS[work], asked.data))
                then.append(rates(earlier, work, ("float32",), asked.data)["float32"])
            print(f"{work}: {statistics.median(then):,.0f} a second in float32 at {asked.revision}")
            for precision in _PRECISIONS[work]:
                ratios = [found[precision] / before for found, before in zip(now, then, strict=True)]
                middle = statistics.median(found[precision] for found in now)
                spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
                print(f"  {precision:9} {middle:7,.0f} a second, {statistics.median(ratios):.2f} times as fast ({spread})", flush=True)


if __name__ == "__main__":
    main()
