from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from tiny_studio import sentences, studio_at, write_model, write_static

from sbert_studio.services import Studio
from sbert_studio.ui.page import Page


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a second model, which averages the vectors of words."""
    return str(write_static(tmp_path_factory.mktemp("models") / "static"))


@pytest.fixture
def studio(tmp_path: Path, model_folder: Path) -> Iterator[Studio]:
    with studio_at(tmp_path / "home", model_folder) as found:
        yield found


@pytest.fixture
def page(studio: Studio) -> Page:
    return Page(studio)


@pytest.fixture
def corpus_file(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.csv"
    rows = [f"{text},{'ab'[number % 2]}" for number, text in enumerate(sentences(40))]
    path.write_text("text,topic\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def toasts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What toasts have said."""
    said: list[str] = []
    for kind in ("Info", "Warning"):
        monkeypatch.setattr(gr, kind, lambda words, **_: said.append(words))
    return said
