from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
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
    monkeypatch.setattr("sbert_studio.training.crossval.default_fold_count", lambda rows: 2)


@pytest.fixture
def verify_export(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """Run the ``verify.py`` of an unpacked export, which must find the reported score. Return what it prints."""

    def verify(folder: Path) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(folder / "verify.py"), run_name="__main__")
        printed = capsys.readouterr().out
        assert not ended.value.code, printed
        return printed

    return verify
