"""Values that one tab hands to another: a table to train on, two models or texts to compare, rows to show or to search.

A handler returns one of them for the session state of the same purpose (see :class:`.state.Session`); the tab that listens to this state
opens and continues from there. Each value has a ``nonce``, so that handing over the same thing twice counts as two changes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.cells import write_rows
from ..errors import StudioError

if TYPE_CHECKING:
    from ..data.corpus import Corpus
    from .page import Page

FINE_TUNE, SIMILARITY = "Fine-tune", "Similarity"
"""Titles of the tabs that open."""
_MAX_ROWS = 1000


def _nonce() -> str:
    return secrets.token_hex(4)


@dataclass(frozen=True)
class TrainingTable:
    """A CSV file for Fine-tune, in a folder of its own.

    Attributes:
        name: shown to the visitor; the new model is named after it.
    """

    path: Path
    name: str


def make_training_table(page: Page, name: str, columns: Mapping[str, Sequence[str]]) -> TrainingTable:
    """Write a table for Fine-tune; cells are written exactly as they are.

    Args:
        name: file name, with ``.csv``.
        columns: name → cells, all of one length. The schema is inferred from them as from an upload.

    Raises:
        StudioError: there is no row.
    """
    if not any(len(cells) for cells in columns.values()):
        raise StudioError("there is nothing to teach yet", "choose or label some texts first")
    path = page.training_tables.path(name)
    write_rows(path, list(columns), zip(*columns.values(), strict=True), guarded=False)
    return TrainingTable(path, name)


@dataclass(frozen=True)
class ModelPair:
    """Names of two models for "Compare models" in Evaluate."""

    before: str
    after: str
    nonce: str = field(default_factory=_nonce)


def base_model(page: Page, model: str | None) -> str:
    """Return the model that a run started from, or the default model for any other model."""
    default = page.studio.settings.default_model
    if not model or not model.startswith("run-"):
        return default
    try:
        return page.studio.store.get(model).model or default
    except StudioError:
        return default


def compare_models(page: Page, after: str | None, before: str | None = None) -> ModelPair:
    """Return a model and the one to compare it with, by default its base model.

    Raises:
        StudioError: no model is named.
    """
    if not after:
        raise StudioError("there is no model to compare yet", "wait until the training has ended")
    return ModelPair(before or base_model(page, after), after)


@dataclass(frozen=True)
class TextPair:
    """Two texts to compare in Similarity, also by the model ``by``."""

    first: str
    second: str
    by: str = ""
    nonce: str = field(default_factory=_nonce)


@dataclass(frozen=True)
class RowSelection:
    """Rows of a corpus.

    Attributes:
        corpus: digest of the corpus.
        rows: row numbers from 0.
        title: description for the visitor.
    """

    corpus: str
    rows: tuple[int, ...]
    title: str
    nonce: str = field(default_factory=_nonce)

    def restrict(self, corpus: Corpus, rows: Sequence[int] | None = None) -> list[int] | None:
        """Return those of ``rows`` (``None``: all) that are selected. For another corpus, return ``rows`` unchanged."""
        if self.corpus != corpus.digest:
            return None if rows is None else list(rows)
        return list(self.rows) if rows is None else sorted(set(self.rows) & set(rows))


def show_on_map(page: Page, key: str | None, rows: object, title: str) -> RowSelection:
    """Return the valid ones of ``rows``, which may come from the browser, of the corpus ``key``.

    Raises:
        StudioError: there are none.
    """
    corpus = page.corpora.get(key).corpus
    found = rows if isinstance(rows, list | tuple) else ()
    valid = [row for row in found if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < len(corpus)]
    if not valid:
        raise StudioError("there is nothing to show on the map yet", "search first")
    return RowSelection(corpus.digest, tuple(dict.fromkeys(valid))[:_MAX_ROWS], title)
