"""Hard negatives against sentence-transformers' ``mine_hard_negatives`` with the same settings, and what is suspected to be relevant."""

from __future__ import annotations

import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers.util import mine_hard_negatives as peer_negatives
from tiny_studio import WordSums, sentences
from torch import Tensor

from sbert_studio.errors import StudioError
from sbert_studio.explore.hard_negatives import NegativeOptions, measure_baseline, mine_hard_negatives
from sbert_studio.models.similarity import unit

QUERIES = [*dict.fromkeys(sentences(30, seed=4))]
POSITIVES = [f"{query} {other}" for query, other in zip(QUERIES, sentences(30, seed=5), strict=False)]
CORPUS = [*dict.fromkeys(sentences(80, seed=6))]
PAIRS = [*zip(QUERIES, POSITIVES, strict=True), (QUERIES[0], POSITIVES[5]), (QUERIES[3], CORPUS[2]), (QUERIES[3], POSITIVES[9])]
CASES = [
    NegativeOptions(3, relative_margin=None),
    NegativeOptions(2),
    NegativeOptions(2, relative_margin=None, absolute_margin=0.1),
    NegativeOptions(3, relative_margin=0.2, absolute_margin=0.02, skip=2),
    NegativeOptions(2, relative_margin=None, max_score=0.8, depth=30),
    NegativeOptions(4, relative_margin=None, min_score=0.5),
    NegativeOptions(1, relative_margin=0.05, max_score=0.9, min_score=0.3, depth=6),
]


class PeerModel:
    """What the peer needs of a model, here the sums of word vectors."""

    device = torch.device("cpu")

    def encode_query(self, texts: list[str], **_options: Any) -> np.ndarray:
        return unit(WordSums().encode(texts))

    encode_document = encode_query

    def similarity(self, left: Any, right: Any) -> Tensor:
        return torch.as_tensor(left) @ torch.as_tensor(right).T

    def similarity_pairwise(self, left: Any, right: Any) -> Tensor:
        return (torch.as_tensor(left) * torch.as_tensor(right)).sum(1)


class Scorer:
    """A re-ranker that counts shared words, with a different remainder for each pair."""

    def predict(self, pairs: list[tuple[str, str]], **_options: Any) -> Tensor:
        scores = [len({*a.split()} & {*b.split()}) + zlib.crc32(f"{a}|{b}".encode()) / 2**32 for a, b in pairs]
        return torch.tensor(scores) / 9


@pytest.mark.parametrize("rescored", [False, True], ids=["similarity", "re-ranker"])
@pytest.mark.parametrize("options", CASES, ids=range(len(CASES)))
def test_equal_to_sentence_transformers(options: NegativeOptions, rescored: bool) -> None:
    model, scorer = PeerModel(), Scorer()
    expected = peer_negatives(
        Dataset.from_dict({"query": [query for query, _ in PAIRS], "text": [text for _, text in PAIRS]}),
        model,
        corpus=CORPUS,
        cross_encoder=scorer if rescored else None,
        range_min=options.skip,
        range_max=options.depth or None,
        num_negatives=options.per_row,
        output_format="triplet",
        output_scores=True,
        verbose=False,
        **{name: value for name, value in asdict(options).items() if name not in ("per_row", "skip", "depth", "baseline")},
    )
    texts = [*dict.fromkeys([*CORPUS, *(text for _, text in PAIRS)])]
    positives = {query: [texts.index(text) for other, text in PAIRS if other == query] for query in QUERIES}
    found = mine_hard_negatives(
        model.encode_query(QUERIES),
        model.encode_query(texts),
        list(positives.values()),
        options,
        rescore=(lambda query, rows: scorer.predict([(QUERIES[query], texts[row]) for row in rows]).numpy()) if rescored else None,
    )
    ours = [
        (query, texts[positive], texts[row], own, score)
        for (query, rows), mined in zip(positives.items(), found, strict=True)
        for positive, own in zip(rows, mined.positive_scores, strict=True)
        for row, score in zip(mined.rows, mined.scores, strict=True)
    ]
    theirs = [(row["query"], row["text"], row["negative"], *row["scores"]) for row in expected]
    assert theirs and [row[:3] for row in ours] == [row[:3] for row in theirs]
    np.testing.assert_allclose([row[3:] for row in ours], [row[3:] for row in theirs], atol=2e-6)


def test_texts_within_a_margin_are_suspected_and_excluded_ones_never_used() -> None:
    angles = np.array([0.0, 0.3, 0.31, 0.2, 0.9, 1.2])  # the positive is row 1
    vectors = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    (found,) = mine_hard_negatives(vectors[:1], vectors, [[1]], NegativeOptions(5, relative_margin=0.05), excluded=[{0, 5}])
    assert [row for row, _ in found.suspected] == [3, 2] and found.rows == (4,)
    assert found.positive_scores[0] == pytest.approx(np.cos(0.3)) and found.scores[0] == pytest.approx(np.cos(0.9))


def test_the_default_margin_is_counted_from_the_score_of_unrelated_texts() -> None:
    rng = np.random.default_rng(3)
    texts = unit(rng.normal(size=(60, 64)).astype(np.float32))
    queries = unit(texts + 0.1 * rng.normal(size=texts.shape).astype(np.float32))
    own = [[row] for row in range(60)]
    for shift, is_compressed in ((0.0, False), (4.0, True)):  # the model gives all texts a common part: all cosines are high
        common = np.full(64, shift / 8, np.float32)
        vectors = unit(queries + common), unit(texts + common)
        cosines = vectors[0] @ vectors[1].T
        options = measure_baseline(*vectors, own, NegativeOptions(baseline=None))
        unrelated = cosines[~np.eye(60, dtype=bool)]
        assert options.baseline == pytest.approx(unrelated.mean(), abs=0.03) and bool(unrelated.mean() > 0.7) is is_compressed
        known, found = (mine_hard_negatives(*vectors, own, NegativeOptions(baseline=one)) for one in (0.0, None))
        assert all(len(one.rows) == 1 and not one.suspected for one in found)
        assert sum(map(bool, (one.suspected for one in known))) > 30 if is_compressed else known == found
        for one in mine_hard_negatives(*vectors, own, NegativeOptions(3, 0.7, baseline=None)):
            limit = options.baseline + 0.3 * (one.positive_scores[0] - options.baseline)
            assert max(one.scores) <= limit < min((score for _row, score in one.suspected), default=1)
    rescored = measure_baseline(*vectors, own, NegativeOptions(baseline=None), rescore=lambda _query, rows: np.full(len(rows), -7.0))
    assert rescored.baseline == -7
    none = measure_baseline(*vectors, own, NegativeOptions(baseline=None), excluded=[range(60)] * 60)
    assert none.baseline == 0


@pytest.mark.parametrize("values", [{"per_row": 0}, {"skip": -1}, {"per_row": 3, "depth": 2}])
def test_impossible_numbers_are_rejected(values: dict[str, int]) -> None:
    with pytest.raises(StudioError):
        NegativeOptions(**values)
