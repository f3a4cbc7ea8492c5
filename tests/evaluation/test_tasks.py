"""The registry of tasks, and the scores of pairs, triplets, retrieval and geometry against other libraries and plain loops."""

from __future__ import annotations

import itertools
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from sbert_studio.data.schema.roles import KINDS
from sbert_studio.errors import StudioError
from sbert_studio.evaluation import bootstrap
from sbert_studio.evaluation.answers import average_ranks
from sbert_studio.evaluation.bootstrap import resample_clusters
from sbert_studio.evaluation.encoding import similarities
from sbert_studio.evaluation.tasks import SCORED_KINDS, DataShape, all_tasks, find_task, get_task, main_score, retrieval, sts
from sbert_studio.evaluation.tasks import geometry as space
from sbert_studio.evaluation.tasks.pairs import evaluate_pairs, evaluate_triplets, threshold_scores
from sbert_studio.evaluation.tasks.sts import evaluate_by_group

SHAPES = [
    DataShape(kind, labels, ordered, classed, gives)  # type: ignore[arg-type]
    for kind, labels, ordered, classed, gives in itertools.product(
        KINDS, (0, 1, 2, 3, 7), (True, False), (True, False), ("vectors", "score", "class")
    )
]


def test_each_row_shape_has_one_task_and_scored_kinds_are_those_with_one() -> None:
    fitting = {shape.kind for shape in SHAPES if not shape.classed for task in all_tasks() if task.fits(shape)}
    assert fitting == set(SCORED_KINDS) == set(KINDS) - {"sentences"}
    assert list(SCORED_KINDS) == [kind for kind in KINDS if kind in SCORED_KINDS], "in the order of all kinds"
    for shape in SHAPES:
        fitting = [task.name for task in all_tasks() if task.fits(shape)]
        assert len(fitting) == (0 if shape.kind == "sentences" and not shape.classed else 1), (shape, fitting)
    with pytest.raises(StudioError, match="sentences without labels"):
        find_task(DataShape("sentences"))
    with pytest.raises(StudioError, match="no evaluation 'odd'"):
        get_task("odd")


rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=30)


@given(rows)
def test_scores_equal_sklearn_over_every_threshold(data: list[tuple[int, int]]) -> None:
    scores, labels = (np.array(column) for column in zip(*data, strict=True))
    scores = scores / 6
    found = threshold_scores(scores, labels)
    cuts = [-1.0, *sorted(set(scores)), 2.0]
    assert found["accuracy"] == pytest.approx(max(accuracy_score(labels, scores >= cut) for cut in cuts))
    assert accuracy_score(labels, scores >= found["threshold"]) == pytest.approx(found["accuracy"])
    best_f1 = max(f1_score(labels, scores >= cut, zero_division=0) for cut in cuts)
    assert found["f1"] == pytest.approx(best_f1)
    assert f1_score(labels, scores >= found["f1_threshold"], zero_division=0) == pytest.approx(best_f1)
    if labels.any():
        assert found["average_precision"] == pytest.approx(average_precision_score(labels, scores))
    else:
        assert found["average_precision"] == 0


def test_pairs_that_are_alike_exactly_when_labelled_so_score_one() -> None:
    left = np.eye(4, dtype=np.float32)
    report = evaluate_pairs(left, left[[0, 1, 3, 2]], np.array([1, 1, 0, 0]))
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        assert report.scores[name]["average_precision"] == report.scores[name]["accuracy"] == report.scores[name]["f1"] == 1
    assert 0 < report.scores["cosine"]["threshold"] < 1


def test_accuracy_of_triplets_equals_a_loop_and_vectors_that_coincide_win_none() -> None:
    rng = np.random.default_rng(0)
    anchor, positive, first, second = rng.normal(size=(4, 50, 3)).astype(np.float32)
    found = evaluate_triplets(anchor, positive, [first, second])

    def cosine(u: np.ndarray, v: np.ndarray) -> float:
        return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))

    cosines = [cosine(a, p) > max(cosine(a, m), cosine(a, n)) for a, p, m, n in zip(anchor, positive, first, second, strict=True)]
    distances = [
        np.abs(a - p).sum() < min(np.abs(a - m).sum(), np.abs(a - n).sum())
        for a, p, m, n in zip(anchor, positive, first, second, strict=True)
    ]
    assert found.scores["accuracy"] == found.scores["cosine"]["accuracy"] == np.mean(cosines)
    assert found.scores["manhattan"]["accuracy"] == np.mean(distances)
    same = np.ones((5, 3), np.float32)
    assert evaluate_triplets(same, same, [same]).scores["accuracy"] == 0


numbers = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=2, max_size=40)


