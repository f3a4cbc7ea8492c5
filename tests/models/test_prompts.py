"""What a model says of its texts is obeyed: prompts, the length of vectors, the measure; as sentence-transformers does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_studio import peer, write_static

from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.io.sources import read_model_info
from sbert_studio.models.prompts import prompt_for
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.workspace import Workspace

from .tiny import TEXTS, tiny_encoder

PROMPTS = {"query": "how are you ", "document": "my card "}
E5 = {"query": "how are you ", "passage": "my card "}


def folder_with(tmp_path: Path, include: bool = True, **said: Any) -> Path:
    folder = tmp_path / "model"
    tiny_encoder("bert", EncoderConfig("mean", True, max_length=20)).save(folder)
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"default_prompt_name": None, **said}))
    if not include:
        pooling = folder / "1_Pooling" / "config.json"
        pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"include_prompt": False}))
    return folder


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("prompts", [PROMPTS, E5])
def test_queries_and_documents_are_read_as_the_peer_reads_them(prompts: dict[str, str], include: bool, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, include, prompts=prompts)
    ours, theirs = load_folder(folder).freeze(), peer(folder)
    plain, query, document = (ours.for_role(role).encode(TEXTS) for role in ("plain", "query", "document"))  # type: ignore[arg-type]
    np.testing.assert_allclose(plain, theirs.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(query, theirs.encode_query(TEXTS), atol=1e-5)
    # By itself the peer takes an empty prompt for documents where none is named so: it never comes to the next name of its list.
    expected = theirs.encode_document(TEXTS) if "document" in prompts else theirs.encode(TEXTS, prompt_name="passage")
    np.testing.assert_allclose(document, expected, atol=1e-5)
    np.testing.assert_array_equal(plain, ours.encode(TEXTS), "the encoder itself is as it was")
    assert len({ours.for_role(role).fingerprint for role in ("plain", "query", "document")}) == 3  # type: ignore[arg-type]
    assert ours.for_role("query") is ours.for_role("query")
    ours = load_folder(folder)
    ours.save(tmp_path / "back")
    np.testing.assert_allclose(peer(tmp_path / "back").encode_query(TEXTS), query, atol=1e-5)
    assert read_model_info(folder).prompts == read_model_info(tmp_path / "back").prompts == prompts


@pytest.mark.parametrize(
    ("prompts", "default", "role", "expected"),
    [
        (PROMPTS, "", "symmetric", ""),
        (E5, "", "symmetric", "how are you "),
        (E5, "", "plain", ""),
        ({**E5, "STS": "alike: "}, "", "symmetric", "alike: "),
        ({"query": "ask: "}, "", "document", ""),
        ({"query": "ask: "}, "ask: ", "symmetric", "ask: "),
        ({}, "", "query", ""),
    ],
)
def test_which_prompt_a_text_has(prompts: dict[str, str], default: str, role: Any, expected: str) -> None:
    assert prompt_for(prompts, default, role) == expected


def test_a_search_ranks_as_the_peer_does_with_its_two_ways_of_reading(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, prompts=PROMPTS)
    texts = [text for text in dict.fromkeys(TEXTS) if text.strip()]
    theirs = peer(folder)
    expected = np.asarray(theirs.similarity(theirs.encode_query(["lost card"]), theirs.encode_document(texts)))[0]
    with Studio(Settings(home=tmp_path / "home", device="cpu", default_model=str(folder)), allow_folders=True) as studio:
        corpus = studio.data.read_corpus(table_from_columns("made up", {"text": texts}))
        hits = studio.search.search(corpus, "lost card", len(texts)).hits
        assert [hit.row for hit in hits] == np.argsort(-expected, kind="stable").tolist()
        np.testing.assert_allclose([hit.score for hit in hits], np.sort(expected)[::-1], atol=1e-5)


@pytest.mark.parametrize("cut", [8, 100])
def test_vectors_are_cut_where_the_model_says_so_and_stay_so_when_it_is_saved(cut: int, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, truncate_dim=cut)
    ours = load_folder(folder)
    found = ours.encode(TEXTS)
    np.testing.assert_allclose(found, peer(folder).encode(TEXTS), atol=1e-5)
    assert ours.dim == found.shape[1] == read_model_info(folder).dim == min(cut, 32)
    assert ours.fingerprint != load_folder(folder_with(tmp_path / "whole")).fingerprint
    ours.save(tmp_path / "back")
    np.testing.assert_allclose(peer(tmp_path / "back").encode(TEXTS), found, atol=1e-5)


def test_another_measure_and_a_prompt_of_null_are_kept_and_told(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, similarity_fn_name="euclidean")
    ours = Catalog(Workspace(tmp_path / "home"), device="cpu").load(str(folder))
    assert "Uses the Euclidean distance in search" in ours.describe()["note"]
    load_folder(folder).save(tmp_path / "back")
    assert peer(tmp_path / "back").similarity_fn_name == "euclidean"
    folder = write_static(tmp_path / "words")
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "", "document": ""}}))
    assert not load_folder(folder).note
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "ask: "}, "similarity_fn_name": "dot"}))
    note = load_folder(folder).note
    assert "Its prompts are not used" in note and "Uses the dot product" in note


@pytest.mark.parametrize("said", [{"truncate_dim": "eight"}, {"truncate_dim": 0}, {"similarity_fn_name": "angle"}])
def test_what_cannot_be_obeyed_is_refused_by_name(said: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(StudioError, match=str(next(iter(said.values())))):
        load_folder(folder_with(tmp_path, **said))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"prompts": 5}, "the model's prompts are '5'"),
        ({"prompts": "query: "}, "the model's prompts are 'query: '"),
        ({"prompts": ["query: "]}, "the model's prompts are"),
        ({"prompts": {"query": 5}}, "the model's prompt 'query' is '5', which is not text"),
        ({"prompts": {"query": ["a"]}}, "the model's prompt 'query' is .*, which is not text"),
        ({"prompts": PROMPTS, "default_prompt_name": "odd"}, "default prompt is 'odd', but its prompts are query, document"),
        ({"prompts": PROMPTS, "default_prompt_name": 5}, "default prompt is '5'"),
        ({"prompts": PROMPTS, "default_prompt_name": ["query"]}, "default prompt is"),
        ({"default_prompt_name": "query"}, "default prompt is 'query', but its prompts are none"),
    ],
)
def test_prompts_that_cannot_be_obeyed_are_refused_by_name(said: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, **said)
    with pytest.raises(StudioError, match=words) as caught:
        load_folder(folder)
    assert "config_sentence_transformers.json" in caught.value.hint
    assert read_model_info(folder).damaged == caught.value.message


def test_a_prompt_of_null_is_none_and_a_cut_longer_than_the_vectors_is_noted(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, prompts={"query": None, "document": "my card "})
    ours = load_folder(folder)
    np.testing.assert_array_equal(ours.for_role("query").encode(TEXTS), ours.encode(TEXTS))
    assert read_model_info(folder).prompts == {"document": "my card "}
    assert "truncate_dim of 1,000,000,000 has no effect: its vectors have 32" in load_folder(folder_with(tmp_path, truncate_dim=10**9)).note
    assert not load_folder(folder_with(tmp_path / "cut", truncate_dim=32)).note
