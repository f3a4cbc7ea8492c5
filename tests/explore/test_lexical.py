from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore.lexical.index import LexicalIndex
from sbert_studio.explore.terms import words


def bm25(texts: list[str], query: str) -> list[float]:
    documents = [words(text, singles=True) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        count = Counter(document)
        score = 0.0
        for word in words(query, singles=True):
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


def test_a_search_by_words_among_some_rows_keeps_their_weights() -> None:
    lexical = LexicalIndex(["cat dog", "cat", "moon", "cat moon", "dog dog cat"])
    everywhere = {hit.row: hit.score for hit in lexical.search("cat dog", 5)}
    among = lexical.search("cat dog", 5, np.array([4, 1, 2]))
    assert {hit.row: hit.score for hit in among} == {row: everywhere[row] for row in (1, 4)}
    assert [hit.score for hit in among] == sorted((hit.score for hit in among), reverse=True)


def test_k_must_be_positive() -> None:
    for bad in (0, -1):
        with pytest.raises(StudioError, match="k is"):
            LexicalIndex(["a"]).search("a", bad)
