"""The map and the chart of speeds as data for the page's JavaScript, and the map as one HTML file that opens anywhere. The only place
that knows plotly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .standalone import one_file, packed
from .views import Value, plain

if TYPE_CHECKING:
    from ..studio.results import MapView

CLUSTERS = "Clusters"
_MOST_GROUPS = 19
_OTHERS = "everything else"
_EXPORTED_COLUMNS = 8


def plotly_folder() -> Path:
    """The folder of the installed plotly that holds ``plotly.min.js``."""
    import plotly

    return Path(plotly.__file__).parent / "package_data"


def map_value(view: MapView, fields: Mapping[str, Sequence[str]], *, colour: str = CLUSTERS, key: str = "") -> Value:
    """The value of a ``map`` view: coordinates as base64 float32, groups as base64 int32; no text of the corpus but the groups' names.

    Args:
        colour: :data:`CLUSTERS` or a column of ``fields``.
        key: by which the page fetches the texts.
    """
    points = np.ascontiguousarray(view.points, dtype="<f4")
    base = {
        "key": key,
        "n": len(points),
        "dims": int(points.shape[1]),
        "points": packed(points),
        "layout_key": f"{view.projection_key}-{points.shape[1]}",
    }
    return base | (colouring_by_cluster(view) if colour == CLUSTERS else colouring_by_column(colour, fields[colour]))


def colouring_by_cluster(view: MapView) -> Value:
    """Groups of a map by its clusters, with labels on the map itself."""
    names = [{"id": info.id, "label": info.label, "size": info.size} for info in view.clusters]
    return {
        "groups": packed(view.ids.astype("<i4")),
        "names": names,
        "shades": None,
        "shade_name": "",
        "labels": True,
        "legend_title": CLUSTERS,
    }


def colouring_by_column(name: str, cells: Sequence[str]) -> Value:
    """Groups of a map by a column: the most frequent values, the rest together; numbers become shades."""
    numbers = _numbers(cells)
    if numbers is not None:
        everything = [{"id": 0, "label": f"{np.nanmin(numbers):g} to {np.nanmax(numbers):g}", "size": len(cells)}]
        shades = packed(np.nan_to_num(numbers, nan=float(np.nanmin(numbers))).astype("<f4"))
        zero = np.zeros(len(cells), dtype="<i4")
        return {"groups": packed(zero), "names": everything, "shades": shades, "shade_name": name, "labels": False, "legend_title": name}
    counts = Counter(cells)
    kept = [value for value, _ in counts.most_common(_MOST_GROUPS)]
    ids = {value: number for number, value in enumerate(kept)}
    groups = np.array([ids.get(cell, -1) for cell in cells], dtype="<i4")
    names = [{"id": number, "label": value or "(blank)", "size": counts[value]} for value, number in ids.items()]
    rest = int((groups < 0).sum())
    if rest:
        names.append({"id": -1, "label": _OTHERS, "size": rest})
    return {"groups": packed(groups), "names": names, "shades": None, "shade_name": "", "labels": False, "legend_title": name}


def speed_value(points: Sequence[tuple[str, float, float, Sequence[float] | None]], metric: str) -> Value:
    """The value of a ``speeds`` view: score against speed, for each model (title, sentences a second, score, 95% interval or ``None``)."""
    shown = [
        {"name": title, "rate": rate, "score": score, "low": span[0] if span else None, "high": span[1] if span else None}
        for title, rate, score, span in points
    ]
    return plain({"points": shown, "metric": metric})  # type: ignore[no-any-return]


def map_html(
    view: MapView, texts: Sequence[str], fields: Mapping[str, Sequence[str]], path: Path, *, title: str = "Map of sentences"
) -> Path:
    """Write the map as one file that needs no network: plotly.js, the drawing code and the texts are inside.

    The texts travel as JSON and are shown as text content, so that none is ever read as HTML.

    Returns:
        ``path``.
    """
    shown = list(fields)[:_EXPORTED_COLUMNS]
    colourings = [
        {"name": CLUSTERS, **colouring_by_cluster(view)},
        *({"name": name, **colouring_by_column(name, fields[name])} for name in shown),
    ]
    data = plain({"title": title, "map": map_value(view, fields), "texts": list(texts), "colourings": colourings})
    return one_file(path, "export", data, plotly=(plotly_folder() / "plotly.min.js").read_text(encoding="utf-8"))


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
