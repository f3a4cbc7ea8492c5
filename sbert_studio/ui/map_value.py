"""A map as JSON for the page's JavaScript, and as a single HTML file; without Gradio, so that the command line can also write it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..explore.clusters import assign_hues
from .map_columns import column_value
from .theme import to_base64, write_html
from .views import Value

if TYPE_CHECKING:
    from ..explore.map_edits import EditHistory
    from ..services.results import MapView

CLUSTERS = "Clusters"
_MAX_DISTINCT_COLORS = 20
_EXPORTED_COLUMNS = 8
_MAX_TYPICALITY = 65_535


def map_value(
    view: MapView,
    fields: Mapping[str, Sequence[str]],
    *,
    color: str = CLUSTERS,
    key: str = "",
    title: str = "",
    edits: EditHistory | None = None,
) -> Value:
    """Return the value of a ``map`` view. It contains coordinates and clusters as base64, but no texts except names.

    Args:
        fields: columns that can color the points; the page fetches their values when it needs them (:func:`.map_columns.column_value`).
        color: :data:`CLUSTERS` or a column; any other name means clusters.
        key: key with which the page fetches the texts.
    """
    from ..explore.map_edits import EditHistory

    edits = edits or EditHistory.create(view.ids, view.names)
    now = edits.now
    points = np.ascontiguousarray(view.points, dtype="<f4")
    colors = [CLUSTERS, *(name for name in fields if name != CLUSTERS)]
    names: list[Value] = [{"id": number, "label": label, "size": size} for number, label, size in now.clusters()]
    names = _assign_shades(names, points, now.ids) if len(names) > _MAX_DISTINCT_COLORS else names
    return {
        "key": key,
        "title": title,
        "n": len(points),
        "dims": int(points.shape[1]),
        "points": to_base64(points),
        "layout_key": f"{view.projection_key}-{points.shape[1]}",
        "hidden": to_base64(now.removed.astype("u1")) if now.removed.any() else "",
        "clusters": to_base64(now.ids.astype("<i4")),
        "cluster_names": names,
        "broad": _broad_topics(view, edits),
        "typical": "" if view.typicality is None else to_base64((np.clip(view.typicality, 0, 1) * _MAX_TYPICALITY).astype("<u2")),
        "colours": colors,
        "labels": [{"label": label, "size": len(rows), "rows": rows.tolist()} for label, rows in now.labelled()],
        "edits": [step.describe() for step in edits.steps[-1:]],
        "by": color if color in colors else CLUSTERS,
    }


def _broad_topics(view: MapView, edits: EditHistory) -> list[Value]:
    """Return the label and the clusters of each broad topic, largest first; nothing if there are none."""
    from ..services.topic_report import broad_topic

    topics = {topic.id: topic for topic in view.topics if topic.id in view.names}
    sizes, members = Counter[int](), dict[int, list[int]]()
    for number, _label, size in edits.now.clusters():
        parent = broad_topic(topics, edits.start.ids[edits.now.ids == number]) if number >= 0 else None
        if parent is not None:
            sizes[parent] += size
            members.setdefault(parent, []).append(number)
    labels = {topic.id: topic.label for topic in view.topics} | dict(edits.now.broad_names)
    return [{"label": labels[parent], "topics": members[parent]} for parent, _size in sizes.most_common()]


def _assign_shades(names: list[Value], points: np.ndarray, groups: np.ndarray) -> list[Value]:
    """Assign a hue and a shade to each name by its position on the map, and sort by hue; the group -1 comes last."""
    real = [name for name in names if name["id"] >= 0]
    index = {name["id"]: number for number, name in enumerate(real)}
    hues, shades = assign_hues(points, np.array([index.get(int(group), -1) for group in groups]), len(real))
    shaded = [name | {"hue": int(hues[i]), "hues": int(hues.max()) + 1, "shade": float(shades[i])} for i, name in enumerate(real)]
    return [*sorted(shaded, key=lambda name: (name["hue"], -name["size"])), *(name for name in names if name["id"] < 0)]


def write_map(
    view: MapView,
    texts: Sequence[str],
    fields: Mapping[str, Sequence[str]],
    path: Path,
    *,
    title: str = "Map of sentences",
    edits: EditHistory | None = None,
    lines: Sequence[int] = (),
) -> Path:
    """Write a map as a single HTML file that works offline. ``lines``: row of each text in its file, by default counted from 1."""
    columns = {name: fields[name] for name in list(fields)[:_EXPORTED_COLUMNS]}
    data = {
        "title": title,
        "map": map_value(view, columns, title=title, edits=edits),
        "texts": list(texts),
        "lines": list(lines),
        "columns": {name: column_value(name, cells) for name, cells in columns.items() if name != CLUSTERS},
    }
    return write_html(path, "map/export", data)
