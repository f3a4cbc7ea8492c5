"""Two- and three-dimensional projections of a corpus: compute and store them, and place new points.

A very large corpus is drawn from a sample: the sample is laid out and clustered, and all other texts are placed by their nearest sampled
texts.
"""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
import io
import re
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import StudioError
from ..progress import KeyLocks, checkpoint
from ..registry import KeyedSettings, setting
from ..workspace import Workspace, digest_texts
from . import DEFAULT_SEED, umap
from .clusters import Clusters, select_rows
from .topics import topic_centroids
from .umap import (
    COMPONENTS,
    LARGE_EPOCHS,
    MIN_ROWS,
    LayoutSettings,
    configure_numba_cache,
    membership_strengths,
    metric_space,
    optimize_layout,
    principal_components,
)
from .vector_store import evict_files, load_array, store_array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..progress import Progress
    from .umap import NeighborGraphCache

_MAX_NEW = 0.1  # maximum share of new points; with more, the map is recomputed
_RATE = 0.25  # learning rate, as in UMAP's transform
_EPOCH_SHARE = 0.5
_SAME = 1e-3  # distance below which a point counts as a copy
_QUERY_BLOCK = 1024


@dataclass(frozen=True)
class PlacedPoints:
    """A map with new points.

    Attributes:
        xy: (n, 2) or (n, 3) float32.
        new: (m,) rows of the new points.
        near, weights: (m, k) earlier rows near each new point, and their weights.
    """

    xy: np.ndarray
    new: np.ndarray
    near: np.ndarray
    weights: np.ndarray


def match_earlier_rows(texts: Sequence[str], earlier: Sequence[str]) -> np.ndarray | None:
    """Return the earlier row of each text, (n,), -1 for new texts.

    ``None`` if an earlier text is missing, no text is new, or more than a tenth are.
    """
    count = len(texts) - len(earlier)
    if len(earlier) < MIN_ROWS or not 0 < count <= _MAX_NEW * len(earlier):
        return None
    places = defaultdict(list)
    for row in range(len(earlier) - 1, -1, -1):
        places[earlier[row]].append(row)
    found = np.array([places[text].pop() if places[text] else -1 for text in texts], np.int64)
    return found if int((found < 0).sum()) == count else None


def place_new_points(
    vectors: np.ndarray, earlier: np.ndarray, xy: np.ndarray, params: ProjectionParams, cache: Path, progress: Progress | None = None
) -> PlacedPoints:
    """Place the new rows of (n, d) ``vectors`` on a map.

    Args:
        earlier: (n,) rows of the map, -1 for new ones; see :func:`match_earlier_rows`.
        xy: (e, 2) or (e, 3), the map.
        params: its parameters.
    """
    old, new = np.flatnonzero(earlier >= 0), np.flatnonzero(earlier < 0)
    rows, distances = _nearest(vectors, old, new, min(params.n_neighbors, len(old)), params.metric)
    weights = membership_strengths(distances, cache)
    fixed = xy[earlier[old]]
    initial = np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), fixed[rows])
    copies = distances[:, 0] < _SAME
    initial[copies] = fixed[rows[copies, 0]]
    made = np.empty((len(vectors), xy.shape[1]), np.float32)
    made[old], made[new] = fixed, initial
    free = np.flatnonzero(~copies)
    if len(free):
        graph = _graph_of_new(len(fixed), rows[free], weights[free])
        points = np.concatenate([fixed, initial[free]])
        found = optimize_layout(
            points,
            graph,
            cache,
            min_dist=params.min_dist,
            epochs=round(LARGE_EPOCHS * _EPOCH_SHARE),
            rate=_RATE,
            seed=max(params.seed, 0),
            first=len(fixed),
            progress=progress,
        )
        made[new[free]] = np.where(np.isfinite(found), found, points)[len(fixed) :]
    return PlacedPoints(made, new, earlier[old][rows], weights)


def _graph_of_new(fixed: int, rows: np.ndarray, weights: np.ndarray) -> csr_matrix:
    from scipy.sparse import csr_matrix

    starts = np.concatenate([np.zeros(fixed, np.int64), np.arange(0, rows.size + 1, rows.shape[1])])
    return csr_matrix((weights.ravel(), rows.ravel(), starts), shape=(fixed + len(rows), fixed + len(rows)))


