"""What is usual for a model, and which words made a score: by real models of every family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tiny_studio import sentences, studio_at, write_static

from sbert_studio.errors import StudioError
from sbert_studio.models.word_encoder import token_states
from sbert_studio.services import Studio


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[Studio]:
    with studio_at(tmp_path_factory.mktemp("relating") / "home", tiny_model) as found:
        yield found


def test_chinese_words_are_aligned_and_too_many_are_refused(studio: Studio) -> None:
    text = "我的卡 lost"
    states = token_states(studio.catalog.load("all-MiniLM-L6-v2"), text)
    assert states is not None and [text[start:end] for start, end in states.words] == ["我", "的", "卡", "lost"]
    with pytest.raises(StudioError, match="more than 160 words"):
        studio.similarity.align_words("cat " * 300, "moon", "all-MiniLM-L6-v2")


@pytest.mark.slow
def test_what_is_usual_is_of_the_corpus_and_of_everyday_sentences_without_one(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(dict.fromkeys(sentences(60))), encoding="utf-8")
    corpus = studio.data.read_corpus(path)
    usual = studio.similarity.baseline(corpus)
    assert usual.of == "texts.txt" and len(usual.cosines) == len(corpus) * (len(corpus) - 1) // 2
    vectors = np.asarray(studio.search.vectors(corpus), np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = np.sort((vectors @ vectors.T)[np.triu_indices(len(corpus), 1)])
    np.testing.assert_allclose(usual.cosines, expected, atol=1e-5)
    assert studio.similarity.baseline(corpus).cosines is usual.cosines, "it is measured once"
    everyday = studio.similarity.baseline(None, "all-MiniLM-L6-v2")
    assert everyday.of == "everyday sentences" and len(everyday.cosines) > 500
    assert everyday.quantile(0.5) < 0.2


@pytest.mark.slow
def test_the_words_of_a_transformer_and_of_a_table_add_up(studio: Studio, tmp_path: Path) -> None:
    model, a, b = "all-MiniLM-L6-v2", "I'd like a refund for the undeliverable parcel!", "Where is my money? The package never came."
    found = studio.similarity.align_words(a, b, model)
    assert [a[start:end] for start, end in found.words[0]] == re.findall(r"\w+|[^\w\s]", a)
    assert found.cosine == pytest.approx(studio.similarity.compare(a, b, model).cosine, abs=1e-5)
    words, others = ([text[start:end] for start, end in spans] for text, spans in zip((a, b), found.words, strict=True))
    assert others[found.partners[0][words.index("parcel")]] == "package"
    assert 0 < found.match[2] < 1
    assert found.match[2] == pytest.approx(studio.similarity.align_words(b, a, model).match[2])
    write_static(tmp_path / "table")
    a, b = "Cat, unheard dog", "moon  red"
    found = studio.similarity.align_words(a, b, str(tmp_path / "table"))
    assert [a[start:end] for start, end in found.words[0]] == ["Cat,", "dog"]
    assert found.rest == pytest.approx(0, abs=1e-9)
    assert found.cosine == pytest.approx(studio.similarity.compare(a, b, str(tmp_path / "table")).cosine, abs=1e-5)
