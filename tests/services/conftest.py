"""A model that the tests of the services share."""

from __future__ import annotations

import pytest
from tiny_studio import write_static


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a model, which averages the vectors of words."""
    return str(write_static(tmp_path_factory.mktemp("models") / "static"))
