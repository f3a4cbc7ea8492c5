"""The most memory that a process holds while it tunes: python benchmarks/training_memory.py [DATA] [--rounds 3 --pairs 1000].

Tunes the default model on scored pairs, a batch of 16, in a process of its own for each side and round: sentence-transformers' trainer in
single precision, and ours in each precision. What Python, the libraries and the model hold is in it, as a machine has to have all of it.
Pairs are those of STSb in DATA, a folder of the public sets, or the samples that come with the studio.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SIDES = ("float32", "bfloat16", "peer")


def peaks(data: Path | None, rounds: int, sides: Sequence[str] = SIDES, pairs: int = 1_000, batch_size: int = 16) -> dict[str, list[float]]:
    """Side → MiB a round, by turns."""
    found: dict[str, list[float]] = {side: [] for side in sides}
    told = (*(() if data is None else (str(data),)), "--pairs", str(pairs), "--batch-size", str(batch_size))
    for _ in range(rounds):
        for side in sides:
            command = [sys.executable, __file__, *told, "--side", side]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found[side].append(json.loads(answer.splitlines()[-1]))
    return found


def alone(side: str, data: Path | None, pairs: int, batch_size: int) -> float:
    """Tune in this process; the most MiB that it held."""
    from sbert_studio.bench.base import Bench, BenchOptions
    from sbert_studio.bench.works.train import Match, pairs_of
    from sbert_studio.services import Studio

    with Studio(allow_folders=True) as studio:
        options = BenchOptions("train", data=data and data / "stsb" / "train.csv", limit=pairs, batch_size=batch_size)
        bench = Bench(options, studio.bench.catalog, studio.bench.settings.default_model, studio.read.table)
        match = Match(bench, *bench.model(), pairs_of(bench, options.data, options.limit), None)
        (match.theirs() if side == "peer" else match.ours(side))(0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--side", choices=SIDES, help="one round of it, in this process")
    asked = parser.parse_args()
    if asked.side:
        print(json.dumps(alone(asked.side, asked.data, asked.pairs, asked.batch_size)))
        return
    found = peaks(asked.data, asked.rounds, SIDES, asked.pairs, asked.batch_size)
    for side, values in found.items():
        share = statistics.median(values) / statistics.median(found["peer"])
        print(f"{side:9} {statistics.median(values):7,.0f} MiB ({min(values):,.0f} to {max(values):,.0f}), {share:.2f} of the peer's")


if __name__ == "__main__":
    main()
