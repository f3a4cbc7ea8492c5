"""The layout by umap-learn (BSD-3), the library of UMAP's authors, on its usual settings: slower, and what ours is held against."""

from __future__ import annotations

import contextlib
import contextvars
import io
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit
from ...errors import StudioError
from .compiled import keep_compiled
from .layout import FEW
from .reduction import principal_components

if TYPE_CHECKING:
    from ...data.progress import Progress

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
