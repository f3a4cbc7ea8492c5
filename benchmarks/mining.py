"""The closest pairs of sentences whose vectors are given, beside sentence-transformers' paraphrase mining; by turns in one process.

Run: python benchmarks/mining.py DATA [--rows 10000 --top 10 --rounds 3]
DATA is the folder of the public sets: as many distinct sentences of them are taken at random and encoded by the default model once (the
studio's cache keeps them). The peer is measured by its own settings (500,000 pairs, of the 100 nearest of each sentence), and by the
least that surely gives the same pairs: as many pairs, and as many neighbours of each sentence. Ours is measured as it chooses itself, and
in single precision alone, as on processors that do not multiply eight bits. Each contestant's pairs are held against the first one's.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from drawn import sentences

from sbert_studio.bench.duel import Duel, duel, peer_library
from sbert_studio.explore.paraphrase_mining import paraphrase_mining
from sbert_studio.explore.products import int8_is_fast
from sbert_studio.services.base import Services
from sbert_studio.workspace import digest_texts

Found = list[tuple[int, int, float]]
PEER = "peer, the least"


def some_vectors(data: Path, count: int) -> np.ndarray:
    """(count, d): the vectors of distinct sentences of the public sets, taken at random."""
    every = sentences(data)
    if count > len(every):
        raise SystemExit(f"the sets in {data} hold {len(every):,} distinct sentences, fewer than {count:,}")
    texts = [every[row] for row in np.sort(np.random.default_rng(12).choice(len(every), count, replace=False)).tolist()]
    with Services() as services:
        encoder = services.catalog.load(services.settings.default_model)
        return np.array(services.vectors.get(texts, digest_texts(texts), encoder))


def main() -> int:
    """Print a line a contestant; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    import torch

    print(f"{given.rows:,} sentences, the {given.top:,} closest pairs, {torch.get_num_threads()} threads")
    compare(some_vectors(given.data, given.rows), given.top, given.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"peak memory of the process, peer included: {peak / 2**20:,.0f} MiB")
    return 0


def compare(vectors: np.ndarray, top: int, rounds: int) -> tuple[Duel, int]:
    """Print what was found. The duel for the ``top`` closest pairs, and how many of them the peer found too."""
    import torch

    tensor, mining = torch.from_numpy(vectors), peer_library().util.paraphrase_mining_embeddings
    found: dict[str, Found] = {}

    def ours(eight: bool) -> Callable[[], Found]:
        return lambda: [(pair.a, pair.b, pair.score) for pair in paraphrase_mining(vectors, top, use_int8=eight)]

    def theirs(**options: int) -> Callable[[], Found]:
        return lambda: [(a, b, score) for score, a, b in mining(tensor, **options)[:top]]

    runs = {
        **({"ours": ours(True)} if int8_is_fast() else {}),
        "ours, single precision": ours(False),
        "peer, by its defaults": theirs(),
        PEER: theirs(top_k=top, max_pairs=top),
    }

    def timed(name: str) -> Callable[[int], float]:
        def once(_turn: int) -> float:
            start = time.perf_counter()
            found[name] = runs[name]()
            return time.perf_counter() - start

        once(0)  # nobody is measured cold
        return once

    result = duel("mine", "s", {name: timed(name) for name in runs}, rounds, smaller_is_faster=True)
    first, peer = next(iter(found.values())), statistics.median(result.rounds[PEER])
    for name, seconds in result.rounds.items():
        middle = statistics.median(seconds)
        gap = max((abs(a[2] - b[2]) for a, b in zip(first, found[name], strict=True)), default=0.0)
        print(
            f"{name}: {middle:.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), {peer / middle:.2f} × the peer at its least; "
            f"{len({pair[:2] for pair in first} & {pair[:2] for pair in found[name]})} of {len(first)} pairs the same, "
            f"scores differ by {gap:.1e} at most"
        )
    return result, len({pair[:2] for pair in first} & {pair[:2] for pair in found[PEER]})


if __name__ == "__main__":
    raise SystemExit(main())
