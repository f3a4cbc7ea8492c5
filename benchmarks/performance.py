"""Compare our speed with other libraries': python benchmarks/performance.py [DATA] [TASK ...] [--rounds 3] [--guard]

Each task runs by turns with a peer in one run (A B A B), so that a noisy machine is noisy for both, and what is reported is a ratio.
Without DATA, a folder of the public sets, the tasks run on the samples that come with the program, in some minutes. The results are added
to docs/performance.json, and the tables of docs/PERFORMANCE.md are written from it.

--guard writes nothing: it fails where a ratio is under 85% of what docs/performance.json claims for a machine of this kind, or nothing is
claimed. Machines are of one kind if they have as many threads, and rates that differ by less than 40%.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from claims import Claims, MachineTable, Measured, Ratio, Setting
from machine import measure_rates, processor_name
from performance_runtimes import runtimes
from performance_search import draw, graphs, graphs_million, million, mine, search
from performance_tasks import before, cached, encode, memory, mixed, start, train

TASKS: Mapping[str, Callable[[Setting], Measured]] = {
    task.__name__: task
    for task in (encode, runtimes, mixed, cached, train, memory, search, graphs, mine, draw, start, million, graphs_million, before)
}
DOCS = Path(__file__).resolve().parents[1] / "docs"
SHARE = 0.85
_TITLES = {"public": "On public sets", "samples": "On the samples that come with the program"}
_BEGIN, _END = "<!-- measured -->", "<!-- /measured -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; return 1 where the guard finds a ratio too low, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="DATA | TASK", help=f"tasks: {', '.join(TASKS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--guard", action="store_true")
    options = parser.parse_args(arguments)
    tasks = [name for name in TASKS if name in options.words] or list(TASKS)
    data = next((Path(word) for word in options.words if word not in TASKS), None)
    if data is not None and not data.is_dir():
        parser.error(f"{data} is neither a folder nor one of {', '.join(TASKS)}")
    ratios: list[Ratio] = []
    with tempfile.TemporaryDirectory() as scratch:
        setting = Setting(data, options.rounds, Path(scratch), measure_rates())
        for name in tasks:
            for ratio in TASKS[name](setting):
                print(ratio.table_row(), flush=True)
                ratios.append(ratio)
    claims = Claims.read(DOCS / "performance.json")  # read now, since another run may have written it meanwhile
    if options.guard:
        return guard(ratios, claims, setting)
    claims.add(setting.source, MachineTable(processor_name(), setting.rates, {ratio.key: ratio for ratio in ratios}))
    claims.write(DOCS / "performance.json")
    page = DOCS / "PERFORMANCE.md"
    before = page.read_text(encoding="utf-8") if page.is_file() else f"# Performance\n\n{_BEGIN}{_END}\n"
    page.write_text(render(before, claims), encoding="utf-8")
    return 0


def guard(ratios: Sequence[Ratio], claims: Claims, setting: Setting) -> int:
    """Return 1 and say so where a ratio is under its share of the claimed one, or nothing is claimed; else 0.

    What is not claimed for this kind of machine is compared with the lowest claim for any.
    """
    failed, own = 0, claims.nearest(setting.source, setting.rates)
    for ratio in ratios:
        is_own = own is not None and ratio.key in own.ratios
        claimed = own.ratios[ratio.key] if own is not None and is_own else claims.lowest(setting.source, ratio.key)
        claim = "the claim" if is_own else "the claim for another kind of machine"
        if claimed is None:
            failed = 1
            print(f"{ratio.key}: {ratio.median:.2f}; there is no claim", file=sys.stderr)
        elif ratio.median < SHARE * claimed.median:
            failed = 1
            print(f"{ratio.key}: {ratio.median:.2f} is under {SHARE:.0%} of {claim}, {claimed.median:.2f}", file=sys.stderr)
        elif not is_own:
            print(f"{ratio.key}: {ratio.median:.2f}, compared with {claim}, {claimed.median:.2f}", file=sys.stderr)
    return failed


def render(page: str, claims: Claims) -> str:
    """Return the page with its tables written anew."""
    before, rest = page.split(_BEGIN)
    tables = []
    for source, title in _TITLES.items():
        for number, table in enumerate(claims.tables(source)):
            tables.append(table.render(title if not number else f"{title}, a slower machine"))
    return f"{before}{_BEGIN}\n\n" + "\n\n".join(tables) + f"\n\n{_END}{rest.split(_END)[1]}"


if __name__ == "__main__":
    sys.exit(main())
