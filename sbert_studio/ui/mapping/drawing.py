"""From the controls to a drawn map: settings, phases, and what is drawn of very large corpora."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..handlers import told
from ..page import Page
from ..visitors.session import Chosen, Drawn

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...data.progress import Progress
    from ...explore.groups.clustering import ClusterParams
    from ...explore.projection import ProjectionParams
    from ...studio.exploring import Phase

MOST_POINTS = 100_000
_PHASES = {
    "encode": "1 of 3 · Reading the texts with the model",
    "layout": "2 of 3 · Laying out the map",
    "groups": "3 of 3 · Finding clusters",
}


def projection_params(dimensions: str, neighbours: int, distance: float) -> ProjectionParams:
    """The settings of UMAP from the controls; the seed is fixed, so that a map looks the same tomorrow."""
    from ...explore.projection import ProjectionParams

    return ProjectionParams(n_neighbors=int(neighbours), min_dist=float(distance), dimensions=3 if dimensions == "3-D" else 2, seed=12)


def cluster_params(method: str, count: int, threshold: float) -> ClusterParams:
    """The settings of the clustering from the controls; those of other methods are left alone."""
    from ...explore.groups.clustering import ClusterParams

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
) -> tuple[str, str]:
    """Draw the visitor's corpus (the sample, where nothing was chosen).

    Returns:
        the corpus' key and the map's key.

    Raises:
        StudioError: the corpus is too large to draw, or too small.
    """
    from ...explore.groups.edits import Edits

    key, chosen = page.corpus_of(key)
    chosen, labels = _without_labels(chosen)
    corpus, rows = drawable(chosen.corpus)
    view = page.studio.explore.map(corpus, projection, clusters, model, phase=_phases(progress))
    given = labels if rows is None or not labels else tuple(labels[row] for row in rows)
    edits = Edits.of(view.ids, {info.id: info.label for info in view.clusters}, given)
    made = page.made(model, chosen, "map-draw")
    return key, page.maps.put(Drawn(corpus, view, model, edits, chosen, rows, colour, made))


def drawable(corpus: Corpus) -> tuple[Corpus, tuple[int, ...] | None]:
    """The corpus, or an even sample of its rows where a browser could not draw them all, and which these are."""
    total = len(corpus.texts)
    if total <= MOST_POINTS:
        return corpus, None
    rows = np.unique(np.linspace(0, total - 1, MOST_POINTS).astype(int)).tolist()
    return corpus.part(rows, f"{corpus.name} ({MOST_POINTS:,} of {total:,} rows)", "more than a browser can draw"), tuple(rows)


def _without_labels(chosen: Chosen) -> tuple[Chosen, tuple[str, ...]]:
    """The corpus as the file has it, and the labels that the visitor gave on an earlier map."""
    fields = dict(chosen.corpus.fields)
    labels = fields.pop(chosen.labels, ()) if chosen.labels else ()
    return (replace(chosen, corpus=replace(chosen.corpus, fields=fields)), labels) if labels else (chosen, ())


def _phases(progress: Any) -> Any:
    if progress is None:
        return None

    def begin(phase: Phase) -> Progress:
        tell = told(progress, _PHASES[phase])
        tell(0, 0)  # the name of what was done before is taken down at once
        return tell

    return begin
