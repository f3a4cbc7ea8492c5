"""Mixed use for an hour: whether memory comes back. Prints the resident memory and what each cache holds each minute, and at the end.

    python benchmarks/soak.py [--minutes 60] [--visitors 10]

The page is opened on the loopback in a process of its own and ended afterwards; nothing else is asked for over the network. Linux.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from pathlib import Path

from page import QUERIES, Caller, Told, held, keep_training, page, resident, write_corpus, write_pairs

_MOST_VISITORS, _MOST_MINUTES = 16, 600
_EARLY = 10


def use(address: str, number: int, until: float, folder: Path, pairs: Path, told: Told) -> None:
    """One visitor after the other from here: each brings a new file, looks at it in every way, and goes."""
    draw, turn = random.Random(number), 0
    while time.monotonic() < until:
        turn += 1
        caller = Caller(address, told)
        path = write_corpus(folder / f"texts-{number}-{turn}.csv", draw.randrange(200, 2000), number * 100_000 + turn)
        corpus, scored = caller.upload(path), caller.upload(pairs)
        path.unlink()
        for mode in ("semantic", "lexical", "hybrid"):
            caller.call("search", file=corpus, query=draw.choice(QUERIES), mode=mode, column="text")
        caller.call("mine", file=corpus, top=20, column="text")
        caller.call("map", file=corpus, clusters=draw.choice(("auto", "6")), dimensions=draw.choice((2, 3)), column="text")
        caller.call("check", file=scored)
        caller.call("evaluate", file=scored)
        caller.call("similarity", **dict(zip("ab", draw.sample(QUERIES, 2), strict=True)))
        caller.close()
        time.sleep(draw.uniform(0.5, 3.0))


def parts(told: Path) -> str:
    """What each cache held when the page last told, in MB."""
    return ", ".join(f"{name} {bytes_ / 1e6:,.1f}" for name, bytes_ in held(told).items() if name != "resident")


def main() -> int:
    """0 where nothing failed and the memory at the end is at most a tenth above that after ten minutes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--visitors", type=int, default=10)
    given = parser.parse_args()
    visitors, minutes = min(max(1, given.visitors), _MOST_VISITORS), min(max(0.5, given.minutes), _MOST_MINUTES)
    told, ended, measured = Told(), threading.Event(), []
    with tempfile.TemporaryDirectory() as folder, page(Path(folder) / "log") as (address, pid):
        pairs = write_pairs(Path(folder) / "pairs.csv", 200)
        train = write_pairs(Path(folder) / "train.csv", 600)
        begun = time.monotonic()
        until = begun + minutes * 60
        arguments = [(address, number, until, Path(folder), pairs, told) for number in range(visitors)]
        threads = [threading.Thread(target=use, args=each) for each in arguments]
        threads.append(threading.Thread(target=keep_training, args=(address, train, ended, told)))
        for thread in threads:
            thread.start()
        for minute in range(1, int(minutes) + 1):
            time.sleep(max(0.0, begun + minute * 60 - time.monotonic()))
            measured.append(resident(pid))
            print(f"minute {minute:>3}   {measured[-1] / 1e6:8,.0f} MB   {parts(Path(folder) / 'log')}", flush=True)
        ended.set()
        for thread in threads:
            thread.join()
        time.sleep(45)  # what was used last is looked after every quarter of a minute
        last = resident(pid)
        print(f"in the end   {last / 1e6:8,.0f} MB   {parts(Path(folder) / 'log')}", flush=True)
    early = measured[min(_EARLY, len(measured)) - 1] if measured else last
    print("\n".join(told.lines()))
    print(f"after {min(_EARLY, len(measured))} minutes {early / 1e6:,.0f} MB, at the end {last / 1e6:,.0f} MB ({last / early - 1:+.1%})")
    return 1 if told.errors or last > 1.1 * early else 0


if __name__ == "__main__":
    raise SystemExit(main())
