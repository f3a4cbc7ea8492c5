"""How time and memory grow with the rows: encode, search, mine and map, from 1,000 to 1,000,000.

Run: python benchmarks/growth.py DATA --out docs [--rows 1000 3000 … --works encode search mine map --minutes 20]
Each point is measured in a process of its own, whose most memory it is; what it needed to import and to read is in it, and is told apart
(`base`). Texts are sentences of the public sets in DATA, recombined beyond the 55,000 that these hold; from `--encoded` rows on texts are
not encoded, for it would take hours. Search, mine and map are given synthetic vectors, drawn around those of real sentences
(benchmarks/drawn.py), mapped from a file. Writes growth.json after each point and goes on where it stopped; then growth.svg, a chart of
both, and the table of PERFORMANCE.md where there is one, with the exponents b of the fits cost = a · rows ** b (least squares of
logarithms, from 10,000 rows on). Memory is fitted less its base.

A search is by the index that the studio makes: exact below fifty thousand rows, else its time holds no building, which is told as `built`;
its memory does, and what was read of the mapped vectors, which the system takes back where it is wanted.
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
from growth_chart import Point, Points, chart, exponents, table

from sbert_studio.workspace import write_json

_ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_QUERIES = 50
_BEGIN, _END = "<!-- growth -->", "<!-- /growth -->"


def encode(data: Path, _vectors: Path, rows: int) -> Point:
    """The default model, its own choice of precision left at single."""
    from drawn import sentences
    from words_search import recombined

    from sbert_studio.services.base import Services

    texts = recombined(sentences(data), rows)
    with Services() as services:
        encoder = services.catalog.load(services.settings.default_model)
        encoder.encode(texts[:64])
        return _timed(lambda: encoder.encode(texts))


def search(_data: Path, vectors: Path, rows: int) -> Point:
    """The ten nearest, the median over queries."""
    from sbert_studio.explore.index import IVFIndex, measure_recall
    from sbert_studio.explore.search import LARGE, SemanticIndex

    found = np.load(vectors, mmap_mode="r")[:rows]
    queries = np.load(vectors.with_name("queries.npy"))
    IVFIndex.build(found[:1000])  # imports what an index needs, whether there will be one or not
    base, start = _peak(), time.perf_counter()
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
    way = "exact" if index.approximate is None else "by the index"
    return {"seconds": statistics.median(seconds), "built": built, "base": base, "memory": _peak(), "way": way}


def mine(_data: Path, vectors: Path, rows: int) -> Point:
    """The ten closest pairs, as the studio finds them: exactly, or of very many approximately."""
    from sbert_studio.explore.approximate_mining import EXACT_BELOW, approximate_paraphrase_mining
    from sbert_studio.explore.paraphrase_mining import paraphrase_mining

    found = np.load(vectors, mmap_mode="r")[:rows]
    paraphrase_mining(found[:1000])
    if rows < EXACT_BELOW:
        return {**_timed(lambda: paraphrase_mining(found)), "way": "exact"}
    recalls = list[float]()
    timed = _timed(lambda: recalls.append(approximate_paraphrase_mining(found)[1].share))
    return {**timed, "way": "by lists", "recall": recalls[0]}


def map(_data: Path, vectors: Path, rows: int) -> Point:
    """Neighbours and layout in 2-D, compiled code there."""
    from sbert_studio.explore.projection import ProjectionParams, project
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
    points: Points = json.loads(kept.read_text())["points"] if kept.exists() and not given.again else {}
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
    page = given.out / "PERFORMANCE.md"
    if page.is_file():
        before, rest = page.read_text(encoding="utf-8").split(_BEGIN)
        page.write_text(f"{before}{_BEGIN}\n\n{table(points)}\n\n{_END}{rest.split(_END)[1]}", encoding="utf-8")
    return int(failed)


def _write(path: Path, points: Points) -> None:
    about = "seconds; memory and base in bytes; vectors drawn around real ones for search, mine and map; texts recombined for encode"
    write_json(path, {"about": about, "exponents": exponents(points), "points": points})


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
