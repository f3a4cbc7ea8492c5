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

from ..data.progress import KeyLocks, checkpoint
from ..errors import StudioError
from ..models.similarity import unit
from ..registry import KeyedSettings, setting
from ..workspace import Workspace, digest_texts
from . import umap
from .neighbors import principal_components
from .umap import EPOCHS_OF_MANY, FEW, descend, keep_compiled, memberships
from .vector_store import keep_below, load_array, store_array

if TYPE_CHECKING:
    from ..data.progress import Progress
    from .neighbors import Neighbourhoods


_MOST_NEW = 0.1  # of what stands: more of them would deserve a map of their own
_RATE = 0.25  # of UMAP's transform
_PART = 0.5  # of the epochs
_SAME = 1e-3  # nearer than this is a copy
_ASKED = 1024


@dataclass(frozen=True)
class Placed:
    """A map with new points.

    Attributes:
        xy: (n, d) float32.
        new: (m,) the rows that are new.
        near, weights: (m, k), the earlier rows near each of them, and how much it belongs to them.
    """

    xy: np.ndarray
    new: np.ndarray
    near: np.ndarray
    weights: np.ndarray


def matched(texts: Sequence[str], earlier: Sequence[str]) -> np.ndarray | None:
    """(n,) the earlier row of each text, -1 for a new one; ``None`` where an earlier text is gone, none is new, or more than a tenth."""
    count = len(texts) - len(earlier)
    if len(earlier) < FEW or not 0 < count <= _MOST_NEW * len(earlier):
        return None
    places = defaultdict(list)
    for row in range(len(earlier) - 1, -1, -1):
        places[earlier[row]].append(row)
    found = np.array([places[text].pop() if places[text] else -1 for text in texts], np.int64)
    return found if int((found < 0).sum()) == count else None


def place(
    vectors: np.ndarray, known: np.ndarray, xy: np.ndarray, params: ProjectionParams, cache: Path, progress: Progress | None = None
) -> Placed:
    """Put the new ones of (n, d) ``vectors`` on a map.

    Args:
        known: (n,) the row on the map, -1 for a new one, as of :func:`matched`.
        xy: (e, 2) or (e, 3), the map.
        params: how it was drawn.
    """
    old, new = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
    rows, distances = _nearest(vectors, old, new, min(params.n_neighbors, len(old)), params.metric)
    weights = memberships(distances, cache)
    standing = xy[known[old]]
    begun = np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), standing[rows])
    copies = distances[:, 0] < _SAME
    begun[copies] = standing[rows[copies, 0]]
    made = np.empty((len(vectors), xy.shape[1]), np.float32)
    made[old], made[new] = standing, begun
    free = np.flatnonzero(~copies)
    if len(free):
        made[new[free]] = _settled(standing, begun[free], rows[free], weights[free], params, cache, progress)
    return Placed(made, new, known[old][rows], weights)


def _settled(
    standing: np.ndarray,
    begun: np.ndarray,
    rows: np.ndarray,
    weights: np.ndarray,
    params: ProjectionParams,
    cache: Path,
    progress: Progress | None,
) -> np.ndarray:
    """Where the new points come to lie: pulled by their neighbours, pushed from all, while nothing else moves."""
    from scipy.sparse import csr_matrix

    first, total = len(standing), len(standing) + len(begun)
    starts = np.concatenate([np.zeros(first, np.int64), np.arange(0, rows.size + 1, rows.shape[1])])
    graph = csr_matrix((weights.ravel(), rows.ravel(), starts), shape=(total, total))
    found = descend(
        np.concatenate([standing, begun]),
        graph,
        cache,
        min_dist=params.min_dist,
        epochs=round(EPOCHS_OF_MANY * _PART),
        rate=_RATE,
        seed=max(params.seed, 0),
        first=first,
        progress=progress,
    )[first:]
    return np.where(np.isfinite(found), found, begun)


