"""A drawn map as data for the page's JavaScript."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....explore.topics import assign_hues
from ...html_export import to_base64
from ...views import Value

if TYPE_CHECKING:
    from ....explore.map_edits import EditHistory
    from ....services.results import MapView

CLUSTERS = "Clusters"
_APART = 20  # colours that are told apart without an order
_MOST_GROUPS = 600
_FEW = 19
_OTHERS = "everything else"
_BLANK = "(blank)"


def map_value(
    view: MapView,
    fields: Mapping[str, Sequence[str]],
    *,
    colour: str = CLUSTERS,
    key: str = "",
    title: str = "",
    edits: EditHistory | None = None,
) -> Value:
    """The value of a ``map`` view: coordinates, clusters and groups packed as base64; no text of the corpus but the groups' names.

    Args:
        fields: the columns that it can be coloured by.
        colour: :data:`CLUSTERS` or one of them; another name counts as clusters.
        key: by which the page fetches the texts.
        edits: what was done to the map.
    """
    from ....explore.map_edits import EditHistory

    edits = edits or EditHistory.create(view.ids, {info.id: info.label for info in view.clusters})
    now = edits.now
    points = np.ascontiguousarray(view.points, dtype="<f4")
    colours = [CLUSTERS, *(name for name in fields if name != CLUSTERS)]
    names = [{"id": number, "label": label, "size": size} for number, label, size in now.clusters()]
    names = _shaded(names, points, now.ids) if len(names) > _APART else names
    by = colour if colour in colours else CLUSTERS
    clusters = to_base64(now.ids.astype("<i4"))
    left = ~now.removed
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
        "colours": colours,
        "labels": [{"label": label, "size": len(rows), "rows": rows.tolist()} for label, rows in now.labelled()],
        "edits": [step.describe() for step in edits.steps[-1:]],
        "by": by,
        **(by_cluster(clusters, names) if by == CLUSTERS else by_column(fields[by], points, left)),
    }


def by_cluster(clusters: str, names: list[Value]) -> Value:
    """The colouring of a map by its clusters."""
    return {"groups": clusters, "names": names, "shades": None}


def by_column(cells: Sequence[str], points: np.ndarray | None = None, left: np.ndarray | None = None) -> Value:
    """The colouring of a map by a column: each value a group, with hues by place where there are many; numbers become shades.

    A column in which hardly two cells are the same keeps its most frequent values, the rest together.

    Args:
        points: (n, 2) or (n, 3), the places; left: (n,) bool, which texts are still there.
    """
    numbers = _numbers(cells)
    if numbers is not None:
        low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        shown = {"low": low, "high": high, "shade_low": f"{low:g}", "shade_high": f"{high:g}"}
        everything = [{"id": 0, "label": f"{low:g} to {high:g}", "size": len(cells)}]
        zero = np.zeros(len(cells), dtype="<i4")
        return {"groups": to_base64(zero), "names": everything, "shades": to_base64(numbers.astype("<f4")), **shown}
    stays = np.ones(len(cells), bool) if left is None else left
    counts = Counter(cell for cell, there in zip(cells, stays, strict=True) if there)
    most = _MOST_GROUPS if len(counts) <= max(50, len(cells) / 3) and points is not None else _FEW
    kept = [value for value, _ in counts.most_common(most)]
    ids = {value: number for number, value in enumerate(kept)}
    groups = np.array([ids.get(cell, -1) for cell in cells], dtype="<i4")
    names: list[Value] = [{"id": number, "label": value or _BLANK, "size": counts[value]} for value, number in ids.items()]
    if points is not None and len(names) > _APART:
        names = _shaded(names, points[stays], groups[stays])
    rest = int(((groups < 0) & stays).sum())
    if rest:
        names.append({"id": -1, "label": _OTHERS, "size": rest})
    return {"groups": to_base64(groups), "names": names, "shades": None}


def by_label(labels: Sequence[str], left: np.ndarray) -> Value:
    """The colouring by the labels that were given by hand: texts without one belong to no group."""
    counts = Counter(label for label, there in zip(labels, left, strict=True) if there and label)
    ids = {label: number for number, (label, _) in enumerate(counts.most_common(_MOST_GROUPS))}
    groups = np.array([ids.get(label, -1) for label in labels], dtype="<i4")
    names: list[Value] = [{"id": number, "label": label, "size": counts[label]} for label, number in ids.items()]
    rest = int(((groups < 0) & left).sum())
    if rest:
        names.append({"id": -1, "label": "no label yet", "size": rest})
    return {"groups": to_base64(groups), "names": names, "shades": None}


def _shaded(names: list[Value], points: np.ndarray, groups: np.ndarray) -> list[Value]:
    """With a hue and a shade each, by where they lie on the map, and in that order; the group of what is left (-1) last."""
    real = [name for name in names if name["id"] >= 0]
    place = {name["id"]: at for at, name in enumerate(real)}
    hues, shades = assign_hues(points, np.array([place.get(int(group), -1) for group in groups]), len(real))
    found = [name | {"hue": int(hues[at]), "hues": int(hues.max()) + 1, "shade": float(shades[at])} for at, name in enumerate(real)]
    return [*sorted(found, key=lambda name: (name["hue"], -name["size"])), *(name for name in names if name["id"] < 0)]


def _numbers(cells: Sequence[str]) -> np.ndarray | None:
    """The cells as numbers, NaN where blank, if all others are numbers and of more than a dozen values; else ``None``."""
    found = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        text: Any = cell.strip()
        if text:
            try:
                found[row] = float(text)
            except ValueError:
                return None
            if not math.isfinite(found[row]):
                return None
    return found if len(np.unique(found[~np.isnan(found)])) > 12 else None