@given(numbers)
def test_ranks_and_correlations_equal_scipy_with_ties(rows: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, float) for column in zip(*rows, strict=True))
    assert np.array_equal(average_ranks(x), stats.rankdata(x))
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert sts.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert sts.pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    else:
        assert sts.spearman(x, y) == sts.pearson(x, y) == 0


def test_spearman_of_a_resample_equals_scipy_on_the_drawn_rows() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, (2, 25)).astype(float)
    counts = np.stack([np.bincount(rng.integers(0, 25, 25), minlength=25) for _ in range(8)]).astype(float)
    found = sts._weighted_pearson(sts._resampled_ranks(x, counts), sts._resampled_ranks(y, counts), counts)
    for row, rho in zip(counts.astype(int), found, strict=True):
        assert rho == pytest.approx(stats.spearmanr(np.repeat(x, row), np.repeat(y, row)).statistic)


def test_the_interval_matches_a_plain_bootstrap_and_repeats_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    y = x + rng.normal(size=200)
    plain = [stats.spearmanr(x[drawn], y[drawn]).statistic for drawn in rng.integers(0, 200, (600, 200))]
    low, high = bootstrap.percentile_interval(sts.bootstrap_spearman(x, y))
    assert (low, high) == pytest.approx(np.quantile(plain, (0.025, 0.975)), abs=0.02)
    assert low < sts.spearman(x, y) < high
    monkeypatch.setattr(bootstrap, "_BLOCK", 2000)  # the block's size must not change what is drawn
    assert bootstrap.percentile_interval(sts.bootstrap_spearman(x, y)) == pytest.approx([low, high], abs=1e-12)


def test_a_distance_correlates_with_the_gold_scores_the_same_way_as_the_cosine() -> None:
    rng = np.random.default_rng(3)
    left = rng.normal(size=(60, 8)).astype(np.float32)
    noise = rng.uniform(0, 3, 60)
    right = left + noise[:, None] * rng.normal(size=(60, 8)).astype(np.float32)
    report = sts.evaluate_sts(left, right, -noise)
    for name in ("cosine", "euclidean", "manhattan"):
        assert report.scores[name]["spearman"] > 0.5, name
    assert main_score(report) == ("cosine_spearman", report.scores["cosine"]["spearman"])
    assert report.to_json()["rows"] == 60 and len(report.to_json()["interval"]) == 2


def test_each_topic_counts_the_same_whatever_its_scale_and_without_a_difference_not_at_all() -> None:
    from scipy.stats import pearsonr, spearmanr

    rng = np.random.default_rng(0)
    topics = ["guns"] * 50 + ["tax"] * 10 + ["war"] * 20
    gold = rng.uniform(0, 5, 80)
    left, right = rng.normal(size=(80, 6)), rng.normal(size=(80, 6))
    cosines = np.array([u @ v / np.linalg.norm(u) / np.linalg.norm(v) for u, v in zip(left, right, strict=True)])
    scores = evaluate_by_group(similarities(left, right)["cosine"], gold, topics).scores
    found = []
    for topic in ("guns", "tax", "war"):
        rows = [row for row, name in enumerate(topics) if name == topic]
        found.append((pearsonr(cosines[rows], gold[rows])[0], spearmanr(cosines[rows], gold[rows])[0]))
        r, rho = found[-1]
        assert scores["groups"][topic] == {"rows": len(rows), "pearson": pytest.approx(r), "spearman": pytest.approx(rho)}
    assert scores["mean"] == {"pearson": pytest.approx(np.mean(found, 0)[0]), "spearman": pytest.approx(np.mean(found, 0)[1])}
    assert scores["all"]["spearman"] == pytest.approx(spearmanr(cosines, gold)[0])
    low, high = scores["interval"]
    assert low < scores["mean"]["spearman"] < high
    gold = np.tile(np.arange(10.0), 2)
    scores = gold + np.repeat([0, 100], 10) * np.array([1] * 20)
    scores[10:] = gold[10:] - 100
    report = evaluate_by_group(scores, gold, ["a"] * 10 + ["b"] * 10).scores
    assert report["mean"]["spearman"] == pytest.approx(1) and report["all"]["spearman"] < 0.6
    gold = np.array([1.0, 2.0, 3.0, 2.0, 2.0])
    report = evaluate_by_group(gold, gold, ["a", "a", "a", "b", "b"]).scores
    assert report["silent"] == ["b"] and report["mean"]["pearson"] == pytest.approx(1)
    with pytest.raises(StudioError, match="the gold scores are constant"):
        evaluate_by_group(gold, np.ones(5), ["a"] * 5)


def test_a_topic_of_four_pairs_beside_a_large_one_does_not_keep_the_mean_from_an_interval() -> None:
    rng = np.random.default_rng(3)
    gold = rng.normal(size=44)
    topics = ["large"] * 40 + ["small"] * 4
    with resample_clusters([f"text {row}" for row in range(44)]):
        low, high = evaluate_by_group(gold + rng.normal(size=44), gold, topics).scores["interval"]
    assert low < high
    assert evaluate_by_group(gold[:4], gold[:4], ["a"] * 4).scores["interval"] == [], "four rows in all tell nothing"


