from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.models.catalog import Catalog
from sbert_studio.workspace import Workspace


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(Workspace(tmp_path / "home"), device="cpu")


@pytest.fixture(scope="session")
def bundled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Catalog(Workspace(tmp_path_factory.mktemp("home")), device="cpu").resolve("all-MiniLM-L6-v2").path
    assert folder is not None
    return folder
