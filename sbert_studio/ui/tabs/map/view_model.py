"""View models of the Map tab, and the rows and columns of a drawn map."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ....errors import StudioError
from ....i18n import _, join
from ...map_value import CLUSTERS, map_value
from ...sessions.map_edits import label_column
from ...theme import to_base64
from ...views import UNCHANGED, Unchanged, Update, Value, props, shorten, valid_rows

if TYPE_CHECKING:
    from ....explore.clusters import ClusterParams
    from ....explore.projection import ProjectionParams
    from ...page import Page
    from ...state import DrawnMap, RowSelection, TrainingTable

MAX_TOOLTIP_LENGTH = 240
FETCHED_POINTS = 20_000
"""Points from which on the page fetches the arrays of a map as bytes, and only those that an edit has changed."""
_MAX_FILTER_LENGTH = 2_000
_MIN_TOPICS, _FEW_TOPICS, _TEXTS_OF_A_TOPIC = 2, 20, 3


@dataclass(frozen=True)
class MapSettings:
    dimensions: str = "2-D"
    neighbors: int = 15
    min_distance: float = 0.1
    layout: str = "studio"
    method: str = "auto"
    cluster_count: int = 10
    threshold: float = 0.5
    topic_count: int = 0  # of the slider, which shows the number of the current map

    def projection(self) -> ProjectionParams:
        from ....explore.projection import ProjectionParams

        return ProjectionParams(
            n_neighbors=int(self.neighbors),
            min_dist=float(self.min_distance),
            dimensions=3 if self.dimensions == "3-D" else 2,
            layout=self.layout,
        )

    def clustering(self, topics: int = 0) -> ClusterParams:
        """Return the parameters of the clustering; the controls of other methods have no effect.

        Args:
            topics: number of topics; 0 chooses it automatically.
        """
        from ....explore.clusters import ClusterParams

        if self.method == "kmeans":
            return ClusterParams(method=self.method, count=int(self.cluster_count))
        if self.method == "agglomerative":
            return ClusterParams(method=self.method, threshold=float(self.threshold))
        return ClusterParams(method=self.method, count=topics if self.method == "auto" else 0)

    def chosen_topics(self, earlier: DrawnMap | None) -> int:
        """Return the number of topics if the slider was moved away from the automatic number of the map ``earlier``, otherwise 0."""
        if self.method != "auto" or earlier is None or not earlier.automatic:
            return 0
        return 0 if int(self.topic_count) == earlier.automatic else int(self.topic_count)


@dataclass(frozen=True)
class MapInputs:
    map_key: str | None
    owner: object
    corpus: str | None
    model: str | None


@dataclass(frozen=True)
class MapPanel:
    map: Value  # value of the ``map`` view
    corpus: str | Unchanged = UNCHANGED
    map_key: str | Unchanged = UNCHANGED  # key in ``page.maps``
    notes: Value | Unchanged | None = UNCHANGED  # notes on the map, such as unknown words of its model
    downloads: Update | Unchanged = UNCHANGED  # update of the row of download buttons
    topic_count: Update | Unchanged = UNCHANGED  # update of the slider for the number of topics


@dataclass(frozen=True)
class MapAction:
    map: Value | Unchanged = UNCHANGED
    corpus: str | Unchanged = UNCHANGED
    training_table: TrainingTable | Unchanged = UNCHANGED
    basket_version: int | Unchanged = UNCHANGED
    rows_to_search: RowSelection | Unchanged = UNCHANGED


def map_panel(page: Page, corpus: str, map_key: str, show: Value | None = None) -> MapPanel:
    """Return the panel of a newly drawn map; ``show`` is as in :func:`drawn_map_value`."""
    slider = topic_slider(page.maps.get(map_key))
    return MapPanel(drawn_map_value(page, map_key, show), corpus, map_key, notes_value(page, map_key), props(visible=True), slider)


def topic_slider(drawn: DrawnMap) -> Update:
    """Return the update of the slider for the number of topics, which is hidden for other methods of clustering."""
    from ....explore.topics import MAX_TOPICS

    usual = min(MAX_TOPICS, max(_FEW_TOPICS, 2 * drawn.automatic), len(set(drawn.corpus.texts)) // _TEXTS_OF_A_TOPIC)
    most = max(drawn.topic_count, drawn.automatic, usual)
    if not drawn.topic_count or most <= _MIN_TOPICS:
        return props(visible=False)
    label = _("Fewer / more topics (automatic: {n})", n=drawn.automatic) if drawn.automatic else "Fewer / more topics"
    return props(visible=True, maximum=most, value=max(_MIN_TOPICS, drawn.topic_count), label=label)


def drawn_map_value(page: Page, map_key: str, show: Value | None = None) -> Value:
    """Return the value of the ``map`` view; ``show`` is the content of the list: ``{"rows", "title"}``, ``{"cluster"}``, or empty."""
    drawn = page.maps.get(map_key)
    title = _("Map of {name}", name=drawn.corpus.name)

    def encode(name: str, array: np.ndarray) -> Value | str:
        return {"url": array_url(map_key, name, array)} if len(drawn.corpus) >= FETCHED_POINTS else to_base64(array)

    color = drawn.colour or CLUSTERS
    value = map_value(drawn.view, columns(drawn), color=color, key=map_key, title=title, edits=drawn.edits, encode=encode)
    value["label_column"] = label_column(drawn.chosen)
    value["heading"] = heading(page, drawn)
    return value | {"made": drawn.made, "show": None if show is None else {**show, "nonce": secrets.token_hex(4)}}


def array_url(map_key: str, name: str, array: np.ndarray) -> str:
    """Return the address of an array of a map, relative to the page's; other content has another address."""
    return f"map/{map_key}/{name}?{array_digest(array)}"


