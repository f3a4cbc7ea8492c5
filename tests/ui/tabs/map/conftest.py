from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.map import handlers
from sbert_studio.ui.tabs.map.handlers import draw
from sbert_studio.ui.tabs.map.view_model import MapSettings
from sbert_studio.ui.views import UNCHANGED


def edit(page: Page, map_key: str, corpus: str | None, request: Any, owner: object = None) -> tuple[Any, str | None]:
    """Edit a map; return the value of its view and the new key of the corpus, ``None`` if the visitor's corpus stays."""
    action = handlers.edit(page, map_key, corpus, owner, request)
    return action.map, None if action.corpus is UNCHANGED else action.corpus


def rows_of(label: Any) -> list[int]:
    """Return the rows of a label in the value of the view."""
    rows: list[int] = np.frombuffer(base64.b64decode(label["rows"]), "<i4").tolist()
    return rows


@pytest.fixture
def corpus_key(page: Page, corpus_file: Path) -> str:
    key = corpora.open_file(page, str(corpus_file))
    assert key is not None
    return key


@pytest.fixture
def map_key(page: Page, corpus_key: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A map of forty texts whose points are made up: UMAP has tests of its own."""

    def fake(corpus: Any, projection: Any, clusters: Any, model: Any, *, begin_phase: Any = None) -> MapView:
        n = len(corpus.texts)
        points = np.random.default_rng(0).normal(size=(n, projection.dimensions)).astype(np.float32)
        return MapView(points, np.arange(n) % 2, (TopicInfo(0, "even", n // 2), TopicInfo(1, "odd", n // 2)), "k")

    monkeypatch.setattr(page.studio.map, "draw", fake)
    return draw(page, corpus_key, None, None, MapSettings(neighbors=5))[1]
