"""UMAP (McInnes et al. 2018): the neighbor graph, and its layout by stochastic gradient descent."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..caches import LruCache
from ..models.similarity import unit
from ..progress import checkpoint

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..progress import Progress

_BLOCK = 16_384
_QUERY_BLOCK = 4096
_EXACT_ROWS = 20_000  # larger corpora are searched with an inverted file
_LISTS = 4  # number of lists, as a multiple of √n
_PROBES = 8  # initial number of probed lists; doubled until the recall is achieved
_SAMPLE = 256  # rows used to measure the recall
_RECALL = 0.98
_TRAINING_ROWS = 64  # training rows per list


def principal_components(vectors: np.ndarray, count: int) -> np.ndarray:
    """Return the first ``count`` principal component scores, (n, count) float32, padded with zeros.

    Exact, from the (d, d) covariance in float64. Signs are fixed so that equal vectors give equal scores.
    """
    rows, dim = vectors.shape
    centre = np.zeros(dim) if rows == 0 else vectors.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((dim, dim))
    for start in range(0, rows, _BLOCK):
        block = vectors[start : start + _BLOCK] - centre
        covariance += block.T @ block
    _, axes = np.linalg.eigh(covariance)
    axes = axes[:, ::-1][:, :count]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
    scores = np.zeros((rows, count), np.float32)
    for start in range(0, rows, _BLOCK):
        scores[start : start + _BLOCK, : axes.shape[1]] = (vectors[start : start + _BLOCK] - centre) @ axes
    return scores


def nearest_neighbors(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` nearest rows of each row, itself first: (n, k) int32 rows and float32 Euclidean distances."""
    import faiss

    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return _query_index(index, points, k)


