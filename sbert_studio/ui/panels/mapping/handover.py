"""Rows of the map for search, training and the basket."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import StudioError
from ...basket.handlers import VERDICTS, add_pairs, toggle_pair
from ...basket.pairs import LabelledPair, chain_pairs
from ...handover import RowSelection, TrainingTable, make_training_table
from .choosing import valid

if TYPE_CHECKING:
    from ...page import Page
    from ...state import DrawnMap


def on_map(drawn: DrawnMap, rows: Sequence[int]) -> list[int]:
    """Where rows of the visitor's corpus are on the map; those that are not drawn are left out."""
    places = {row: place for place, row in enumerate(_rows_of(drawn).tolist()) if row >= 0}
    return [places[row] for row in rows if row in places]


def in_corpus(drawn: DrawnMap, places: Sequence[int]) -> tuple[int, ...]:
    """Which rows of the visitor's corpus are drawn at these places of the map."""
    rows = _rows_of(drawn)
    return tuple(int(rows[place]) for place in places if rows[place] >= 0)


def search_here(drawn: DrawnMap, sent: Any) -> RowSelection:
    """What ``page.rows_to_search`` is to hold: the places that the browser sends.

    Raises:
        StudioError: there are none.
    """
    rows = in_corpus(drawn, valid(sent, drawn))
    if not rows:
        raise StudioError("no text was chosen", "draw a lasso around some, or click a name of the legend")
    return RowSelection(drawn.made["corpus"], tuple(sorted(rows)), f"{len(rows):,} texts chosen on the map")


def teach(page: Page, drawn: DrawnMap) -> TrainingTable:
    """The labelled texts as a table to train on.

    Raises:
        StudioError: fewer than two labels were given.
    """
    found = drawn.edits.now.labelled()
    if len(found) < 2:
        raise StudioError("there is one label to tell apart" if found else "no text has a label yet", "label texts of another kind, too")
    cells = [(drawn.corpus.texts[row], label) for label, rows in found for row in rows.tolist()]
    name = f"{Path(drawn.chosen.corpus.name).stem or 'corpus'} labelled.csv"
    return make_training_table(page, name, {"text": [text for text, _ in cells], "label": [label for _, label in cells]})


def examples(page: Page, owner: Any, drawn: DrawnMap, sent: Any) -> int:
    """Put the chosen texts into the basket as pairs that belong together; a new value of ``page.basket_version``."""
    return add_pairs(page, owner, chain_pairs([drawn.corpus.texts[row] for row in valid(sent, drawn)], "Map"))


def judge(page: Page, owner: Any, drawn: DrawnMap, said: str, sent: Any) -> int:
    """Put the text that was clicked and one of its list into the basket, as a thumb says; a new value of ``page.basket_version``.

    Args:
        said: a key of :data:`~sbert_studio.ui.basket.handlers.VERDICTS`; sent: the two places, from the browser.

    Raises:
        StudioError: these are no two texts of the map.
    """
    rows = valid(sent, drawn)
    if len(rows) != 2 or drawn.corpus.texts[rows[0]] == drawn.corpus.texts[rows[1]]:
        raise StudioError("these are no two texts of the map", "click the point once more")
    a, b = (drawn.corpus.texts[row] for row in rows)
    return toggle_pair(page, owner, LabelledPair(a, b, VERDICTS[said], "Map"))


def _rows_of(drawn: DrawnMap) -> np.ndarray:
    """(n,) the row of each drawn text in the visitor's corpus as it is now, -1 where it was removed."""
    now, whole = drawn.edits.now, np.zeros(len(drawn.chosen.corpus), bool)
    rows = np.arange(len(whole)) if drawn.rows is None else np.asarray(drawn.rows)
    whole[rows[now.removed]] = True
    return np.where(now.removed, -1, rows - np.cumsum(whole)[rows])
