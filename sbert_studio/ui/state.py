"""Typed session values: the contents of the page's states, and data passed between tabs.

A handler returns a :class:`TrainingTable`, :class:`ModelPair`, :class:`TextPair` or :class:`RowSelection` for the session state of that
type; the tab that listens to the state opens and continues from there. A ``nonce`` makes passing the same value twice count as two
changes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.cells import write_rows
from ..errors import StudioError
from .views import UNCHANGED, Unchanged, Update, valid_rows

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from ..explore.map_edits import EditHistory, MapEdit
    from ..services.results import MapView
    from .page import Page
    from .routing import Location

FINE_TUNE, SEARCH, SIMILARITY = "Fine-tune", "Search", "Similarity"
"""Titles of tabs that open when data is passed to them."""
_VISITOR_ID = re.compile(r"visitor-[0-9a-f]{16}")
_OWN_PREFIXES = ("run-", "words-")
_MAX_ROWS = 1000


def _nonce() -> str:
    return secrets.token_hex(4)


@dataclass(frozen=True)
class Session:
    """State of one open page. Each field is a ``gr.State`` of :class:`.page.Page` that handlers can read, write and listen to."""

    corpus: str | None = None  # key of the selected corpus in ``page.corpora``; ``None`` for the first sample
    data: str = ""  # ``data_key`` of the selected corpus; changes when other data is chosen; empty for the first sample
    other_texts: OtherTexts | None = None  # texts outside the corpus, such as a training file, if most of them are not English
    location: Location | None = None  # target of a link, Back or Forward
    # Passed by another tab.
    pair_to_compare: TextPair | None = None
    models_to_compare: ModelPair | None = None
    training_table: TrainingTable | None = None
    rows_on_map: RowSelection | None = None
    rows_to_search: RowSelection | None = None
    # Change whenever a run or the basket changes.
    runs_version: int = 0
    basket_version: int = 0


@dataclass(frozen=True)
class OtherTexts:
    """Texts outside the corpus that are mostly not English."""

    name: str  # name of the file; empty for typed texts
    language: str  # ISO 639-1 code of the most frequent language


@dataclass(frozen=True)
class Header:
    """Values of the header's choosers and of the browser's storage, as an input of handlers (see :mod:`.panel`)."""

    corpus: str | None = None
    model: str | None = None
    saved_model: object = ""
    other_texts: OtherTexts | None = None
    owner: object = None


@dataclass(frozen=True)
class OpenedCorpus:
    corpus: str | Unchanged = UNCHANGED
    model: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class ModelUpdate:
    model: Update | Unchanged = UNCHANGED
    other_texts: OtherTexts | Unchanged | None = UNCHANGED


@dataclass(frozen=True)
class ModelChoice:
    model: Update | Unchanged
    saved_model: str | Unchanged


PASSAGES, DOCUMENTS = UNITS = ("passages", "documents")
"""What a text is if the data are documents; texts of other data count as passages."""


@dataclass(frozen=True)
class SelectedCorpus:
    corpus: Corpus
    path: Path
    columns: tuple[str, ...]  # possible text columns
    column: str  # column of the texts; of several, their combined name
    id: str = ""  # id in links, ``sample:…`` or ``file:…``; empty if it is not stored
    labels: str = ""  # column that the visitor filled on the map; empty without one
    removed: tuple[int, ...] = ()  # lines of texts that were removed on the map before ``earlier``
    earlier: EarlierEdits | None = None  # edits of the map; their labels and removed texts are already applied to ``corpus``
    text_columns: tuple[str, ...] = ()  # columns whose texts are combined; empty for ``column`` alone

    @property
    def data_key(self) -> str:
        """Key of the data and of how it is read, which stays the same when its map is edited; a part of it without an id is other data."""
        return self.source_key + (f" {DOCUMENTS}" if self.unit == DOCUMENTS else "")

    @property
    def source_key(self) -> str:
        """The ``data_key``, the same for documents and for their passages."""
        types = ",".join(f"{name}={kind}" for name, kind in sorted(self.corpus.types.items()))
        return " ".join((self.id or self.corpus.digest, self.column, types))

    @property
    def passages(self) -> Corpus | None:
        """The passages, if the data are documents."""
        return self.corpus if self.corpus.places else self.corpus.passages

    @property
    def unit(self) -> str:
        """What a text is: one of :data:`UNITS`."""
        return DOCUMENTS if self.corpus.passages else PASSAGES


@dataclass(frozen=True)
class JobTopic:
    """The data (``source_key``) and the step of a job with documents."""

    data: str
    step: str
    session: str = field(default="", compare=False)  # the page that began it


@dataclass(frozen=True)
class EarlierEdits:
    """Edits of a map that are reapplied when the map is redrawn and can be undone."""

    start: SelectedCorpus  # corpus of the map before the edits
    steps: tuple[MapEdit, ...]
    clusters: str  # digest of the clusters that were edited


@dataclass(frozen=True)
class DrawnMap:
    corpus: Corpus  # drawn texts; a sample of a very large corpus
    view: MapView
    model: str | None
    edits: EditHistory  # labels, changed clusters and removed texts
    chosen: SelectedCorpus  # the visitor's corpus before the edits
    rows: tuple[int, ...] | None = None  # rows of the drawn texts in ``chosen``; ``None`` for all
    colour: str = ""  # column that colors the points; empty for clusters
    made: dict[str, str] = field(default_factory=dict)  # digest of the corpus and other provenance
    notes: tuple[str, ...] = ()  # notes on earlier edits that could not be repeated
    topic_count: int = 0  # number of topics; 0 if another method of clustering was used
    automatic: int = 0  # number of topics that is chosen automatically; 0 if it is not known


@dataclass(frozen=True)
class TrainingTable:
    """A CSV file for Fine-tune, in a separate folder. The new model is named after ``name``."""

    path: Path
    name: str


@dataclass(frozen=True)
class ModelPair:
    """Names of two models for "Compare models" in Evaluate."""

    before: str
    after: str
    nonce: str = field(default_factory=_nonce)


@dataclass(frozen=True)
class TextPair:
    first: str
    second: str
    by: str = ""
    nonce: str = field(default_factory=_nonce)


@dataclass(frozen=True)
class RowSelection:
    corpus: str  # digest of the corpus
    rows: tuple[int, ...]  # row numbers from 0
    title: str  # description for the visitor
    nonce: str = field(default_factory=_nonce)

    def restrict(self, corpus: Corpus, rows: Sequence[int] | None = None) -> list[int] | None:
        """Return those of ``rows`` that are selected (``None`` means all rows); for another corpus, return ``rows`` unchanged."""
        if self.corpus != corpus.digest:
            return None if rows is None else list(rows)
        return list(self.rows) if rows is None else sorted(set(self.rows) & set(rows))


def make_training_table(page: Page, name: str, columns: Mapping[str, Sequence[str]]) -> TrainingTable:
    """Write a table, name → cells of equal length, for Fine-tune; cells are written unchanged.

    Raises:
        StudioError: there are no rows.
    """
    if not any(len(cells) for cells in columns.values()):
        raise StudioError("there is nothing to train on yet", "choose or label some texts first")
    path = page.training_tables.path(name)
    write_rows(path, list(columns), zip(*columns.values(), strict=True), guarded=False)
    return TrainingTable(path, name)


def base_model(page: Page, model: str | None) -> str:
    default = page.studio.settings.default_model
    if not model or not model.startswith("run-"):
        return default
    try:
        return page.studio.store.get(model).model or default
    except StudioError:
        return default


def compare_with_base(page: Page, chosen: str | None) -> ModelPair:
    if not chosen:
        raise StudioError("there is no model to compare yet", "wait until training has finished")
    return ModelPair(base_model(page, chosen), chosen)


def next_runs_version(runs_version: int) -> int:
    return runs_version + 1


def show_on_map(page: Page, key: str | None, rows: object, title: str) -> RowSelection:
    """Return the valid rows among ``rows``, which may come from the browser, for the corpus ``key``.

    Raises:
        StudioError: no valid rows.
    """
    corpus = page.corpora.get(key).corpus
    valid = valid_rows(rows, len(corpus))
    if not valid:
        raise StudioError("there is nothing to show on the map yet", "search first")
    return RowSelection(corpus.digest, tuple(valid[:_MAX_ROWS]), title)


def new_visitor_id() -> str:
    """Return a new visitor id for a shared page. It separates visitors' runs and is not secret."""
    return f"visitor-{secrets.token_hex(8)}"


def is_visitor_id(name: object) -> bool:
    return isinstance(name, str) and _VISITOR_ID.fullmatch(name) is not None


def is_own_model(model: object) -> bool:
    """Return whether a model was created here and may be deleted."""
    return isinstance(model, str) and model.startswith(_OWN_PREFIXES)
