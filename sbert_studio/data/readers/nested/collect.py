"""Rows whose keys are only found as they come → columns, in the order in which the keys are first seen."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

from ....errors import StudioError
from ...cells import cell_text
from ..columns import Columns
from ..headers import familiar_name
from ..rows import Content
from .spread import Spreading

_LOOKED_AT = 50
HINT = 'write one JSON object a line, such as {"text": "…"}'


def collect(values: Iterable[tuple[int, Any]]) -> Content:
    """The content of a file of (row number, value); values are spread (see :mod:`~sbert_studio.data.readers.nested.spread`).

    Where the rows are lists, a first one of well-known names is their header.

    Raises:
        StudioError: there is no row.
    """
    places: dict[str, int] = {}
    columns = Columns(0)
    spreading = Spreading()
    header: list[str] = []
    source = iter(values)
    first = list(islice(source, _LOOKED_AT))
    spreading.look([value for _, value in first])
    for place, (line, value) in enumerate(chain(first, source)):
        if (
            place == 0
            and isinstance(value, list)
            and len(value) > 1
            and all(isinstance(cell, str) and familiar_name(cell) for cell in value)
        ):
            header = value
            continue
        named = dict(zip(header, value, strict=False)) if header and isinstance(value, list) and len(value) <= len(header) else value
        for row in spreading.spread(line, named):
            if new := [key for key in row if key not in places]:
                for key in new:
                    places[key] = len(places)
                columns.widen(len(places))
            cells = [""] * len(places)
            for key, cell in row.items():
                cells[places[key]] = cell_text(cell)
            columns.append(line, cells)
    if not places:
        raise StudioError("the file holds no rows", HINT)
    names = [cell_text(key) or "column_1" for key in places]
    data, lines = columns.finish(names)
    return Content(tuple(names), data, lines, spreading.notes())
