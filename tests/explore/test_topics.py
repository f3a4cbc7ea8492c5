from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from sbert_studio.explore import topics
from sbert_studio.explore.topics import choose_tokenizer, keywords, split_terms, unique_labels
from sbert_studio.explore.umap import build_neighbor_graph


def blobs(count: int, size: int = 40, spread: float = 0.15, dims: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(count)
    centers = rng.normal(size=(count, dims)) * 3
    truth = np.repeat(np.arange(count), size)
    return (centers[truth] + rng.normal(scale=spread, size=(count * size, dims))).astype(np.float32), truth


def test_the_silhouette_and_cuts_of_the_tree_equal_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    points, truth = blobs(6, 20, spread=2)
    distances = squareform(pdist(points))
    for ids in (truth, truth % 3, np.where(truth < 1, np.arange(len(truth)), 0)):
        assert topics.silhouette(distances, ids) == pytest.approx(silhouette_score(distances, ids, metric="precomputed"), abs=1e-9)
    assert topics.silhouette(distances, np.zeros(len(points), int)) == 0
    points, _ = blobs(7, 15, spread=1.5)
    tree = topics.topic_tree(points)
    for count in (2, 5, 30):
        assert adjusted_rand_score(AgglomerativeClustering(count).fit_predict(points), tree.cut(count)) == 1
    points, truth = blobs(9)
    monkeypatch.setattr(topics, "_TREE_ROWS", 120)
    tree = topics.topic_tree(points)
    assert len(tree.rows) == 120 and adjusted_rand_score(truth, tree.cut(9)) > 0.98


@pytest.mark.parametrize("count", [2, 3, 8, 20])
def test_the_number_of_topics_is_that_of_distinct_groups(count: int) -> None:
    points, truth = blobs(count)
    tree = topics.topic_tree(points)
    chosen = topics.choose_count(tree, points, points)
    assert abs(np.log2(chosen / count)) < 0.3 and adjusted_rand_score(truth, tree.cut(chosen)) > 0.85


def test_texts_without_structure_do_not_end_in_one_heap() -> None:
    points = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    tree = topics.topic_tree(points)
    ids = tree.cut(topics.choose_count(tree, points, points))
    assert np.bincount(ids).max() <= 0.3 * len(ids)


def test_a_repeated_text_describes_its_topic_as_often_as_it_occurs() -> None:
    texts, ids = [*PAYMENTS, "The staff was friendly", *PARCELS], np.repeat([0, 1], [11, 10])
    times = np.where([text.startswith("The staff") for text in texts], 40, 1)
    again = np.repeat(np.arange(len(texts)), times)
    found = keywords(split_terms(texts), ids, times=times)
    assert found == keywords(split_terms([texts[row] for row in again]), ids[again])
    assert {"staff", "friendly"} & set(" ".join(found[0][:2]).split()) and not {"staff", "friendly"} & set(_keywords(texts, ids)[0][:2])
    vectors = np.random.default_rng(0).normal(size=(len(texts), 8)).astype(np.float32)
    assert np.allclose(topics.topic_centroids(vectors, ids, times), topics.topic_centroids(vectors[again], ids[again]), atol=1e-6)


def test_an_isolated_text_is_an_outlier_and_a_dense_topic_has_none() -> None:
    points, truth = blobs(4, 60, spread=0.1, dims=16)
    stray = np.random.default_rng(9).normal(size=(3, 16)).astype(np.float32) * 3
    vectors, ids = np.concatenate([points, stray]), np.concatenate([truth, [0, 1, 2]])
    centroids = topics.topic_centroids(vectors, ids)
    found = topics.find_outliers(ids, topics.typicality(vectors, ids, centroids), build_neighbor_graph(vectors, "cosine", 10))
    assert found[-3:].all() and found[:-3].mean() < 0.05


def test_centroids_and_typicality_equal_their_definitions() -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32)
    ids = np.array([0, 1, 2, -1, 1] * 10)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    centroids = topics.topic_centroids(vectors, ids)
    for topic in range(3):
        mean = directions[ids == topic].mean(axis=0)
        np.testing.assert_allclose(centroids[topic], mean / np.linalg.norm(mean), atol=1e-6)
    cosines = directions @ centroids.T
    expected = [cosines[row, topic] if topic >= 0 else cosines[row].max() for row, topic in enumerate(ids)]
    np.testing.assert_allclose(topics.typicality(vectors, ids, centroids), expected, atol=1e-6)
    assert (topics.nearest_topics(vectors, centroids) == cosines.argmax(axis=1)).all()


def test_broad_topics_join_similar_topics() -> None:
    centers, truth = blobs(4, 8, spread=0.3, dims=20)
    directions = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    found = topics.group_topics(directions)
    assert len(set(found.tolist())) == 7
    for group in set(found.tolist()):
        assert len(set(truth[found == group].tolist())) == 1
    assert (topics.group_topics(directions[:7]) == -1).all()


TOPICS = np.repeat([0, 1], 10)
PAYMENTS = [f"My card payment of {amount} euros was declined" for amount in range(10)]
PARCELS = [f"Where is the parcel that I ordered on day {day}" for day in range(10)]


def _keywords(texts: Sequence[str], ids: np.ndarray, typicality: np.ndarray | None = None) -> list[list[str]]:
    return keywords(split_terms(texts), ids, typicality=typicality)