def approximate_neighbors(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the nearest neighbors and the measured recall: exact for up to 20,000 rows, otherwise a recall of at least 0.98.

    Large inputs use a FAISS inverted file; the number of probed lists is doubled until the recall is achieved on a sample.
    """
    import faiss

    count, width = points.shape
    if count <= _EXACT_ROWS:
        return *nearest_neighbors(points, k), 1.0
    exact = faiss.IndexFlatL2(width)
    index = faiss.IndexIVFFlat(exact, width, round(_LISTS * count**0.5))
    index.cp.max_points_per_centroid = _TRAINING_ROWS
    index.train(points)
    checkpoint()
    index.add(points)
    sample = np.linspace(0, count - 1, _SAMPLE).astype(np.int64)
    whole = faiss.IndexFlatL2(width)
    whole.add(points)
    truth = whole.search(points[sample], k)[1]
    recall, index.nprobe = 0.0, _PROBES
    while True:
        found = index.search(points[sample], k)[1]
        recall = float(np.mean([len(np.intersect1d(*pair)) / k for pair in zip(found, truth, strict=True)]))
        if recall >= _RECALL or index.nprobe >= index.nlist:
            break
        index.nprobe = min(2 * index.nprobe, index.nlist)
    return *_query_index(index, points, k), recall


def _query_index(index: Any, points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    rows, distances = np.empty((len(points), k), np.int32), np.empty((len(points), k), np.float32)
    for start in range(0, len(points), _QUERY_BLOCK):
        checkpoint()
        part = slice(start, start + _QUERY_BLOCK)
        squares, found = index.search(points[part], k)
        rows[part], distances[part] = _self_first(squares, found, start)
    return rows, distances


def _self_first(squares: np.ndarray, rows: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    own = start + np.arange(len(rows))[:, None]
    place = np.where((rows == own).any(axis=1), (rows == own).argmax(axis=1), rows.shape[1] - 1)
    at = np.arange(len(rows))
    rows[at, place] = rows[:, 0]
    squares[at, place] = squares[:, 0]
    rows[:, 0], squares[:, 0] = own[:, 0], 0
    missing = rows < 0
    rows, squares = np.where(missing, own, rows), np.where(missing, 0, squares)
    order = np.argsort(squares, axis=1, kind="stable")
    return np.take_along_axis(rows, order, 1), np.sqrt(np.maximum(np.take_along_axis(squares, order, 1), 0))


COMPONENTS = 50
"""Number of principal components used for the neighbor search, except where more make a difference and cost little."""
# From 2,000 to 20,000 rows, 50 would lower the V-measure of topics by 0.010 (samples of 3,080 texts of BANKING77 train). Below, the number
# makes no difference (samples of 240 to 1,000 texts); above, each component costs time.
_MANY_COMPONENTS, _MANY_ROWS = 150, 2_000
_CACHED_COUNTS = 32, 100  # neighbors in a cached graph: enough for common settings, and for the page's slider
_BUDGET = 64 << 20


@dataclass(frozen=True)
class NeighborGraph:
    """Principal components of a corpus and the neighbors of each row.

    Attributes:
        points: (n, 50) float32, or (n, 150) for 2,000 to 20,000 rows.
        rows, distances: (n, k) int32 and float32, nearest first, including the row itself.
        recall: measured recall; 1 for exact search.
    """

    points: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    recall: float

    @property
    def nbytes(self) -> int:
        return self.points.nbytes + self.rows.nbytes + self.distances.nbytes


def build_neighbor_graph(vectors: np.ndarray, metric: str, count: int) -> NeighborGraph:
    """Return the graph of the ``count`` nearest neighbors of (n, d) ``vectors``."""
    checkpoint()
    components = _MANY_COMPONENTS if _MANY_ROWS <= len(vectors) <= _EXACT_ROWS else COMPONENTS
    points = principal_components(metric_space(vectors, metric), components)
    return NeighborGraph(points, *approximate_neighbors(points, min(count, len(points))))


def metric_space(vectors: np.ndarray, metric: str) -> np.ndarray:
    """Return float32 vectors whose Euclidean distances induce the same ranking as the metric, ``cosine`` or ``euclidean``."""
    return unit(vectors) if metric == "cosine" else np.ascontiguousarray(vectors, np.float32)


NeighborProvider = Callable[[int], NeighborGraph]
"""Maps a number of neighbors to a graph with at least as many."""


class NeighborGraphCache:
    """Neighbor graphs of recently drawn corpora, within a memory budget in bytes."""

    def __init__(self, budget: int = _BUDGET) -> None:
        self._kept: LruCache[NeighborGraph] = LruCache(budget, lambda value: value.nbytes)

    @property
    def bytes(self) -> int:
        return self._kept.bytes

    def evict_unused(self, seconds: float) -> None:
        self._kept.evict_unused(seconds)

    def of(self, vectors: np.ndarray, key: str, metric: str = "cosine") -> NeighborProvider:
        """Return a function that returns at least the requested number of neighbors of each row, cached under ``key``."""

        def get(count: int) -> NeighborGraph:
            size = next((size for size in _CACHED_COUNTS if count <= size), count)
            return self._kept.get((key, metric, size), lambda: build_neighbor_graph(vectors, metric, size), checkpoint)

        return get


def load_kernels(cache: Path) -> Any:
    """Import the module of the compiled kernels, with numba's cache next to it or in ``cache``."""
    configure_numba_cache(cache)
    from . import umap_kernels

    return umap_kernels


def configure_numba_cache(cache: Path, *packages: str) -> None:
    """Let numba cache compiled code of this package and ``packages`` next to the source, or in ``cache`` if that is not writable.

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
        except Exception:  # unpickling a damaged file may raise anything
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_or_not(self: Any, key: Any, data: Any) -> None:
        with contextlib.suppress(Exception):
            save(self, key, data)

    IndexDataCacheFile.load, IndexDataCacheFile.save = load_or_none, save_or_not


SHIFT = 17  # keeps a float's exponent and 6 bits of its fraction: 64 steps per octave, within 0.6 % of the curve
_NEAREST, _FARTHEST = 2.0**-24, 2.0**24  # squared distances
_SPREAD = 1.0
_MIN_SQUARE = 0.001  # keeps repulsion finite


@dataclass(frozen=True)
class ForceTables:
    """Tables of forces, (s,) float32, indexed by the leading bits of the squared distance; the first entry is that of ``lowest``."""

    pull: np.ndarray
    push: np.ndarray
    lowest: int


@lru_cache(maxsize=64)
def fit_curve(min_dist: float) -> tuple[float, float]:
    """Fit a, b of 1 / (1 + a·d^2b) to a curve that is 1 up to ``min_dist`` and decays exponentially beyond."""
    from scipy.optimize import curve_fit

    along = np.linspace(0, 3 * _SPREAD, 300)
    wanted = np.where(along < min_dist, 1.0, np.exp(-(along - min_dist) / _SPREAD))
    (a, b), _ = curve_fit(lambda x, a, b: 1 / (1 + a * x ** (2 * b)), along, wanted)
    return float(a), float(b)


@lru_cache(maxsize=64)
def force_tables(min_dist: float) -> ForceTables:
    """Tabulate the gradients of the cross-entropy (appendix C of the paper) at the middle of each step; identical points do not repel."""
    a, b = fit_curve(min_dist)
    lowest, highest = (int(np.float32(square).view(np.int32)) >> SHIFT for square in (_NEAREST, _FARTHEST))
    bits = (np.arange(lowest, highest + 1, dtype=np.int64) << SHIFT) + (1 << (SHIFT - 1))
    square = bits.astype(np.int32).view(np.float32).astype(np.float64)
    pull = -2 * a * b * square ** (b - 1) / (1 + a * square**b)
    push = 2 * b / ((_MIN_SQUARE + square) * (1 + a * square**b))
    push[0] = 0
    return ForceTables(pull.astype(np.float32), push.astype(np.float32), lowest)


_BLOCK_ROWS, _MAX_BLOCKS = 1000, 16  # depends only on the rows, so that results do not depend on the number of CPUs
_PROGRESS_SECONDS = 0.2


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
    """Optimize the positions of the rows of ``graph``, (n, d) float32.

    Args:
        positions: (n, d) initial positions.
        graph: (n, n); edges too weak to be sampled once are ignored.
        rate: initial learning rate; decays to 0.
        seed: negative for a random layout.
        first: rows before it are fixed.
    """
    run = load_kernels(cache).run_epoch
    now = np.array(positions, np.float32, order="C")
    before = now.copy()
    starts, others, period = _sampling_schedule(graph, epochs)
    edges, tables = (starts, others, period, period.copy()), force_tables(min_dist)
    forces = tables.pull, tables.push, SHIFT, tables.lowest
    state = np.uint64(seed if seed >= 0 else secrets.randbits(32))
    count = len(now) - first
    cuts = first + np.linspace(0, count, max(1, min(_MAX_BLOCKS, count // _BLOCK_ROWS)) + 1).astype(np.int64)
    reported = 0.0
    with ThreadPoolExecutor(min(_processors(), len(cuts) - 1)) as pool:
        for number in range(epochs):
            checkpoint()
            np.copyto(before, now)
            speed = np.float32(rate * (1 - max(0, number - 1) / epochs))

            def step(block: int, number: int = number, speed: np.float32 = speed) -> None:
                run(now, before, (int(cuts[block]), int(cuts[block + 1])), edges, forces, speed, number, state)

            list(pool.map(step, range(len(cuts) - 1)))
            if progress is not None and (number + 1 == epochs or time.monotonic() - reported > _PROGRESS_SECONDS):
                reported = time.monotonic()
                progress(number + 1, epochs)
    return now


def _sampling_schedule(graph: csr_matrix, epochs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    smooth, everywhere = load_kernels(cache).smooth_distances, float(distances.mean(dtype=np.float64)) if distances.size else 0.0

    def measure(start: int) -> None:
        part = slice(start, start + _BLOCK)
        smooth(distances[part], everywhere, widths[part], nearest[part])

    with ThreadPoolExecutor(_processors()) as pool:
        list(pool.map(measure, range(0, len(distances), _BLOCK)))
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


METHOD = 4  # version of the layout, part of the cache keys of maps
MIN_ROWS = 12  # fewer rows are laid out by principal components
LARGE_ROWS = 10_000  # more rows need fewer epochs, as in umap-learn
EPOCHS, LARGE_EPOCHS = 300, 200
_RESUME_RATE = 0.5  # learning rate and share of the epochs of a layout that starts from another
_SIDE, _NOISE = 10.0, 1e-3  # side length and noise of the initial square


@dataclass(frozen=True)
class LayoutSettings:
    """Settings of a layout.

    Attributes:
        n_neighbors: neighbors of each point including itself, at most n - 1.
        metric: ``cosine`` or ``euclidean``.
        seed: negative for a random layout; otherwise reproducible.
        epochs: 0 for 300, or 200 beyond 10,000 rows.
    """

    dimensions: int
    n_neighbors: int
    min_dist: float
    metric: str = "cosine"
    seed: int = -1
    epochs: int = 0


def umap_layout(
    vectors: np.ndarray,
    cache: Path,
    settings: LayoutSettings,
    *,
    start: np.ndarray | None = None,
    near: NeighborProvider | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Return coordinates, (n, dimensions) float32, finite.

    Fewer than 12 rows are laid out by principal components, with identical rows at the origin.

    Args:
        vectors: (n, d).
        cache: folder for compiled code if the package is not writable.
        start: (n, dimensions) initial layout; principal components by default.
        near: provider of cached neighbors.
    """
    rows, dimensions, seed = len(vectors), settings.dimensions, settings.seed
    if rows < MIN_ROWS:
        return principal_components(metric_space(vectors, settings.metric), dimensions)
    count = min(settings.n_neighbors, rows - 1)
    found = near(count) if near is not None else build_neighbor_graph(vectors, settings.metric, count)
    plain = found.points[:, :dimensions]
    if np.ptp(found.points, axis=0).max() < 1e-6:
        return np.zeros((rows, dimensions), np.float32)
    epochs = settings.epochs or (EPOCHS if rows <= LARGE_ROWS else LARGE_EPOCHS)
    resumed = start is not None and bool(np.ptp(start))
    made = optimize_layout(
        np.asarray(start) if resumed else _initial_layout(plain, max(seed, 0)),
        fuzzy_union(found.rows[:, :count], found.distances[:, :count], cache),
        cache,
        min_dist=settings.min_dist,
        epochs=round(epochs * _RESUME_RATE) if resumed else epochs,
        rate=_RESUME_RATE if resumed else 1.0,
        seed=seed,
        progress=progress,
    )
    return np.ascontiguousarray(made if np.isfinite(made).all() else plain, np.float32)


def warm_up(cache: Path) -> None:
    """Compile the kernels by laying out a few random points."""
    umap_layout(np.random.default_rng(0).normal(size=(64, 8)), cache, LayoutSettings(2, 5, 0.1))


def _initial_layout(plain: np.ndarray, seed: int) -> np.ndarray:
    low, wide = plain.min(axis=0), np.ptp(plain, axis=0)
    placed = _SIDE * (plain - low) / np.where(wide > 0, wide, 1)
    return np.asarray(placed + np.random.default_rng(seed).normal(scale=_NOISE, size=plain.shape), np.float32)
