"""What a visitor does to the map: label, rename, merge, split, remove, undo. The corpus of the other tabs follows."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from ....errors import StudioError
from ....explore.map_edits import EditHistory, LabelEdit, MapEdit, MergeEdit, RemoveEdit, RenameEdit, SplitEdit
from ...page import Page
from ...sessions.map_edits import apply_edits, label_column
from ...state import DrawnMap
from ...views import Value
from .choosing import valid
from .saving import columns
from .values import CLUSTERS, by_label, map_value


def shown_map(page: Page, map_key: str, show: Value | None = None) -> Value:
    """The value of the map; ``show``: what is listed once it is drawn (rows and a title, a cluster, or nothing)."""
    drawn = page.maps.get(map_key)
    fields, now = columns(drawn), drawn.edits.now
    value = map_value(
        drawn.view, fields, colour=drawn.colour or CLUSTERS, key=map_key, title=f"Map of {drawn.corpus.name}", edits=drawn.edits
    )
    if value["by"] == label_column(drawn.chosen) and any(now.labels):
        value |= by_label(now.labels, ~now.removed)
    return value | {"made": drawn.made, "show": None if show is None else {**show, "nonce": secrets.token_hex(4)}}


def recolour(page: Page, map_key: str | None, colour: Any) -> Value:
    """The map coloured by another column; a name that is none of its columns counts as clusters."""
    drawn = page.maps.get(map_key)
    known = colour if isinstance(colour, str) and colour in columns(drawn) else ""
    return shown_map(page, page.maps.put(replace(drawn, colour=known), map_key))


def edit(page: Page, map_key: str | None, corpus_key: str | None, request: Any, owner: Any = None) -> tuple[Value, str | None]:
    """Do what the browser asks for, ``{do, …}``.

    Returns:
        the value of the map; the key of the visitor's corpus as it is now, ``None`` where they have chosen another meanwhile.

    Raises:
        StudioError: it makes no sense on this map.
    """
    drawn = page.maps.get(map_key)
    request = request if isinstance(request, dict) else {}
    edits, show = _after(page, drawn, request)
    colour = drawn.colour
    if request.get("do") == "label":
        colour = label_column(drawn.chosen)  # the new name is seen at once
    elif colour == label_column(drawn.chosen) and not any(edits.now.labels):
        colour = ""
    before = drawn.made["corpus"]
    now = replace(drawn, edits=edits, colour=colour)
    corpus = apply_edits(now)
    now = replace(now, made=drawn.made | {"corpus": corpus.corpus.digest})
    page.maps.put(now, map_key)
    page.corpora.save_map(owner, now)
    _, current = page.corpora.current(corpus_key)
    follows = current.corpus.digest == before
    return shown_map(page, str(map_key), show), page.corpora.put(corpus) if follows else None


def _after(page: Page, drawn: DrawnMap, request: dict[str, Any]) -> tuple[EditHistory, Value | None]:
    """The edits after what was asked for, and what is listed then."""
    what, edits = request.get("do"), drawn.edits
    if what == "undo":
        return edits.undo(), {}
    rows = tuple(valid(request.get("rows"), drawn))
    step: MapEdit
    show: Value | None = None
    if what == "label":
        step = LabelEdit(rows, str(request.get("name") or ""))
    elif what == "remove":
        step, show = RemoveEdit(rows), {}
    elif what == "rename":
        step = RenameEdit(_number(request.get("cluster")), str(request.get("name") or ""))
        show = {"cluster": step.cluster}
    elif what == "merge":
        given = request.get("clusters")
        step = MergeEdit(tuple(_number(one) for one in given) if isinstance(given, list) else ())
        show = {"cluster": step.clusters[0]}
    elif what == "split":
        cluster = _number(request.get("cluster"))
        parts, names = page.studio.explore.split(drawn.corpus, edits.now.rows_of(cluster).tolist(), 2, drawn.model)
        step, show = SplitEdit(cluster, parts, names), {"cluster": cluster}
    else:
        raise StudioError("the map cannot do that", "reload the page")
    return edits.then(step), show


def _number(given: Any) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) else -1
