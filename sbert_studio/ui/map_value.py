"""A map as JSON for the page's JavaScript, and as a single HTML file; without Gradio, so that the command line can also write it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..explore.clusters import assign_hues
from ..i18n import _
from .theme import to_base64, write_html
from .views import Value

if TYPE_CHECKING:
    from ..explore.map_edits import EditHistory
    from ..services.results import MapView

CLUSTERS = "Clusters"
_MAX_DISTINCT_COLORS = 20
_MAX_GROUPS, _FREQUENT_GROUPS = 600, 19
_MAX_DISCRETE_NUMBERS = 12  # a numeric column with more values is drawn on a color scale
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
    """Return the value of a ``map`` view. It contains coordinates, clusters and groups as base64, but no texts except group names.

    Args:
        fields: columns that can color the points.
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
    by = color if color in colors else CLUSTERS
    clusters = to_base64(now.ids.astype("<i4"))
    groups = {"groups": clusters, "names": names, "shades": None} if by == CLUSTERS else group_by_column(fields[by], points, ~now.removed)
    return {
        "key": key,
        "title": title,
        "n": len(points),
        "dims": int(points.shape[1]),
        "points": to_base64(points),
        "layout_key": f"{view.projection_key}-{points.shape[1]}",
        "hidden": to_base64(now.removed.astype("u1")) if now.removed.any() else "",
        "clusters": clusters,
        "cluster_names": names,
        "broad": _broad_topics(view, edits),
        "typical": "" if view.typicality is None else to_base64((np.clip(view.typicality, 0, 1) * _MAX_TYPICALITY).astype("<u2")),
        "colours": colors,
        "labels": [{"label": label, "size": len(rows), "rows": rows.tolist()} for label, rows in now.labelled()],
        "edits": [step.describe() for step in edits.steps[-1:]],
        "by": by,
        **groups,
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
    labels = {topic.id: topic.label for topic in view.topics}
    return [{"label": labels[parent], "topics": members[parent]} for parent, _size in sizes.most_common()]


def group_by_column(cells: Sequence[str], points: np.ndarray | None = None, remaining: np.ndarray | None = None) -> Value:
    """Color a map by a column: each value is a group, with hues by position if there are many; numbers get a color scale.

    If almost all cells are distinct, the most frequent values are groups and all others form one group.

    Args:
        points: (n, 2) or (n, 3) positions.
        remaining: (n,) bool, texts that are not removed.
    """
    numbers = _parse_numbers(cells)
    if numbers is not None:
        low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        return {
            "groups": to_base64(np.zeros(len(cells), dtype="<i4")),
            "names": [{"id": 0, "label": _("{low} to {high}", low=f"{low:g}", high=f"{high:g}"), "size": len(cells)}],
            "shades": to_base64(numbers.astype("<f4")),
            "low": low,
            "high": high,
            "shade_low": f"{low:g}",
            "shade_high": f"{high:g}",
        }
    remaining = np.ones(len(cells), bool) if remaining is None else remaining
    counts = Counter(cell for cell, remains in zip(cells, remaining, strict=True) if remains)
    limit = _MAX_GROUPS if len(counts) <= max(50, len(cells) / 3) and points is not None else _FREQUENT_GROUPS
    groups, names = _group_frequent(cells, counts, remaining, limit, "everything else")
    if points is not None and min(len(counts), limit) > _MAX_DISTINCT_COLORS:
        names = _assign_shades(names, points[remaining], groups[remaining])
    return {"groups": to_base64(groups), "names": names, "shades": None}


def group_by_label(labels: Sequence[str], remaining: np.ndarray) -> Value:
    """Color a map by the visitor's labels; texts without one belong to no group."""
    counts = Counter(label for label, remains in zip(labels, remaining, strict=True) if remains and label)
    groups, names = _group_frequent(labels, counts, remaining, _MAX_GROUPS, "no label yet")
    return {"groups": to_base64(groups), "names": names, "shades": None}


def _group_frequent(
    cells: Sequence[str], counts: Counter[str], remaining: np.ndarray, limit: int, others: str
) -> tuple[np.ndarray, list[Value]]:
    ids = {value: number for number, (value, _) in enumerate(counts.most_common(limit))}
    groups = np.array([ids.get(cell, -1) for cell in cells], dtype="<i4")
    names: list[Value] = [{"id": number, "label": value or "(blank)", "size": counts[value]} for value, number in ids.items()]
    if rest := int(((groups < 0) & remaining).sum()):
        names.append({"id": -1, "label": others, "size": rest})
    return groups, names


def _assign_shades(names: list[Value], points: np.ndarray, groups: np.ndarray) -> list[Value]:
    """Assign a hue and a shade to each name by its position on the map, and sort by hue; the group -1 comes last."""
    real = [name for name in names if name["id"] >= 0]
    index = {name["id"]: number for number, name in enumerate(real)}
    hues, shades = assign_hues(points, np.array([index.get(int(group), -1) for group in groups]), len(real))
    shaded = [name | {"hue": int(hues[i]), "hues": int(hues.max()) + 1, "shade": float(shades[i])} for i, name in enumerate(real)]
    return [*sorted(shaded, key=lambda name: (name["hue"], -name["size"])), *(name for name in names if name["id"] < 0)]


def _parse_numbers(cells: Sequence[str]) -> np.ndarray | None:
    """Return the cells as numbers, NaN for blank ones; ``None`` unless all are finite numbers with more than a dozen values."""
    try:
        numbers = np.array([float(cell) if cell.strip() else math.nan for cell in cells])
    except ValueError:
        return None
    is_blank = np.array([not cell.strip() for cell in cells], bool)
    finite = numbers[~is_blank]
    return numbers if np.isfinite(finite).all() and len(np.unique(finite)) > _MAX_DISCRETE_NUMBERS else None


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
    points = np.asarray(view.points, np.float32)
    remaining = None if edits is None else ~edits.now.removed
    data = {
        "title": title,
        "map": map_value(view, columns, title=title, edits=edits),
        "texts": list(texts),
        "lines": list(lines),
        "colourings": {name: group_by_column(cells, points, remaining) for name, cells in columns.items() if name != CLUSTERS},
    }
    return write_html(path, "map/export", data)
