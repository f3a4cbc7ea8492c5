"""How time and memory grow with the rows: encode, search, mine and map, from 1,000 to 1,000,000.

Run: python benchmarks/growth.py DATA --out docs [--rows 1000 3000 … --works encode search mine map --minutes 20]
Each point is measured in a process of its own, whose most memory it is; what it needed to import and to read is in it, and is told apart
(`base`). Texts are sentences of the public sets in DATA, recombined beyond the 55,000 that these hold; from `--encoded` rows on texts are
not encoded, for it would take hours. Search, mine and map are given synthetic vectors, drawn around those of real sentences
(benchmarks/drawn.py), mapped from a file. Writes growth.json after each point and goes on where it stopped; then growth.svg, a chart of
both, with the exponents b of the fits cost = a · rows ** b (least squares of logarithms, from 10,000 rows on). Memory is fitted less its
base.

A search is by the index that the studio makes: exact below fifty thousand rows, else its time holds no building, which is told as `built`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sbert_studio.workspace import write_json

_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_FITTED_FROM = 10_000
_QUERIES = 50
_COLOURS = {"encode": "#4f7df3", "search": "#2fa36b", "mine": "#d9822b", "map": "#b455c9"}
_INK = "#808080"  # readable on light and on dark
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 400, 300, 62, 60, 92
Point = dict[str, Any]


def encode(data: Path, _vectors: Path, rows: int) -> Point:
    """The default model, its own choice of precision left at single."""
    from drawn import sentences
    from words_search import recombined

    from sbert_studio.studio.services import Services

    texts = recombined(sentences(data), rows)
    with Services() as services:
        encoder = services.catalog.load(services.settings.default_model)
        encoder.encode(texts[:64])
        return _timed(lambda: encoder.encode(texts))


def search(_data: Path, vectors: Path, rows: int) -> Point:
    """The ten nearest, the median over queries."""
    from sbert_studio.explore.nearest.cells import Cells
    from sbert_studio.explore.nearest.recall import measured
    from sbert_studio.explore.search import LARGE, SemanticIndex

    found = np.load(vectors, mmap_mode="r")[:rows]
    queries = np.load(vectors.with_name("queries.npy"))
    index, start = SemanticIndex(found), time.perf_counter()
    if rows >= LARGE:
        index.approximate = measured(Cells.of(found), index.exact)
    built, base = time.perf_counter() - start, _peak()
    index.find(queries[0])
    seconds = []
    for query in queries:
        start = time.perf_counter()
        index.find(query)
        seconds.append(time.perf_counter() - start)
    return {"seconds": statistics.median(seconds), "built": built, "base": base, "memory": _peak()}


def mine(_data: Path, vectors: Path, rows: int) -> Point:
    """The ten closest pairs, as the studio finds them: exactly, or of very many approximately."""
    from sbert_studio.explore.mining.approximate import EXACT_BELOW, nearly_most_similar_pairs
    from sbert_studio.explore.mining.closest import most_similar_pairs

    found = np.load(vectors, mmap_mode="r")[:rows]
    most_similar_pairs(found[:1000])
    timed = _timed(lambda: most_similar_pairs(found) if rows < EXACT_BELOW else nearly_most_similar_pairs(found))
    return {**timed, "exact": rows < EXACT_BELOW}


def map(_data: Path, vectors: Path, rows: int) -> Point:
    """Neighbours and layout in 2-D, compiled code there."""
    from sbert_studio.explore.maps.projection import ProjectionParams, project
    from sbert_studio.workspace import Workspace

    found = np.load(vectors, mmap_mode="r")[:rows]
    with tempfile.TemporaryDirectory() as home:
        project(found[:1000], ProjectionParams(seed=12), f"{'a' * 32}-{'b' * 16}", Workspace(Path(home)))
        return _timed(lambda: project(found, ProjectionParams(seed=12), f"{'c' * 32}-{'b' * 16}", Workspace(Path(home))))


WORKS: dict[str, Callable[[Path, Path, int], Point]] = {"encode": encode, "search": search, "mine": mine, "map": map}


def main() -> int:
    """Measure what is not yet there; write, and draw; 0, or 1 where a point failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--rows", type=int, nargs="*", default=list(_ROWS))
    parser.add_argument("--works", nargs="*", choices=list(WORKS), default=list(WORKS))
    parser.add_argument("--encoded", type=int, default=100_000, help="more texts are not encoded")
    parser.add_argument("--minutes", type=float, default=20, help="a point that takes longer is given up, and those of more rows with it")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    given = parser.parse_args()
    kept = given.out / "growth.json"
    points: dict[str, dict[str, Point]] = json.loads(kept.read_text())["points"] if kept.exists() and not given.again else {}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.npy"
        for work in given.works:
            for rows in sorted(given.rows):
                if str(rows) in points.get(work, {}) or (work == "encode" and rows > given.encoded):
                    continue
                if work != "encode" and not vectors.exists():
                    _apart(_draw, (given.data, vectors, max(given.rows)), None)
                point = _apart(_measure, (work, given.data, vectors, rows), given.minutes * 60)
                if point is None:
                    print(f"{work}, {rows:,} rows: not measured; nor are more", file=sys.stderr)
                    failed = True
                    break
                points.setdefault(work, {})[str(rows)] = point
                print(f"{work}, {rows:,} rows: {point['seconds']:.4g} s, {point['memory'] / 2**20:,.0f} MiB", flush=True)
                _write(kept, points)
    _write(kept, points)
    (given.out / "growth.svg").write_text(chart(points), encoding="utf-8")
    return int(failed)


