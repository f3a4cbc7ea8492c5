"""The packaged GloVe table and the public texts of STSb, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.loading.table import Table, read_table
from sbert_studio.evaluation.tasks.sts import spearman
from sbert_studio.models.static.vectors import VECTOR_PACKAGES, WordVectors, is_package_installed, load_pretrained
from sbert_studio.models.static.weighting import common_components, removal_transform, word_weights

from .texts import nearest_words

pytestmark = pytest.mark.skipif(not is_package_installed("glove-6B-50d"), reason=f"needs {VECTOR_PACKAGES['glove-6B-50d'].requirement}")


def _texts(table: Table) -> list[str]:
    return [*table.column("sentence1"), *table.column("sentence2")]


def _means(vectors: WordVectors, texts: list[str], weights: np.ndarray) -> np.ndarray:
    """Σ weight · vector / words of each text, (n, d); zeros where no word is known."""
    ids, starts = vectors.tokens.flat(texts)
    sums = np.zeros((len(texts), vectors.width))
    np.add.at(sums, np.repeat(np.arange(len(texts)), np.diff(starts)), vectors.matrix[ids] * weights[ids, None])
    return sums / np.maximum(1, np.diff(starts))[:, None]


def _score(means: np.ndarray, gold: np.ndarray) -> float:
    left, right = np.split(means, 2)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return spearman((left * right).sum(axis=1) / np.maximum(lengths, 1e-12), gold)


@pytest.mark.slow
def test_the_packaged_table_holds_the_commonest_words_first() -> None:
    whole = load_pretrained("glove-6B-50d")
    assert whole.matrix.shape == (400_000, 50) and whole.words[:4] == ("the", ",", ".", "of") and whole.tokens.lowercase
    # The first line of glove.6B.50d.txt.
    np.testing.assert_allclose(whole.matrix[0, :4], [0.418, 0.24968, -0.41242, 0.1217], atol=1e-6)
    assert {"queen", "prince"} <= set(nearest_words(whole, "king", 5))
    assert load_pretrained("glove-6B-50d", most=10).words == whole.words[:10]


@pytest.mark.slow
def test_weights_and_the_common_component_help_on_stsb(real_data: Path) -> None:
    train, test = (read_table(real_data / "stsb" / f"{part}.csv") for part in ("train", "test"))
    vectors, gold = load_pretrained("glove-6B-50d"), np.array(test.column("score"), float)
    weights = word_weights("sif", vectors)
    matrix, bias = removal_transform(common_components(_means(vectors, _texts(train), weights)))
    plain = _score(_means(vectors, _texts(test), word_weights("plain", vectors)), gold)
    weighted = _means(vectors, _texts(test), weights)
    assert plain == pytest.approx(0.413, abs=0.005)
    assert _score(weighted, gold) == pytest.approx(0.527, abs=0.005)
    assert _score(weighted @ matrix.T + bias, gold) == pytest.approx(0.554, abs=0.005)