def array_digest(array: np.ndarray) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=8).hexdigest()


def heading(page: Page, drawn: DrawnMap) -> Value:
    """Return what the map was made of: the data, its text columns, the model, and the rows used and skipped."""
    account, removed = drawn.corpus.account, int(drawn.edits.now.removed.sum())
    return {
        "name": drawn.corpus.name,
        "columns": list(drawn.chosen.text_columns or (drawn.corpus.column,)),
        "model": page.model_title(drawn.view.model or page.studio.settings.default_model),
        "used": len(drawn.corpus) - removed,
        "skipped": account.skipped + removed,
        "reasons": account.describe("used") if account.skipped else "",
    }


def notes_value(page: Page, map_key: str) -> Value | None:
    drawn = page.maps.get(map_key)
    notes = (*drawn.view.notes, *drawn.notes)
    return {"text": join(" ", notes)} if notes else None


def list_items(drawn: DrawnMap, rows: Sequence[int], max_length: int, shown: object = ()) -> list[Value]:
    """Return list items: row, line, text, and its filled cells, (column, text, whether that is one of the page's own words).

    Args:
        shown: names of the columns to show, which come from the browser; :data:`.map_value.CLUSTERS` is the topic.
    """
    now, fields = drawn.edits.now, columns(drawn)
    names = [name for name in shown if name == CLUSTERS or name in fields] if isinstance(shown, list) else []
    items = []
    for row in rows:
        cells = []
        for name in names:
            words = now.names[int(now.ids[row])] if name == CLUSTERS else shorten(fields[name][row], MAX_TOOLTIP_LENGTH)
            if words.strip():
                cells.append([name, words, name == CLUSTERS and int(now.ids[row]) < 0])
        items.append({"row": row, "line": drawn.corpus.lines[row], "text": shorten(drawn.corpus.texts[row], max_length), "cells": cells})
    return items


def columns(drawn: DrawnMap) -> dict[str, Sequence[str]]:
    labels = drawn.edits.now.labels
    return {**drawn.corpus.fields, **({label_column(drawn.chosen): labels} if any(labels) else {})}


def remaining_rows(rows: object, drawn: DrawnMap) -> list[int]:
    """Return the valid rows among ``rows``, which come from the browser: distinct rows of the map that are not removed.

    Args:
        rows: list of rows, or ``{"bits": base64 with a bit for each text}`` for many, which are returned in ascending order.
    """
    removed = drawn.edits.now.removed
    if isinstance(rows, dict):
        return np.flatnonzero(_unpack(rows.get("bits"), len(drawn.corpus)) & ~removed).tolist()
    return [row for row in valid_rows(rows, len(drawn.corpus)) if not removed[row]]


