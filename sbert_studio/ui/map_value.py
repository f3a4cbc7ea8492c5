"""A map as JSON for the page's JavaScript, and as a single HTML file; without Gradio, so that the command line can also write it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..data.column_types import detect_type, parse_column
from ..explore.clusters import assign_hues
from ..i18n import _, join
from .theme import to_base64, write_html
from .views import Value

if TYPE_CHECKING:
    from ..data.column_types import ColumnType, ColumnValues
    from ..explore.map_edits import EditHistory
    from ..services.results import MapView

MAX_LABEL_CHARACTERS = 2_000_000  # of the categories or items of a column that the browser knows by name; all others are one group
BLANK, OTHER = -1, -2  # codes of blank cells and of categories beyond MAX_LABEL_CHARACTERS
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"0", "1"}, {"on", "off"}, {"是", "否"})


def column_value(name: str, cells: Sequence[str], column_type: ColumnType | None = None, rows: Sequence[int] | None = None) -> Value:
    """Return the values of a column of n cells, as base64 of little-endian arrays.

    Every value has ``name``, ``n``, ``kind`` and ``unreadable``, the number of filled cells that are not of the column's type. By kind:

    - ``number``: ``numbers``, (n,) float64, NaN for cells without a number, and ``unit``, such as ``${}``, empty without one.
    - ``date``: ``numbers``, (n,) float64, days since 1970-01-01, NaN for cells without a date.
    - ``category`` and ``boolean``: ``distinct``, the number of values, ``labels``, most frequent first, as many as have at most
      :data:`MAX_LABEL_CHARACTERS`, and ``codes``, (n,) int32: the index of each label, :data:`BLANK` or :data:`OTHER`.
    - ``list``: ``labels``, and the codes of row i are ``items[starts[i]:starts[i + 1]]``, int32.

    Texts and identifiers are categories.

    Args:
        column_type: the type that the user chose; ``None`` detects it.
        rows: the rows of these values, by default all. Type and format are those of the whole column, whichever rows are chosen.
    """
    values = parse_column(name, cells, column_type or detect_type(name, cells))
    values = values if rows is None else values.select(rows)
    known: Value = {"name": name, "n": len(values.cells), "unreadable": int(values.unreadable.sum())}
    numbers = _numbers(values)
    if numbers is not None and np.isfinite(numbers).any():
        return known | {"kind": values.type, "numbers": to_base64(numbers.astype("<f8")), "unit": values.unit}
    counts = values.count_items()
    labels = [label for label, _count in counts.most_common()]
    labels = labels[: bisect_right(list(accumulate(map(len, labels))), MAX_LABEL_CHARACTERS)]
    index = {label: code for code, label in enumerate(labels)}
    known |= {"labels": labels, "distinct": len(counts)}
    if values.type == "list" and values.items is not None:
        codes = [code for items in values.items for code in dict.fromkeys(index.get(item, OTHER) for item in items)]
        sizes = [len({index.get(item, OTHER) for item in items}) for items in values.items]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype("<i4")
        return known | {"kind": "list", "items": to_base64(np.array(codes, "<i4")), "starts": to_base64(starts)}
    codes = [index.get(cell, OTHER) if cell else BLANK for cell in values.cells]
    kind = "boolean" if {label.casefold() for label in labels} in _BOOLEANS else "category"
    return known | {"kind": kind, "codes": to_base64(np.array(codes, "<i4")), "unreadable": 0}


def _numbers(values: ColumnValues) -> np.ndarray | None:
    """Return the numbers, or dates as days since 1970-01-01, NaN for none; ``None`` for other types."""
    if values.days is not None:
        return np.where(np.isnat(values.days), np.nan, values.days.astype(np.int64).astype(np.float64))
    if values.numbers is not None:
        return np.where(np.isfinite(values.numbers), values.numbers, np.nan)
    return None


CLUSTERS = "Topics found"
EXPORTED_COLUMNS = 8
"""Number of columns in an exported file, unless more are in use on the map."""
_MAX_DISTINCT_COLORS = 20
_MAX_TYPICALITY = 65_535
_OPENED, _SAMPLE_ROWS = 2, 1_000


def map_value(
    view: MapView,
    fields: Mapping[str, Sequence[str]],
    *,
    color: str = CLUSTERS,
    key: str = "",
    title: str = "",
    edits: EditHistory | None = None,
    encode: Callable[[str, np.ndarray], Value | str] = lambda _name, array: to_base64(array),
) -> Value:
    """Return the value of a ``map`` view. It contains the arrays of :func:`map_arrays`, but no texts except names.

    Args:
        fields: columns that can color the points; the page fetches their values when it needs them (:func:`column_value`).
        color: :data:`CLUSTERS` or a column; any other name means clusters.
        key: key with which the page fetches the texts.
        encode: returns what stands for an array that is not empty, by its name: base64 or, as ``{"url"}``, the address of its bytes.
    """
    from ..explore.map_edits import EditHistory

    edits = edits or EditHistory.create(view.ids, view.names)
    now, points = edits.now, view.points
    colors = [CLUSTERS, *(name for name in fields if name != CLUSTERS)]
    names: list[Value] = [{"id": number, "label": label, "size": size} for number, label, size in now.clusters()]
    names = _assign_shades(names, points, now.ids) if len(names) > _MAX_DISTINCT_COLORS else names
    return {
        "key": key,
        "title": title,
        "n": len(points),
        "dims": int(points.shape[1]),
        "layout_key": f"{view.projection_key}-{points.shape[1]}",
        "cluster_names": names,
        "broad": _broad_topics(view, edits),
        "colours": colors,
        "opened": opened_filters(fields),
        "labels": [{"label": label, "size": len(rows), "rows": to_base64(rows.astype("<i4"))} for label, rows in now.labelled()],
        "edits": [step.describe() for step in edits.steps[-1:]],
        "by": color if color in colors else CLUSTERS,
    } | {name: encode(name, array) if array.size else "" for name, array in map_arrays(view, edits).items()}


def opened_filters(fields: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the filters that are open at first: the clusters and the first columns that divide the texts, unlike ids and texts."""
    dividing = (name for name, cells in fields.items() if _detect_on_sample(name, cells) not in ("id", "text"))
    return [CLUSTERS, *(name for name in islice(dividing, _OPENED) if name != CLUSTERS)]


