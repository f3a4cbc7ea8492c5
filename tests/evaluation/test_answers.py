"""What models say of each row, against plain loops, and where two of them differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sbert_studio.evaluation.answers import (
    Answers,
    comparable,
    differing,
    of_classes,
    of_labels,
    of_margins,
    of_places,
    of_ranks,
    of_scores,
    right_or_wrong,
)
from sbert_studio.evaluation.measures.crossing import evaluate_scores
from sbert_studio.evaluation.tasks.categories import evaluate_categories
from sbert_studio.evaluation.tasks.pairs import evaluate_pairs, judge
from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.evaluation.tasks.sts import evaluate_sts
from sbert_studio.evaluation.tasks.transfer import cross_validated
from sbert_studio.evaluation.tasks.triplets import evaluate_triplets


@pytest.fixture
def vectors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    left = rng.normal(size=(40, 8)).astype(np.float32)
    return left, (left + rng.normal(scale=0.8, size=(40, 8))).astype(np.float32)


def answers(report: object) -> Answers:
    found = report.answers  # type: ignore[attr-defined]
    assert isinstance(found, Answers) and (found.credit >= 0).all() and (found.credit <= 1).all()
    return found


def test_a_pair_whose_rank_is_that_of_people_has_full_credit_and_the_opposite_end_none() -> None:
    found = of_scores(np.array([0.1, 0.5, 0.9]), np.array([5.0, 3.0, 1.0]))
    assert found.credit.tolist() == [0, 1, 0] and found.in_words(2) == "0.90, above 100% of pairs"
    ranks = stats.rankdata([0.2, 0.2, -0.4, 0.8]), stats.rankdata([1, 2, 3, 3])
    plain = [1 - abs(one - two) / 3 for one, two in zip(*ranks, strict=True)]
    found = of_scores(np.array([0.2, 0.2, -0.4, 0.8]), np.array([1, 2, 3, 3]))
    assert found.credit.tolist() == pytest.approx(plain) and found.in_words(2) == "−0.40, above 0% of pairs"
    # Not who is nearer by figures of different scales: 0.45 here lies as high among its own as 0.31 does with people.
    people = np.array([0.1, 0.31, 0.9, 1.0])
    first, second = of_scores(np.array([0.2, 0.3, 0.26, 0.9]), people), of_scores(np.array([0.3, 0.45, 0.8, 0.9]), people)
    assert (np.abs(second.places - second.people) == 1 - second.credit).all()  # type: ignore[operator]
    assert first.in_words(2) == "0.26, above 33% of pairs" and second.in_words(1) == "0.45, above 33% of pairs"


def test_the_credit_of_yes_and_no_is_the_share_of_the_others_on_the_right_side() -> None:
    scores, labels = np.array([0.9, 0.4, 0.4, 0.1, 0.7]), np.array([1, 1, 0, 0, 0])
    plain = []
    for row, label in enumerate(labels):
        others = [other for other in range(5) if labels[other] != label]
        sign = 1 if label else -1
        plain.append(np.mean([(sign * scores[row] > sign * scores[o]) + 0.5 * (scores[row] == scores[o]) for o in others]))
    assert of_labels(scores, labels).credit.tolist() == pytest.approx(plain)


def test_answers_agree_with_the_scores_of_their_reports(vectors: tuple[np.ndarray, np.ndarray]) -> None:
    left, right = vectors
    gold = np.random.default_rng(0).random(40)
    labels, texts = [f"c{row % 4}" for row in range(40)], [f"text {row}" for row in range(40)]
    assert answers(evaluate_sts(left, right, gold)).said == pytest.approx(
        np.einsum("nd,nd->n", left, right) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1), abs=1e-5
    )
    categories = evaluate_categories(left, labels, texts)
    assert answers(categories).credit.mean() == pytest.approx(categories.scores["nearest_neighbour_accuracy"])
    place = int(np.argmax(answers(categories).credit))
    assert answers(categories).in_words(place) == labels[place]
    transfer = cross_validated(left, labels)
    assert answers(transfer).credit.mean() == pytest.approx(transfer.scores["accuracy"])
    triplets = evaluate_triplets(left, right, [right[::-1].copy(), left[::-1].copy()])
    assert answers(triplets).credit.mean() == pytest.approx(triplets.scores["accuracy"])
    retrieval = evaluate_retrieval(left, right, texts, [f"other {row}" for row in range(40)])
    ranks = answers(retrieval)
    assert np.where(ranks.said <= 10, ranks.credit, 0).mean() == pytest.approx(retrieval.scores["mrr_at_10"])
    assert answers(evaluate_scores(gold, gold)).credit.tolist() == [1] * 40
    yes = (gold > 0.5).astype(int)
    report = evaluate_pairs(left, right, yes)
    perfect = judge(gold, yes)["average_precision"]
    assert perfect == pytest.approx(1) and of_labels(gold, yes).credit.min() == 1 and answers(report).credit.min() < 1


def test_the_rows_that_differ_most_come_first_and_both_models_have_their_share() -> None:
    first = of_classes(np.array(["a", "a", "b", "b", "a", "a"]), np.array(["a", "a", "b", "b", "b", "b"]))
    second = of_classes(np.array(["b", "a", "b", "a", "b", "a"]), np.array(["a", "a", "b", "b", "b", "b"]))
    counts = right_or_wrong(first, second)
    assert counts is not None and (counts.both, counts.only_first, counts.only_second, counts.neither) == (2, 2, 1, 1)
    assert counts.total == 6
    found = differing(first, second)
    assert [(one.row, one.said, one.nearer) for one in found] == [(0, ("a", "b"), 0), (3, ("b", "a"), 0), (4, ("a", "b"), 1)]
    assert len(differing(first, second, 2)) == 2 and {one.nearer for one in differing(first, second, 2)} == {0, 1}


def test_where_only_one_model_is_nearer_it_has_all_the_room() -> None:
    gold = np.arange(30.0)
    good, bad = of_scores(gold, gold), of_scores(gold[::-1].copy(), gold)
    found = differing(good, bad, 10)
    assert len(found) == 10 and {one.nearer for one in found} == {0}
    assert [one.by for one in found] == sorted((one.by for one in found), reverse=True) and right_or_wrong(good, bad) is None
    assert differing(good, good) == []


def test_other_questions_cannot_be_compared() -> None:
    few, more = of_margins(np.array([0.1, -0.2])), of_margins(np.array([0.1, -0.2, 0.3]))
    assert not comparable(few, more) and not comparable(few, None) and comparable(more, more)
    assert (few.in_words(0), few.in_words(1)) == ("right by 0.10", "wrong by 0.20")
    ranks = of_ranks(np.array([1, 12]), [0, 5])
    assert (ranks.row(1), ranks.in_words(1)) == (5, "rank 12")
    assert of_places(np.array([-1, 0]), np.array([0, 0]), ("x",)).in_words(0) == "nothing"
