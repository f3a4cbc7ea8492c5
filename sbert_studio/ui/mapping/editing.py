"""What a visitor does to the map: label, rename, merge, split, remove, undo. The corpus of the other tabs follows."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import StudioError
from ...explore.groups.edits import Edits, Label, Merge, Remove, Rename, Split, Step
from ..page import Page
from ..views import Value
from ..visitors.session import Chosen, Drawn
from .choosing import valid
from .saving import columns, label_column
from .values import CLUSTERS, by_label, map_value


def shown_map(page: Page, map_key: str, show: Value | None = None) -> Value:
    """The value of the map; ``show``: what is listed once it is drawn (rows and a title, a cluster, or nothing)."""
    drawn = page.maps.get(map_key)
    fields, now = columns(drawn), drawn.edits.now
    value = map_value(
        drawn.view, fields, colour=drawn.colour or CLUSTERS, key=map_key, title=f"Map of {drawn.corpus.name}", edits=drawn.edits
    )
    if value["by"] == label_column(drawn) and any(now.labels):
        value |= by_label(now.labels, ~now.removed)
    return value | {"made": drawn.made, "show": None if show is None else {**show, "nonce": secrets.token_hex(4)}}


def recolour(page: Page, map_key: str | None, colour: Any) -> Value:
    """The map coloured by another column; a name that is none of its columns counts as clusters."""
    drawn = page.maps.get(map_key)
    known = colour if isinstance(colour, str) and colour in columns(drawn) else ""
    return shown_map(page, page.maps.put(replace(drawn, colour=known), map_key))


def edit(page: Page, map_key: str | None, corpus_key: str | None, request: Any) -> tuple[Value, str | None]:
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
        colour = label_column(drawn)  # the new name is seen at once
    elif colour == label_column(drawn) and not any(edits.now.labels):
        colour = ""
    before = drawn.made["corpus"]
    now = replace(drawn, edits=edits, colour=colour)
    corpus = edited(now)
    now = replace(now, made=drawn.made | {"corpus": corpus.corpus.digest})
    page.maps.put(now, map_key)
    _, current = page.corpus_of(corpus_key)
    follows = current.corpus.digest == before
    return shown_map(page, str(map_key), show), page.corpora.put(corpus) if follows else None


def edited(drawn: Drawn) -> Chosen:
    """The visitor's corpus with the labels as a column and without the removed texts; as it was where there are neither."""
    now, whole = drawn.edits.now, drawn.chosen.corpus
    rows = np.arange(len(whole)) if drawn.rows is None else np.asarray(drawn.rows)
    corpus, chosen = whole, drawn.chosen
    if any(now.labels):
        cells = [""] * len(whole)
        for row, label in zip(rows.tolist(), now.labels, strict=True):
            cells[row] = label
        name = label_column(drawn)
        corpus, chosen = replace(whole, fields={**whole.fields, name: tuple(cells)}), replace(chosen, labels=name)
    else:
        chosen = replace(chosen, labels="")
    if now.removed.any():
        gone = np.zeros(len(whole), bool)
        gone[rows[now.removed]] = True
        # A link would lead to the whole file.
        corpus, chosen = corpus.part(np.flatnonzero(~gone).tolist(), whole.name, "removed on the map"), replace(chosen, id="")
    return replace(chosen, corpus=corpus)


def _after(page: Page, drawn: Drawn, request: dict[str, Any]) -> tuple[Edits, Value | None]:
    """The edits after what was asked for, and what is listed then."""
    what, edits = request.get("do"), drawn.edits
    if what == "undo":
        return edits.undone(), {}
    rows = tuple(valid(request.get("rows"), drawn))
    step: Step
    show: Value | None = None
    if what == "label":
        step = Label(rows, str(request.get("name") or ""))
    elif what == "remove":
        step, show = Remove(rows), {}
    elif what == "rename":
        step = Rename(_number(request.get("cluster")), str(request.get("name") or ""))
        show = {"cluster": step.cluster}
    elif what == "merge":
        given = request.get("clusters")
        step = Merge(tuple(_number(one) for one in given) if isinstance(given, list) else ())
        show = {"cluster": step.clusters[0]}
    elif what == "split":
        cluster = _number(request.get("cluster"))
        parts, names = page.studio.explore.split(drawn.corpus, edits.now.rows_of(cluster).tolist(), 2, drawn.model)
        step, show = Split(cluster, parts, names), {"cluster": cluster}
    else:
        raise StudioError("the map cannot do that", "reload the page")
    return edits.then(step), show


def _number(given: Any) -> int:
    return given if isinstance(given, int) and not isinstance(given, bool) else -1
