"""Between the map and other tabs: hits that are shown on the map, a search among what was chosen there, labels to teach, examples.

A tab has texts shown by one line; the page then goes to the map, which is drawn if it is not there yet::

    button.click(guarded(partial(show, page)), [page.corpus, rows, title], page.on_map, api_visibility="private", show_progress="hidden")
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import StudioError
from ..basket.gather import SAID, add, chained, mark
from ..basket.pairs import Pair
from ..teaching import Lesson, lesson
from .choosing import valid

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ...page import Page
    from ...visitors.session import Drawn

_MOST = 1000


@dataclass(frozen=True)
class Rows:
    """Some texts of a corpus. ``visit`` differs each time, so that the same ones can be gone to twice.

    Attributes:
        corpus: its digest; rows: from 0; title: what they are.
    """

    corpus: str
    rows: tuple[int, ...]
    title: str
    visit: str = field(default_factory=lambda: secrets.token_hex(4))

    def among(self, corpus: Corpus, others: Sequence[int] | None = None) -> list[int] | None:
        """Those of ``others`` (all where ``None``) that are among these; ``others`` as they are for any other corpus."""
        if self.corpus != corpus.digest:
            return None if others is None else list(others)
        return list(self.rows) if others is None else sorted(set(self.rows) & set(others))


def show(page: Page, key: str | None, rows: Any, title: str) -> Rows:
    """What ``page.on_map`` is to hold: texts of the corpus ``key``; ``rows`` may come from the browser.

    Raises:
        StudioError: there are none.
    """
    corpus = page.corpora.get(key).corpus
    kept = [row for row in rows if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < len(corpus)] if rows else []
    if not kept:
        raise StudioError("there is nothing to show on the map yet", "search first")
    return Rows(corpus.digest, tuple(dict.fromkeys(kept))[:_MOST], title)


def on_map(drawn: Drawn, rows: Sequence[int]) -> list[int]:
    """Where rows of the visitor's corpus are on the map; those that are not drawn are left out."""
    places = {row: place for place, row in enumerate(_rows_of(drawn).tolist()) if row >= 0}
    return [places[row] for row in rows if row in places]


def in_corpus(drawn: Drawn, places: Sequence[int]) -> tuple[int, ...]:
    """Which rows of the visitor's corpus are drawn at these places of the map."""
    rows = _rows_of(drawn)
    return tuple(int(rows[place]) for place in places if rows[place] >= 0)


def search_here(drawn: Drawn, sent: Any) -> Rows:
    """What ``page.within`` is to hold: the places that the browser sends.

    Raises:
        StudioError: there are none.
    """
    rows = in_corpus(drawn, valid(sent, drawn))
    if not rows:
        raise StudioError("no text was chosen", "draw a lasso around some, or click a name of the legend")
    return Rows(drawn.made["corpus"], tuple(sorted(rows)), f"{len(rows):,} texts chosen on the map")


def teach(page: Page, drawn: Drawn) -> Lesson:
    """The labelled texts as a table to train on.

    Raises:
        StudioError: fewer than two labels were given.
    """
    found = drawn.edits.now.labelled()
    if len(found) < 2:
        raise StudioError("there is one label to tell apart" if found else "no text has a label yet", "label texts of another kind, too")
    cells = [(drawn.corpus.texts[row], label) for label, rows in found for row in rows.tolist()]
    name = f"{Path(drawn.chosen.corpus.name).stem or 'corpus'} labelled.csv"
    return lesson(page, name, {"text": [text for text, _ in cells], "label": [label for _, label in cells]})


def examples(page: Page, owner: Any, drawn: Drawn, sent: Any) -> int:
    """Put the chosen texts into the basket as pairs that belong together; a new value of ``page.basket_changed``."""
    return add(page, owner, chained([drawn.corpus.texts[row] for row in valid(sent, drawn)], "Map"))


def judge(page: Page, owner: Any, drawn: Drawn, said: str, sent: Any) -> int:
    """Put the text that was clicked and one of its list into the basket, as a thumb says; a new value of ``page.basket_changed``.

    Args:
        said: a key of :data:`~sbert_studio.ui.panels.basket.gather.SAID`; sent: the two places, from the browser.

    Raises:
        StudioError: these are no two texts of the map.
    """
    rows = valid(sent, drawn)
    if len(rows) != 2 or drawn.corpus.texts[rows[0]] == drawn.corpus.texts[rows[1]]:
        raise StudioError("these are no two texts of the map", "click the point once more")
    a, b = (drawn.corpus.texts[row] for row in rows)
    return mark(page, owner, Pair(a, b, SAID[said], "Map"))


def _rows_of(drawn: Drawn) -> np.ndarray:
    """(n,) the row of each drawn text in the visitor's corpus as it is now, -1 where it was removed."""
    now, whole = drawn.edits.now, np.zeros(len(drawn.chosen.corpus), bool)
    rows = np.arange(len(whole)) if drawn.rows is None else np.asarray(drawn.rows)
    whole[rows[now.removed]] = True
    return np.where(now.removed, -1, rows - np.cumsum(whole)[rows])
