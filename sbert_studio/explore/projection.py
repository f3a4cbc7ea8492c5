"""Two- and three-dimensional projections of a corpus: compute, store, and place new points."""

from __future__ import annotations

import contextlib
import contextvars
import io
import re
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StudioError
from ..models.similarity import unit
from ..progress import KeyLocks, checkpoint
from ..registry import KeyedSettings, setting
from ..workspace import Workspace, digest_texts
from . import umap
from .neighbors import principal_components
from .umap import LARGE_EPOCHS, MIN_ROWS, configure_numba_cache, membership_strengths, optimize_layout
from .vector_store import evict_files, load_array, store_array

if TYPE_CHECKING:
    from ..progress import Progress
    from .neighbors import NeighborGraphCache


_MOST_NEW = 0.1  # of what stands: more of them would deserve a map of their own
_RATE = 0.25  # of UMAP's transform
_PART = 0.5  # of the epochs
_SAME = 1e-3  # nearer than this is a copy
_ASKED = 1024


@dataclass(frozen=True)
class PlacedPoints:
    """A map with new points.

    Attributes:
        xy: (n, d) float32.
        new: (m,) rows of the new points.
        near, weights: (m, k) earlier rows near each new point, and their weights.
    """

    xy: np.ndarray
    new: np.ndarray
    near: np.ndarray
    weights: np.ndarray


def match_earlier_rows(texts: Sequence[str], earlier: Sequence[str]) -> np.ndarray | None:
    """Return the earlier row of each text, (n,), -1 for new ones; ``None`` if an earlier text is missing.

    Or none or more than a tenth are new.
    """
    count = len(texts) - len(earlier)
    if len(earlier) < MIN_ROWS or not 0 < count <= _MOST_NEW * len(earlier):
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
    standing = xy[earlier[old]]
    begun = np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), standing[rows])
    copies = distances[:, 0] < _SAME
    begun[copies] = standing[rows[copies, 0]]
    made = np.empty((len(vectors), xy.shape[1]), np.float32)
    made[old], made[new] = standing, begun
    free = np.flatnonzero(~copies)
    if len(free):
        made[new[free]] = _optimize_new_points(standing, begun[free], rows[free], weights[free], params, cache, progress)
    return PlacedPoints(made, new, earlier[old][rows], weights)


def _optimize_new_points(
    standing: np.ndarray,
    begun: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    params: ProjectionParams,
    cache: Path,
    progress: Progress | None,
) -> np.ndarray:
    from scipy.sparse import csr_matrix

    first, total = len(standing), len(standing) + len(begun)
    starts = np.concatenate([np.zeros(first, np.int64), np.arange(0, rows.size + 1, rows.shape[1])])
    graph = csr_matrix((weights.ravel(), rows.ravel(), starts), shape=(total, total))
    found = optimize_layout(
        np.concatenate([standing, begun]),
        graph,
        cache,
        min_dist=params.min_dist,
        epochs=round(LARGE_EPOCHS * _PART),
        rate=_RATE,
        seed=max(params.seed, 0),
        first=first,
        progress=progress,
    )[first:]
    return np.where(np.isfinite(found), found, begun)


