"""View models of the Map tab, and the rows and columns of a drawn map."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...map_value import CLUSTERS, group_by_label, map_value
from ...sessions.map_edits import label_column
from ...views import UNCHANGED, Unchanged, Update, Value, props

if TYPE_CHECKING:
    from ....explore.clusters import ClusterParams
    from ....explore.projection import ProjectionParams
    from ...handover import RowSelection, TrainingTable
    from ...page import Page
    from ...state import DrawnMap

_SEED = 12  # fixed, so that the same texts give the same map on the next visit
MAX_TOOLTIP_LENGTH = 240


@dataclass(frozen=True)
class MapSettings:
    """Values of the controls of the layout and the clusters."""

    dimensions: str = "2-D"
    neighbors: int = 15
    min_distance: float = 0.1
    layout: str = "studio"
    method: str = "auto"
    cluster_count: int = 10
    threshold: float = 0.5

    def projection(self) -> ProjectionParams:
        """Return the parameters of UMAP."""
        from ....explore.projection import ProjectionParams

        return ProjectionParams(
            n_neighbors=int(self.neighbors),
            min_dist=float(self.min_distance),
            dimensions=3 if self.dimensions == "3-D" else 2,
            seed=_SEED,
            layout=self.layout,
        )

    def clustering(self) -> ClusterParams:
        """Return the parameters of the clustering; the controls of other methods have no effect."""
        from ....explore.clusters import ClusterParams

        if self.method == "kmeans":
            return ClusterParams(method=self.method, count=int(self.cluster_count))
        if self.method == "agglomerative":
            return ClusterParams(method=self.method, threshold=float(self.threshold))
        return ClusterParams(method=self.method)


@dataclass(frozen=True)
class MapPanel:
    """A drawn map.

    Attributes:
        map_key: key in ``page.maps``.
        map: value of the ``map`` view.
        notes: on the map, such as words that its model does not know.
        downloads: update of the row of download buttons.
    """

    map: Value
    corpus: str | Unchanged = UNCHANGED
    map_key: str | Unchanged = UNCHANGED
    notes: Value | Unchanged | None = UNCHANGED
    downloads: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class MapAction:
    """Results of a click on the map or in its list."""

    map: Value | Unchanged = UNCHANGED
    corpus: str | Unchanged = UNCHANGED
    training_table: TrainingTable | Unchanged = UNCHANGED
    basket_version: int | Unchanged = UNCHANGED
    rows_to_search: RowSelection | Unchanged = UNCHANGED


@dataclass(frozen=True)
class ClusterControls:
    """Controls of the selected clustering method."""

    cluster_count: Update
    threshold: Update


def map_panel(page: Page, corpus: str, map_key: str, show: Value | None = None) -> MapPanel:
    """Return the panel of a map that was just drawn; ``show`` is as in :func:`drawn_map_value`."""
    return MapPanel(drawn_map_value(page, map_key, show), corpus, map_key, notes_value(page, map_key), props(visible=True))


def drawn_map_value(page: Page, map_key: str, show: Value | None = None) -> Value:
    """Return the value of the ``map`` view.

    Args:
        show: what the list shows then: ``{"rows", "title"}``, ``{"cluster"}``, or nothing if empty; ``None`` leaves the list as it is.
    """
    drawn = page.maps.get(map_key)
    now = drawn.edits.now
    title = f"Map of {drawn.corpus.name}"
    value = map_value(drawn.view, columns(drawn), color=drawn.colour or CLUSTERS, key=map_key, title=title, edits=drawn.edits)
    if value["by"] == label_column(drawn.chosen) and any(now.labels):
        value |= group_by_label(now.labels, ~now.removed)
    return value | {"made": drawn.made, "show": None if show is None else {**show, "nonce": secrets.token_hex(4)}}


def notes_value(page: Page, map_key: str) -> Value | None:
    """Return the notes on a map as the value of a ``note`` view; ``None`` without any."""
    drawn = page.maps.get(map_key)
    notes = (*drawn.view.notes, *drawn.notes)
    return {"text": " ".join(notes)} if notes else None


def list_items(drawn: DrawnMap, rows: Sequence[int], max_length: int) -> list[Value]:
    """Return list items of some rows: row, line, text, and the value that colours the point, or else its label or cluster.

    ``ours`` marks values that are the page's own words, which are translated.
    """
    now, column = drawn.edits.now, drawn.corpus.fields.get(drawn.colour)
    if drawn.colour == CLUSTERS:
        column = None
    items = []
    for row in rows:
        value = now.labels[row] or now.names[int(now.ids[row])] if column is None else shorten(column[row], MAX_TOOLTIP_LENGTH)
        ours = column is None and not now.labels[row] and now.ids[row] < 0
        text = shorten(drawn.corpus.texts[row], max_length)
        items.append({"row": row, "line": drawn.corpus.lines[row], "text": text, "value": value, "ours": bool(ours)})
    return items


def columns(drawn: DrawnMap) -> dict[str, Sequence[str]]:
    """Return the corpus' columns, and the visitor's labels if there are any."""
    labels = drawn.edits.now.labels
    return {**drawn.corpus.fields, **({label_column(drawn.chosen): labels} if any(labels) else {})}


def valid_rows(rows: object, drawn: DrawnMap) -> list[int]:
    """Return the valid ones of ``rows``, which come from the browser: rows of the map that are not removed, without repetitions."""
    total, removed = len(drawn.corpus.texts), drawn.edits.now.removed
    sent = rows if isinstance(rows, list) else []
    numbers = (row for row in sent if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < total)
    return [row for row in dict.fromkeys(numbers) if not removed[row]]


def to_map_rows(drawn: DrawnMap, rows: Sequence[int]) -> list[int]:
    """Convert rows of the visitor's corpus to rows of the map; rows that are not drawn are left out."""
    positions = {row: position for position, row in enumerate(_corpus_rows(drawn).tolist()) if row >= 0}
    return [positions[row] for row in rows if row in positions]


def to_corpus_rows(drawn: DrawnMap, rows: Sequence[int]) -> list[int]:
    """Convert rows of the map to rows of the visitor's corpus."""
    corpus_rows = _corpus_rows(drawn)
    return [int(corpus_rows[row]) for row in rows if corpus_rows[row] >= 0]


def _corpus_rows(drawn: DrawnMap) -> np.ndarray:
    """Return (n,) the row of each drawn text in the visitor's corpus as edited, -1 if it was removed."""
    removed = drawn.edits.now.removed
    rows = np.arange(len(drawn.chosen.corpus)) if drawn.rows is None else np.asarray(drawn.rows)
    is_gone = np.zeros(len(drawn.chosen.corpus), bool)
    is_gone[rows[removed]] = True
    return np.where(removed, -1, rows - np.cumsum(is_gone)[rows])


def file_stem(drawn: DrawnMap) -> str:
    """Return the corpus' file name without its ending, for names of downloads."""
    return Path(drawn.chosen.corpus.name).stem or "corpus"


def shorten(text: str, length: int) -> str:
    """Return ``text``, cut to ``length`` characters."""
    return text if len(text) <= length else text[: length - 1] + "…"