def _spread(gold: np.ndarray, scores: np.ndarray, copies: int = 1) -> float:
    """The standard deviation of the resampled mean over four topics of a hundred pairs, each pair ``copies`` times."""
    topics = np.repeat([f"topic {number}" for number in range(4)], 100 * copies).tolist()
    texts = [f"text {row // copies}" for row in range(400 * copies)]
    with resample_clusters(texts):
        report = evaluate_by_group(np.repeat(scores, copies), np.repeat(gold, copies), topics)
    return float(report.resampled.std())


def test_topics_are_drawn_apart_in_any_order_and_copies_tell_no_more() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=400)
    scores = 0.6 * gold + 0.8 * rng.normal(size=400)
    order = np.concatenate([place + np.argsort(gold[place : place + 100]) for place in range(0, 400, 100)])
    assert _spread(gold[order], scores[order]) == pytest.approx(_spread(gold, scores), rel=0.1)
    rng = np.random.default_rng(0)
    gold = rng.normal(size=400)
    scores = 0.6 * gold + 0.8 * rng.normal(size=400)
    assert _spread(gold, scores, copies=5) == pytest.approx(_spread(gold, scores), rel=0.15)


def test_partners_that_coincide_or_are_closer_than_rounding_tie() -> None:
    one = np.random.default_rng(0).normal(size=(1, 384)).astype(np.float32)
    for rows in (101, 103, 107):
        texts = [str(row) for row in range(rows)]
        same = np.repeat(one, rows, axis=0)
        scores = retrieval.evaluate_retrieval(same, same, texts, [f"p{text}" for text in texts]).scores
        assert scores["mrr_at_10"] == scores["ndcg_at_10"] == 0
    anchors = np.array([[1, 0], [1, 0]], np.float32)
    positives = np.array([[1, 0], [1, 0.001]], np.float32)
    scores = retrieval.evaluate_retrieval(anchors, positives, ["a", "b"], ["p", "q"]).scores
    assert scores["mrr_at_10"] == 0.5
    assert scores["ndcg_at_10"] == pytest.approx(1 / np.log2(3))


def naive(vectors: dict[str, list[float]], rows: list[tuple[str, str]], classes: list[int] | None = None) -> float:
    """Recall at 1: for each distinct anchor, is the nearest candidate that is not itself one of all that belong to it?"""
    unit = {text: np.array(vector) / np.linalg.norm(vector) for text, vector in vectors.items()}
    pairs = {*rows, *((b, a) for a, b in rows)}
    if classes is not None:
        pairs |= {
            (a, d) for (a, _), one in zip(rows, classes, strict=True) for (_, d), two in zip(rows, classes, strict=True) if one == two
        }
    candidates = list(dict.fromkeys(b for _, b in rows))
    found = []
    for anchor in dict.fromkeys(a for a, _ in rows):
        nearest = max((c for c in candidates if c != anchor), key=lambda c: float(unit[anchor] @ unit[c]))
        found.append((anchor, nearest) in pairs)
    return float(np.mean(found))


@pytest.mark.parametrize("classes", [None, [0, 0, 0, 1, 1, 2]])
def test_all_positives_of_an_anchor_are_right_also_those_it_has_in_other_rows(classes: list[int] | None) -> None:
    rows = [("x", "p"), ("x", "q"), ("q", "x"), ("y", "q"), ("p", "z"), ("z", "w")]
    right = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        vectors = {text: random.normal(size=3).tolist() for text in "xypqzw"}
        arrays = [np.array([vectors[pair[side]] for pair in rows], np.float32) for side in (0, 1)]
        ids = None if classes is None else np.array(classes)
        found = retrieval.evaluate_retrieval(*arrays, [a for a, _ in rows], [b for _, b in rows], ids).scores["recall_at_1"]
        assert found == pytest.approx(naive(vectors, rows, classes))
        right += found
    assert 5 < right < 35, "neither all nor nothing is found"


