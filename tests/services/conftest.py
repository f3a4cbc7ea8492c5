"""A studio and a second model that the tests of the services share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_studio import studio_at, write_static

from sbert_studio.services import Studio


@pytest.fixture
def studio(home: Path, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(home, tiny_model) as made:
        yield made


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a model, which averages the vectors of words."""
    return str(write_static(tmp_path_factory.mktemp("models") / "static"))
