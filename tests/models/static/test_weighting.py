"""Word weights, common components, and TF-IDF against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.models.static.tokens import split_words
from sbert_studio.models.static.vectors import WordVectors
from sbert_studio.models.static.weighting import TfIdf, common_components, frequencies, removal_transform, sif, word_weights
from sbert_studio.models.word_encoder import build_average_encoder
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
    ours = build_average_encoder(table, normalize=True).encode(new)
    vectorizer = TfidfVectorizer(tokenizer=split_words, token_pattern=None, lowercase=False, vocabulary=list(table.words))
    theirs = TruncatedSVD(20, algorithm="arpack", random_state=0).fit(vectorizer.fit_transform(TEXTS)).transform(vectorizer.transform(new))
    np.testing.assert_allclose(_cosines(ours), _cosines(theirs), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)


def test_the_same_texts_and_seed_give_the_same_table_and_fewer_texts_fewer_components() -> None:
    first, again = (TfIdf(TfIdf.Params(dim=10)).learn(TEXTS) for _ in range(2))
    np.testing.assert_array_equal(first.matrix, again.matrix)
    assert first.width == 10 and TfIdf().learn(two_worlds(40)).width == 11  # of twelve words


def test_too_few_texts_are_told_and_a_stop_is_heard() -> None:
    with pytest.raises(StudioError, match="two texts and two words"):
        TfIdf(TfIdf.Params(min_count=1)).learn(["one text alone"])
    with pytest.raises(StoppedError), stoppable(lambda: bool(told)):
        told: list[int] = []
        TfIdf(TfIdf.Params(dim=20)).learn(TEXTS, progress=lambda done, total: told.append(done))
    assert len(told) == 1


def _table(counts: np.ndarray | None = None) -> WordVectors:
    matrix = np.array([[1, 0], [2, 0.1], [0, 1], [0, 0]], np.float32)
    return WordVectors(("cat", "kitten", "car", "nothing"), matrix, counts, "small")


def test_frequencies_come_from_texts_or_counts_or_zipf_and_unseen_words_weigh_most() -> None:
    found = word_weights("tfidf", _table(), ["Cat, cat!", "the cat and the car", "..."])
    expected = [np.log(4 / 3) + 1, np.log(4 / 1) + 1, np.log(4 / 2) + 1, np.log(4 / 1) + 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(frequencies(_table()), np.array([12, 6, 4, 3]) / 25)
    counted = _table(np.array([1, 3, 4, 0]))
    np.testing.assert_allclose(frequencies(counted), [1 / 8, 3 / 8, 1 / 2, 0])
    np.testing.assert_allclose(frequencies(counted, ["car car", "cat dog"]), [1 / 3, 0, 2 / 3, 0])
    np.testing.assert_array_equal(frequencies(counted, ["dog"]), np.zeros(4))


def test_sif_is_equation_3_and_other_weightings_are_refused() -> None:
    np.testing.assert_allclose(sif(np.array([0, 1e-3, 0.999])), [1, 0.5, 1e-3], rtol=1e-6)
    np.testing.assert_allclose(word_weights("sif", _table(), a=0.24), 0.24 / (0.24 + np.array([12, 6, 4, 3]) / 25), rtol=1e-6)
    np.testing.assert_array_equal(word_weights("plain", _table()), np.ones(4))
    with pytest.raises(StudioError, match="must be fitted to texts"):
        word_weights("tfidf", _table())
    with pytest.raises(StudioError, match="no weighting 'bm25'"):
        word_weights("bm25", _table())


@pytest.mark.parametrize("count", [1, 3])
def test_the_common_component_is_the_first_singular_vector_and_is_removed(count: int) -> None:
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(200, 6)) * [5, 4, 3, 2, 1, 1] + 2
    components = common_components(vectors, count)
    plain = np.linalg.svd(vectors)[2][:count].T
    np.testing.assert_allclose(np.abs((components * plain).sum(axis=0)), np.ones(count), rtol=1e-9)
    matrix, bias = removal_transform(components)
    without = vectors @ matrix.T + bias
    np.testing.assert_allclose(without @ components, 0, atol=1e-4)
    np.testing.assert_allclose(without, vectors - vectors @ plain @ plain.T, atol=1e-4)
    assert not bias.any()


def test_a_mean_is_subtracted_first_and_no_more_components_than_the_vectors_span() -> None:
    vectors = np.random.default_rng(5).normal(size=(50, 4)) + 3
    mean = vectors.mean(axis=0)
    components = common_components(vectors - mean)
    matrix, bias = removal_transform(components, mean)
    np.testing.assert_allclose(vectors @ matrix.T + bias, (vectors - mean) @ (np.eye(4) - components @ components.T), atol=1e-5)
    assert common_components(np.zeros((5, 3))).shape == (3, 0)
    np.testing.assert_array_equal(removal_transform(common_components(np.zeros((5, 3))))[0], np.eye(3))
    assert common_components(np.outer(np.arange(4.0), [1, 2, 2]), 2).shape == (3, 1)
