"""TF-IDF with a truncated SVD as a table of words, beside scikit-learn's own pipeline."""

from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.static import TfIdf, WordVectors
from sbert_studio.models.static.distill import averaged
from sbert_studio.models.static.tokens import split_words
from sbert_studio.progress import StoppedError, stoppable

from .texts import two_worlds

RNG = np.random.default_rng(5)
WORDS = [f"w{number}" for number in range(120)]
# Words as in a language: the r-th occurs in proportion to 1 / r.
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(3, 15), p=(1 / np.arange(1, 121)) / (1 / np.arange(1, 121)).sum())) for _ in range(300)]


def _cosines(vectors: np.ndarray) -> np.ndarray:
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.asarray(unit @ unit.T)


def test_the_cosines_are_those_of_scikit_learns_pipeline() -> None:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    table = TfIdf(TfIdf.Params(dim=20)).learn(TEXTS)
    new = ["w1 w2 w2 w40", "w3, w0! W7", *TEXTS[:60]]
    ours = averaged(table, normalize=True).encode(new)
    vectorizer = TfidfVectorizer(tokenizer=split_words, token_pattern=None, lowercase=False, vocabulary=list(table.words))
    theirs = TruncatedSVD(20, algorithm="arpack", random_state=0).fit(vectorizer.fit_transform(TEXTS)).transform(vectorizer.transform(new))
    np.testing.assert_allclose(_cosines(ours), _cosines(theirs), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)


def test_the_same_texts_and_seed_give_the_same_table_and_fewer_texts_fewer_components() -> None:
    first, again = (TfIdf(TfIdf.Params(dim=10)).learn(TEXTS) for _ in range(2))
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert first.width == 10 and TfIdf().learn(two_worlds(40)).width == 11  # of twelve words


def test_words_of_one_world_are_nearer_to_each_other() -> None:
    table = TfIdf(TfIdf.Params(dim=2)).learn(two_worlds())
    cosines = _cosines(averaged(table).encode(["bread soup", "cheese butter", "ship storm"]))
    assert cosines[0, 1] > 0.9 and cosines[0, 2] < 0.3


def test_too_few_texts_are_told_and_a_stop_is_heard() -> None:
    with pytest.raises(StudioError, match="two texts and two words"):
        TfIdf(TfIdf.Params(min_count=1)).learn(["one text alone"])
    with pytest.raises(StoppedError), stoppable(lambda: bool(told)):
        told: list[int] = []
        TfIdf(TfIdf.Params(dim=20)).learn(TEXTS, progress=lambda done, total: told.append(done))
    assert len(told) == 1


def test_a_table_carries_its_words_weights() -> None:
    table = TfIdf(TfIdf.Params(dim=5)).learn(TEXTS)
    assert isinstance(table, WordVectors) and TfIdf.weighted and table.counts is not None