def _nearest(vectors: np.ndarray, old: np.ndarray, new: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    import faiss

    space = metric_space(vectors, metric)
    index = faiss.IndexFlatL2(space.shape[1])
    index.add(space[old])
    found = []
    for start in range(0, len(new), _QUERY_BLOCK):
        checkpoint()
        found.append(index.search(space[new[start : start + _QUERY_BLOCK]], k))
    squares, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, np.sqrt(np.maximum(squares, 0))


_ONE_AT_A_TIME = threading.Lock()  # numba's thread pool, which umap-learn uses, must not be entered twice
_POLL_SECONDS = 0.2


def umap_learn_layout(
    vectors: np.ndarray, cache: Path, settings: LayoutSettings, *, start: np.ndarray | None = None, progress: Progress | None = None
) -> np.ndarray:
    """Compute a layout with ``umap.UMAP``, stoppable between epochs; arguments and result as in :func:`~.umap.umap_layout`.

    Args:
        start: (n, dimensions) initial layout; spectral by default.
    """
    dimensions, seed = settings.dimensions, settings.seed
    space = metric_space(vectors, settings.metric)
    if len(space) < MIN_ROWS:
        return principal_components(space, dimensions)
    if np.ptp(space, axis=0).max() < 1e-6:
        return np.zeros((len(space), dimensions), np.float32)
    while not _ONE_AT_A_TIME.acquire(timeout=_POLL_SECONDS):
        checkpoint()
    try:
        configure_numba_cache(cache, "umap", "pynndescent")
        try:
            from umap import UMAP
        except ImportError as error:
            how = "run: pip install 'sbert-studio[umap]'; or use the default layout"
            raise StudioError("this layout needs umap-learn, which is not installed", how) from error

        progress_bar = {"file": _EpochStream(progress), "disable": False, "mininterval": 0.2, "bar_format": "{n_fmt}/{total_fmt}"}

        def fit() -> np.ndarray:
            with _release_progress_bars(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings about umap-learn's fallbacks
                checkpoint()
                return np.asarray(
                    UMAP(
                        n_neighbors=min(settings.n_neighbors, len(space) - 1),
                        n_components=dimensions,
                        min_dist=settings.min_dist,
                        metric=settings.metric,
                        init="spectral" if start is None or not np.ptp(start) else np.array(start, np.float32),
                        random_state=seed if seed >= 0 else None,
                        n_jobs=1 if seed >= 0 else -1,
                        tqdm_kwds=progress_bar,
                    ).fit_transform(space)
                )

        with ThreadPoolExecutor(1, "umap-learn") as pool:
            made = pool.submit(contextvars.copy_context().run, fit).result()
    finally:
        _ONE_AT_A_TIME.release()
    return np.ascontiguousarray(made if np.isfinite(made).all() else principal_components(space, dimensions), np.float32)


@contextlib.contextmanager
def _release_progress_bars() -> Iterator[None]:
    try:
        yield
    except BaseException:
        from tqdm import tqdm

        with contextlib.suppress(RuntimeError):  # this thread does not (or no longer) hold it
            while True:
                tqdm.get_lock().release()
        raise


class _EpochStream(io.TextIOBase):
    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def write(self, text: str) -> int:
        checkpoint()
        seen = re.search(r"(\d+)/(\d+)", text)
        if seen and self._progress is not None:
            self._progress(int(seen.group(1)), int(seen.group(2)))
        return len(text)


_MAX_BYTES = 1 << 30
_LOCKS = KeyLocks()
LAYOUTS = ("studio", "umap-learn")


@dataclass(frozen=True)
class ProjectionParams(KeyedSettings):
    """Projection parameters, validated against their bounds."""

    dimensions: int = setting(2, "2 draws a flat map; 3 draws a point cloud that can be rotated", min=2, max=3, step=1)
    n_neighbors: int = setting(15, "few neighbors show local detail, many the global structure", min=2, max=200, step=1)
    min_dist: float = setting(
        0.1, "minimum distance of points on the map; small values pack similar texts tightly", min=0.0, max=0.99, step=0.01
    )
    metric: str = setting("cosine", "distance metric; cosine compares directions only", choices=("cosine", "euclidean"))
    seed: int = setting(DEFAULT_SEED, "random seed; -1 draws a different map each time", min=-1, step=1)
    layout: str = setting("studio", "layout engine: studio is faster; umap-learn is the library of UMAP's authors", choices=LAYOUTS)


_DEFAULTS = ProjectionParams()


@dataclass(frozen=True)
class Projection:
    """A map.

    Attributes:
        xy: (n, 2) or (n, 3) float32, read-only.
        params: its parameters.
        key: cache key: text digest, encoder fingerprint and parameters.
    """

    xy: np.ndarray
    params: ProjectionParams
    key: str


def project(
    vectors: np.ndarray,
    params: ProjectionParams,
    key_base: str,
    workspace: Workspace,
    progress: Progress | None = None,
    start: Projection | None = None,
    graphs: NeighborGraphCache | None = None,
) -> Projection:
    """Project vectors with UMAP, or load the cached projection.

    A map with non-default neighbors or minimum distance starts from the default map, so that moving a slider changes the same map, and
    equal settings give equal maps. umap-learn always starts from its own initialization.

    Args:
        vectors: (n, d).
        key_base: cache key of the vectors: ``<text digest>-<encoder fingerprint>``.
        start: another map of the same texts to start from.
        graphs: cache of neighbor graphs.
    """
    key = projection_key(key_base, params) + ("" if start is None else f"-{digest_texts([start.key])[:16]}")
    path = workspace.projection(key)
    shape = (len(vectors), params.dimensions)
    with _LOCKS[str(path)]:
        xy = load_array(path, shape)
        if xy is None:
            own = params.layout == "studio"
            usual = replace(params, n_neighbors=_DEFAULTS.n_neighbors, min_dist=_DEFAULTS.min_dist)
            if own and start is None and params != usual and params.seed >= 0:
                start = project(vectors, usual, key_base, workspace, progress, graphs=graphs)
            settings = LayoutSettings(params.dimensions, params.n_neighbors, params.min_dist, params.metric, params.seed)
            cache, initial = workspace.cache("numba"), None if start is None else start.xy
            if own:
                near = None if graphs is None else graphs.of(vectors, key_base, params.metric)
                xy = umap.umap_layout(vectors, cache, settings, start=initial, near=near, progress=progress)
            else:
                xy = umap_learn_layout(vectors, cache, settings, start=initial, progress=progress)
            xy.flags.writeable = False
            if store_array(path, xy):
                evict_files(path.parent, _MAX_BYTES, path)
    return Projection(xy, params, key)


def projection_key(key_base: str, params: ProjectionParams) -> str:
    """Return the cache key of a map."""
    return f"{key_base}-{params.key}-{umap.METHOD}"


def warm_up(workspace: Workspace) -> None:
    """Compile the layout kernels in a background thread before the first map is drawn."""
    umap.warm_up(workspace.cache("numba"))


LARGE_MAP_ROWS = 200_000
"""Number of rows beyond which a map is laid out from a sample."""
SAMPLE_ROWS = 15_000
_NEIGHBORS = 5
_EPOCHS, _RATE = 5, 0.25  # a few steps of UMAP's transform, which spread texts that share their neighbors
_LISTS, _MIN_LIST = 4, 20  # 4 √n lists, of which the nearest four hold 98 % of the nearest rows; at least 20 rows a list
_PROBES = 4
_BLOCK = 16_384
_CACHE_BYTES = 1 << 30
PLACED_VERSION = "placed2"  # changes when the same sample places the other rows elsewhere


@dataclass(frozen=True)
class SampleNeighbors:
    """What places the rows of a corpus among those of a sample.

    Attributes:
        near, distances: (n, 5) int64 and float32, the nearest sampled rows as indices into the sample, and their distances.
        topics, cosines: (n,) int64 and float32, the cluster with the nearest centroid, and its cosine; empty without clusters.
    """

    near: np.ndarray
    distances: np.ndarray
    topics: np.ndarray
    cosines: np.ndarray


def find_sampled(vectors: np.ndarray, rows: np.ndarray, groups: Clusters, metric: str, progress: Progress | None = None) -> SampleNeighbors:
    """Find the nearest sampled rows and the nearest cluster of each of (n, d) ``vectors``, which are read once, block by block.

    The nearest rows are found by the principal components of the sample, approximately.

    Args:
        rows: (m,) sampled rows, ascending.
        groups: their clusters.
        metric: ``cosine`` or ``euclidean``, for the nearest rows.
    """
    import faiss

    count, sampled = len(vectors), metric_space(np.asarray(vectors[rows]), metric)
    center, centroids = sampled.mean(axis=0), topic_centroids(sampled, groups.ids)
    axes = np.linalg.eigh(((sampled - center).T @ (sampled - center)).astype(np.float64))[1][:, ::-1][:, :COMPONENTS].astype(np.float32)
    points = sampled @ axes  # not centered, which leaves distances unchanged
    lists = max(1, min(round(_LISTS * len(points) ** 0.5), len(points) // _MIN_LIST))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], lists)
    index.cp.min_points_per_centroid = 1  # otherwise faiss warns of short lists
    index.train(points)
    index.add(points)
    index.nprobe = min(_PROBES, index.nlist)
    near, distances = np.empty((count, _NEIGHBORS), np.int64), np.empty((count, _NEIGHBORS), np.float32)
    topics, cosines = np.empty(count, np.int64), np.empty(count, np.float32)
    # One matrix product reads each vector once; scaling its results is cheaper than scaling the vectors.
    directions, width = np.ascontiguousarray(np.concatenate([axes, centroids.T], axis=1), np.float32), axes.shape[1]
    for start in range(0, count, _BLOCK):
        checkpoint()
        part = slice(start, start + _BLOCK)
        block = np.asarray(vectors[part], np.float32)
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block))[:, None]
        products, inverse = block @ directions, np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        components = products[:, :width] * inverse if metric == "cosine" else np.ascontiguousarray(products[:, :width])
        squares, found = index.search(components, _NEIGHBORS)
        missing = found < 0  # fewer rows than neighbors in the probed lists
        near[part], squares = np.where(missing, found[:, :1], found), np.where(missing, squares[:, :1], squares)
        distances[part] = np.sqrt(np.maximum(squares, 0))
        if len(centroids):
            topics[part] = products[:, width:].argmax(axis=1)
            cosines[part] = products[np.arange(len(products)), width + topics[part]] * inverse[:, 0]
        if progress is not None:
            progress(min(start + _BLOCK, count), count)
    return SampleNeighbors(near, distances, topics if len(centroids) else topics[:0], cosines if len(centroids) else cosines[:0])


def place_rows(
    neighbors: SampleNeighbors, rows: np.ndarray, xy: np.ndarray, params: ProjectionParams, cache: Path, progress: Progress | None = None
) -> np.ndarray:
    """Place all rows on the map of a sample, (n, 2) or (n, 3) float32, as UMAP's transform does, with few epochs; sampled rows stay.

    Args:
        rows: (m,) sampled rows, ascending.
        xy: (m, 2) or (m, 3), their map.
        params: its parameters.
        cache: folder for compiled code if the package is not writable.
    """
    from scipy.sparse import csr_matrix

    count, rest = len(neighbors.near), np.setdiff1d(np.arange(len(neighbors.near)), rows, assume_unique=True)
    near, weights = neighbors.near[rest], membership_strengths(neighbors.distances[rest], cache)
    initial = np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), xy[near]).astype(np.float32)
    starts = np.concatenate([np.zeros(len(rows), np.int64), np.arange(0, near.size + 1, _NEIGHBORS)])
    points = np.concatenate([np.asarray(xy, np.float32), initial])
    moved = optimize_layout(
        points,
        csr_matrix((weights.ravel(), near.ravel(), starts), shape=(count, count)),
        cache,
        min_dist=params.min_dist,
        epochs=_EPOCHS,
        rate=_RATE,
        seed=max(params.seed, 0),
        first=len(rows),
        progress=progress,
    )
    made = np.empty((count, xy.shape[1]), np.float32)
    made[rows], made[rest] = xy, np.where(np.isfinite(moved), moved, points)[len(rows) :]
    return made


