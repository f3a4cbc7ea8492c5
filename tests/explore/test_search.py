from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore.search import Hit, SemanticIndex, reciprocal_rank_fusion
from sbert_studio.models.similarity import unit


@pytest.mark.parametrize("k", [1, 10, 200])
def test_semantic_hits_equal_brute_force_cosines(k: int) -> None:
    rng = np.random.default_rng(k)
    vectors = rng.normal(size=(150, 20)).astype(np.float32) * rng.uniform(0.1, 9, (150, 1)).astype(np.float32)
    queries = rng.normal(size=(25, 20)).astype(np.float32)
    index = SemanticIndex(vectors)
    cosines = queries @ vectors.T / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(vectors, axis=1)
    many = index.search_many(queries, k)
    for row, (hits, expected) in enumerate(zip(many, cosines, strict=True)):
        assert [hit.row for hit in hits] == np.argsort(-expected, kind="stable")[:k].tolist()
        assert np.allclose([hit.score for hit in hits], np.sort(expected)[::-1][:k], atol=1e-6)
        assert [hit.row for hit in index.search(queries[row], k)] == [hit.row for hit in hits]


@pytest.mark.parametrize("rows", [6, 40_000])
def test_equal_vectors_come_in_the_order_of_their_rows_and_no_cosine_passes_one(rows: int) -> None:
    vectors = np.repeat(np.random.default_rng(0).normal(size=(1, 24)).astype(np.float32), rows, axis=0)
    hits = SemanticIndex(vectors).search(vectors[0] * 3, 6)
    assert [hit.row for hit in hits] == list(range(6)) and all(hit.score <= 1 for hit in hits)


def test_an_empty_index_finds_nothing_and_k_must_be_positive() -> None:
    index = SemanticIndex(np.empty((0, 4), np.float32))
    assert index.search(np.ones(4, np.float32), 3) == []
    assert SemanticIndex(np.ones((3, 4), np.float32)).search(np.ones(4, np.float32), 3, np.empty(0, np.int64)) == []
    for bad in (0, -1):
        with pytest.raises(StudioError, match="k is"):
            index.search(np.ones(4, np.float32), bad)


def test_fusion_adds_reciprocal_ranks_and_breaks_ties_by_row() -> None:
    left = [Hit(4, 0.9), Hit(1, 0.8), Hit(7, 0.1)]
    right = [Hit(1, 12.0), Hit(9, 3.0), Hit(4, 2.0)]
    fused = reciprocal_rank_fusion([left, right])
    expected = {4: 1 / 61 + 1 / 63, 1: 1 / 62 + 1 / 61, 7: 1 / 63, 9: 1 / 62}
    assert {hit.row: hit.score for hit in fused} == pytest.approx(expected)
    assert [hit.row for hit in fused] == [1, 4, 9, 7]
    assert [hit.row for hit in reciprocal_rank_fusion([[Hit(5, 1.0)], [Hit(2, 1.0)]])] == [2, 5]
    assert reciprocal_rank_fusion([]) == reciprocal_rank_fusion([[], []]) == []


def brute_force(vectors: np.ndarray, query: np.ndarray, k: int, among: np.ndarray) -> list[int]:
    wide, asked = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    cosines = np.divide(wide @ asked, lengths * np.linalg.norm(asked), out=np.zeros(len(wide)), where=lengths > 0).round(12)
    return sorted(among.tolist(), key=lambda row: (-cosines[row], row))[:k]


@pytest.mark.parametrize("lengths", ["one", "many"])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.01])
def test_many_blocks_of_rows_with_ties_are_searched_as_brute_force_does(
    lengths: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sbert_studio.explore.search._BLOCK", 1000)
    monkeypatch.setattr("sbert_studio.explore.search._CELLS", 4000)
    rng = np.random.default_rng(5)
    vectors = unit(rng.normal(size=(300, 16)).astype(np.float32))[rng.integers(300, size=9000)]  # each thirty times
    vectors[17] = 0
    vectors = vectors * rng.uniform(0.1, 9, (9000, 1)).astype(np.float32) if lengths == "many" else vectors
    among = np.sort(rng.choice(9000, int(9000 * share), replace=False))
    index, queries = SemanticIndex(vectors), rng.normal(size=(7, 16)).astype(np.float32)
    only = None if share == 1 else rng.permutation(among)
    for k in (1, 10, 95):
        expected = [brute_force(vectors, query, k, among) for query in queries]
        assert [[hit.row for hit in hits] for hits in index.search_many(queries, k, only)] == expected
        assert [[hit.row for hit in index.search(query, k, only)] for query in queries] == expected


def test_bytes_are_what_is_in_memory(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(1000, 24)).astype(np.float32)
    assert SemanticIndex(vectors).bytes == vectors.nbytes + 4 * 1000
    np.save(tmp_path / "x.npy", unit(vectors))
    mapped = SemanticIndex(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert (mapped.bytes, mapped.mapped) == (0, vectors.nbytes)
