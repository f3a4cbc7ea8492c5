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
