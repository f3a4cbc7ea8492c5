"""From some size on a corpus that is asked again gets an index; here that size is lowered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import sentences, write_model

from sbert_studio.data.corpus import Corpus
from sbert_studio.settings import Settings
from sbert_studio.studio import Studio
from sbert_studio.workspace import digest_texts

ROWS = 1500


@pytest.fixture
def corpus() -> Corpus:
    texts = tuple(dict.fromkeys(sentences(3 * ROWS, 1)))[:ROWS]
    assert len(texts) == ROWS
    return Corpus("many", texts, {}, tuple(range(2, ROWS + 2)), digest_texts(texts))


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Studio]]:
    monkeypatch.setattr("sbert_studio.explore.search.LARGE", 1000)
    monkeypatch.setattr("sbert_studio.explore.nearest.recall._MOST", 1)
    settings = replace(Settings(home=tmp_path / "home"), default_model=str(write_model(tmp_path / "model")))
    opened: list[Studio] = []

    def made() -> Studio:
        opened.append(Studio(settings))
        return opened[-1]

    yield made
    for studio in opened:
        studio.close()


def indexed(studio: Studio, corpus: Corpus, query: str = "red bread") -> None:
    """Ask until the answer is approximate."""
    for _ in range(600):
        if studio.explore.search(corpus, query, 5).recall is not None:
            return
        time.sleep(0.05)
    pytest.fail("no index came")


def test_the_second_question_has_an_index_built_and_its_answers_are_told_from_exact_ones(
    make: Callable[[], Studio], corpus: Corpus
) -> None:
    studio = make()
    first = studio.explore.search(corpus, "red bread", 5)
    assert first.recall is None and first.to_json()["exact"] is True and first.to_json()["recall"] == 1
    assert "background" not in studio._made and not any(note.startswith("Exact") for note in first.notes)
    second = studio.explore.search(corpus, "red bread", 5)
    assert second.recall is not None or second.notes[0].startswith("Exact: all texts were compared. An index")
    indexed(studio, corpus)
    found = studio.explore.search(corpus, "red bread", 5)
    assert found.recall is not None and found.recall > 0.95
    assert found.to_json()["exact"] is False and found.to_json()["recall"] == found.recall
    assert found.notes[0].startswith("Approximate:") and f"{found.recall:.1%}" in found.notes[0]
    assert [hit.row for hit in found.hits] == [hit.row for hit in first.hits]
    near = studio.explore.neighbours(corpus, 3, 5)
    assert near.recall is not None and near.notes[0].startswith("Approximate:") and 3 not in [hit.row for hit in near.hits]
    for exact in (
        studio.explore.search(corpus, "red bread", 5, among=range(0, ROWS, 2)),
        studio.explore.search(corpus, "red bread", 5, "lexical"),
        studio.explore.search(corpus, "red bread", 101),
    ):
        assert exact.recall is None and not any(note.startswith("Approximate") for note in exact.notes)


def test_the_next_start_has_the_index_at_once_and_ten_new_rows_encode_ten(
    make: Callable[[], Studio], corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = make()
    indexed(studio, corpus)
    studio.close()
    studio = make()
    assert studio.explore.search(corpus, "red bread", 5).recall is not None
    encoder = studio.catalog.load(studio.settings.default_model)
    encoded: list[int] = []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda texts, **said: (encoded.append(len(texts)), encode(texts, **said))[1])
    new = tuple(f"river {text} river moon" for text in corpus.texts[:10])
    texts = (*new[:5], *corpus.texts, *new[5:])
    grown = replace(corpus, texts=texts, lines=tuple(range(2, len(texts) + 2)), digest=digest_texts(texts))
    monkeypatch.setattr("sbert_studio.explore.nearest.cells.Cells.of", lambda _: pytest.fail("built anew"))
    indexed(studio, grown, new[0])
    assert encoded[0] == 10 and set(encoded[1:]) == {1}
    assert studio.explore.search(grown, new[0], 1).hits[0].row == 0
    vectors = studio.explore.vectors_of(grown)
    np.testing.assert_allclose(vectors, encode(list(texts)), atol=1e-6)


def test_an_index_that_left_the_disk_is_built_again(make: Callable[[], Studio], corpus: Corpus) -> None:
    studio = make()
    indexed(studio, corpus)
    for path in (studio.settings.home / "indexes").iterdir():
        path.unlink()
    studio.meanings.clear()
    assert studio.explore.search(corpus, "red bread", 5).recall is None
    indexed(studio, corpus)


def test_closing_ends_a_build(make: Callable[[], Studio], corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = make()
    monkeypatch.setattr("sbert_studio.explore.nearest.centroids._ROUNDS", 1_000_000)
    for _ in range(3):
        assert studio.explore.search(corpus, "red bread", 5).recall is None
    start = time.perf_counter()
    studio.close()
    assert time.perf_counter() - start < 4
    assert not list((studio.settings.home / "indexes").glob("*"))
