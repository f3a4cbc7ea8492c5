"""Search beside FAISS flat: ``python benchmarks/searching.py DATA [--rows N …] [--turns N]``.

Vectors are drawn around those of real sentences (see drawn.py), and so are the queries, of which none is a row. By turns in one process
(A B A B) the same queries are asked one at a time of FAISS's flat index, of our exact search and of our index. The recall is that of the
ten nearest, against brute force; the number of cells that the index reads was chosen on its own rows when it was built, and no query had
a say in it. Opening is timed in a process of its own, with the digest of the file compared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from drawn import Drawn, neighbours

from sbert_studio.explore.exact_search import ExactSearch
from sbert_studio.explore.index import IVFIndexStore
from sbert_studio.explore.search import SemanticIndex
from sbert_studio.workspace import Workspace, digest_texts

_K, _FINGERPRINT, _ROOM = 10, "0123456789abcdef", 8 << 30
_CHANGED = 10


@dataclass(frozen=True)
class Searched:
    """What was found of one size.

    Attributes:
        medians, late: ``flat``, ``exact`` and ``index`` → the median and the 95th percentile of a query in each turn, in ms.
        recall: of the exact search and of the index, of the ten nearest.
        read: bytes that a query reads in the index: the centres of all cells, and as many cells as it looks into.
        built, opened: seconds to make the index, and to open it in a new process.
        share: of the index's file in the bytes of the vectors.
    """

    recall: dict[str, float]
    read: float
    built: float
    opened: float
    share: float
    medians: dict[str, list[float]] = field(default_factory=dict)
    late: dict[str, list[float]] = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the public sets")
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--queries", type=int, default=300, help="asked of the index; the exact ones are asked a tenth of them")
    parser.add_argument("--no-growth", action="store_true", help="leave the rows that come and go out")
    asked = parser.parse_args()
    source = Drawn.around(asked.data)
    for rows in asked.rows:
        with tempfile.TemporaryDirectory() as folder:
            one_size(source, rows, asked.turns, asked.queries, Path(folder), growth=not asked.no_growth)


def one_size(source: Drawn, rows: int, turns: int, count: int, folder: Path, *, growth: bool) -> Searched:
    """Print what was found, and return it."""
    import faiss

    vectors, queries = source.rows(rows + _CHANGED, folder / "vectors.npy"), source.queries(count)
    corpus = vectors[:rows]
    truth = neighbours(queries, corpus, _K)[1]
    files, texts = IVFIndexStore(Workspace(folder / "home"), _ROOM), [f"text {row}" for row in range(rows)]
    start = time.perf_counter()
    index = SemanticIndex(corpus)
    print(f"{rows:,} rows of {vectors.shape[1]} numbers")
    print(f"  exact: ready after {time.perf_counter() - start:.2f} s, {index.bytes:,} bytes of its own")
    start = time.perf_counter()
    index.approximate = files.make(digest_texts(texts), _FINGERPRINT, texts, index.exact)
    if index.approximate is None:
        raise SystemExit("the index could not be written")
    built, size = time.perf_counter() - start, Workspace(folder / "home").cells(digest_texts(texts), _FINGERPRINT).stat().st_size
    reaches = ", ".join(f"{reach.recall:.4f} at {reach.k} from {reach.probes} cells" for reach in index.approximate.reaches)
    print(f"  index: built in {built:.1f} s; {index.approximate.cells.count} cells; of itself it says {reaches or 'that it is no use'}")
    share = size / (4 * vectors.shape[1] * rows)
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        seconds, held = fresh.apply(opened, (folder / "home", digest_texts(texts), rows, vectors.shape[1]))
    print(f"  index: {size:,} bytes, {share:.0%} of the flat one's; opened in {seconds:.2f} s, {held:+,} bytes held")
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(np.ascontiguousarray(corpus))
    few = queries[: max(1, count // 10)]
    asked: dict[str, tuple[np.ndarray, Callable[[np.ndarray], list[int]]]] = {
        "flat": (few, lambda query: flat.search(query[None], _K)[1][0].tolist()),
        "exact": (few, lambda query: [hit.row for hit in index.search(query, _K)]),
        "index": (queries, lambda query: [hit.row for hit in index.find(query, _K).hits]),
    }
    medians: dict[str, list[float]] = {name: [] for name in asked}
    late: dict[str, list[float]] = {name: [] for name in asked}
    recall: dict[str, float] = {}
    for turn in range(turns):
        for name, (some, ask) in asked.items():
            times, found = timed(some, ask)
            recall[name] = float(np.mean([len(set(rows) & set(best.tolist())) / _K for rows, best in zip(found, truth, strict=False)]))
            medians[name].append(float(np.median(times)))
            late[name].append(float(np.quantile(times, 0.95)))
            told = f"p50 {medians[name][-1]:7.2f} ms, p95 {late[name][-1]:7.2f} ms, recall@{_K} {recall[name]:.4f}"
            print(f"  turn {turn + 1} {name:>5}: {told}", flush=True)
    for name in ("exact", "index"):
        ratios = [flat_time / ours for flat_time, ours in zip(medians["flat"], medians[name], strict=True)]
        print(f"  {name}: {statistics.median(ratios):.2f} × as fast as flat ({min(ratios):.2f} to {max(ratios):.2f})")
    if growth:
        del flat
        grown(files, vectors, texts, built)
    cells, reach = index.approximate.cells.count, index.approximate.reach(_K)
    probes = cells if reach is None else reach.probes
    return Searched(recall, vectors.shape[1] * (4 * cells + rows * probes / cells), built, seconds, share, medians, late)


def timed(queries: Sequence[Any] | np.ndarray, ask: Callable[[Any], list[int]]) -> tuple[np.ndarray, list[list[int]]]:
    """The milliseconds of each query, and what it found; the first is asked once before."""
    ask(queries[0])
    times, found = np.empty(len(queries)), []
    for place, query in enumerate(queries):
        start = time.perf_counter()
        found.append(ask(query))
        times[place] = (time.perf_counter() - start) * 1000
    return times, found


def opened(home: Path, digest: str, rows: int, width: int) -> tuple[float, int]:
    """Seconds to open an index in this process, and by how many bytes its peak memory rose."""
    import faiss  # noqa: F401

    files, before = IVFIndexStore(Workspace(home), _ROOM), peak()
    start = time.perf_counter()
    found = files.load(digest, _FINGERPRINT, rows, width)
    seconds = time.perf_counter() - start
    if found is None:
        raise SystemExit("the index could not be opened")
    return seconds, peak() - before


def grown(files: IVFIndexStore, vectors: np.ndarray, texts: list[str], built: float) -> None:
    """Ten rows go, ten others come."""
    others, kept = [*texts[_CHANGED:], *(f"new {row}" for row in range(_CHANGED))], vectors[_CHANGED:]
    exact = ExactSearch(kept)
    start = time.perf_counter()
    cells = files._from_another(digest_texts(others), _FINGERPRINT, others, kept)
    seconds = time.perf_counter() - start
    if cells is None or len(cells) != len(others):
        raise SystemExit("the index did not take the rows in")
    start = time.perf_counter()
    found = files.make(digest_texts(others), _FINGERPRINT, others, exact)
    reaches = ", ".join(f"{reach.recall:.4f} at {reach.k}" for reach in found.reaches) if found else "not written"
    print(
        f"  {_CHANGED} rows gone and {_CHANGED} come: {seconds:.1f} s; "
        f"measured anew and written as well: {time.perf_counter() - start:.1f} s "
        f"(built: {built:.1f} s); of itself it says {reaches}"
    )


def peak() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
