"""The studio's speed beside its peers': python benchmarks/performance.py [DATA] [WORK ...] [--rounds 3] [--guard]

Each work is done by turns with the peer in one run (A B A B), so that a noisy machine is noisy for both, and what is reported is a
ratio. Without DATA, a folder of the public sets, the works are measured on the samples that come with the studio, in some minutes. What
was measured goes into docs/performance.json, beside what stands there, and from that into the tables of docs/PERFORMANCE.md.

--guard writes nothing: it fails where a ratio is under 85% of what docs/performance.json claims for a machine of this kind, or nothing
is claimed at all. Machines are of one kind where they have as many threads, and rates within four tenths of each other.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ratios.base import Ratio, Setting, Work
from ratios.claims import Claims, Table
from ratios.earlier import before
from ratios.encoding import cached, encode, mixed
from ratios.exploring import draw, million, mine, search
from ratios.machine import rates
from ratios.starting import start
from ratios.training import memory, train

WORKS: Mapping[str, Work] = {
    work.__name__: work for work in (encode, mixed, cached, train, memory, search, mine, draw, start, million, before)
}
DOCS = Path(__file__).resolve().parents[1] / "docs"
SHARE = 0.85
_PLACES = {"public": "On public sets", "samples": "On the samples that come with the studio"}
_BEGIN, _END = "<!-- measured -->", "<!-- /measured -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 1 where the guard finds a ratio too low, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("given", nargs="*", metavar="DATA | WORK", help=f"works: {', '.join(WORKS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--guard", action="store_true")
    asked = parser.parse_args(arguments)
    names = [name for name in WORKS if name in asked.given] or list(WORKS)
    data = next((Path(name) for name in asked.given if name not in WORKS), None)
    if data is not None and not data.is_dir():
        parser.error(f"{data} is neither a folder nor one of {', '.join(WORKS)}")
    with tempfile.TemporaryDirectory() as scratch:
        setting = Setting(data, asked.rounds, Path(scratch), rates())
        found = list(measured(names, setting))
    claims = Claims.read(DOCS / "performance.json")  # as it stands now: another run may have written it meanwhile
    if asked.guard:
        return guard(found, claims, setting)
    claims.put(setting.place, Table(processor(), setting.rates, {ratio.key: ratio for ratio in found}))
    claims.write(DOCS / "performance.json")
    page = DOCS / "PERFORMANCE.md"
    before = page.read_text(encoding="utf-8") if page.is_file() else f"# Performance\n\n{_BEGIN}{_END}\n"
    page.write_text(rendered(before, claims), encoding="utf-8")
    return 0


def measured(names: Sequence[str], setting: Setting) -> Iterator[Ratio]:
    """The ratios of each work, printed as they come."""
    for name in names:
        for ratio in WORKS[name](setting):
            print(ratio.line(), flush=True)
            yield ratio


def guard(found: Sequence[Ratio], claims: Claims, setting: Setting) -> int:
    """1 where a ratio is under its share of the one that is claimed, or none is, which is said; else 0.

    What is not claimed for this kind of machine is held to the least that is claimed for any.
    """
    low, own = 0, claims.of(setting.place, setting.rates)
    for ratio in found:
        here = own is not None and ratio.key in own.ratios
        claimed = own.ratios[ratio.key] if own is not None and here else claims.least(setting.place, ratio.key)
        whose = "claimed" if here else "claimed for another kind of machine"
        if claimed is None:
            low = 1
            print(f"{ratio.key}: {ratio.median:.2f}; nothing is claimed of it", file=sys.stderr)
        elif ratio.median < SHARE * claimed.median:
            low = 1
            print(f"{ratio.key}: {ratio.median:.2f} is under {SHARE:.0%} of what is {whose}, {claimed.median:.2f}", file=sys.stderr)
        elif not here:
            print(f"{ratio.key}: {ratio.median:.2f}; held to what is {whose}, {claimed.median:.2f}", file=sys.stderr)
    return low


def rendered(page: str, claims: Claims) -> str:
    """The page with the tables of what was measured."""
    before, rest = page.split(_BEGIN)
    tables = []
    for place, title in _PLACES.items():
        for number, table in enumerate(claims.tables(place)):
            tables.append(table.rendered(title if not number else f"{title}, a slower machine"))
    return f"{before}{_BEGIN}\n\n" + "\n\n".join(tables) + f"\n\n{_END}{rest.split(_END)[1]}"


def processor() -> str:
    """Its name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    sys.exit(main())
