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
from sbert_studio.progress import StoppedError, stoppable
from sbert_studio.workspace import Workspace, digest_texts


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
