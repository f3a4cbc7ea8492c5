"""Search by words, and by both, over very many texts; in one process.

Run: python benchmarks/words_search.py DATA [--rows 1000000 --queries 200]
DATA is the folder of the public sets, of which there are some 55,000 distinct sentences. The texts are synthetic beyond these: the first
half of one sentence's words and the second half of another's, both taken at random. Queries are whole sentences of the sets, as drawn at
random, which is more words than people type. A search by both is timed whole: the query is encoded by the default model, looked up in
the index by meaning and in that by words, and the first hundred hits of each are fused. The vectors that it looks into are drawn around
real ones (benchmarks/drawn.py), for to encode a million texts would take a quarter of an hour; they are not those of the texts.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from drawn import Drawn, sentences

from sbert_studio.explore.hits import fuse
from sbert_studio.explore.lexical.keeping import LexicalStore
from sbert_studio.explore.nearest.files import CellFiles
from sbert_studio.explore.search import LARGE, SemanticIndex
from sbert_studio.studio.services import Services
from sbert_studio.workspace import Workspace, digest_texts

_DEEP = 100  # hits of each ranking that a search by both fuses


def recombined(every: list[str], count: int) -> list[str]:
    """``count`` texts: the first half of one sentence and the second half of another."""
    halves = [(text.split()[: (len(text.split()) + 1) // 2], text.split()[(len(text.split()) + 1) // 2 :]) for text in every]
    rng = np.random.default_rng(12)
    drawn = rng.integers(len(every), size=(count, 2)).tolist()
    return [*every[:count], *(" ".join(halves[a][0] + halves[b][1]) for a, b in drawn[: max(0, count - len(every))])]


def main() -> int:
    """Print how long it takes to build, to open and to search; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    given = parser.parse_args()
    every = sentences(given.data)
    texts = recombined(every, given.rows)
    rng = np.random.default_rng(34)
    queries = [every[row] for row in rng.choice(len(every), given.queries, replace=False).tolist()]
    before = _peak()
    with tempfile.TemporaryDirectory() as home:
        digest = digest_texts(texts)
        for what in ("built and written", "opened by the next start"):
            start = time.perf_counter()
            index = LexicalStore(Workspace(Path(home)), 1 << 40).get(texts, digest)
            held = index.bytes / 2**20
            print(f"{given.rows:,} texts {what}: {time.perf_counter() - start:.1f} s; {held:,.0f} MiB of it in memory", flush=True)
        size = sum(path.stat().st_size for path in Path(home).rglob("*.npy")) / 2**20
        print(f"on disk and mapped: {size:,.0f} MiB; most that the process held beyond the texts: {(_peak() - before) / 2**20:,.0f} MiB")
        meaning = _by_meaning(given.data, texts, digest, Path(home))
        with Services() as services:
            encoder = services.catalog.load(services.settings.default_model)
            alone, both = list[float](), list[float]()
            for _ in range(3):
                for query in queries:
                    start = time.perf_counter()
                    index.search(query, 10)
                    alone.append(time.perf_counter() - start)
                    start = time.perf_counter()
                    near = meaning.find(encoder.encode([query])[0], _DEEP)
                    fuse([near.hits, index.search(query, _DEEP)])
                    both.append(time.perf_counter() - start)
        for name, seconds in (("by words", alone), ("by both, the query encoded", both)):
            rounds = np.array(seconds).reshape(3, -1) * 1000
            median, late = np.median(rounds, axis=1), np.percentile(rounds, 95, axis=1)
            spread = f"{late.min():.1f} to {late.max():.1f} in three rounds"
            print(f"{name}: median {np.median(median):.1f} ms, p95 {np.median(late):.1f} ms ({spread})")
    return 0


def _by_meaning(data: Path, texts: list[str], digest: str, home: Path) -> SemanticIndex:
    """An index by meaning of as many vectors as there are ``texts``."""
    vectors = Drawn.around(data).rows(len(texts), home / "vectors.npy")
    index = SemanticIndex(vectors)
    start = time.perf_counter()
    if len(texts) >= LARGE:
        index.approximate = CellFiles(Workspace(home), 8 << 30).make(digest, "0123456789abcdef", texts, index.exact)
    print(f"by meaning: {'indexed' if index.approximate else 'exact'} after {time.perf_counter() - start:.1f} s", flush=True)
    return index


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    raise SystemExit(main())
