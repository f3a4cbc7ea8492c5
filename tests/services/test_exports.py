"""Exports of models and runs through the service and the command line: whose texts they are verified on, and what is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import WORDS, peer, quick, sentences, write_pairs

from sbert_studio.errors import StudioError
from sbert_studio.models.export import verification
from sbert_studio.services import Studio, TrainRequest
from sbert_studio.services.exports import spread


def test_texts_are_spread_over_the_whole_file() -> None:
    texts = [f"text {row}" for row in range(1000)]
    found = spread([*texts, " ", "text 1"])
    assert len(found) == verification.MOST_TEXTS and found[0] == "text 0" and found[-1] == "text 995"
    assert spread(["a", "", "a", "b"]) == ["a", "b"]


def test_the_formats_are_listed_with_size_and_readers(studio: Studio, tiny_model: Path) -> None:
    listed = {one.name: one for one in studio.exports.list_formats(str(tiny_model))}
    assert listed["sentence-transformers"].bytes == pytest.approx(4 * listed["onnx-int8"].bytes, rel=0.01)
    assert all(one.readers and one.cost and one.extra for one in listed.values())
    assert not listed["sentence-transformers"].missing


@pytest.mark.process
@pytest.mark.slow
def test_a_run_is_verified_on_its_held_out_rows_and_another_model_on_a_file(studio: Studio, tmp_path: Path) -> None:
    run = studio.fine_tune.train(TrainRequest(write_pairs(tmp_path / "pairs.csv", 60), overrides=quick(), name="My model"))
    found = studio.exports.export(run.id, "sentence-transformers", tmp_path / "out.zip")
    assert "held-out rows" in found.verified.source and found.verified.cosine > 0.9999 and found.verified.top10 >= 0.99
    with zipfile.ZipFile(found.path) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "out"
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "## Measured" in card and "## Verified" in card and "text-embeddings-inference" in card
    texts = sentences(5, seed=9)
    assert np.allclose(peer(folder).encode(texts), studio.catalog.load(run.id).encode(texts), atol=1e-5)
    assert json.loads((folder / "verify.json").read_text(encoding="utf-8"))["model"] == "My model"


def test_a_file_of_the_user_names_the_source(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(command: list[str], folder: Path) -> None:
        asked.extend(json.loads(Path(command[4]).read_text(encoding="utf-8"))["texts"])
        raise StudioError("enough")

    monkeypatch.setattr(verification, "_run", refuse)
    (tmp_path / "texts.csv").write_text("id,text\n" + "\n".join(f"{row},{' '.join(WORDS[row : row + 5])}" for row in range(15)))
    with pytest.raises(StudioError, match="enough"):
        studio.exports.export(studio.settings.default_model, "sentence-transformers", tmp_path / "out", data=tmp_path / "texts.csv")
    assert asked == [" ".join(WORDS[row : row + 5]) for row in range(15)]
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_exported_is_refused_before_any_work(studio: Studio, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="export format"):
        studio.exports.export(studio.settings.default_model, "papyrus", tmp_path / "out")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "letter.txt").write_text("dear")
    with pytest.raises(StudioError, match="exists already"):
        studio.exports.export(studio.settings.default_model, "sentence-transformers", tmp_path / "here")
    dim = studio.catalog.load(studio.settings.default_model).dim
    with pytest.raises(StudioError, match=f"{dim} components"):
        studio.exports.export(studio.settings.default_model, "onnx", tmp_path / "cut", truncate_dim=dim)
    assert not (tmp_path / "cut").exists()
