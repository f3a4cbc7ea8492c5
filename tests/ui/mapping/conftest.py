from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.services.results import ClusterInfo, MapView
from sbert_studio.ui import corpus_picker
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.mapping.drawing import cluster_params, draw, projection_params

FLAT = ("2-D", 5, 0.1)


@pytest.fixture
def corpus_key(page: Page, corpus_file: Path) -> str:
    key = corpus_picker.open_file(page, str(corpus_file))
    assert key is not None
    return key


@pytest.fixture
def map_key(page: Page, corpus_key: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A map of forty texts whose points are made up: UMAP has tests of its own."""

    def fake(corpus: Any, projection: Any, clusters: Any, model: Any, *, phase: Any = None) -> MapView:
        n = len(corpus.texts)
        points = np.random.default_rng(0).normal(size=(n, projection.dimensions)).astype(np.float32)
        return MapView(points, np.arange(n) % 2, (ClusterInfo(0, "even", n // 2), ClusterInfo(1, "odd", n // 2)), "k")

    monkeypatch.setattr(page.studio.explore, "map", fake)
    return draw(page, corpus_key, None, projection_params(*FLAT), cluster_params("auto", 3, 0.5))[1]
