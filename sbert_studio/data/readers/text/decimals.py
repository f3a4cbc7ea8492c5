"""Decimal commas in a file whose cells are separated by commas: ``a,b,3,5`` under three names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from ....errors import StudioError
from ...findings import Finding
from ...questions import Option, Question, Shown
from ...schema.names import SCORE
from ...schema.words import normalize
from ..layout import Layout
from ..rows import Record

_WHOLE = re.compile(r"[+-]?\d{1,3}")
_PART = re.compile(r"\d{1,8}")
_MOST = 3


def decimal_places(layout: Layout, asked: bool | None) -> tuple[int, ...]:
    """The columns, counted from 0, whose numbers were cut in two at their decimal commas; empty: none.

    They are the only ones for which every row of the sample has as many cells as the header has names, once the two
    halves of each number are joined. Without a header, they are looked for only where ``asked`` says that there are some.

    Raises:
        StudioError: several columns could be meant.
    """
    rows = [list(cells) for _, cells in layout.body]
    if asked is False or not rows or not (layout.header or asked):
        return ()
    width = len(layout.header) if layout.header else max(map(len, rows)) - 1
    surplus = [len(row) - width for row in rows]
    most = max(surplus)
    if not 0 < most <= _MOST or min(surplus) < 0 or width < 1 or sum(more > 0 for more in surplus) < 0.3 * len(rows):
        return ()
    fitting = [places for places in combinations(range(width), most) if all(_join(row, width, places) for row in rows)]
    if len(fitting) > 1:
        fitting = [places for places in fitting if all(_is_score(layout, place) for place in places)] or fitting
    if len(fitting) > 1 and not layout.header:
        fitting = fitting[-1:]
    if len(fitting) > 1:
        raise StudioError(
            "the rows have more cells than the header has names, and more than one of their columns could hold decimal commas",
            "put numbers with a comma in quotation marks, or save the file with semicolons; --delimiter , takes every comma as a separator",
            [line for line, cells in layout.body if len(cells) > width],
        )
    return fitting[0] if fitting else ()


def joined(records: Iterator[Record], width: int, places: tuple[int, ...]) -> Iterator[Record]:
    """Records whose numbers are whole again; a record that does not fit stays as it is."""
    for line, cells in records:
        yield line, (_join(list(cells), width, places) or cells) if len(cells) > width else cells


def note(layout: Layout, places: tuple[int, ...]) -> Finding:
    """That numbers were joined, and in which columns."""
    columns = ", ".join(repr(layout.names[place]) for place in places)
    return Finding("info", f"decimal commas are not in quotation marks; the two halves of each number in {columns} were joined")


def doubts(layout: Layout, places: tuple[int, ...]) -> tuple[Question, ...]:
    """Whether two whole numbers side by side are one number, where nothing but the header's length says so."""
    rows = layout.body
    if places:
        parts = [cells[-1] for _, cells in rows] if places == (len(layout.header) - 1,) else []
        uneven = len({len(cells) for _, cells in rows}) > 1 or len({len(part.strip()) for part in parts}) > 1
        zeros = any(len(part.strip()) > 1 and part.strip().startswith("0") for part in parts)
        if uneven or zeros or all(_is_score(layout, place) for place in places):
            return ()
    elif layout.header or len(layout.names) < 3 or len(rows) < 2 or not all(_ends_in_two(cells, len(layout.names)) for _, cells in rows):
        return ()
    decimal = Option("one number with a decimal comma", "--delimiter decimal-comma", {"delimiter": "decimal-comma"})
    two = Option("two columns", "--delimiter ,", {"delimiter": ","})
    shown = tuple(Shown(line, tuple(cells)) for line, cells in rows[:3])
    why = "each row has a number cut in two by a comma, or two whole numbers side by side"
    first = rows[0][1]
    at = places[0] if places else len(first) - 2
    text = f"Are {first[at]},{first[at + 1]} and the like one number, or two columns?"
    return (Question("delimiter", text, (decimal, two) if places else (two, decimal), why, shown),)


def _ends_in_two(cells: Sequence[str], width: int) -> bool:
    return len(cells) == width and bool(_WHOLE.fullmatch(cells[-2])) and bool(re.fullmatch(r"\d{1,2}", cells[-1]))


def _is_score(layout: Layout, place: int) -> bool:
    return place < len(layout.header) and normalize(layout.header[place]) in SCORE


def _join(row: list[str], width: int, places: tuple[int, ...]) -> list[str] | None:
    """The row with as many of ``places`` joined as it has surplus cells, if that can be; else None."""
    surplus = len(row) - width
    if not 0 <= surplus <= len(places):
        return None
    for chosen in combinations(places, surplus):
        cells: list[str] = []
        at = 0
        for place in range(width):
            if place in chosen:
                if not (_WHOLE.fullmatch(row[at].strip()) and _PART.fullmatch(row[at + 1])):
                    break
                cells.append(f"{row[at].strip()},{row[at + 1]}")
                at += 2
            else:
                if place in places and row[at].strip() and not re.fullmatch(r"[+-]?\d+", row[at].strip()):
                    break
                cells.append(row[at])
                at += 1
        else:
            return cells
    return None
