"""The studio's speed beside its peers': python benchmarks/performance.py [DATA] [WORK ...] [--rounds 3] [--guard]

Each work is done by turns with the peer in one run (A B A B), so that a noisy machine is noisy for both, and what is reported is a
ratio. Without DATA, a folder of the public sets, the works are measured on the samples that come with the studio, in some minutes. What
was measured goes into docs/performance.json, beside what stands there, and from that into the tables of docs/PERFORMANCE.md.

--guard writes nothing: it fails where a ratio is under 85% of what docs/performance.json claims, or nothing is claimed.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ratios.base import HEAD, Ratio, Setting, Work
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
    claims = read(DOCS / "performance.json")
    with tempfile.TemporaryDirectory() as scratch:
        setting = Setting(data, asked.rounds, Path(scratch), rates())
        found = list(measured(names, setting))
    if asked.guard:
        return guard(found, claims.get(setting.place, {}).get("ratios", {}))
    place = claims.setdefault(setting.place, {"ratios": {}})
    if "machine" not in place or names == list(WORKS):
        place["machine"] = {"processor": processor(), "rates": dict(setting.rates)}
    place["ratios"] |= {ratio.key: ratio.to_json() for ratio in found}
    (DOCS / "performance.json").write_text(json.dumps(claims, indent=1) + "\n", encoding="utf-8")
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


def guard(found: Sequence[Ratio], claims: Mapping[str, Any]) -> int:
    """1 where a ratio is under its share of the one that is claimed, or none is, which is said; else 0."""
    low = 0
    for ratio in found:
        claimed = Ratio(**claims[ratio.key]).median if ratio.key in claims else float("inf")
        if ratio.median < SHARE * claimed:
            low = 1
            print(f"{ratio.key}: {ratio.median:.2f} is under {SHARE:.0%} of what is claimed, {claimed:.2f}", file=sys.stderr)
    return low


def rendered(page: str, claims: Mapping[str, Any]) -> str:
    """The page with the tables of what was measured."""
    before, rest = page.split(_BEGIN)
    tables = []
    for place, title in _PLACES.items():
        if place in claims:
            lines = [Ratio(**ratio).line() for ratio in claims[place]["ratios"].values()]
            tables.append("\n".join([f"### {title}", "", on(claims[place]["machine"]), "", HEAD, *lines]))
    return f"{before}{_BEGIN}\n\n" + "\n\n".join(tables) + f"\n\n{_END}{rest.split(_END)[1]}"


def on(machine: Mapping[str, Any]) -> str:
    """A sentence on the machine."""
    seen = machine["rates"]
    widths = ", ".join(f"{seen[name]:,.0f} in {name}" for name in ("float32", "bfloat16", "int8") if name in seen)
    return (
        f"{machine['processor']}, {seen['threads']:.0f} threads; products of matrices at {widths} (10⁹ operations a second), "
        f"memory read at {seen['memory']:.0f} GB/s."
    )


def read(path: Path) -> dict[str, Any]:
    """What was measured before."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def processor() -> str:
    """Its name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    sys.exit(main())