def test_the_anchors_own_text_is_right_for_its_positive_and_case_makes_no_other_text() -> None:
    """p stands in a row as the positive of a: where p asks, a is right, though the row that p begins names another."""
    vectors = {"a": [1, 0], "p": [1, 0.1], "q": [0, 1], "b": [0.1, 1]}
    rows = [("a", "p"), ("p", "q"), ("b", "a")]
    arrays = [np.array([vectors[pair[side]] for pair in rows], np.float32) for side in (0, 1)]
    ranks = retrieval.evaluate_retrieval(*arrays, [a for a, _ in rows], [b for _, b in rows]).scores
    assert ranks["recall_at_1"] == pytest.approx(2 / 3), "a finds p and p finds a; b finds q first"
    vectors = np.eye(3)[[0, 1, 0]]
    found = retrieval.evaluate_retrieval(vectors, vectors, ["a", "b", "c"], ["Use the app.", "Look there.", "use  the app."])
    assert (found.scores["mrr_at_10"], found.scores["recall_at_1"]) == (1.0, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_a_loop_over_rankings(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_BLOCK", 100)
    rng = np.random.default_rng(seed)
    rows = [(f"a{rng.integers(12)}", f"p{rng.integers(30)}") for _ in range(60)]
    vectors = {text: rng.normal(size=3) for pair in rows for text in pair}
    arrays = [np.array([vectors[pair[side]] for pair in rows], np.float32) for side in (0, 1)]
    scores = retrieval.evaluate_retrieval(*arrays, [a for a, _ in rows], [b for _, b in rows]).scores
    candidates = {b for _, b in rows}
    cosine = {
        (a, b): vectors[a] @ vectors[b] / np.linalg.norm(vectors[a]) / np.linalg.norm(vectors[b]) for a, _ in rows for b in candidates
    }
    firsts, gains = [], []
    for anchor in {a for a, _ in rows}:
        ranked = sorted(candidates, key=lambda one, anchor=anchor: -cosine[anchor, one])  # type: ignore[misc]
        right = [rank for rank, one in enumerate(ranked, start=1) if (anchor, one) in rows]
        firsts.append(right[0])
        ideal = sum(1 / np.log2(rank + 1) for rank in range(1, min(10, len(right)) + 1))
        gains.append(sum(1 / np.log2(rank + 1) for rank in right if rank <= 10) / ideal)
    assert scores["ndcg_at_10"] == pytest.approx(np.mean(gains))
    assert scores["mrr_at_10"] == pytest.approx(np.mean([1 / rank if rank <= 10 else 0 for rank in firsts]))
    for k in (1, 3, 5, 10):
        assert scores[f"accuracy_at_{k}"] == pytest.approx(np.mean([rank <= k for rank in firsts]))
    assert all(scores[f"recall_at_{k}"] == scores[f"accuracy_at_{k}"] for k in (1, 10))


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(0.3, 1, (40, 5)).astype(np.float32)


def normalized(vectors: np.ndarray) -> np.ndarray:
    return vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_all_three_are_those_of_a_loop_over_pairs(vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "_BLOCK", 300)
    pairs = list(combinations(normalized(vectors), 2))
    assert space.anisotropy(vectors).value == pytest.approx(np.mean([x @ y for x, y in pairs]), abs=1e-6)
    found = space.uniformity(vectors)
    assert found.value == pytest.approx(math.log(np.mean([math.exp(-2 * np.sum((x - y) ** 2)) for x, y in pairs])), abs=1e-5)
    assert (found.pairs, found.rows, found.exact) == (780, 40, True)
    other = vectors[::-1].copy()
    wanted = np.mean([np.sum((x - y) ** 2) for x, y in zip(normalized(vectors), normalized(other), strict=True)])
    assert space.alignment(vectors, other).value == pytest.approx(wanted, abs=1e-6)


def test_geometry_ignores_lengths_and_zeros_and_samples_large_sets(vectors: np.ndarray) -> None:
    stretched = np.concatenate([vectors * np.arange(1, 41)[:, None], np.zeros((3, 5))]).astype(np.float32)
    assert space.anisotropy(stretched).value == pytest.approx(space.anisotropy(vectors).value, abs=1e-6)
    assert space.uniformity(stretched).rows == 40
    assert space.alignment(stretched, stretched).pairs == 40
    same, around = np.ones((10, 4)), np.concatenate([np.eye(4), -np.eye(4)])
    assert space.anisotropy(same).value == pytest.approx(1) and space.uniformity(same).value == pytest.approx(0, abs=1e-6)
    assert space.anisotropy(around).value == pytest.approx(-1 / 7)
    assert space.alignment(same, same).value == 0 and space.alignment(same, -same).value == pytest.approx(4)
    many = np.random.default_rng(1).normal(size=(3000, 4)).astype(np.float32)
    drawn, whole = space.uniformity(many, most=500), space.uniformity(many)
    assert (drawn.rows, drawn.pairs, drawn.exact) == (500, 500 * 499 // 2, False)
    assert drawn.value != whole.value and drawn.value == pytest.approx(whole.value, abs=0.05)
    assert space.uniformity(many, most=500) == drawn
    with pytest.raises(StudioError, match="fewer than two"):
        space.anisotropy(np.zeros((5, 3)))
    with pytest.raises(StudioError, match="no positive pairs"):
        space.alignment(np.ones((2, 3)), np.zeros((2, 3)))
