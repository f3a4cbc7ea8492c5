"""Search by words, and by both, over very many texts; in one process.

Run: python benchmarks/words_search.py DATA [--rows 1000000 --queries 200 --turns 3]
DATA is the folder of the public sets, of which there are some 55,000 distinct sentences. The texts are synthetic beyond these: the first
half of one sentence's words and the second half of another's, both taken at random. Queries are whole sentences of the sets, as drawn at
random, which is more words than people type. The peer by words is bm25s, its own words and weights. A search by both is timed whole: the
query is encoded by the default model, looked up in the index by meaning and in that by words, and the first hundred hits of each are fused.
The vectors that it looks into are drawn around real ones (benchmarks/drawn.py), for to encode a million texts would take a quarter of an
hour; they are not those of the texts.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
from drawn import Drawn, sentences
from searching import timed

from sbert_studio.explore.bm25 import LexicalStore
from sbert_studio.explore.exact_search import Hit, reciprocal_rank_fusion
from sbert_studio.explore.index import IVFIndexStore
from sbert_studio.explore.search import LARGE, SemanticIndex
from sbert_studio.models.base import Encoder
from sbert_studio.services.base import Services
from sbert_studio.workspace import Workspace, digest_texts

_DEEP = 100  # hits of each ranking that a search by both fuses


def recombined(every: list[str], count: int) -> list[str]:
    """``count`` texts: the first half of one sentence and the second half of another."""
    halves = [(text.split()[: (len(text.split()) + 1) // 2], text.split()[(len(text.split()) + 1) // 2 :]) for text in every]
    rng = np.random.default_rng(12)
    drawn = rng.integers(len(every), size=(count, 2)).tolist()
    return [*every[:count], *(" ".join(halves[a][0] + halves[b][1]) for a, b in drawn[: max(0, count - len(every))])]


@dataclass(frozen=True)
class Searched:
    """Milliseconds of queries.

    Attributes:
        medians, late: ``ours``, ``peer`` and ``both`` (by words and by meaning) → the median and the 95th percentile in each turn.
        same: the share of the peer's ten best hits that ours finds.
    """

    medians: dict[str, list[float]]
    late: dict[str, list[float]]
    same: float


def compare(data: Path, rows: int, count: int, turns: int) -> Searched:
    """Print how long it takes to build, to open and to search, by turns with the peer; what was found of the searches."""
    every = sentences(data)
    texts = recombined(every, rows)
    rng = np.random.default_rng(34)
    queries = [every[row] for row in rng.choice(len(every), count, replace=False).tolist()]
    before = _peak()
    with tempfile.TemporaryDirectory() as home, Services() as services:
        digest = digest_texts(texts)
        for what in ("built and written", "opened by the next start"):
            start = time.perf_counter()
            index = LexicalStore(Workspace(Path(home)), 1 << 40).get(texts, digest)
            held = index.bytes / 2**20
            print(f"{rows:,} texts {what}: {time.perf_counter() - start:.1f} s; {held:,.0f} MiB of it in memory", flush=True)
        size = sum(path.stat().st_size for path in Path(home).rglob("*.npy")) / 2**20
        print(f"on disk and mapped: {size:,.0f} MiB; most that the process held beyond the texts: {(_peak() - before) / 2**20:,.0f} MiB")
        start = time.perf_counter()
        peer = bm25s.BM25()
        peer.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        print(f"bm25s: indexed in {time.perf_counter() - start:.1f} s", flush=True)
        meaning = _by_meaning(data, texts, digest, Path(home))
        encoder = services.catalog.load(services.settings.default_model)

        def by_peer(query: str) -> list[int]:
            tokens = bm25s.tokenize([query], stopwords=None, show_progress=False)
            return [int(row) for row in peer.retrieve(tokens, k=10, show_progress=False, n_threads=0)[0][0]]

        asked: dict[str, Callable[[str], list[int]]] = {
            "ours": lambda query: [hit.row for hit in index.search(query, 10)],
            "peer": by_peer,
            "both": lambda query: [hit.row for hit in reciprocal_rank_fusion([_near(meaning, encoder, query), index.search(query, _DEEP)])],
        }
        medians: dict[str, list[float]] = {name: [] for name in asked}
        late: dict[str, list[float]] = {name: [] for name in asked}
        found: dict[str, list[list[int]]] = {}
        for _ in range(turns):
            for name, ask in asked.items():
                times, found[name] = timed(queries, ask)
                medians[name].append(float(np.median(times)))
                late[name].append(float(np.quantile(times, 0.95)))
    same = float(np.mean([len(set(ours) & set(theirs)) / 10 for ours, theirs in zip(found["ours"], found["peer"], strict=True)]))
    names = {"ours": "by words", "peer": "by words, bm25s", "both": "by both, the query encoded"}
    for name, title in names.items():
        spread = f"{min(late[name]):.1f} to {max(late[name]):.1f} in {turns} rounds"
        print(f"{title}: median {np.median(medians[name]):.1f} ms, p95 {np.median(late[name]):.1f} ms ({spread})")
    print(f"of the ten best by bm25s, ours finds {same:.2f}")
    return Searched(medians, late, same)


def main() -> int:
    """Print it; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    compare(given.data, given.rows, given.queries, given.turns)
    return 0


def _near(meaning: SemanticIndex, encoder: Encoder, query: str) -> Sequence[Hit]:
    return meaning.find(encoder.encode([query])[0], _DEEP).hits


def _by_meaning(data: Path, texts: list[str], digest: str, home: Path) -> SemanticIndex:
    """An index by meaning of as many vectors as there are ``texts``."""
    vectors = Drawn.around(data).rows(len(texts), home / "vectors.npy")
    index = SemanticIndex(vectors)
    start = time.perf_counter()
    if len(texts) >= LARGE:
        index.approximate = IVFIndexStore(Workspace(home), 8 << 30).make(digest, "0123456789abcdef", texts, index.exact)
    print(f"by meaning: {'indexed' if index.approximate else 'exact'} after {time.perf_counter() - start:.1f} s", flush=True)
    return index


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    raise SystemExit(main())
