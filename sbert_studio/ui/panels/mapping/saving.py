"""The map as files: one HTML that opens anywhere, and a CSV of all texts or some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...html_export import write_html as one_file
from ...sessions.map_edits import label_column
from ...state import DrawnMap
from .values import CLUSTERS, by_column, map_value

if TYPE_CHECKING:
    from ....explore.map_edits import EditHistory
    from ....services.results import MapView
    from ...page import Page

_EXPORTED_COLUMNS = 8


def map_html(
    view: MapView,
    texts: Sequence[str],
    fields: Mapping[str, Sequence[str]],
    path: Path,
    *,
    title: str = "Map of sentences",
    edits: EditHistory | None = None,
    lines: Sequence[int] = (),
) -> Path:
    """Write the map as one file that needs no network: the drawing code and the texts are inside.

    Args:
        lines: the row of each text in its file; counted from 1 where not given.

    Returns:
        ``path``.
    """
    shown = {name: fields[name] for name in list(fields)[:_EXPORTED_COLUMNS]}
    value = map_value(view, shown, title=title, edits=edits)
    points = np.asarray(view.points, np.float32)
    left = None if edits is None else ~edits.now.removed
    colourings = {name: by_column(cells, points, left) for name, cells in shown.items() if name != CLUSTERS}
    data = {"title": title, "map": value, "texts": list(texts), "lines": list(lines), "colourings": colourings}
    return one_file(path, "map/export", data)


def write_html(page: Page, map_key: str | None) -> Path:
    """The map as a file that opens anywhere."""
    drawn = page.maps.get(map_key)
    target = page.downloads.path(f"{_stem(drawn)} map.html")
    return map_html(
        drawn.view,
        drawn.corpus.texts,
        columns(drawn),
        target,
        title=f"Map of {drawn.corpus.name}",
        edits=drawn.edits,
        lines=drawn.corpus.lines,
    )


def write_table(page: Page, map_key: str | None) -> Path:
    """Every text that is left with its columns, label, cluster and coordinates, as a CSV without live formulas."""
    drawn = page.maps.get(map_key)
    return rows_csv(page, drawn, np.flatnonzero(~drawn.edits.now.removed).tolist(), "map")


def rows_csv(page: Page, drawn: DrawnMap, rows: Sequence[int], word: str = "selection") -> Path:
    """The same of some rows."""
    from ....data.cells import write_csv

    now, corpus = drawn.edits.now, drawn.corpus
    made: dict[str, Any] = {
        "row": [corpus.lines[row] for row in rows],
        "text": [corpus.texts[row] for row in rows],
        "cluster": [int(now.ids[row]) for row in rows],
        "cluster_label": [now.names[int(now.ids[row])] for row in rows],
    }
    made |= {axis: drawn.view.points[list(rows), at].tolist() for at, axis in zip(range(drawn.view.points.shape[1]), "xyz", strict=False)}
    cells = {name: [column[row] for row in rows] for name, column in columns(drawn).items()}
    target = page.downloads.path(f"{_stem(drawn)} {word}.csv")
    write_csv(target, made | {name if name not in made else f"{name}_": column for name, column in cells.items()})
    return target


def columns(drawn: DrawnMap) -> dict[str, Sequence[str]]:
    """The corpus' columns, and that of the labels where any was given."""
    labels = drawn.edits.now.labels
    return {**drawn.corpus.fields, **({label_column(drawn.chosen): labels} if any(labels) else {})}


def _stem(drawn: DrawnMap) -> str:
    return Path(drawn.chosen.corpus.name).stem or "corpus"
