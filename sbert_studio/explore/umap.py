"""UMAP (McInnes et al. 2018): the fuzzy graph and its layout by stochastic gradient descent."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.similarity import unit
from ..progress import checkpoint
from .neighbors import build_neighbor_graph, principal_components

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..progress import Progress
    from .neighbors import NeighborProvider


def load_kernels(cache: Path) -> Any:
    """Return the module of the compiled kernels, with numba's cache beside it or in ``cache``."""
    configure_numba_cache(cache)
    from . import umap_kernels as found

    return found


def configure_numba_cache(cache: Path, *packages: str) -> None:
    """Let numba cache compiled code beside its source, here and in ``packages``, or in ``cache`` if that is not writable.

    Must be called before the compiled functions are imported.
    """
    _choose_cache_folder(cache, *packages)
    _ignore_cache_errors()


def _choose_cache_folder(cache: Path, *packages: str) -> None:
    import numba

    found = [spec for spec in map(find_spec, packages) if spec is not None]
    homes = [str(Path(__file__).parent), *(folder for spec in found for folder in spec.submodule_search_locations or ())]
    if not numba.config.CACHE_DIR and not all(os.access(folder, os.W_OK) for folder in homes):
        numba.config.CACHE_DIR = str(cache) if os.access(cache, os.W_OK) else tempfile.mkdtemp(prefix="sbert-studio-numba-")


@functools.cache
def _ignore_cache_errors() -> None:
    from numba.core.caching import IndexDataCacheFile

    load, save = IndexDataCacheFile.load, IndexDataCacheFile.save

    def load_or_none(self: Any, key: Any) -> Any:
        try:
            return load(self, key)
        except Exception:  # whatever unpickling comes to
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_or_not(self: Any, key: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            save(self, key, data)

    IndexDataCacheFile.load, IndexDataCacheFile.save = load_or_none, save_or_not


SHIFT = 17  # of a float's 32 bits those of exponent and 6 of the fraction are left: 64 steps an octave, within 0.6 % of the curve
_NEAREST, _FARTHEST = 2.0**-24, 2.0**24  # squares of distances
_SPREAD = 1.0
_APART = 0.001  # keeps what pushes finite


@dataclass(frozen=True)
class ForceTables:
    """(s,) float32 forces over the squared distance, starting at the one with leading bits ``lowest``."""

    pull: np.ndarray
    push: np.ndarray
    lowest: int


@lru_cache(maxsize=64)
def fit_curve(min_dist: float) -> tuple[float, float]:
    """Return a, b of 1 / (1 + a·d^2b) fitted to a curve that is 1 up to ``min_dist`` and decays exponentially beyond."""
    from scipy.optimize import curve_fit

    along = np.linspace(0, 3 * _SPREAD, 300)
    wanted = np.where(along < min_dist, 1.0, np.exp(-(along - min_dist) / _SPREAD))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), along, wanted)
    return float(a), float(b)


@lru_cache(maxsize=64)
def force_tables(min_dist: float) -> ForceTables:
    """Tabulate the gradients of the cross-entropy (appendix C of the paper), at the middle of each step; coinciding points do not repel."""
    a, b = fit_curve(min_dist)
    lowest, highest = (int(np.float32(square).view(np.int32)) >> SHIFT for square in (_NEAREST, _FARTHEST))
    bits = (np.arange(lowest, highest + 1, dtype=np.int64) << SHIFT) + (1 << (SHIFT - 1))
    square = bits.astype(np.int32).view(np.float32).astype(np.float64)
    pull = -2 * a * b * square ** (b - 1) / (1 + a * square**b)
    push = 2 * b / ((_APART + square) * (1 + a * square**b))
    push[0] = 0
    return ForceTables(pull.astype(np.float32), push.astype(np.float32), lowest)


_ROWS_OF_A_BLOCK, _MOST_BLOCKS = 1000, 16  # by the rows alone, so that the processors make no difference
_TELL = 0.2  # seconds between two words of progress


