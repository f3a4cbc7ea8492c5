"""Semantic search against brute force, lexical search against the formula of BM25."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import bm25s
import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore import bm25 as module
from sbert_studio.explore.bm25 import LexicalIndex, LexicalStore, highlight, tokenize
from sbert_studio.explore.search import Hit, SemanticIndex, reciprocal_rank_fusion
from sbert_studio.models.similarity import unit
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.workspace import Workspace, digest_texts


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My card's LOST, isn’t it?", ["my", "card", "lost", "isn't", "it"]),
        ("重置密码", ["重置", "置密", "密码"]),
        ("卡 lost 了", ["卡", "lost", "了"]),
        ("用iPhone支付", ["用", "iphone", "支付"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("Straße naïve cafe\u0301", ["strasse", "naïve", "café"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("비밀번호를 잊었어요", ["비밀번호를", "잊었어요"]),
        ("Привет, мир", ["привет", "мир"]),
        ("مُحَمَّد", ["مُحَمَّد"]),
        ("snake_case 3.5", ["snake", "case", "3", "5"]),
        ("", []),
        ("!? … 🙂", []),
    ],
)
def test_words_of_any_script(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


def test_single_characters_come_along_when_asked() -> None:
    assert tokenize("密码", singles=True) == ["密", "码", "密码"]
    assert tokenize("カード", singles=True)[-2:] == ["カー", "ード"]
    assert tokenize("ลืมรหัส")[0] == "ลื"


@pytest.mark.parametrize(
    ("text", "query", "hits"),
    [
        ("My CARD's lost: the card!", "card", ["CARD's", "card"]),
        ("Ｃａｒｄ 卡", "card", ["Ｃａｒｄ"]),
        ("我的银行卡什么时候到", "银行卡", ["银行卡"]),
        ("今天天气很好", "气", ["气"]),
        ("nothing here", "card", []),
        ("", "card", []),
        ("card", "", []),
    ],
)
def test_the_words_of_a_query_are_marked_where_they_stand(text: str, query: str, hits: list[str]) -> None:
    parts = highlight(text, query)
    assert "".join(parts) == text
    assert parts[1::2] == hits and len(parts) == 2 * len(hits) + 1


def bm25(texts: list[str], query: str) -> list[float]:
    documents = [tokenize(text, singles=True) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        count = Counter(document)
        score = 0.0
        for word in tokenize(query, singles=True):
            having = sum(word in other for other in documents)
            rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            score += rarity * count[word] / (count[word] + 1.5 * (0.25 + 0.75 * len(document) / mean))
        scores.append(score)
    return scores


TEXTS = [
    "My card was swallowed by the machine",
    "The machine ate my card!",
    "我的银行卡被机器吞了",
    "如何重置密码",
    "How do I reset my password?",
    "password, password, password",
    "",
    "!!!",
]


@pytest.mark.parametrize("query", ["card machine", "PASSWORD reset", "重置密码", "卡", "the the card", "银行卡 card"])
def test_lexical_weights_equal_the_formula_in_any_script(query: str) -> None:
    expected = bm25(TEXTS, query)
    hits = LexicalIndex(TEXTS).search(query, 20)
    assert {hit.row for hit in hits} == {row for row, score in enumerate(expected) if score > 0} != set()
    for hit in hits:
        assert hit.score == pytest.approx(expected[hit.row], rel=1e-5)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.row))
    assert LexicalIndex(TEXTS).search(query, 1) == hits[:1]


def test_words_that_no_text_has_find_nothing() -> None:
    assert LexicalIndex(TEXTS).search("zebra") == []
    assert LexicalIndex(TEXTS).search("") == []
    assert LexicalIndex(["", "..."]).search("a") == []
    assert LexicalIndex([]).search("a") == []
    with pytest.raises(StudioError, match="k is"):
        LexicalIndex(["a"]).search("a", 0)
    index = SemanticIndex(np.empty((0, 4), np.float32))
    assert index.search(np.ones(4, np.float32), 3) == []
    assert SemanticIndex(np.ones((3, 4), np.float32)).search(np.ones(4, np.float32), 3, np.empty(0, np.int64)) == []
    for bad in (0, -1):
        with pytest.raises(StudioError, match="k is"):
            index.search(np.ones(4, np.float32), bad)


def many_texts(count: int, seed: int = 0) -> list[str]:
    """Texts of common and rare words, some of them the same."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"w{number}" for number in range(300)])
    likely = 1 / np.arange(1, 301)
    return [" ".join(rng.choice(vocabulary, rng.integers(0, 12), p=likely / likely.sum())) for _ in range(count)]


def test_the_first_hits_are_those_of_bm25s_and_of_all_hits_in_order() -> None:
    texts = many_texts(700)
    peer = bm25s.BM25()
    peer.index([tokenize(text, singles=True) for text in texts], show_progress=False)
    index = LexicalIndex(texts)
    for query in ("w0 w1 w250", "w5", "w7 w7 w299 w2", "w0"):
        scores = np.asarray(peer.get_scores([word for word in query.split() if word in peer.vocab_dict]))
        every = index.search(query, len(texts))
        assert {hit.row for hit in every} == set(np.flatnonzero(scores > 0).tolist())
        assert np.allclose([hit.score for hit in every], scores[[hit.row for hit in every]], rtol=2e-6)
        for k in (1, 3, 40, 333):
            assert index.search(query, k) == every[:k]
            among = np.random.default_rng(k).permutation(700)[:200]
            assert index.search(query, k, among) == [hit for hit in every if hit.row in set(among.tolist())][:k]


def test_texts_are_counted_in_parts_and_the_work_tells_how_far_it_is_and_can_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, told = many_texts(500, 1), list[tuple[int, int]]()
    whole = module.build_postings(texts)
    monkeypatch.setattr(module, "_BATCH_ROWS", 64)
    monkeypatch.setattr(module, "_PROGRESS_ROWS", 50)
    parts = module.build_postings(texts, lambda done, total: told.append((done, total)))
    assert parts.vocabulary == whole.vocabulary
    assert all(np.array_equal(getattr(parts, name), getattr(whole, name)) for name in ("starts", "at", "weights"))
    assert told == [*((done, 500) for done in range(0, 500, 50)), (500, 500)]
    asked = iter([False, False] + [True] * 100)
    with pytest.raises(StoppedError), stoppable(lambda: next(asked)):
        module.build_postings(texts)


def test_an_index_is_kept_on_disk_and_a_damaged_one_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, made, build = [*many_texts(300, 2), *TEXTS], list[int](), module.build_postings
    digest, plain = digest_texts(texts), LexicalIndex(texts)
    monkeypatch.setattr(module, "_MIN_STORED_ROWS", 100)
    monkeypatch.setattr(module, "build_postings", lambda *given: made.append(1) or build(*given))
    for expected, damage in ((1, False), (1, True), (2, False)):
        index = LexicalStore(Workspace(tmp_path), 1 << 20).get(texts, digest)  # as another start would
        assert index.search("银行卡 card w3", 50) == plain.search("银行卡 card w3", 50) != []
        assert len(made) == expected
        assert index.bytes < plain.bytes  # what is mapped is not in memory
        if damage:
            path = Workspace(tmp_path).words(digest)
            path.write_bytes(path.read_bytes()[:-50])
    assert LexicalStore(Workspace(tmp_path), 1).get(texts[:99], digest_texts(texts[:99])).search("w3", 3)
    assert len(list((tmp_path / "words").iterdir())) == 1
