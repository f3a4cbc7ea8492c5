"""Typed values of a session: what the page's states hold, the selected corpus, the drawn map, and visitor ids."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..explore.map_edits import EditHistory, MapEdit
    from ..services.results import MapView
    from .handover import ModelPair, RowSelection, TextPair, TrainingTable
    from .routing import Location

_VISITOR_ID = re.compile(r"visitor-[0-9a-f]{16}")


@dataclass(frozen=True)
class Session:
    """State of one open page. Each field is a ``gr.State`` of :class:`.page.Page` that handlers can read, write and listen to.

    Attributes:
        corpus: key of the selected corpus in ``page.corpora``; ``None`` for the first sample.
        other_texts: texts outside the corpus, such as a file to train on, if most of them are not English.
        location: where a link, Back or Forward leads.
        pair_to_compare, models_to_compare, training_table, rows_on_map, rows_to_search: handed over by another tab (see :mod:`.handover`).
        runs_version, basket_version: change whenever a run or the basket does.
    """

    corpus: str | None = None
    other_texts: OtherTexts | None = None
    location: Location | None = None
    pair_to_compare: TextPair | None = None
    models_to_compare: ModelPair | None = None
    training_table: TrainingTable | None = None
    rows_on_map: RowSelection | None = None
    rows_to_search: RowSelection | None = None
    runs_version: int = 0
    basket_version: int = 0


@dataclass(frozen=True)
class OtherTexts:
    """Texts outside the corpus that are mostly not English.

    Attributes:
        name: of the file; empty for typed texts.
        language: ISO 639-1 code of the most frequent language.
    """

    name: str
    language: str


@dataclass(frozen=True)
class SelectedCorpus:
    """A visitor's corpus and its file.

    Attributes:
        columns: possible text columns; column: the selected one.
        id: for links, ``sample:…`` or ``file:…``; empty if it is not stored.
        labels: column that the visitor filled on the map; empty without one.
        removed: lines of texts that were removed on the map before ``earlier``.
        earlier: edits of the map; their labels and removed texts are applied to ``corpus`` already.
    """

    corpus: Corpus
    path: Path
    columns: tuple[str, ...]
    column: str
    id: str = ""
    labels: str = ""
    removed: tuple[int, ...] = ()
    earlier: EarlierEdits | None = None


@dataclass(frozen=True)
class EarlierEdits:
    """Edits of a map, to be repeated when the map is drawn again, and undone.

    Attributes:
        start: corpus of the map before the edits.
        steps: the edits.
        clusters: digest of the clusters that were edited.
    """

    start: SelectedCorpus
    steps: tuple[MapEdit, ...]
    clusters: str


@dataclass(frozen=True)
class DrawnMap:
    """A map on a visitor's page, its corpus and its edits.

    Attributes:
        corpus: drawn texts; a sample of a very large corpus.
        edits: labels, changed clusters and removed texts.
        chosen: the visitor's corpus before the edits; rows: of the drawn texts in it, ``None`` for all.
        colour: column that colours the points; empty for clusters.
        made: digest of the corpus and other provenance.
        notes: on earlier edits that could not be repeated.
    """

    corpus: Corpus
    view: MapView
    model: str | None
    edits: EditHistory
    chosen: SelectedCorpus
    rows: tuple[int, ...] | None = None
    colour: str = ""
    made: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def new_visitor_id() -> str:
    """Return a new visitor id for a shared page. It separates visitors' runs and is no secret."""
    return f"visitor-{secrets.token_hex(8)}"


def is_visitor_id(name: object) -> bool:
    """Return whether ``name``, which the browser sends, has the form of a visitor id."""
    return isinstance(name, str) and _VISITOR_ID.fullmatch(name) is not None
