from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import studio_at

from sbert_studio.services import Studio


@pytest.fixture
def studio(home: Path, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(home, tiny_model) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_else_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of models hold the bundled ones and the runs, whatever tables of words and frozen encoders are installed here."""
    for name in ("is_installed", "has_package"):
        monkeypatch.setattr(f"sbert_studio.models.catalog.{name}", lambda name: False)


@pytest.fixture
def two_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are judged in two folds, where the number is not the point, instead of up to five."""
    monkeypatch.setattr("sbert_studio.training.crossval.usual_folds", lambda rows: 2)
