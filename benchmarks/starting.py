"""How long the studio takes to start, and what it holds then: the page's first answer, a command that needs a model, resident memory.

    python benchmarks/starting.py [--times 5]

Each is started so often, after one start that warms the disk's cache and counts for nothing; printed are the median and the extremes.
Memory is read when the page has answered, and once its warm-up has ended. The page is opened on the loopback. Linux.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from page import page, resident

_SETTLED = 15.0  # seconds after which the warm-up in the background has ended
_COMMANDS = {
    "--version": ["--version"],
    "similarity of two texts": ["similarity", "a cat sleeps", "a kitten naps"],
}


def of_page() -> tuple[float, float, float]:
    """Seconds until the page answers; MB resident then, and once it has settled."""
    began = time.perf_counter()
    with page() as (_, process):
        ready = time.perf_counter() - began
        first = resident(process) / 2**20
        time.sleep(_SETTLED)
        return ready, first, resident(process) / 2**20


def of_command(arguments: Sequence[str]) -> float:
    """Seconds of one command, from its start to its end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sbert_studio", *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def repeated(measure: Callable[[], Sequence[float]], times: int) -> list[list[float]]:
    """What was measured, a list for each number; the first time counts for nothing."""
    measure()
    return [list(found) for found in zip(*(measure() for _ in range(times)), strict=True)]


def line(name: str, found: Sequence[float], unit: str, digits: int) -> str:
    """``name   median (least to most) unit``."""
    middle, least, most = (f"{value:.{digits}f}" for value in (statistics.median(found), min(found), max(found)))
    return f"{name:<34} {middle:>7} {unit}  ({least} to {most})"


def main() -> int:
    """Print the table; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    for name, arguments in _COMMANDS.items():
        (seconds,) = repeated(lambda arguments=arguments: (of_command(arguments),), times)
        print(line(f"command: {name}", seconds, "s", 2), flush=True)
    ready, first, settled = repeated(of_page, times)
    print(line("page: until it answers", ready, "s", 2))
    print(line("page: resident when it answers", first, "MB", 0))
    print(line("page: resident after its warm-up", settled, "MB", 0))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