def assign_clusters(neighbors: SampleNeighbors, rows: np.ndarray, groups: Clusters) -> Clusters:
    """Extend the clusters of the sampled rows to all rows: each has the cluster with the nearest centroid.

    A row whose nearest sampled row is an outlier is one too, so that their share stays the same. The clusters keep their numbers and sizes;
    :func:`renumber` gives those of all rows.
    """
    count = len(neighbors.near)
    if not len(neighbors.topics):
        none = np.full(count, -1, np.int64)
        return replace(groups, ids=none, typicality=np.zeros(count, np.float32), nearest=none)
    ids, nearest, typical = neighbors.topics.copy(), neighbors.topics.copy(), neighbors.cosines.copy()
    ids[groups.ids[neighbors.near[:, 0]] < 0] = -1
    ids[rows], typical[rows], nearest[rows] = groups.ids, groups.typicality, groups.nearest
    return replace(groups, ids=ids, typicality=typical, nearest=nearest)


def renumber(groups: Clusters) -> Clusters:
    """Return extended clusters with their sizes among all rows, the largest first."""
    return select_rows(groups, np.arange(len(groups.ids)))


def store_placed(path: Path, xy: np.ndarray, groups: Clusters) -> None:
    """Store the places and clusters of all rows, so that the same map opens without placing them again."""
    # One float32 array holds everything: numbers of clusters are below 2²⁴, up to which float32 is exact.
    columns = (*xy.T, groups.ids, groups.nearest, groups.typicality)
    if store_array(path, np.stack([np.asarray(column, np.float32) for column in columns], axis=1)):
        evict_files(path.parent, _CACHE_BYTES, path)


def load_placed(path: Path, count: int, dimensions: int, groups: Clusters) -> tuple[np.ndarray, Clusters] | None:
    """Return what :func:`store_placed` stored, or ``None``.

    Args:
        groups: clusters of the sampled rows, with their labels.
    """
    found = load_array(path, (count, dimensions + 3))
    if found is None:
        return None
    ids, nearest = (found[:, dimensions + place].astype(np.int64) for place in (0, 1))
    return np.ascontiguousarray(found[:, :dimensions]), replace(groups, ids=ids, nearest=nearest, typicality=found[:, -1].copy())


def sample_digest(xy: np.ndarray, groups: Clusters) -> str:
    """Return a digest of the map and the clusters of the sample, on which the places and clusters of all rows depend."""
    return hashlib.sha256(xy.tobytes() + groups.ids.tobytes()).hexdigest()[:16]
