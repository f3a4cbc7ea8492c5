"""Prompts and a length of vectors that a person sets for a search, on the page and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.tiny import TEXTS, tiny_encoder
from sentence_transformers import SentenceTransformer
from tiny_studio import studio_at, write_static

from sbert_studio.cli.main import run
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.prompts import SearchSettings
from sbert_studio.services.search import SearchOptions
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.search.handlers import SearchInputs, search

DISTINCT = [text for text in dict.fromkeys(TEXTS) if text.strip()]
OWN = SearchSettings("hello world ", "none", 8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    encoder = tiny_encoder("bert", EncoderConfig("mean", True, max_length=30))
    encoder.prompts = {"query": "how are you ", "document": "my card "}
    encoder.save(tmp_path / "model")
    return tmp_path / "model"


def expected(folder: Path) -> Any:
    """What sentence-transformers finds with the same settings."""
    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    query = theirs.encode(["lost card"], prompt="hello world ", truncate_dim=8)
    return theirs.similarity(query, theirs.encode(DISTINCT, prompt="", truncate_dim=8)).numpy()[0]


def test_settings_of_a_search_replace_the_models_in_the_service_page_and_command(
    home: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, count = expected(folder), len(DISTINCT)
    best = np.argsort(-theirs, kind="stable")[:3].tolist()
    (tmp_path / "texts.txt").write_text("\n".join(DISTINCT))
    with studio_at(home, folder) as studio:
        corpus = studio.data.read_corpus(table_from_columns("made up", {"text": DISTINCT}))
        found = studio.search.search(corpus, "lost card", count, options=SearchOptions(settings=OWN))
        np.testing.assert_allclose([hit.score for hit in found.hits], np.sort(theirs)[::-1], atol=1e-5)
        without = studio.search.search(corpus, "lost card", count, options=SearchOptions(settings=SearchSettings()))
        assert without.hits == studio.search.search(corpus, "lost card", count).hits != found.hits
        assert studio.search.search(corpus, "lost card", count, options=SearchOptions(settings=OWN)).hits == found.hits
        page = Page(studio)
        key = corpora.open_file(page, str(tmp_path / "texts.txt"))
        inputs = SearchInputs(key, "lost card", 3, query_prompt=OWN.query_prompt, document_prompt=OWN.document_prompt, truncate_dim=8)
        assert [row[1] for row in search(page, inputs).hits["rows"]] == [DISTINCT[row] for row in best]
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(folder))
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")
    own = ["--query-prompt", "hello world ", "--document-prompt", "none", "--truncate-dim", "8"]
    assert not run(["search", str(tmp_path / "texts.txt"), "lost card", "-k", "3", "--json", *own])
    hits = json.loads(capsys.readouterr().out)["hits"]
    np.testing.assert_allclose([hit["score"] for hit in hits], theirs[best], atol=1e-5)


def test_every_setting_has_vectors_of_its_own_and_a_reader_of_a_reader_is_the_encoders(folder: Path) -> None:
    encoder = load_folder(folder).freeze()
    readers = [encoder, encoder.with_settings(truncate_dim=8), encoder.with_settings("hello "), encoder.with_settings("hello ", 8)]
    readers += [encoder.for_role("query"), encoder.for_role("query").with_settings(truncate_dim=8)]
    assert len({reader.fingerprint for reader in readers}) == len(readers)
    short = encoder.for_role("query").with_settings(truncate_dim=8)
    assert short.encode(TEXTS).shape == (len(TEXTS), 8)
    assert short.fingerprint == encoder.with_settings(truncate_dim=8).for_role("query").fingerprint
    assert encoder.for_role("document").for_role("query").fingerprint == encoder.for_role("query").fingerprint
    assert encoder.for_role("query").for_role("plain").fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(encoder.for_role("query").for_role("plain").encode(TEXTS), encoder.encode(TEXTS))
    assert encoder.with_settings(truncate_dim=500) is encoder and encoder.with_settings("") is encoder


def test_what_a_model_cannot_do_is_refused_by_name(home: Path, tmp_path: Path) -> None:
    with studio_at(home, write_static(tmp_path / "words")) as studio:
        corpus = studio.data.read_corpus(table_from_columns("made up", {"text": ["cat dog", "moon star", "red cat"]}))
        with pytest.raises(StudioError, match="does not support prompts"):
            studio.search.search(corpus, "cat", options=SearchOptions(settings=SearchSettings(query_prompt="query: ")))
        assert studio.search.search(corpus, "cat", options=SearchOptions(settings=SearchSettings(truncate_dim=4))).hits
    with pytest.raises(StudioError, match="truncate_dim is -1"):
        SearchSettings(truncate_dim=-1)
