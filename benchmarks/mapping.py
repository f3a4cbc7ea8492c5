"""Maps beside plain umap-learn, in one run, by turns: time, and how well neighbours are kept.

Run: python benchmarks/mapping.py DATA [--rows 100000] [--turns 3] [--skip-peer-of-many]
DATA holds the public sets; BANKING77's 10,003 training texts are drawn, and --rows vectors drawn around real ones (benchmarks/drawn.py).
Vectors are given, compiled code is there on both sides (a first map of each is not counted). Ours is the map as the page has it, its
seed fixed: neighbours, layout, and (apart) the clusters, whose space is a second layout. The peer is UMAP(metric="cosine") on the
vectors themselves, unseeded, on all processors. Trustworthiness: 15 neighbours, cosine; of many rows that of a sample of 5,000, whose
neighbours are looked for among all.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from drawn import Drawn

from sbert_studio.data.tables import read_table
from sbert_studio.explore.clusters import ClusterParams, cluster
from sbert_studio.explore.neighbors import NeighborGraphCache
from sbert_studio.explore.projection import ProjectionParams, place_new_points, project, warm_up
from sbert_studio.models.similarity import unit
from sbert_studio.services.studio import Studio
from sbert_studio.workspace import Workspace, digest_texts

_K, _SAMPLE, _BLOCK = 15, 5000, 200
_PAGE = ProjectionParams(seed=12)
OURS, _GROUPS, PEER = "ours: neighbours and layout", "ours: clusters", "umap-learn"
_BASE = f"{'a' * 32}-{'b' * 16}"


def trustworthiness(vectors: np.ndarray, xy: np.ndarray, sample: int = _SAMPLE) -> float:
    """As scikit-learn's ``trustworthiness(…, n_neighbors=15, metric="cosine")``, of a sample of rows among all (Venna & Kaski 2001)."""
    import faiss

    count, space = len(vectors), unit(vectors)
    rows = np.arange(count) if count <= sample else np.random.default_rng(0).choice(count, sample, replace=False)
    index = faiss.IndexFlatL2(xy.shape[1])
    index.add(np.ascontiguousarray(xy, np.float32))
    drawn = index.search(np.ascontiguousarray(xy[rows], np.float32), _K + 1)[1]
    penalty = 0
    for start in range(0, len(rows), _BLOCK):
        own = rows[start : start + _BLOCK]
        cosines = space[own] @ space.T
        cosines[np.arange(len(own)), own] = np.inf
        for row, near in enumerate(drawn[start : start + _BLOCK]):
            others = near[near != own[row]][:_K]
            ranks = (cosines[row] > cosines[row, others][:, None]).sum(axis=1)  # the row itself counts, as rank 0
            penalty += int(np.maximum(ranks - _K, 0).sum())
    return 1 - penalty * 2 / (len(rows) * _K * (2 * count - 3 * _K - 1))


def peer(vectors: np.ndarray) -> np.ndarray:
    """Plain umap-learn."""
    from umap import UMAP

    return np.asarray(UMAP(metric="cosine").fit_transform(vectors))


def ours(vectors: np.ndarray, params: ProjectionParams, kept: NeighborGraphCache, folder: Path) -> np.ndarray:
    """A map with nothing on disk but what ``folder`` holds."""
    return project(vectors, params, _BASE, Workspace(folder), graphs=kept).xy


class Clock:
    """Seconds and trustworthiness of each work, turn by turn.

    Args:
        vectors: (n, d), against which a layout is judged.
    """

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self.seconds: dict[str, list[float]] = {}
        self.kept: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[..., Any], *given: Any, judged: bool = False) -> Any:
        """What ``work`` returns."""
        start = time.perf_counter()
        found = work(*given)
        self.seconds.setdefault(name, []).append(time.perf_counter() - start)
        if judged:
            self.kept.setdefault(name, []).append(trustworthiness(self._vectors, found))
        return found

    def middle(self, name: str) -> float:
        """The median of its seconds."""
        return statistics.median(self.seconds[name])

    def told(self, name: str) -> None:
        """Print a line: the median, the spread between fastest and slowest, and how well neighbours are kept."""
        taken, kept = self.seconds[name], self.kept.get(name)
        quality = "" if not kept else f"   trustworthiness {statistics.median(kept):.4f} ({min(kept):.4f} to {max(kept):.4f})"
        print(f"  {name:<34} {statistics.median(taken):7.2f} s, spread {max(taken) - min(taken):5.2f}{quality}", flush=True)


