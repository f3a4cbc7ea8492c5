"""Measure how time and memory grow with the number of rows: encoding, search, paraphrase mining and the map, from 1,000 to 1,000,000.

    python benchmarks/growth.py DATA [--out docs] [--rows 1000 3000 …] [--tasks encode search mine map] [--minutes 20]

Each point is measured in a process of its own, whose peak memory it reports; what the process needed to import and to read is reported
separately (`base`). Texts are sentences of the public sets in DATA, recombined beyond the 55,000 of these; more than `--encoded` texts are
not encoded, since that takes hours. Search, mining and the map use synthetic vectors (benchmarks/synthetic.py), memory-mapped. Writes
growth.json after each point and resumes there; then growth.svg, a chart, and the table of PERFORMANCE.md, with the exponents b of the fits
cost = a · rows ** b (least squares of logarithms, from 10,000 rows on). Memory is fitted less its base.

A search uses the index that the program builds: exact below fifty thousand rows; above, its time excludes building, reported as `built`,
and its memory includes it, as well as what was read of the mapped vectors, which the system can reclaim.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from growth_chart import Point, Points, chart, exponents, table
from timing import peak_memory

from sbert_studio.workspace import write_json

_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_QUERIES = 50
_BEGIN, _END = "<!-- growth -->", "<!-- /growth -->"


def encode(data: Path, _vectors: Path, rows: int) -> Point:
    from synthetic import recombined, sentences

    from sbert_studio.services.resources import Resources

    texts = recombined(sentences(data), rows)
    with Resources() as services:
        encoder = services.catalog.load(services.settings.default_model)
        encoder.encode(texts[:64])
        return _timed(lambda: encoder.encode(texts))


def search(_data: Path, vectors: Path, rows: int) -> Point:
    """Find the ten nearest; the time is the median over the queries."""
    from sbert_studio.explore.index import IVFIndex, measure_recall
    from sbert_studio.explore.search import LARGE, SemanticIndex

    found = np.load(vectors, mmap_mode="r")[:rows]
    queries = np.load(vectors.with_name("queries.npy"))
    IVFIndex.build(found[:1000])  # imports what an index needs, whether there will be one or not
    base, start = peak_memory(), time.perf_counter()
    index = SemanticIndex(found)
    if rows >= LARGE:
        index.approximate = measure_recall(IVFIndex.build(found), index.exact)
    built = time.perf_counter() - start
    index.find(queries[0])
    seconds = []
    for query in queries:
        start = time.perf_counter()
        index.find(query)
        seconds.append(time.perf_counter() - start)
    method = "exact" if index.approximate is None else "by the index"
    return {"seconds": statistics.median(seconds), "built": built, "base": base, "memory": peak_memory(), "method": method}


def mine(_data: Path, vectors: Path, rows: int) -> Point:
    """Find the ten most similar pairs as the program does: exactly, or of very many rows approximately."""
    from sbert_studio.explore.paraphrase_mining import EXACT_BELOW, approximate_paraphrase_mining, paraphrase_mining

    found = np.load(vectors, mmap_mode="r")[:rows]
    paraphrase_mining(found[:1000])
    if rows < EXACT_BELOW:
        return {**_timed(lambda: paraphrase_mining(found)), "method": "exact"}
    recalls = list[float]()
    timed = _timed(lambda: recalls.append(approximate_paraphrase_mining(found)[1].share))
    return {**timed, "method": "by lists", "recall": recalls[0]}


def map(_data: Path, vectors: Path, rows: int) -> Point:
    """Compute neighbours and the 2-D layout, its code compiled before."""
    from sbert_studio.explore.projection import ProjectionParams, project
    from sbert_studio.workspace import Workspace

    found = np.load(vectors, mmap_mode="r")[:rows]
    with tempfile.TemporaryDirectory() as home:
        project(found[:1000], ProjectionParams(seed=12), f"{'a' * 32}-{'b' * 16}", Workspace(Path(home)))
        return _timed(lambda: project(found, ProjectionParams(seed=12), f"{'c' * 32}-{'b' * 16}", Workspace(Path(home))))


TASKS: dict[str, Callable[[Path, Path, int], Point]] = {"encode": encode, "search": search, "mine": mine, "map": map}


def main() -> int:
    """Measure the missing points; write the table and the chart. Return 1 where a point failed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--rows", type=int, nargs="*", default=list(_ROWS))
    parser.add_argument("--tasks", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--encoded", type=int, default=100_000, help="largest number of texts to encode")
    parser.add_argument("--minutes", type=float, default=20, help="limit for a point; where it is exceeded, larger points are skipped")
    parser.add_argument("--again", action="store_true", help="measure every point again")
    options = parser.parse_args()
    stored = options.out / "growth.json"
    points: Points = json.loads(stored.read_text())["points"] if stored.exists() and not options.again else {}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.npy"
        for task in options.tasks:
            for rows in sorted(options.rows):
                if str(rows) in points.get(task, {}) or (task == "encode" and rows > options.encoded):
                    continue
                if task != "encode" and not vectors.exists():
                    run_in_process(_write_vectors, (options.data, vectors, max(options.rows)), None)
                point = run_in_process(_measure, (task, options.data, vectors, rows), options.minutes * 60)
                if point is None:
                    print(f"{task}, {rows:,} rows: not measured; larger points are skipped", file=sys.stderr)
                    failed = True
                    break
                points.setdefault(task, {})[str(rows)] = point
                print(f"{task}, {rows:,} rows: {point['seconds']:.4g} s, {point['memory'] / 2**20:,.0f} MiB", flush=True)
                _write(stored, points)
    _write(stored, points)
    (options.out / "growth.svg").write_text(chart(points), encoding="utf-8")
    page = options.out / "PERFORMANCE.md"
    if page.is_file():
        before, rest = page.read_text(encoding="utf-8").split(_BEGIN)
        page.write_text(f"{before}{_BEGIN}\n\n{table(points)}\n\n{_END}{rest.split(_END)[1]}", encoding="utf-8")
    return int(failed)


def _write(path: Path, points: Points) -> None:
    about = "seconds; memory and base in bytes; synthetic vectors for search, mine and map; texts recombined for encode"
    write_json(path, {"about": about, "exponents": exponents(points), "points": points})


def _write_vectors(data: Path, vectors: Path, rows: int) -> Point:
    from synthetic import SyntheticVectors

    source = SyntheticVectors.around(data)
    source.rows(rows, vectors)
    np.save(vectors.with_name("queries.npy"), source.queries(_QUERIES))
    return {}


def _measure(task: str, data: Path, vectors: Path, rows: int) -> Point:
    return TASKS[task](data, vectors, rows)


def _timed(work: Callable[[], object]) -> Point:
    base, start = peak_memory(), time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start, "base": base, "memory": peak_memory()}


def run_in_process(work: Callable[..., Point], arguments: tuple[Any, ...], seconds: float | None) -> Point | None:
    """Run ``work`` in a process of its own; return None where it failed or took longer than ``seconds``."""
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
