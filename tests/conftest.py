"""Fixtures that every room's tests share: a home of its own for each test, real data when it lies beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_REAL_DATA = Path(os.environ.get("SBERT_STUDIO_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file run in one process, for they share models; all that drive the page in one, for they share the app."""
    for item in items:
        file = item.path.relative_to(Path(__file__).parent)
        item.add_marker(pytest.mark.xdist_group("browser" if file.parts[0] == "browser" else file.as_posix()))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of this test's own, so that no test sees another's runs or vectors."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public evaluation sets; the test is skipped where it is absent."""
    if not _REAL_DATA.is_dir():
        pytest.skip("the public evaluation sets are not beside this checkout (set SBERT_STUDIO_REAL_DATA)")
    return _REAL_DATA
