"""Epochs of pulling and pushing, on all processors; the same seed gives the same layout, however many they are.

Two things differ from umap-learn. A neighbour moves only the row that it pulls, not itself as well (the graph is symmetric, so its own
turn comes): rows of different blocks can then move at the same time. And forces are looked up rather than computed.
``benchmarks/performance.py draw`` prints the trustworthiness of both.
"""

from __future__ import annotations

import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from .compiled import kernels
from .forces import SHIFT, forces

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ...data.progress import Progress

_ROWS_OF_A_BLOCK, _MOST_BLOCKS = 1000, 16  # by the rows alone, so that the processors make no difference
_TELL = 0.2  # seconds between two words of progress


def descend(
    places: np.ndarray,
    graph: csr_matrix,
    cache: Path,
    *,
    min_dist: float,
    epochs: int,
    rate: float = 1.0,
    seed: int = -1,
    first: int = 0,
    progress: Progress | None = None,
) -> np.ndarray:
    """Where the rows of ``graph`` come to lie, (n, d) float32.

    Args:
        places: (n, d) where they begin.
        graph: (n, n); what weighs too little to pull once is left out.
        rate: how far the first epoch moves; it falls to 0 at the last.
        seed: below zero: another layout each time.
        first: rows before it stay where they are.
        progress: told the epochs done and their number.
    """
    run = kernels(cache).epoch
    now = np.array(places, np.float32, order="C")
    before = now.copy()
    starts, others, period = _schedule(graph, epochs)
    due = period.copy()
    tables = forces(min_dist)
    sown = np.uint64(seed if seed >= 0 else secrets.randbits(32))
    count = len(now) - first
    cuts = first + np.linspace(0, count, max(1, min(_MOST_BLOCKS, count // _ROWS_OF_A_BLOCK)) + 1).astype(np.int64)
    told = 0.0
    with ThreadPoolExecutor(min(_processors(), len(cuts) - 1)) as pool:
        for number in range(epochs):
            checkpoint()
            np.copyto(before, now)
            speed = np.float32(rate * (1 - max(0, number - 1) / epochs))

            def step(block: int, number: int = number, speed: np.float32 = speed) -> None:
                span = int(cuts[block]), int(cuts[block + 1])
                run(now, before, *span, starts, others, period, due, tables.pull, tables.push, SHIFT, tables.lowest, speed, number, sown)

            list(pool.map(step, range(len(cuts) - 1)))
            if progress is not None and (number + 1 == epochs or time.monotonic() - told > _TELL):
                told = time.monotonic()
                progress(number + 1, epochs)
    return now


def _schedule(graph: csr_matrix, epochs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The graph as CSR, and every how many epochs each edge pulls: the heaviest in each."""
    kept = graph.copy()
    heaviest = kept.data.max(initial=np.float32(0))
    kept.data[kept.data < heaviest / epochs] = 0
    kept.eliminate_zeros()
    return kept.indptr.astype(np.int64), kept.indices.astype(np.int32), (heaviest / kept.data).astype(np.float32)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
