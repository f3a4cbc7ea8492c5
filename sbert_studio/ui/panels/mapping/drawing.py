"""From the controls to a drawn map: settings, phases, and what is drawn of very large corpora."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....explore.map_edits import MAX_EDITS, EditHistory
from ...handlers import progress_callback
from ...page import Page
from ...sessions.map_edits import replay_edits, sample_for_map, without_labels
from ...state import DrawnMap

if TYPE_CHECKING:
    from ....explore.clusters import ClusterParams
    from ....explore.projection import ProjectionParams
    from ....progress import Progress
    from ....services.search import Phase

_PHASES = {
    "encode": "1 of 3 · Reading the texts with the model",
    "layout": "2 of 3 · Laying out the map",
    "groups": "3 of 3 · Finding clusters",
}


def projection_params(dimensions: str, neighbours: int, distance: float, layout: str = "studio") -> ProjectionParams:
    """The settings of UMAP from the controls; the seed is fixed, so that a map looks the same tomorrow."""
    from ....explore.projection import ProjectionParams

    return ProjectionParams(
        n_neighbors=int(neighbours), min_dist=float(distance), dimensions=3 if dimensions == "3-D" else 2, seed=12, layout=layout
    )


def cluster_params(method: str, count: int, threshold: float) -> ClusterParams:
    """The settings of the clustering from the controls; those of other methods are left alone."""
    from ....explore.clusters import ClusterParams

    if method == "kmeans":
        return ClusterParams(method=method, count=int(count))
    return ClusterParams(method=method, threshold=float(threshold)) if method == "agglomerative" else ClusterParams(method=method)


def draw(
    page: Page,
    key: str | None,
    model: str | None,
    projection: ProjectionParams,
    clusters: ClusterParams,
    progress: Any = None,
    colour: str = "",
    owner: Any = None,
    standing: str | None = None,
) -> tuple[str, str]:
    """Draw the visitor's corpus (the sample, where nothing was chosen).

    Args:
        standing: the key of the map that is shown. New texts are placed on it where it is of the same others, drawn the same way.

    Returns:
        the corpus' key and the map's key.

    Raises:
        StudioError: the corpus is too large to draw, or too small.
    """
    key, chosen = page.corpora.current(key, owner)
    start, labels = without_labels(chosen.earlier.start if chosen.earlier else chosen)
    corpus, rows = sample_for_map(start.corpus)
    phases, earlier = _phases(progress), page.maps.get(standing) if standing is not None and standing in page.maps else None
    view = None
    if earlier is not None and earlier.model == model:
        view = page.studio.explore.grown(corpus, earlier.corpus, earlier.view, projection, model, phases)
    view = view or page.studio.explore.map(corpus, projection, clusters, model, phase=phases)
    given = labels if rows is None or not labels else tuple(labels[row] for row in rows)
    edits, notes = replay_edits(EditHistory.create(view.ids, {info.id: info.label for info in view.clusters}, given), chosen.earlier)
    made = page.provenance(model, chosen, "map-draw")
    return key, page.maps.put(DrawnMap(corpus, view, model, edits, replace(start, earlier=None), rows, colour, made, notes))


def settled(page: Page, key: str | None, map_key: str | None) -> str | None:
    """The key of the corpus to draw anew, where it is on the map already: texts that were removed there have no place on the new one."""
    if key is None or map_key is None or map_key not in page.maps or key not in page.corpora:
        return key
    drawn, chosen = page.maps.get(map_key), page.corpora.get(key)
    now, steps = drawn.edits.now, drawn.edits.steps
    if drawn.made["corpus"] != chosen.corpus.digest or not (now.removed.any() or len(steps) >= MAX_EDITS):
        return key
    return page.corpora.put(replace(chosen, earlier=None))


def _phases(progress: Any) -> Any:
    if progress is None:
        return None

    def begin(phase: Phase) -> Progress:
        tell: Progress = progress_callback(progress, _PHASES[phase])
        tell(0, 0)  # the name of what was done before is taken down at once
        return tell

    return begin
