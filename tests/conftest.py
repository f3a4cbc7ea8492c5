"""Fixtures that every room's tests share: a home of its own for each test, real data when it lies beside the checkout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.settings import choose_waiting

choose_waiting()
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_REAL_DATA = Path(os.environ.get("SBERT_STUDIO_REAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of one file run in one process, for they share models; all that drive the page in one, for they share the app."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", maxsplit=1)[0]
            return "browser" if Path(file).parent.name == "browser" else file

    return ByFile(config, log)


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
