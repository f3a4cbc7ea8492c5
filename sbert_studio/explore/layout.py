"""UMAP (McInnes et al. 2018) on exact neighbours, one at a time, with its compiled code kept on disk."""

from __future__ import annotations

import contextlib
import io
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.progress import checkpoint
from ..encoders.unit import unit
from .compiled import keep_compiled_code
from .reduction import neighbours, principal_components

if TYPE_CHECKING:
    from ..data.progress import Progress

_KEPT = 50  # dimensions that neighbours are looked for in
_FEW = 12  # rows below which a neighbourhood graph says nothing
_PATIENCE = 0.25  # seconds between two questions whether the map is still wanted
_ONE_AT_A_TIME = threading.Lock()  # numba's threading layers are not all safe to enter twice


def layout(
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
    """Coordinates, (n, dimensions) float32, finite.

    Fewer than 12 rows are laid out by their principal components; rows that all coincide are laid out at the origin.

    Args:
        vectors: (n, d).
        cache: the folder for numba's compiled code where it may not write beside umap's.
        n_neighbors: how many rows a neighbourhood has; n - 1 at most.
        metric: ``cosine`` or ``euclidean``.
        seed: below zero: unseeded, on all processors; otherwise repeatable, on one.
        start: (n, dimensions) where the points are laid first; by their principal components where it is not given.
        progress: told the epochs done and their number.
    """
    points = principal_components(unit(vectors) if metric == "cosine" else np.asarray(vectors, np.float32), max(_KEPT, dimensions))
    plain = points[:, :dimensions]
    if len(points) < _FEW or np.ptp(points, axis=0).max() < 1e-6:
        return np.ascontiguousarray(plain if len(points) < _FEW else np.zeros_like(plain))
    while not _ONE_AT_A_TIME.acquire(timeout=_PATIENCE):
        checkpoint()
    try:
        found = _fit(
            points,
            cache,
            dimensions=dimensions,
            n_neighbors=min(n_neighbors, len(points) - 1),
            min_dist=min_dist,
            seed=seed,
            start=start,
            progress=progress,
        )
    finally:
        _ONE_AT_A_TIME.release()
    return np.ascontiguousarray(found if np.isfinite(found).all() else plain, np.float32)


def warm_up(cache: Path) -> None:
    """Compile UMAP, by laying out a few random points; meant for a background thread, so that the first map is not late."""
    layout(np.random.default_rng(0).normal(size=(64, 8)), cache, dimensions=2, n_neighbors=5, min_dist=0.1)


def _fit(
    points: np.ndarray,
    cache: Path,
    *,
    dimensions: int,
    n_neighbors: int,
    min_dist: float,
    seed: int,
    start: np.ndarray | None,
    progress: Progress | None,
) -> np.ndarray:
    keep_compiled_code(cache)
    from umap import UMAP

    reported = {"file": _Epochs(progress), "disable": False, "mininterval": 0.2, "bar_format": "{n_fmt}/{total_fmt}"}
    with _same_threads_after(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="precomputed_knn")  # new points are never added to a map
        model = UMAP(
            n_neighbors=n_neighbors,
            n_components=dimensions,
            min_dist=min_dist,
            metric="euclidean",
            init="pca" if start is None or not np.ptp(start) else np.array(start, np.float32),
            random_state=seed if seed >= 0 else None,
            n_jobs=1 if seed >= 0 else -1,
            precomputed_knn=neighbours(points, n_neighbors),
            force_approximation_algorithm=True,  # else UMAP looks for the neighbours of small sets again
            tqdm_kwds=reported,
        )
        with _bars_let_go_on_failure():
            return np.asarray(model.fit_transform(points))


@contextlib.contextmanager
def _same_threads_after() -> Iterator[None]:
    """Leave torch and numba with as many threads as they had.

    Numba, as it starts, sets those of torch as well, in whichever thread asks it first; umap sets one of numba's for a seeded map,
    and does not set it back where that is cancelled.
    """
    import numba
    import torch

    threads, of_numba = torch.get_num_threads(), numba.get_num_threads()
    try:
        yield
    finally:
        numba.set_num_threads(of_numba)
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _bars_let_go_on_failure() -> Iterator[None]:
    """Give back the lock of all progress bars, which tqdm keeps for ever where printing one fails, as it does when a map is cancelled."""
    try:
        yield
    except BaseException:
        from tqdm import tqdm

        with contextlib.suppress(RuntimeError):  # this thread does not hold it, or no longer
            while True:
                tqdm.get_lock().release()
        raise


class _Epochs(io.TextIOBase):
    """What UMAP's progress bar is printed to: it tells ``progress`` instead, and asks whether the map is still wanted."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def write(self, text: str) -> int:
        checkpoint()
        seen = re.search(r"(\d+)/(\d+)", text)
        if seen and self._progress is not None:
            self._progress(int(seen.group(1)), int(seen.group(2)))
        return len(text)