def _nearest(vectors: np.ndarray, old: np.ndarray, new: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` of ``old`` nearest to each of ``new``, exactly: (m, k) places in ``old``, and distances."""
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


def by_umap_learn(
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
    """Coordinates, (n, dimensions) float32, finite, by ``umap.UMAP``.

    Fewer than 12 rows are laid out by their principal components; rows that all coincide, at the origin. A stop is heard between epochs.

    Args:
        vectors: (n, d).
        cache: the folder for compiled code where it may not be written beside umap-learn's.
        n_neighbors: how many rows a neighbourhood has; n - 1 at most.
        metric: ``cosine`` or ``euclidean``.
        seed: below zero: another layout each time, on all processors; otherwise repeatable, on one.
        start: (n, dimensions) where the points begin; by the spectrum of the graph where it is not given.
        progress: told the epochs done and their number.
    """
    space = unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32)
    if len(space) < FEW:
        return np.ascontiguousarray(principal_components(space, dimensions))
    if np.ptp(space, axis=0).max() < 1e-6:
        return np.zeros((len(space), dimensions), np.float32)
    while not _ONE_AT_A_TIME.acquire(timeout=_PATIENCE):
        checkpoint()
    try:
        keep_compiled(cache, "umap", "pynndescent")
        try:
            from umap import UMAP
        except ImportError as error:
            how = "run: pip install 'sbert-studio[umap]'; or leave the layout as it is"
            raise StudioError("this layout needs umap-learn, which is not installed", how) from error

        def fit() -> np.ndarray:
            with _bars_let_go_on_failure(), warnings.catch_warnings():
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
                        tqdm_kwds={"file": _Epochs(progress), "disable": False, "mininterval": 0.2, "bar_format": "{n_fmt}/{total_fmt}"},
                    ).fit_transform(space)
                )

        made = _aside(fit)
    finally:
        _ONE_AT_A_TIME.release()
    return np.ascontiguousarray(made if np.isfinite(made).all() else principal_components(space, dimensions), np.float32)


def _aside(work: Callable[[], np.ndarray]) -> np.ndarray:
    """What ``work`` returns, or raises, in a thread of its own.

    Numba, as it starts, sets how many threads OpenMP has for whoever started it; umap-learn sets one of numba's for a seeded map, and
    does not set it back where that is stopped. Both end with the thread, and no training beside this adds in another order.
    """
    with ThreadPoolExecutor(1, "umap-learn") as pool:
        return pool.submit(contextvars.copy_context().run, work).result()


@contextlib.contextmanager
def _bars_let_go_on_failure() -> Iterator[None]:
    """Give back the lock of all progress bars, which tqdm keeps for ever where printing one fails, as it does when a map is stopped."""
    try:
        yield
    except BaseException:
        from tqdm import tqdm

        with contextlib.suppress(RuntimeError):  # this thread does not hold it, or no longer
            while True:
                tqdm.get_lock().release()
        raise


class _Epochs(io.TextIOBase):
    """What umap-learn prints its progress bar to: it tells ``progress`` instead, and asks whether the map is still wanted."""

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
    """How a map is drawn.

    Raises:
        StudioError: a value is out of bounds.
    """

    dimensions: int = setting(2, "2 draws a flat map, 3 a cloud that can be turned", min=2, max=3, step=1)
    n_neighbors: int = setting(15, "few neighbours show fine detail, many show the whole", min=2, max=200, step=1)
    min_dist: float = setting(0.1, "how close points may lie: small packs alike texts tightly", min=0.0, max=0.99, step=0.01)
    metric: str = setting("cosine", "what near means: cosine compares directions only", choices=("cosine", "euclidean"))
    seed: int = setting(-1, "-1 draws another map each time; 0 and more make the same map again", min=-1, step=1)
    layout: str = setting("studio", "who lays it out: studio is faster, umap-learn is the library of UMAP's authors", choices=LAYOUTS)


_USUAL = ProjectionParams()


@dataclass(frozen=True)
class Projection:
    """A map.

    Attributes:
        xy: (n, 2) or (n, 3) float32, read-only, row i for text i.
        params: what it was made with.
        key: the name it is kept under: text digest, encoder fingerprint and settings.
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
    kept: Neighbourhoods | None = None,
) -> Projection:
    """Lay vectors out by UMAP, or take the layout from disk where these settings were used before.

    A map at other than the usual neighbours and least distance grows out of the one at those, which is made first where it is not there:
    who moves a slider sees the same map change, and whichever way they came, the same settings draw the same map. One by umap-learn is
    always laid out from its own beginning.

    Args:
        vectors: (n, d).
        key_base: names the vectors: ``<text digest>-<encoder fingerprint>``.
        progress: told the epochs done and their number.
        start: another map of the same texts, which this one grows out of: what did not change stays where it was.
        kept: where the neighbours of the rows are kept.
    """
    key = named(key_base, params) + ("" if start is None else f"-{digest_texts([start.key])[:16]}")
    path = workspace.projection(key)
    shape = (len(vectors), params.dimensions)
    with _LOCKS[str(path)]:
        xy = load_array(path, shape)
        if xy is None:
            own = params.layout == "studio"
            usual = replace(params, n_neighbors=_USUAL.n_neighbors, min_dist=_USUAL.min_dist)
            if own and start is None and params != usual and params.seed >= 0:
                start = project(vectors, usual, key_base, workspace, progress, kept=kept)
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
                near = None if kept is None else kept.of(vectors, key_base, params.metric)
                xy = umap.layout(vectors, workspace.cache("numba"), near=near, **asked)
            else:
                xy = by_umap_learn(vectors, workspace.cache("numba"), **asked)
            xy.flags.writeable = False
            if store_array(path, xy):
                keep_below(path.parent, _MAX_BYTES, path)
    return Projection(xy, params, key)


def named(key_base: str, params: ProjectionParams) -> str:
    """What the map of the vectors that ``key_base`` names is kept under."""
    return f"{key_base}-{params.key}-{umap.METHOD}"


def warm_up(workspace: Workspace) -> None:
    """Compile the layout ahead of the first map; meant for a background thread."""
    umap.warm_up(workspace.cache("numba"))
