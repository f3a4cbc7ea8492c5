"""Many visitors at the same time beside a training: how long each verb takes, and that none fails.

    python benchmarks/visitors.py [--visitors 16] [--minutes 10] [--rows 2000]

The page is opened on the loopback in a process of its own and ended afterwards; nothing else is asked for over the network.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from functools import partial
from pathlib import Path

from page import QUERIES, Caller, Told, at_once, beside_training, page, write_corpus, write_pairs

_MOST_VISITORS, _MOST_MINUTES = 64, 240


def visit(address: str, number: int, until: float, files: list[Path], pairs: Path, told: Told) -> None:
    """One visitor: texts of their own, then mostly searches, until the time is over."""
    draw, caller = random.Random(number), Caller(address, told)
    corpus, scored = caller.upload(files[number % len(files)]), caller.upload(pairs)
    caller.call("search", timed_as="search, first", file=corpus, query=QUERIES[0], column="text")
    while time.monotonic() < until:
        chance, query = draw.random(), draw.choice(QUERIES)
        if chance < 0.6:
            caller.call("search", file=corpus, query=query, mode=draw.choice(("semantic", "lexical", "hybrid")), column="text")
        elif chance < 0.8:
            caller.call("similarity", a=query, b=draw.choice(QUERIES))
        elif chance < 0.88:
            caller.call("check", file=scored)
        elif chance < 0.95:
            caller.call("mine", file=corpus, column="text")
        elif chance < 0.98:
            caller.call("evaluate", file=scored)
        else:
            caller.call("map", file=corpus, column="text")
        time.sleep(draw.uniform(0.2, 2.0))
    caller.close()


def main() -> int:
    """0 where nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rows", type=int, default=2000, help="texts of each visitor's file")
    given = parser.parse_args()
    visitors, minutes = min(max(1, given.visitors), _MOST_VISITORS), min(max(0.1, given.minutes), _MOST_MINUTES)
    told, training = Told(), Told()
    with tempfile.TemporaryDirectory() as folder, page() as (address, _):
        files = [write_corpus(Path(folder) / f"texts-{number}.csv", given.rows, number) for number in range(visitors)]
        pairs = write_pairs(Path(folder) / "pairs.csv", 200)
        with beside_training(address, write_pairs(Path(folder) / "train.csv", 2000), training):
            until = time.monotonic() + minutes * 60
            at_once([partial(visit, address, number, until, files, pairs, told) for number in range(visitors)])
    told.errors += training.errors
    print(f"{visitors} visitors for {minutes:g} minutes beside a training, {given.rows:,} texts each")
    print("\n".join(told.lines()))
    print(f"the training was asked after {len(training.seconds.get('run', []))} times")
    return 1 if told.errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
