from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def model(home: Path, tiny_model: Path) -> Path:
    """The tiny model as ``home / "model"``, where jobs look for it."""
    return Path(shutil.copytree(tiny_model, home / "model"))
