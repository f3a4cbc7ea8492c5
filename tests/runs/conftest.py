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
    """Lists of models contain the bundled ones and the runs, whatever other packages with models are installed here."""
    for name in ("has_vector_package", "has_external_package"):
        monkeypatch.setattr(f"sbert_studio.models.catalog.{name}", lambda name: False)


@pytest.fixture
def two_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folds where the number is not the point, instead of up to five."""
    monkeypatch.setattr("sbert_studio.training.members.default_fold_count", lambda rows: 2)