def exponent(rows: list[int], costs: list[float]) -> float | None:
    """b of cost = a · rows ** b; none where fewer than two points can be fitted."""
    used = [(count, cost) for count, cost in zip(rows, costs, strict=True) if count >= _FITTED_FROM and cost > 0]
    return float(np.polyfit(*np.log(np.array(used)).T, 1)[0]) if len(used) > 1 else None


def chart(points: dict[str, dict[str, Point]]) -> str:
    """An SVG of two panels, time and memory against rows, both axes logarithmic."""
    panels = [("seconds", 1.0, "seconds"), ("memory", 2.0**20, "MiB at most")]
    drawn = "".join(_panel(points, which, unit, title, _LEFT + at * (_WIDTH + _GAP)) for at, (which, unit, title) in enumerate(panels))
    wide, high = _LEFT + 2 * _WIDTH + _GAP + 46, _TOP + _HEIGHT + 54
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="13" fill="{_INK}">\n'
        f"<title>Time and memory against rows</title>\n{drawn}</svg>\n"
    )


def _panel(points: dict[str, dict[str, Point]], which: str, unit: float, title: str, left: int) -> str:
    values = [point[which] / unit for found in points.values() for point in found.values()]
    if not values:
        return ""
    low, high = np.floor(np.log10(min(values))), max(np.ceil(np.log10(max(values))), np.floor(np.log10(min(values))) + 1)
    every = [int(rows) for found in points.values() for rows in found]
    first, last = np.floor(np.log10(min(every))), max(np.ceil(np.log10(max(every))), np.floor(np.log10(min(every))) + 1)

    def x(rows: float) -> float:
        return float(left + (np.log10(rows) - first) / (last - first) * _WIDTH)

    def y(value: float) -> float:
        return float(_TOP + _HEIGHT - (np.log10(value) - low) / (high - low) * _HEIGHT)

    lines = [f'<text x="{left}" y="{_TOP - 44}" font-weight="bold">{title}</text>']
    for power in range(int(low), int(high) + 1):
        at = y(10.0**power)
        lines.append(f'<line x1="{left}" x2="{left + _WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="{_INK}" stroke-opacity=".3"/>')
        lines.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:,.10g}</text>')
    for power in range(int(first), int(last) + 1):
        at = x(10.0**power)
        lines.append(f'<text x="{at:.1f}" y="{_TOP + _HEIGHT + 20}" text-anchor="middle">{10**power:,}</text>')
    lines.append(f'<text x="{left + _WIDTH / 2}" y="{_TOP + _HEIGHT + 42}" text-anchor="middle">rows</text>')
    for place, (work, found) in enumerate(points.items()):
        rows = sorted(int(count) for count in found)
        costs = [found[str(count)][which] / unit for count in rows]
        fitted = exponent(rows, _costs(found, which))
        name = work if fitted is None else f"{work}  b = {fitted:.2f}"
        path = " ".join(f"{x(count):.1f},{y(cost):.1f}" for count, cost in zip(rows, costs, strict=True))
        places, colour = list(zip(rows, costs, strict=True)), _COLOURS.get(work, _INK)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        lines += [f'<circle cx="{x(count):.1f}" cy="{y(cost):.1f}" r="3.5" fill="{colour}"/>' for count, cost in places]
        lines.append(f'<text x="{left + 10 + place % 2 * 190}" y="{_TOP - 26 + place // 2 * 17}" fill="{colour}">{name}</text>')
    return "\n".join(lines) + "\n"


def _costs(found: dict[str, Point], which: str) -> list[float]:
    """By rising rows; of memory, what the work itself took."""
    ordered = [found[count] for count in sorted(found, key=int)]
    return [point[which] - point["base"] * (which == "memory") for point in ordered]


def _write(path: Path, points: dict[str, dict[str, Point]]) -> None:
    fits = {
        work: {which: exponent(sorted(int(count) for count in found), _costs(found, which)) for which in ("seconds", "memory")}
        for work, found in points.items()
    }
    about = "seconds; memory and base in bytes; vectors drawn around real ones for search, mine and map; texts recombined for encode"
    write_json(path, {"about": about, "exponents": fits, "points": points})


def _draw(data: Path, vectors: Path, rows: int) -> Point:
    from drawn import Drawn

    source = Drawn.around(data)
    source.rows(rows, vectors)
    np.save(vectors.with_name("queries.npy"), source.queries(_QUERIES))
    return {}


def _measure(work: str, data: Path, vectors: Path, rows: int) -> Point:
    return WORKS[work](data, vectors, rows)


def _timed(work: Callable[[], object]) -> Point:
    base, start = _peak(), time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start, "base": base, "memory": _peak()}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _apart(work: Callable[..., Point], arguments: tuple[Any, ...], seconds: float | None) -> Point | None:
    """Do it in a process of its own; None where it failed, or took longer."""
    here, there = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_send, args=(there, work, arguments))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(seconds) else None
    except EOFError:
        return None
    finally:
        if process.is_alive():
            process.join(5)
            process.kill()
        process.join()


def _send(there: Any, work: Callable[..., Point], arguments: tuple[Any, ...]) -> None:
    there.send(work(*arguments))
    there.close()


if __name__ == "__main__":
    raise SystemExit(main())