def optimize_layout(
    positions: np.ndarray,
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
    """Optimise the positions of the rows of ``graph``, (n, d) float32.

    Args:
        positions: (n, d) initial positions.
        graph: (n, n); edges too weak to be sampled once are left out.
        rate: initial learning rate; decays to 0.
        seed: negative for a random layout.
        first: rows before it are fixed.
        progress: called with the epochs done and their number.
    """
    run = load_kernels(cache).run_epoch
    now = np.array(positions, np.float32, order="C")
    before = now.copy()
    starts, others, period = _schedule(graph, epochs)
    due = period.copy()
    tables = force_tables(min_dist)
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
    kept = graph.copy()
    heaviest = kept.data.max(initial=np.float32(0))
    kept.data[kept.data < heaviest / epochs] = 0
    kept.eliminate_zeros()
    return kept.indptr.astype(np.int64), kept.indices.astype(np.int32), (heaviest / kept.data).astype(np.float32)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def membership_strengths(distances: np.ndarray, cache: Path) -> np.ndarray:
    """Return the membership of each neighbor, (n, k) float32 in [0, 1], from (n, k) distances, nearest first."""
    distances = np.ascontiguousarray(distances, np.float32)
    widths, nearest = np.empty(len(distances), np.float32), np.empty(len(distances), np.float32)
    load_kernels(cache).smooth_distances(distances, widths, nearest)
    beyond = np.maximum(distances - nearest[:, None], 0)
    return np.asarray(np.exp(-np.divide(beyond, widths[:, None], out=np.zeros_like(beyond), where=widths[:, None] > 0)), np.float32)


def fuzzy_union(rows: np.ndarray, distances: np.ndarray, cache: Path) -> csr_matrix:
    """Return the symmetric graph, (n, n) float32: a + b - a·b of both memberships.

    Args:
        rows, distances: (n, k) neighbors of each row, itself first.
    """
    from scipy.sparse import csr_matrix

    count, k = rows.shape
    weights = membership_strengths(distances, cache)
    weights[rows == np.arange(count)[:, None]] = 0
    directed = csr_matrix((weights.ravel(), rows.ravel().copy(), np.arange(0, count * k + 1, k)), shape=(count, count))
    directed.eliminate_zeros()
    back = directed.T.tocsr()
    return (directed + back - directed.multiply(back)).tocsr()


METHOD = 2  # of laying out: what another made, and is kept, is not taken for it
MIN_ROWS = 12  # rows below which a neighbourhood graph says nothing
LARGE_ROWS = 20_000  # rows from which on fewer epochs do
EPOCHS, LARGE_EPOCHS = 300, 200
_RESUME_RATE = 0.5  # the rate, and the part of the epochs, of a layout that grows out of another
_SIDE, _NOISE = 10.0, 1e-3  # of the square in which points begin


def umap_layout(
    vectors: np.ndarray,
    cache: Path,
    *,
    dimensions: int,
    n_neighbors: int,
    min_dist: float,
    metric: str = "cosine",
    seed: int = -1,
    start: np.ndarray | None = None,
    near: NeighborProvider | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Return coordinates, (n, dimensions) float32, finite.

    Fewer than 12 rows are laid out by principal components, coinciding rows at the origin.

    Args:
        vectors: (n, d).
        cache: folder for compiled code if the package is not writable.
        n_neighbors: neighbors of each point including itself, at most n - 1.
        metric: ``cosine`` or ``euclidean``.
        seed: negative for a random layout; otherwise reproducible.
        start: (n, dimensions) initial layout; principal components if not given.
        near: provider of cached neighbors.
        progress: called with the epochs done and their number.
    """
    rows = len(vectors)
    if rows < MIN_ROWS:
        plain = principal_components(unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32), dimensions)
        return np.ascontiguousarray(plain)
    count = min(n_neighbors, rows - 1)
    found = near(count) if near is not None else build_neighbor_graph(vectors, metric, count)
    plain = found.points[:, :dimensions]
    if np.ptp(found.points, axis=0).max() < 1e-6:
        return np.zeros((rows, dimensions), np.float32)
    epochs, grown = EPOCHS if rows <= LARGE_ROWS else LARGE_EPOCHS, start is not None and bool(np.ptp(start))
    made = optimize_layout(
        np.asarray(start) if grown else _initial_layout(plain, max(seed, 0)),
        fuzzy_union(found.rows[:, :count], found.distances[:, :count], cache),
        cache,
        min_dist=min_dist,
        epochs=round(epochs * _RESUME_RATE) if grown else epochs,
        rate=_RESUME_RATE if grown else 1.0,
        seed=seed,
        progress=progress,
    )
    return np.ascontiguousarray(made if np.isfinite(made).all() else plain, np.float32)


def warm_up(cache: Path) -> None:
    """Compile the kernels by laying out a few random points, in a background thread."""
    umap_layout(np.random.default_rng(0).normal(size=(64, 8)), cache, dimensions=2, n_neighbors=5, min_dist=0.1)


def _initial_layout(plain: np.ndarray, seed: int) -> np.ndarray:
    low, wide = plain.min(axis=0), np.ptp(plain, axis=0)
    placed = _SIDE * (plain - low) / np.where(wide > 0, wide, 1)
    return np.asarray(placed + np.random.default_rng(seed).normal(scale=_NOISE, size=plain.shape), np.float32)