def _nearest(vectors: np.ndarray, old: np.ndarray, new: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    import faiss

    space = unit(vectors) if metric == "cosine" else np.ascontiguousarray(vectors, np.float32)
    index = faiss.IndexFlatL2(space.shape[1])
    index.add(space[old])
    found = []
    for start in range(0, len(new), _ASKED):
        checkpoint()
        found.append(index.search(space[new[start : start + _ASKED]], k))
    squares, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, np.sqrt(np.maximum(squares, 0))


_ONE_AT_A_TIME = threading.Lock()  # the threads of numba that umap-learn uses must not be asked by two
_PATIENCE = 0.2


def umap_learn_layout(
    vectors: np.ndarray,
    cache: Path,
    *,
    dimensions: int,
    n_neighbors: int,
    min_dist: float,
    metric: str = "cosine",
    seed: int = -1,
    start: np.ndarray | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Return a layout by ``umap.UMAP``, (n, dimensions) float32, finite.

    Fewer than 12 rows are laid out by principal components, coinciding rows at the origin. Stoppable between epochs.

    Args:
        vectors: (n, d).
        cache: folder for compiled code if umap-learn's own is not writable.
        n_neighbors: neighbors of each point, at most n - 1.
        metric: ``cosine`` or ``euclidean``.
        seed: negative for a random layout on all cores; otherwise reproducible on one.
        start: (n, dimensions) initial layout; spectral if not given.
        progress: called with the epochs done and their number.
    """
    space = unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32)
    if len(space) < MIN_ROWS:
        return np.ascontiguousarray(principal_components(space, dimensions))
    if np.ptp(space, axis=0).max() < 1e-6:
        return np.zeros((len(space), dimensions), np.float32)
    while not _ONE_AT_A_TIME.acquire(timeout=_PATIENCE):
        checkpoint()
    try:
        configure_numba_cache(cache, "umap", "pynndescent")
        try:
            from umap import UMAP
        except ImportError as error:
            how = "run: pip install 'sbert-studio[umap]'; or leave the layout as it is"
            raise StudioError("this layout needs umap-learn, which is not installed", how) from error

        def fit() -> np.ndarray:
            with _release_progress_bars(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what umap-learn falls back to, it says to programmers
                checkpoint()
                return np.asarray(
                    UMAP(
                        n_neighbors=min(n_neighbors, len(space) - 1),
                        n_components=dimensions,
                        min_dist=min_dist,
                        metric=metric,
                        init="spectral" if start is None or not np.ptp(start) else np.array(start, np.float32),
                        random_state=seed if seed >= 0 else None,
                        n_jobs=1 if seed >= 0 else -1,
                        tqdm_kwds={
                            "file": _EpochStream(progress),
                            "disable": False,
                            "mininterval": 0.2,
                            "bar_format": "{n_fmt}/{total_fmt}",
                        },
                    ).fit_transform(space)
                )

        made = _run_in_thread(fit)
    finally:
        _ONE_AT_A_TIME.release()
    return np.ascontiguousarray(made if np.isfinite(made).all() else principal_components(space, dimensions), np.float32)


def _run_in_thread(work: Callable[[], np.ndarray]) -> np.ndarray:
    with ThreadPoolExecutor(1, "umap-learn") as pool:
        return pool.submit(contextvars.copy_context().run, work).result()


@contextlib.contextmanager
def _release_progress_bars() -> Iterator[None]:
    try:
        yield
    except BaseException:
        from tqdm import tqdm

        with contextlib.suppress(RuntimeError):  # this thread does not hold it, or no longer
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
    """Projection parameters.

    Raises:
        StudioError: a value is out of bounds.
    """

    dimensions: int = setting(2, "2 draws a flat map, 3 a cloud that can be turned", min=2, max=3, step=1)
    n_neighbors: int = setting(15, "few neighbours show fine detail, many show the whole", min=2, max=200, step=1)
    min_dist: float = setting(0.1, "how close points may lie: small packs alike texts tightly", min=0.0, max=0.99, step=0.01)
    metric: str = setting("cosine", "what near means: cosine compares directions only", choices=("cosine", "euclidean"))
    seed: int = setting(-1, "-1 draws another map each time; 0 and more make the same map again", min=-1, step=1)
    layout: str = setting("studio", "who lays it out: studio is faster, umap-learn is the library of UMAP's authors", choices=LAYOUTS)


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
    """Project vectors by UMAP, or load the cached projection.

    A map with non-default neighbors or minimum distance starts from the default map, so that moving a slider changes the same map, and
    equal settings give equal maps. umap-learn always starts from its own initialisation.

    Args:
        vectors: (n, d).
        key_base: cache key of the vectors: ``<text digest>-<encoder fingerprint>``.
        progress: called with the epochs done and their number.
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
            asked: dict[str, Any] = {
                "dimensions": params.dimensions,
                "n_neighbors": params.n_neighbors,
                "min_dist": params.min_dist,
                "metric": params.metric,
                "seed": params.seed,
                "start": None if start is None else start.xy,
                "progress": progress,
            }
            if own:
                near = None if graphs is None else graphs.of(vectors, key_base, params.metric)
                xy = umap.umap_layout(vectors, workspace.cache("numba"), near=near, **asked)
            else:
                xy = umap_learn_layout(vectors, workspace.cache("numba"), **asked)
            xy.flags.writeable = False
            if store_array(path, xy):
                evict_files(path.parent, _MAX_BYTES, path)
    return Projection(xy, params, key)


def projection_key(key_base: str, params: ProjectionParams) -> str:
    """Return the cache key of the map of these vectors."""
    return f"{key_base}-{params.key}-{umap.METHOD}"


def warm_up(workspace: Workspace) -> None:
    """Compile the layout kernels ahead of the first map, in a background thread."""
    umap.warm_up(workspace.cache("numba"))
