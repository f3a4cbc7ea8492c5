"""Exports of a model in the Models tab: the formats, the job, and what is refused in plain words."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.export import FORMATS
from sbert_studio.services import Studio
from sbert_studio.services.jobs import JobView
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.tabs.models import exports
from sbert_studio.ui.tabs.models.exports import FinishedExport, act, show_exports

from .. import waiting

VISITORS = tuple({"owner": f"visitor-{digit * 16}"} for digit in "12")


def ended(page: Page, owner: str = "local") -> JobView:
    return waiting.ended(lambda: page.studio.export_jobs.latest(owner), 120)


@pytest.fixture
def model(page: Page, corpus_file: Path) -> str:
    return page.studio.static_embeddings.distill(None, dim=8, vocabulary=corpus_file, name="Words", owner="local").model


def test_every_format_is_offered_with_its_readers_size_and_packages(page: Page, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORMATS["gguf"], "packages", ("no_such_package",))
    shown = show_exports(page, None, model)
    assert shown is not None and shown["job"] is None
    formats = {one["name"]: one for one in shown["formats"]}
    assert set(formats) == set(FORMATS) and all(one["readers"] and one["cost"] and "MB" in one["size"] for one in formats.values())
    assert "no_such_package" in formats["gguf"]["missing"] and "sbert-studio[gguf]" in formats["gguf"]["missing"]
    with pytest.raises(StudioError, match="no_such_package"):
        act(page, None, model, None, Selection("start", {"format": "gguf"}))


@pytest.mark.process
@pytest.mark.slow
def test_an_export_is_verified_and_downloaded(page: Page, model: str) -> None:
    pytest.importorskip("sentence_transformers", reason="the export's own runtime")
    begun = act(page, None, model, None, Selection("start", {"format": "sentence-transformers"}))
    assert begun.exports is not None and begun.exports["job"]["live"]
    job = ended(page)
    assert job.status == "finished", job.message
    shown = act(page, None, model, None, Selection("download", {}))
    assert shown.exports is not None and shown.exports["ready"] and dict(shown.exports["facts"])["Minimum cosine"] == "1.0000"
    with zipfile.ZipFile(shown.export_file["value"]) as archive:  # type: ignore[index]
        assert any(name.endswith("/verify.py") for name in archive.namelist())
    Path(shown.export_file["value"]).unlink()  # type: ignore[index]
    with pytest.raises(StudioError, match="no longer available"):
        act(page, None, model, None, Selection("download", {}))


@pytest.mark.process
@pytest.mark.slow
def test_an_export_is_shortened_and_compared_on_the_chosen_data(
    page: Page, model: str, corpus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers", reason="the export's own runtime")
    monkeypatch.setattr(exports, "_SIZES", (8, 4))
    shown = show_exports(page, None, model)
    assert shown is not None and shown["sizes"] == [4]
    corpus = corpora.open_file(page, str(corpus_file))
    act(page, None, model, corpus, Selection("start", {"format": "sentence-transformers", "size": 4, "own": True}))
    job = ended(page)
    assert isinstance(job.result, FinishedExport), job.message
    assert job.result.file.verified.source == f"from {corpus_file.name}"
    with zipfile.ZipFile(job.result.file.path) as archive:
        (modules,) = [name for name in archive.namelist() if name.endswith("config_sentence_transformers.json")]
        assert json.loads(archive.read(modules))["truncate_dim"] == 4
    act(page, None, model, corpus, Selection("start", {"format": "sentence-transformers", "size": 7}))  # not one of those offered
    result = ended(page).result
    assert isinstance(result, FinishedExport) and result.file.verified.source != f"from {corpus_file.name}"


def test_a_format_that_cannot_represent_the_model_says_why(page: Page, model: str) -> None:
    for package in FORMATS["gguf"].packages:
        pytest.importorskip(package, reason="the format's packages are checked first")
    act(page, None, model, None, Selection("start", {"format": "gguf"}))
    job = ended(page)
    assert job.status == "failed" and "GGUF cannot represent Words: llama.cpp reads BERT networks" in job.message and "onnx" in job.hint


@pytest.mark.process
def test_a_visitor_exports_only_what_is_theirs(studio: Studio, corpus_file: Path) -> None:
    page, (mine, theirs) = Page(studio, shared=True), VISITORS
    model = studio.static_embeddings.distill(None, dim=8, vocabulary=corpus_file, name="Words", owner=mine["owner"]).model
    own, other = show_exports(page, mine, model), show_exports(page, theirs, model)
    assert own is not None and own["formats"] and other is None
    for name in (model, str(corpus_file.parent), "../home"):
        with pytest.raises(StudioError, match="cannot be exported"):
            act(page, theirs, name, None, Selection("start", {"format": "sentence-transformers"}))
        with pytest.raises(StudioError, match="cannot be exported"):
            act(page, theirs, "", None, Selection("start", {"format": "sentence-transformers", "model": name}))
    assert studio.export_jobs.list_active() == []
    # The model whose formats were shown, although another one has been selected since.
    act(page, mine, str(studio.settings.default_model), None, Selection("start", {"format": "sentence-transformers", "model": model}))
    job = studio.export_jobs.latest(mine["owner"])
    assert job is not None and "Words" in job.title
    with pytest.raises(StudioError, match="no longer running"):
        act(page, theirs, "", None, Selection("stop", {"id": job.id}))
    act(page, mine, "", None, Selection("stop", {"id": job.id}))
    assert ended(page, mine["owner"]).status == "stopped"
    with pytest.raises(StudioError, match="no longer available"):
        act(page, theirs, "", None, Selection("download", {}))