def _detect_on_sample(name: str, cells: Sequence[str]) -> ColumnType:
    return detect_type(name, cells[:: max(1, len(cells) // _SAMPLE_ROWS)])


def map_arrays(view: MapView, edits: EditHistory) -> dict[str, np.ndarray]:
    """Return the arrays of a map with n points, little-endian; those without content are empty.

    ``points``: (n, 2) or (n, 3) float32; ``clusters``: (n,) int16; ``typical``: (n,) uint16, the typicality, 65,535 for 1; ``hidden``: (n,)
    uint8, 1 for a removed text.
    """
    now = edits.now
    typical = np.zeros(0) if view.typicality is None else np.clip(view.typicality, 0, 1) * _MAX_TYPICALITY
    return {
        "points": np.ascontiguousarray(view.points, dtype="<f4"),
        "clusters": now.ids.astype("<i2"),  # at most MAX_CLUSTERS, and one more for each edit
        "typical": typical.astype("<u2"),
        "hidden": now.removed.astype("u1") if now.removed.any() else np.zeros(0, "u1"),
    }


def _broad_topics(view: MapView, edits: EditHistory) -> list[Value]:
    """Return the label and the clusters of each broad topic, largest first; nothing if there are none."""
    from ..services.topic_report import broad_topic

    topics = {topic.id: topic for topic in view.topics if topic.id in view.names}
    sizes, members = Counter[int](), dict[int, list[int]]()
    now, start = edits.now.ids + 1, edits.start.ids + 1
    width = int(start.max(initial=0)) + 1
    shared = np.bincount(now * width + start, minlength=(int(now.max(initial=0)) + 1) * width).reshape(-1, width)
    for number, _label, size in edits.now.clusters():
        parent = broad_topic(topics, np.repeat(np.arange(-1, width - 1), shared[number + 1])) if number >= 0 else None
        if parent is not None:
            sizes[parent] += size
            members.setdefault(parent, []).append(number)
    labels = {topic.id: topic.label for topic in view.topics} | dict(edits.now.broad_names)
    return [{"label": labels[parent], "topics": members[parent]} for parent, _size in sizes.most_common()]


def _assign_shades(names: list[Value], points: np.ndarray, groups: np.ndarray) -> list[Value]:
    """Assign a hue and a shade to each name by its position on the map, and sort by hue; the group -1 comes last."""
    real = [name for name in names if name["id"] >= 0]
    index = np.full(int(groups.max(initial=-1)) + 2, -1)  # the last one is that of the group -1
    index[[name["id"] for name in real]] = np.arange(len(real))
    hues, shades = assign_hues(points, index[groups], len(real))
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
    wanted: Sequence[str] = (),
    read: Callable[[str, Sequence[str]], Value] = column_value,
) -> Path:
    """Write a map as a single HTML file that works offline.

    Args:
        lines: row of each text in its file, by default counted from 1.
        wanted: columns that the file must contain (:func:`exported_columns`).
        read: returns the values of a column of ``fields`` by its name and cells.
    """
    columns = {name: fields[name] for name in exported_columns(fields, wanted)}
    data = {
        "title": title,
        "note": columns_note(fields, list(columns)),
        "map": map_value(view, columns, title=title, edits=edits),
        "texts": list(texts),
        "lines": list(lines),
        "columns": {name: read(name, cells) for name, cells in columns.items() if name != CLUSTERS},
    }
    return write_html(path, "map/export", data)


def exported_columns(fields: Collection[str], wanted: Sequence[str] = ()) -> list[str]:
    """Return the columns of an exported file in the order of the table: all that are wanted, and the first others up to eight in total."""
    chosen = {name for name in fields if name in set(wanted)}
    others = [name for name in fields if name not in chosen][: max(0, EXPORTED_COLUMNS - len(chosen))]
    return [name for name in fields if name in chosen or name in others]


def columns_note(fields: Collection[str], exported: Collection[str]) -> str:
    """Return a note on the columns that an exported file leaves out; empty if it has all of them."""
    missing = [name for name in fields if name not in exported]
    if not missing:
        return ""
    return _(
        "This file contains {count} of {total} columns, without {missing}. To include a column, show it in the list or filter by it.",
        count=len(exported),
        total=len(fields),
        missing=join(", ", missing),
    )
