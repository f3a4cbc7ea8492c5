"""A map of a corpus: its vectors in two or three dimensions, kept on disk by the settings that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..registry import setting
from ..workspace import Workspace, digest_texts
from . import layout
from .arrays import KeyLocks, keep_below, load_array, store_array
from .settings_key import KeyedSettings

if TYPE_CHECKING:
    from ..data.progress import Progress

_MAX_BYTES = 1 << 30
_LOCKS = KeyLocks()


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
    seed: int = setting(-1, "-1 uses all processors; 0 and more make the same map again, on one", min=-1, step=1)


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
) -> Projection:
    """Lay vectors out by UMAP, or take the layout from disk where these settings were used before.

    Args:
        vectors: (n, d).
        key_base: names the vectors: ``<text digest>-<encoder fingerprint>``.
        progress: told the epochs done and their number.
        start: another map of the same texts, which this one grows out of: what did not change stays where it was.
    """
    key = f"{key_base}-{params.key}" + ("" if start is None else f"-{digest_texts([start.key])[:16]}")
    path = workspace.projection(key)
    shape = (len(vectors), params.dimensions)
    with _LOCKS[str(path)]:
        xy = load_array(path, shape)
        if xy is None:
            xy = layout.layout(
                vectors,
                workspace.cache("numba"),
                dimensions=params.dimensions,
                n_neighbors=params.n_neighbors,
                min_dist=params.min_dist,
                metric=params.metric,
                seed=params.seed,
                start=None if start is None else start.xy,
                progress=progress,
            )
            xy.flags.writeable = False
            if store_array(path, xy):
                keep_below(path.parent, _MAX_BYTES, path)
    return Projection(xy, params, key)


def warm_up(workspace: Workspace) -> None:
    """Compile UMAP ahead of the first map; meant for a background thread."""
    layout.warm_up(workspace.cache("numba"))