def _unpack(sent: object, total: int) -> np.ndarray:
    """Return (n,) bool from base64 of a bit for each of n texts.

    Raises:
        StudioError: this is not base64, or has another number of texts.
    """
    try:
        bits = np.frombuffer(base64.b64decode(str(sent), validate=True), np.uint8)
    except ValueError as error:
        raise StudioError("the selected rows could not be read", "reload the page") from error
    if len(bits) != -(-total // 8):
        raise StudioError("the selected rows belong to another map", "wait until the map is drawn, and try again")
    return np.unpackbits(bits, bitorder="little")[:total].astype(bool)


@dataclass(frozen=True)
class MapFilter:
    """Texts that pass the visitor's filters: (n,) bool, and the filters in words."""

    passes: np.ndarray
    words: str


def read_columns(sent: object) -> list[str]:
    """Return the names of the columns in use on the map, which the browser sends together with the filters."""
    names = _read_sent(sent).get("columns")
    return [str(name) for name in names] if isinstance(names, list) else []


def _read_sent(sent: object) -> dict[str, object]:
    try:
        found = json.loads(str(sent)) if sent else None
    except ValueError as error:
        raise StudioError("the filters could not be read", "reload the page") from error
    if found is not None and not isinstance(found, dict):
        raise StudioError("the filters could not be read", "reload the page")
    return found or {}


def require_shown(request: Mapping[str, object], map_key: str | None) -> None:
    """Raise a StudioError if a request names the ``key`` of another map: the page still shows that one, whose rows are other texts."""
    if request.get("key", map_key) != map_key:
        raise StudioError("another map is being loaded", "wait until it is drawn, and try again")


def read_filter(sent: object, drawn: DrawnMap, map_key: str | None) -> MapFilter | None:
    """Return the filters that the browser sends as JSON, ``{"key", "rows": base64 with a bit for each text, "words"}``; ``None`` for none.

    Raises:
        StudioError: they belong to another map, or no text passes.
    """
    found = _read_sent(sent)
    require_shown(found, map_key)
    if "rows" not in found:
        return None
    passes, words = _unpack(found["rows"], len(drawn.corpus)), " ".join(str(found.get("words", "")).split())
    if not (passes & ~drawn.edits.now.removed).any():
        raise StudioError("no text passes the filters", "clear one of them")
    return MapFilter(passes, words[:_MAX_FILTER_LENGTH])


def filter_note(drawn: DrawnMap, chosen: MapFilter) -> str:
    """Say which texts an export contains."""
    remaining = ~drawn.edits.now.removed
    count, total = int((chosen.passes & remaining).sum()), int(remaining.sum())
    return _("{count} of {total} texts: {filters}", count=f"{count:,}", total=f"{total:,}", filters=chosen.words)


def to_map_rows(drawn: DrawnMap, rows: Sequence[int]) -> list[int]:
    """Convert rows of the visitor's corpus to rows of the map; rows that are not drawn are omitted."""
    positions = {row: position for position, row in enumerate(_corpus_rows(drawn).tolist()) if row >= 0}
    return [positions[row] for row in rows if row in positions]


def to_corpus_rows(drawn: DrawnMap, rows: Sequence[int]) -> list[int]:
    corpus_rows = _corpus_rows(drawn)
    return [int(corpus_rows[row]) for row in rows if corpus_rows[row] >= 0]


def _corpus_rows(drawn: DrawnMap) -> np.ndarray:
    """Return the row of each drawn text in the visitor's corpus as edited, (n,); -1 if it was removed."""
    removed = drawn.edits.now.removed
    rows = np.arange(len(drawn.chosen.corpus)) if drawn.rows is None else np.asarray(drawn.rows)
    is_gone = np.zeros(len(drawn.chosen.corpus), bool)
    is_gone[rows[removed]] = True
    return np.where(removed, -1, rows - np.cumsum(is_gone)[rows])


def file_stem(drawn: DrawnMap, what: str = "", chosen: MapFilter | None = None) -> str:
    """Return the name of an export, which says how many texts pass the filters."""
    stem = Path(drawn.chosen.corpus.name).stem or "corpus"
    remaining = ~drawn.edits.now.removed
    part = "" if chosen is None else f" - {int((chosen.passes & remaining).sum())} of {int(remaining.sum())} texts"
    return f"{stem} {what}".strip() + part
