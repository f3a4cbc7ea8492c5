"""What the map's JavaScript asks for as a visitor clicks: texts, lists, neighbours, hits. Nothing that it sends is trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import StudioError
from ...page import Page
from ...state import DrawnMap
from .saving import rows_csv
from .values import CLUSTERS

_NEIGHBOURS = 12
_FOUND = 30
_TIP_LENGTH, _ITEM_LENGTH = 240, 1200
_MOST_ITEMS_AT_ONCE = 500


def texts(page: Page, request: Any) -> list[tuple[int, str]]:
    """Some of a map's rows and their texts, shortened, for the pointer to show; ``request`` is ``{key, rows}`` from the browser.

    Only who was sent the map knows its key.
    """
    drawn = page.maps.get(_key(request))
    return [(row, shortened(drawn.corpus.texts[row], _TIP_LENGTH)) for row in valid(request.get("rows"), drawn)[:_MOST_ITEMS_AT_ONCE]]


def words(page: Page, request: Any) -> list[int]:
    """The rows whose texts hold some words as they stand, ``{key, query}``, in small letters or large."""
    drawn, query = page.maps.get(_key(request)), str(request.get("query") or "").lower()
    removed = drawn.edits.now.removed
    return [row for row, text in enumerate(drawn.corpus.texts) if query and query in text.lower() and not removed[row]]


def items(page: Page, request: Any) -> list[dict[str, Any]]:
    """The entries of a list for some rows, ``{key, rows}``: row, line, text, and the value that the map is coloured by; where that is no
    visitor's nor made of texts but the page's own words, ``ours``."""
    drawn = page.maps.get(_key(request))
    cells, now = shown_cells(drawn), drawn.edits.now
    by_cluster = drawn.colour == CLUSTERS or drawn.colour not in drawn.corpus.fields
    return [
        {
            "row": row,
            "line": drawn.corpus.lines[row],
            "text": shortened(drawn.corpus.texts[row], _ITEM_LENGTH),
            "value": cells(row),
            "ours": bool(by_cluster and not now.labels[row] and now.ids[row] < 0),
        }
        for row in valid(request.get("rows"), drawn)[:_MOST_ITEMS_AT_ONCE]
    ]


def near(page: Page, request: Any) -> dict[str, Any]:
    """The rows nearest to one, ``{key, row}``, and their cosines."""
    drawn = page.maps.get(_key(request))
    (row,) = valid([request.get("row")], drawn) or (None,)
    if row is None:
        raise StudioError("this text is no longer on the map", "click another one")
    gone = int(drawn.edits.now.removed.sum())
    found = page.studio.explore.neighbours(drawn.corpus, row, _NEIGHBOURS + gone, drawn.model)
    return _hits(drawn, found.hits, _NEIGHBOURS)


def find(page: Page, request: Any) -> dict[str, Any]:
    """The rows nearest in meaning to some words, ``{key, query}``, and their cosines."""
    drawn = page.maps.get(_key(request))
    query, gone = str(request.get("query") or ""), int(drawn.edits.now.removed.sum())
    found = page.studio.explore.search(drawn.corpus, query, _FOUND + gone, "semantic", model=drawn.model)
    return _hits(drawn, found.hits, _FOUND)


def chosen_csv(page: Page, request: Any) -> dict[str, str]:
    """Some rows as a CSV, ``{key, rows}``: the name of the file and what it holds."""
    drawn = page.maps.get(_key(request))
    path = rows_csv(page, drawn, valid(request.get("rows"), drawn))
    return {"name": path.name, "csv": path.read_text(encoding="utf-8")}


def valid(rows: Any, drawn: DrawnMap) -> list[int]:
    """Those of ``rows`` that are rows of the map, each once, and not removed."""
    total, removed = len(drawn.corpus.texts), drawn.edits.now.removed
    kept = (
        (row for row in rows if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < total) if isinstance(rows, list) else ()
    )
    return [row for row in dict.fromkeys(kept) if not removed[row]]


def shown_cells(drawn: DrawnMap) -> Callable[[int], str]:
    """What a list says of a row beside its text: the cell that colours it, else its label, else its cluster."""
    now = drawn.edits.now
    column = drawn.corpus.fields.get(drawn.colour)
    if column is not None and drawn.colour != CLUSTERS:
        return lambda row: shortened(column[row], _TIP_LENGTH)
    return lambda row: now.labels[row] or now.names[int(now.ids[row])]


def shortened(text: str, length: int) -> str:
    """``text``, of longer ones the beginning."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _key(request: Any) -> Any:
    return request.get("key") if isinstance(request, dict) else None


def _hits(drawn: DrawnMap, hits: Any, most: int) -> dict[str, Any]:
    kept = [hit for hit in hits if not drawn.edits.now.removed[hit.row]][:most]
    return {"rows": [hit.row for hit in kept], "scores": [round(float(hit.score), 4) for hit in kept]}