def _labels(texts: Sequence[str], ids: np.ndarray, top: int = 3) -> tuple[str, ...]:
    return unique_labels(_keywords(texts, ids), top)


def test_keywords_are_ranked_by_class_based_tf_idf() -> None:
    texts = ["apple apple pear", "apple plum", "cherry plum", "cherry cherry"]
    ids = np.array([0, 0, 1, 1])
    average = 9 / 2
    weight = {"apple": 1 * math.log(1 + average / 3), "pear": 0.5 * math.log(1 + average / 1), "plum": 0.5 * math.log(1 + average / 2)}
    expected = sorted(weight, key=lambda word: -weight[word])
    found = [term for term in _keywords(texts, ids)[0] if " " not in term]
    assert found == [term for term in expected if term in found] and found[0] == "apple"


def test_words_of_single_texts_stop_words_and_forms_of_a_word_are_left_out() -> None:
    ids = np.concatenate([TOPICS, [0, 0]])
    first, second = _keywords([*PAYMENTS, *PARCELS, "the transfers failed", "a transfer was declined"], ids)
    assert "card payment" in first and "declined" in first
    assert not {"card", "payment", "was", "my", "euros of"} & set(first)
    assert any("parcel" in term for term in second) and not {"the", "that", "where"} & set(second)


def test_chinese_japanese_and_thai_are_split_into_words() -> None:
    chinese, japanese, thai = "我忘记了密码,请帮我重置账户", "パスワードを再設定したいのですが", "ฉันไม่สามารถเข้าสู่ระบบบัญชีของฉันได้"
    assert {"忘记", "密码", "重置", "账户"} <= set(choose_tokenizer([chinese])(chinese))
    assert "パスワード" in choose_tokenizer([japanese])(japanese)
    assert "บัญชี" in choose_tokenizer([thai])(thai)
    labels = _labels([chinese] * 5 + ["银行卡丢失了需要补办"] * 5, np.repeat([0, 1], 5))
    assert "密码" in labels[0] and "银行卡" in labels[1]


def test_keywords_begin_with_those_of_typical_texts_and_end_with_those_of_all_topics() -> None:
    texts, ids, others = ["lost", "lost", "lost", "stolen", "stolen", *PARCELS], np.repeat([0, 1], [5, 10]), [0.5] * 10
    assert _keywords(texts, ids)[0] == ["lost", "stolen"]
    assert _keywords(texts, ids, typicality=np.array([0.9, 0.9, 0.9, 0.2, 0.2, *others]))[0] == ["lost", "stolen"]
    assert _keywords(texts, ids, typicality=np.array([0.2, 0.2, 0.2, 0.9, 0.9, *others]))[0] == ["stolen", "lost"]
    names = ("parser", "client", "driver")
    texts = [f"{name} and number" if row % 2 else "the number" for name in names for row in range(6)]
    assert _keywords(texts, np.repeat([0, 1, 2], 6)) == [[name, "number"] for name in names]
    first, _second = _keywords(["How do I top-up", "Auto top up failed", "I want an auto top up", *PARCELS], np.repeat([0, 1], [3, 10]))
    assert "top up" in first and not {"top", "up", "auto top"} & set(first)


JAPANESE = (
    ["カードを紛失したので再発行してください", "カードをなくしました", "紛失したカードを止めたい", "新しいカードはいつ届きますか"],
    [
        "パスワードを忘れました",
        "パスワードを再設定したいのですが",
        "ログインのパスワードが違います",
        "パスワードの変更方法を教えてください",
    ],
)
THAI = (
    ["ฉันทำบัตรหาย", "บัตรของฉันหายต้องทำอย่างไร", "ขอบัตรใหม่เพราะบัตรหาย", "บัตรเครดิตหาย"],
    ["สินค้าที่สั่งซื้อยังไม่มาถึง", "สินค้าของฉันยังไม่มา", "สินค้าชำรุด", "ฉันต้องการคืนสินค้า"],
)
_FILLERS = {"ฉัน", "ของ", "ที่", "ไม่", "ต้อง", "อย่างไร", "การ", "ยัง", "มา", "を", "こと"}


@pytest.mark.parametrize(("groups", "words"), [(JAPANESE, ("カード", "パスワード")), (THAI, ("บัตร", "สินค้า"))], ids=["Japanese", "Thai"])
def test_topics_of_japanese_and_thai_texts_are_named_by_their_words(groups: tuple[list[str], list[str]], words: tuple[str, str]) -> None:
    labels = _labels([*groups[0], *groups[1]], np.repeat([0, 1], [len(group) for group in groups]))
    for label, word, other in zip(labels, words, words[::-1], strict=True):
        parts = label.split(" · ")
        assert any(word in part for part in parts) and not any(other in part for part in parts), label
        assert not _FILLERS & set(parts), "particles and pronouns are no names"


def test_labels_are_distinct_and_never_empty() -> None:
    assert unique_labels([["a", "b", "c", "d"], ["a", "b", "c", "e"], ["a", "b", "c"], []]) == (
        "a · b · c",
        "a · b · e",
        "a · b · c (2)",
        "topic 4",
    )
    assert _labels(["a b", "c d"], np.array([-1, -1])) == () == _labels([], np.array([], np.int64))
    assert _labels(["the of", "12 345"], np.array([0, 1]), top=1) == ("of", "12")
