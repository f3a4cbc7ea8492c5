from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import studio_at, write_model

from sbert_studio.studio import Studio


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("tiny") / "tiny-bert")


@pytest.fixture
def studio(home: Path, tiny: Path) -> Iterator[Studio]:
    with studio_at(home, tiny) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_else_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of models hold the bundled ones and the runs, whatever tables of words and frozen encoders are installed here."""
    for name in ("is_installed", "has_package"):
        monkeypatch.setattr(f"sbert_studio.encoders.catalog.{name}", lambda name: False)
