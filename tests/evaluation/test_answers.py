"""What models say of each row, against plain loops, and where two of them differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sbert_studio.evaluation.answers import (
    Predictions,
    are_comparable,
    count_agreement,
    find_disagreements,
    predictions_from_class_ids,
    predictions_from_classes,
    predictions_from_labels,
    predictions_from_margins,
    predictions_from_ranks,
    predictions_from_scores,
)
from sbert_studio.evaluation.tasks.categories import evaluate_categories
from sbert_studio.evaluation.tasks.pairs import evaluate_pairs, evaluate_triplets, threshold_scores
from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.evaluation.tasks.sts import evaluate_scores, evaluate_sts
from sbert_studio.evaluation.tasks.transfer import evaluate_transfer


@pytest.fixture
def vectors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    left = rng.normal(size=(40, 8)).astype(np.float32)
    return left, (left + rng.normal(scale=0.8, size=(40, 8))).astype(np.float32)


def answers(report: object) -> Predictions:
    found = report.answers  # type: ignore[attr-defined]
    assert isinstance(found, Predictions) and (found.credit >= 0).all() and (found.credit <= 1).all()
    return found


def test_the_credit_of_ranks_and_of_yes_and_no() -> None:
    found = predictions_from_scores(np.array([0.1, 0.5, 0.9]), np.array([5.0, 3.0, 1.0]))
    assert found.credit.tolist() == [0, 1, 0] and found.describe(2) == "0.90, above 100% of pairs"
    ranks = stats.rankdata([0.2, 0.2, -0.4, 0.8]), stats.rankdata([1, 2, 3, 3])
    plain = [1 - abs(one - two) / 3 for one, two in zip(*ranks, strict=True)]
    found = predictions_from_scores(np.array([0.2, 0.2, -0.4, 0.8]), np.array([1, 2, 3, 3]))
    assert found.credit.tolist() == pytest.approx(plain) and found.describe(2) == "−0.40, above 0% of pairs"
    # Not who is nearer by figures of different scales: 0.45 here lies as high among its own as 0.31 does with people.
    people = np.array([0.1, 0.31, 0.9, 1.0])
    first, second = (
        predictions_from_scores(np.array([0.2, 0.3, 0.26, 0.9]), people),
        predictions_from_scores(np.array([0.3, 0.45, 0.8, 0.9]), people),
    )
    assert (np.abs(second.percentiles - second.gold_percentiles) == 1 - second.credit).all()  # type: ignore[operator]
    assert first.describe(2) == "0.26, above 33% of pairs" and second.describe(1) == "0.45, above 33% of pairs"
    scores, labels = np.array([0.9, 0.4, 0.4, 0.1, 0.7]), np.array([1, 1, 0, 0, 0])
    plain = []
    for row, label in enumerate(labels):
        others = [other for other in range(5) if labels[other] != label]
        sign = 1 if label else -1
        plain.append(np.mean([(sign * scores[row] > sign * scores[o]) + 0.5 * (scores[row] == scores[o]) for o in others]))
    assert predictions_from_labels(scores, labels).credit.tolist() == pytest.approx(plain)


def test_answers_agree_with_the_scores_of_their_reports(vectors: tuple[np.ndarray, np.ndarray]) -> None:
    left, right = vectors
    gold = np.random.default_rng(0).random(40)
    labels, texts = [f"c{row % 4}" for row in range(40)], [f"text {row}" for row in range(40)]
    assert answers(evaluate_sts(left, right, gold)).values == pytest.approx(
        np.einsum("nd,nd->n", left, right) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1), abs=1e-5
    )
    categories = evaluate_categories(left, labels, texts)
    assert answers(categories).credit.mean() == pytest.approx(categories.scores["nearest_neighbour_accuracy"])
    place = int(np.argmax(answers(categories).credit))
    assert answers(categories).describe(place) == labels[place]
    transfer = evaluate_transfer(left, labels)
    assert answers(transfer).credit.mean() == pytest.approx(transfer.scores["accuracy"])
    triplets = evaluate_triplets(left, right, [right[::-1].copy(), left[::-1].copy()])
    assert answers(triplets).credit.mean() == pytest.approx(triplets.scores["accuracy"])
    retrieval = evaluate_retrieval(left, right, texts, [f"other {row}" for row in range(40)])
    ranks = answers(retrieval)
    assert np.where(ranks.values <= 10, ranks.credit, 0).mean() == pytest.approx(retrieval.scores["mrr_at_10"])
    assert answers(evaluate_scores(gold, gold)).credit.tolist() == [1] * 40
    yes = (gold > 0.5).astype(int)
    report = evaluate_pairs(left, right, yes)
    perfect = threshold_scores(gold, yes)["average_precision"]
    assert perfect == pytest.approx(1) and predictions_from_labels(gold, yes).credit.min() == 1 and answers(report).credit.min() < 1


def test_the_rows_that_differ_most_come_first_and_both_models_have_their_share() -> None:
    first = predictions_from_classes(np.array(["a", "a", "b", "b", "a", "a"]), np.array(["a", "a", "b", "b", "b", "b"]))
    second = predictions_from_classes(np.array(["b", "a", "b", "a", "b", "a"]), np.array(["a", "a", "b", "b", "b", "b"]))
    counts = count_agreement(first, second)
    assert counts is not None and (counts.both, counts.only_first, counts.only_second, counts.neither) == (2, 2, 1, 1)
    assert counts.total == 6
    found = find_disagreements(first, second)
    assert [(one.row, one.descriptions, one.better_model) for one in found] == [(0, ("a", "b"), 0), (3, ("b", "a"), 0), (4, ("a", "b"), 1)]
    assert len(find_disagreements(first, second, 2)) == 2 and {one.better_model for one in find_disagreements(first, second, 2)} == {0, 1}
    gold = np.arange(30.0)
    good, bad = predictions_from_scores(gold, gold), predictions_from_scores(gold[::-1].copy(), gold)
    found = find_disagreements(good, bad, 10)
    assert len(found) == 10 and {one.better_model for one in found} == {0}
    assert [one.gap for one in found] == sorted((one.gap for one in found), reverse=True) and count_agreement(good, bad) is None
    assert find_disagreements(good, good) == []


def test_other_questions_cannot_be_compared() -> None:
    few, more = predictions_from_margins(np.array([0.1, -0.2])), predictions_from_margins(np.array([0.1, -0.2, 0.3]))
    assert not are_comparable(few, more) and not are_comparable(few, None) and are_comparable(more, more)
    assert (few.describe(0), few.describe(1)) == ("right by 0.10", "wrong by 0.20")
    ranks = predictions_from_ranks(np.array([1, 12]), [0, 5])
    assert (ranks.row(1), ranks.describe(1)) == (5, "rank 12")
    assert predictions_from_class_ids(np.array([-1, 0]), np.array([0, 0]), ("x",)).describe(0) == "nothing"