def turn(clock: Clock, vectors: np.ndarray, texts: list[str], with_peer: bool, folder: Path) -> None:
    """Both once; then a slider's change, the clusters and ten new rows, of ours."""
    kept = NeighborGraphCache(1 << 30)
    near = kept.of(vectors, _BASE)
    xy = clock.time(OURS, ours, vectors, _PAGE, kept, folder, judged=True)
    clock.time(_GROUPS, grouped, vectors, texts, near, folder)
    if with_peer:
        clock.time(PEER, peer, vectors, judged=True)
    clock.time("ours: least distance 0.1 to 0.3", ours, vectors, replace(_PAGE, min_dist=0.3), kept, folder, judged=True)
    clock.time("ours: neighbours 15 to 30", ours, vectors, replace(_PAGE, n_neighbors=30), kept, folder, judged=True)
    known = np.concatenate([np.arange(len(vectors)), np.full(10, -1)])
    more = np.concatenate([vectors, unit(vectors[:10] + vectors[10:20])])
    clock.time("ours: ten new rows placed", place_new_points, more, known, xy, _PAGE, folder)
    print(f"  recall of the neighbours {near(15).recall:.4f}", flush=True)


def grouped(vectors: np.ndarray, texts: list[str], near: Any, folder: Path) -> Any:
    """The clusters, named."""
    return cluster(vectors, texts, ClusterParams(), _BASE, Workspace(folder), near=near)


def compare(name: str, vectors: np.ndarray, texts: list[str], turns: int, with_peer: bool) -> Clock:
    """Print what was found; the clock that has it."""
    print(f"{name}: {len(vectors):,} vectors of {vectors.shape[1]}", flush=True)
    clock = Clock(vectors)
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            turn(clock, vectors, texts, with_peer, Path(folder))
    clock.seconds["ours: clusters included"] = [a + b for a, b in zip(clock.seconds[OURS], clock.seconds[_GROUPS], strict=True)]
    for what in clock.seconds:
        clock.told(what)
    if with_peer:
        print(f"  {clock.middle(PEER) / clock.middle(OURS):.2f} × umap-learn", flush=True)
    return clock


def bank(data: Path) -> tuple[np.ndarray, list[str]]:
    """The vectors of BANKING77's training texts, and these; compiled code is there afterwards on both sides."""
    with Studio() as studio:
        table = read_table(data / "banking77" / "train.csv")
        texts = list(table.column("text"))
        encoder = studio.catalog.load(studio.settings.default_model)
        vectors = np.array(studio.vectors.get(texts, digest_texts(texts), encoder))
        warm_up(studio.workspace)
        peer(vectors[:500])
    return vectors, texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--skip-peer-of-many", action="store_true", help="umap-learn draws BANKING77 only")
    parser.add_argument("--skip-bank", action="store_true", help="only the vectors drawn around real ones")
    chosen = parser.parse_args()
    vectors, texts = bank(chosen.data)
    if not chosen.skip_bank:
        compare("BANKING77", vectors, texts, chosen.turns, with_peer=True)
    for rows in chosen.rows:
        many = Drawn.around(chosen.data).rows(rows)
        names = [texts[row % len(texts)] for row in range(rows)]
        compare(f"drawn around real ones, {rows:,}", many, names, chosen.turns, with_peer=not chosen.skip_peer_of_many)


if __name__ == "__main__":
    main()
