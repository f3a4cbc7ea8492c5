"""A map of a corpus: its vectors in two or three dimensions, kept on disk by the settings that made it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.progress import KeyLocks
from ...registry import setting
from ...workspace import Workspace, digest_texts
from ..arrays import keep_below, load_array, store_array
from ..settings_key import KeyedSettings
from . import layout, reference

if TYPE_CHECKING:
    from ...data.progress import Progress
    from .neighbourhood import Neighbourhoods

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
                xy = layout.layout(vectors, workspace.cache("numba"), near=near, **asked)
            else:
                xy = reference.by_umap_learn(vectors, workspace.cache("numba"), **asked)
            xy.flags.writeable = False
            if store_array(path, xy):
                keep_below(path.parent, _MAX_BYTES, path)
    return Projection(xy, params, key)


def named(key_base: str, params: ProjectionParams) -> str:
    """What the map of the vectors that ``key_base`` names is kept under."""
    return f"{key_base}-{params.key}-{layout.METHOD}"


def warm_up(workspace: Workspace) -> None:
    """Compile the layout ahead of the first map; meant for a background thread."""
    layout.warm_up(workspace.cache("numba"))
