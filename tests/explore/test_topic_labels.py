from __future__ import annotations

import math

import numpy as np

from sbert_studio.explore.topic_labels import choose_tokenizer, keywords, label_topics, unique_labels

TOPICS = np.repeat([0, 1], 10)
PAYMENTS = [f"My card payment of {amount} euros was declined" for amount in range(10)]
PARCELS = [f"Where is the parcel that I ordered on day {day}" for day in range(10)]


def test_keywords_are_ranked_by_class_based_tf_idf() -> None:
    texts = ["apple apple pear", "apple plum", "cherry plum", "cherry cherry"]
    ids = np.array([0, 0, 1, 1])
    average = 9 / 2
    weight = {"apple": 1 * math.log(1 + average / 3), "pear": 0.5 * math.log(1 + average / 1), "plum": 0.5 * math.log(1 + average / 2)}
    expected = sorted(weight, key=lambda word: -weight[word])
    found = [term for term in keywords(texts, ids)[0] if " " not in term]
    assert found == [term for term in expected if term in found] and found[0] == "apple"


def test_words_of_single_texts_stop_words_and_forms_of_a_word_are_left_out() -> None:
    ids = np.concatenate([TOPICS, [0, 0]])
    first, second = keywords([*PAYMENTS, *PARCELS, "the transfers failed", "a transfer was declined"], ids)
    assert "card payment" in first and "declined" in first
    assert not {"card", "payment", "was", "my", "euros of"} & set(first)
    assert any("parcel" in term for term in second) and not {"the", "that", "where"} & set(second)


def test_chinese_japanese_and_thai_are_split_into_words() -> None:
    chinese, japanese, thai = "我忘记了密码,请帮我重置账户", "パスワードを再設定したいのですが", "ฉันไม่สามารถเข้าสู่ระบบบัญชีของฉันได้"
    assert {"忘记", "密码", "重置", "账户"} <= set(choose_tokenizer([chinese])(chinese))
    assert "パスワード" in choose_tokenizer([japanese])(japanese)
    assert "บัญชี" in choose_tokenizer([thai])(thai)
    labels = label_topics([chinese] * 5 + ["银行卡丢失了需要补办"] * 5, np.repeat([0, 1], 5))
    assert "密码" in labels[0] and "银行卡" in labels[1]


def test_labels_are_distinct_and_never_empty() -> None:
    assert unique_labels([["a", "b", "c", "d"], ["a", "b", "c", "e"], ["a", "b", "c"], []]) == (
        "a · b · c",
        "a · b · e",
        "a · b · c (2)",
        "cluster 4",
    )
    assert label_topics(["a b", "c d"], np.array([-1, -1])) == () == label_topics([], np.array([], np.int64))
    assert label_topics(["the of", "12 345"], np.array([0, 1]), top=1) == ("of", "12")
