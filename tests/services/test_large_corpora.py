"""From some size on a corpus that is asked again gets an index; here that size is lowered."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import sentences
from waiting import wait_until

from sbert_studio.data.corpus import Corpus
from sbert_studio.explore import index
from sbert_studio.explore.index import assign_to_centroids
from sbert_studio.services import Studio
from sbert_studio.services.results import SearchResult
from sbert_studio.services.search import SearchOptions
from sbert_studio.settings import Settings
from sbert_studio.workspace import digest_texts

ROWS, LARGE = 400, 300
QUERY = "red bread"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    texts = tuple(dict.fromkeys(sentences(3 * ROWS, 1)))[:ROWS]
    assert len(texts) == ROWS
    return Corpus("many", texts, {}, tuple(range(2, ROWS + 2)), digest_texts(texts))


@pytest.fixture(scope="module", autouse=True)
def lowered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sbert_studio.explore.search.LARGE", LARGE)
        yield


@dataclass(frozen=True)
class Built:
    """A folder with an index, and the answers that were given before it was there."""

    home: Path
    first: SearchResult
    second: SearchResult
    begun: bool


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, corpus: Corpus) -> Built:
    home = tmp_path_factory.mktemp("indexed") / "home"
    with Studio(Settings(home=home, default_model=str(tiny_model))) as studio:
        first = studio.search.search(corpus, QUERY, 5)
        begun = "background" in studio._created
        second = studio.search.search(corpus, QUERY, 5)
        indexed(studio, corpus)
    return Built(home, first, second, begun)


@pytest.fixture
def studio(tmp_path: Path, tiny_model: Path, built: Built) -> Iterator[Studio]:
    """A studio that starts on a copy of the folder with the index."""
    shutil.copytree(built.home, tmp_path / "copy")
    with Studio(Settings(home=tmp_path / "copy", default_model=str(tiny_model))) as made:
        yield made


def indexed(studio: Studio, corpus: Corpus, query: str = QUERY) -> None:
    """Ask until the answer is approximate."""
    wait_until(lambda: studio.search.search(corpus, query, 5).recall is not None, 60, "an index")


def test_the_second_question_has_an_index_built_and_its_answers_are_told_from_exact_ones(
    studio: Studio, built: Built, corpus: Corpus
) -> None:
    first, second = built.first, built.second
    assert first.recall is None and first.to_json()["exact"] is True and first.to_json()["recall"] == 1
    assert not built.begun and not any(note.startswith("Exact") for note in first.notes)
    assert second.recall is not None or second.notes[0].startswith("Exact:")
    found = studio.search.search(corpus, QUERY, 5)
    assert found.recall is not None and found.recall > 0.95
    assert found.to_json()["exact"] is False and found.to_json()["recall"] == found.recall
    assert found.notes[0].startswith("Approximate:") and f"{found.recall:.1%}" in found.notes[0]
    assert [hit.row for hit in found.hits] == [hit.row for hit in first.hits]
    near = studio.search.find_neighbors(corpus, 3, 5)
    assert near.recall is not None and near.notes[0].startswith("Approximate:") and 3 not in [hit.row for hit in near.hits]
    for exact in (
        studio.search.search(corpus, QUERY, 5, options=SearchOptions(row_ids=range(0, ROWS, 2))),
        studio.search.search(corpus, QUERY, 5, "lexical"),
        studio.search.search(corpus, QUERY, 101),
    ):
        assert exact.recall is None and not any(note.startswith("Approximate") for note in exact.notes)


def test_the_next_start_has_the_index_at_once_and_ten_new_rows_encode_ten(
    studio: Studio, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert studio.search.search(corpus, QUERY, 5).recall is not None
    encoder = studio.catalog.load(studio.settings.default_model)
    encoded: list[int] = []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda texts, **said: (encoded.append(len(texts)), encode(texts, **said))[1])
    new = tuple(f"river {text} river moon" for text in corpus.texts[:10])
    texts = (*new[:5], *corpus.texts, *new[5:])
    grown = replace(corpus, texts=texts, lines=tuple(range(2, len(texts) + 2)), digest=digest_texts(texts))
    indexed(studio, grown, new[0])
    assert encoded[0] == 10 and set(encoded[1:]) == {1}
    assert studio.search.search(grown, new[0], 1).hits[0].row == 0
    vectors = studio.search.vectors(grown)
    np.testing.assert_allclose(vectors, encode(list(texts)), atol=1e-6)


def test_an_index_that_left_the_disk_is_built_again(studio: Studio, corpus: Corpus) -> None:
    """Also by the studio that had built it."""
    for _ in range(2):
        indexes = list((studio.settings.home / "indexes").iterdir())
        assert indexes
        for path in indexes:
            path.unlink()
        studio.semantic_indexes.clear()
        assert studio.search.search(corpus, QUERY, 5).recall is None
        indexed(studio, corpus)


def test_closing_ends_a_build(studio: Studio, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (studio.settings.home / "indexes").iterdir():
        path.unlink()
    begun = threading.Event()
    monkeypatch.setattr(index, "_ROUNDS", 1_000_000)
    monkeypatch.setattr(index, "assign_to_centroids", lambda *given: (begun.set(), assign_to_centroids(*given))[1])
    for _ in range(3):
        assert studio.search.search(corpus, QUERY, 5).recall is None
    assert begun.wait(30)
    thread = studio.background._thread
    studio.close()
    assert thread is not None
    thread.join(30)
    assert not thread.is_alive() and not list((studio.settings.home / "indexes").glob("*"))
