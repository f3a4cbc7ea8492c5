from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from sbert_studio.explore.bm25 import highlight, tokenize
from sbert_studio.explore.topics import c_tf_idf, label_clusters


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


def test_weights_equal_the_formula() -> None:
    texts = ["apple pear apple", "apple grape", "river boat", "boat boat apple", "noise here"]
    ids = np.array([0, 0, 1, 1, -1])
    counts = [Counter(["apple", "pear", "apple", "apple", "grape"]), Counter(["river", "boat", "boat", "boat", "apple"])]
    overall = counts[0] + counts[1]
    average = sum(overall.values()) / 2
    for cluster, ranked in enumerate(c_tf_idf(texts, ids)):
        weight = {word: number * math.log(1 + average / overall[word]) for word, number in counts[cluster].items()}
        assert ranked == sorted(weight, key=lambda word: (-weight[word], word))


def test_labels_are_telling_and_free_of_filler() -> None:
    texts = ["how do I reset my password", "reset the password please", "where is my card", "my card was stolen", "the card is lost"]
    labels = label_clusters(texts, np.array([0, 0, 1, 1, 1]), top=2)
    assert labels[0].split(" · ") == ["password", "reset"]
    assert labels[1].startswith("card")


def test_chinese_labels_do_not_chop_a_word_twice() -> None:
    texts = ["如何重置密码", "密码忘记了", "重置我的密码", "信用卡丢失", "信用卡被盗", "我的信用卡"]
    password, card = label_clusters(texts, np.array([0, 0, 0, 1, 1, 1]), top=2)
    assert set(password.split(" · ")) == {"密码", "重置"}
    assert "用卡" in card or "信用" in card
    assert not {"用卡", "信用"} <= set(card.split(" · "))


def test_no_two_clusters_share_a_label() -> None:
    texts = ["same words here"] * 6 + ["..."] * 2
    labels = label_clusters(texts, np.array([0, 0, 1, 1, 2, 2, 3, 4]))
    assert len(set(labels)) == 5
    assert labels[3:] == ("cluster 4", "cluster 5")


def test_noise_has_no_label_and_none_is_fine() -> None:
    assert label_clusters(["a b", "c d"], np.array([-1, -1])) == ()
    assert label_clusters([], np.array([], np.int64)) == ()
    assert label_clusters(["the of", "12 345"], np.array([0, 1]), top=1) == ("of", "12")


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
