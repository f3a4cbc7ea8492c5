"""Learning curves that are extrapolated, and labels that out-of-fold predictions contradict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tiny_studio import WordSums

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.label_errors import find_doubts, fit_ridge, fold_places, judge
from sbert_studio.evaluation.learning_curve import additional_rows, describe_curve, extrapolate, nested_parts
from tests.training.tiny import labelled_pairs, labelled_texts, positive_pairs, scored_pairs

ROWS = (100, 200, 400)


def drawn(scores: list[float], noise: float, seed: int = 0) -> list[np.ndarray]:
    """Bootstrap scores with a common error of the held-out rows, and an own one of each model."""
    random = np.random.default_rng(seed)
    shared = random.normal(0, min(0.02, 10 * noise), 500)
    return [score + shared + random.normal(0, noise, 500) for score in scores]


@pytest.mark.parametrize(("exponent", "size"), [(0.3, 0.8), (0.5, 1.5), (1.0, 12.0)])
def test_a_power_law_is_continued(exponent: float, size: float) -> None:
    def law(rows: float) -> float:
        return 0.9 - size * rows**-exponent

    scores = [law(rows) for rows in ROWS]
    curve = extrapolate(ROWS, scores, drawn(scores, 1e-4), total=500, more=500)
    assert curve is not None
    true = law(1000) - law(500)
    assert curve.gain == pytest.approx(true, rel=0.15) and curve.interval[0] <= true <= curve.interval[1]
    wide = extrapolate(ROWS, scores, drawn(scores, 0.02), total=500, more=500)
    assert wide is not None and np.diff(wide.interval) > np.diff(curve.interval)
    assert f"+{curve.gain:.3f}, between" in describe_curve({"learning_curve": curve.to_json()})


def test_a_flat_curve_promises_nothing_and_a_perfect_score_cannot_grow() -> None:
    flat = extrapolate(ROWS, [0.8, 0.8, 0.8], drawn([0.8] * 3, 0.004), total=500)
    assert flat is not None and flat.more == 200 and flat.interval[0] == 0 and flat.gain < flat.interval[1] < 0.01
    found = {"learning_curve": flat.to_json()}
    assert describe_curve(found) == f"200 more rows like these: about +{flat.gain:.3f}, at most +{flat.interval[1]:.3f}"
    perfect = extrapolate(ROWS, [0.9, 0.97, 0.999], drawn([0.9, 0.97, 0.999], 0.001), total=500, more=5000)
    assert perfect is not None and perfect.interval[1] <= 0.001 + 1e-9
    assert extrapolate(ROWS, [0.8, float("nan"), 0.8], drawn([0.8] * 3, 0.1), total=500) is None
    assert describe_curve({}) == ""
    assert "about" not in describe_curve({**found, "strength": 0}) and "at most" in describe_curve({**found, "strength": 0})
    assert [additional_rows(rows) for rows in (20, 90, 400, 1000, 2400)] == [10, 50, 200, 500, 1000]


def test_chance_is_seldom_taken_for_a_gain() -> None:
    random = np.random.default_rng(5)
    flat = [[0.8 + error for error in random.normal(0, 0.006, 3)] for _ in range(150)]
    curves = [extrapolate(ROWS, scores, drawn(scores, 0.006, seed), total=500) for seed, scores in enumerate(flat)]
    assert np.mean([curve is not None and curve.interval[0] > 0 for curve in curves]) <= 0.04


def test_parts_are_random_and_nested() -> None:
    quarter, half = nested_parts(scored_pairs(64))
    assert (len(quarter), len(half)) == (16, 32) and set(quarter.lines) < set(half.lines) < set(range(2, 66))
    assert set(nested_parts(scored_pairs(64), seed=5)[0].lines) != set(quarter.lines)


def test_ridge_regression_generalizes_and_ignores_noise() -> None:
    random = np.random.default_rng(0)
    features, weights = random.normal(size=(300, 20)), random.normal(size=(20, 1))
    predict = fit_ridge(features[:200], features[:200] @ weights + 3)
    assert np.allclose(predict(features[200:]), features[200:] @ weights + 3, atol=0.3)
    noise = fit_ridge(features[:200], random.normal(size=(200, 1)))
    same = fit_ridge(np.ones((20, 3)), np.arange(20.0)[:, None])
    assert same(np.ones((1, 3))).item() == pytest.approx(9.5)
    assert np.abs(noise(features[200:])).max() < 0.5


def flip(examples: Examples, count: int) -> tuple[Examples, np.ndarray]:
    assert examples.targets is not None
    places, targets = np.random.default_rng(5).permutation(len(examples))[:count], examples.targets.copy()
    if examples.kind == "scored_pairs":
        targets[places] = np.where(targets[places] > 0.5, 0, 1)
    else:
        targets[places] = (targets[places] + 2) % len(examples.labels)
    return replace(examples, targets=targets), places


@pytest.mark.parametrize("make", [scored_pairs, labelled_texts])
def test_wrong_labels_are_listed_first(make: object) -> None:
    examples, places = flip(make(300), 15)  # type: ignore[operator]
    doubts = find_doubts(WordSums(), examples)
    assert np.isin(doubts.order[:15], places).mean() >= 0.6
    assert 5 <= doubts.suspicious <= 60
    clean = make(300).targets  # type: ignore[operator]
    found = doubts.order[: doubts.suspicious][np.isin(doubts.order[: doubts.suspicious], places)]
    error, before = np.abs(doubts.predicted - clean)[found], np.abs(examples.targets - clean)[found]  # type: ignore[operator]
    assert error.mean() < before.mean() / 2, "the prediction is nearer to the right label"


def test_a_score_does_not_move_its_own_prediction() -> None:
    examples, rng = scored_pairs(40), np.random.default_rng(2)
    targets, predicted = rng.random(40), rng.random((40, 1))
    whole = judge(replace(examples, targets=targets), predicted).predicted
    for row in range(40):
        changed = targets.copy()
        changed[row] = 1 - changed[row]
        assert judge(replace(examples, targets=changed), predicted).predicted[row] == whole[row]


def test_a_class_of_a_single_row_raises_no_doubt() -> None:
    examples = labelled_texts(200)
    assert examples.targets is not None
    texts, targets = list(examples.texts[0]), examples.targets.copy()
    texts[3], targets[3] = "zebra quagga okapi", len(examples.labels)
    doubts = find_doubts(WordSums(), replace(examples, texts=(tuple(texts),), targets=targets, labels=(*examples.labels, "rare")))
    assert doubts.values[3] < 0 and doubts.predicted[3] == len(examples.labels) and np.isfinite(doubts.values).all()


def test_ordered_labels_are_checked_and_others_refused() -> None:
    doubts = find_doubts(WordSums(), labelled_pairs(120))
    assert len(doubts.values) == 120 and set(doubts.predicted) <= {0, 1, 2}
    with pytest.raises(StudioError, match="no scores or labels"):
        find_doubts(WordSums(), positive_pairs(64))
    with pytest.raises(StudioError, match="there are 10 rows"):
        find_doubts(WordSums(), scored_pairs(10))
    few = labelled_texts(60)
    with pytest.raises(StudioError, match="3 sets without shared texts"):
        find_doubts(WordSums(), replace(few, texts=(few.texts[0][:3] * 20,)))


def test_every_row_is_held_out_once_and_labels_as_predicted_raise_no_doubt() -> None:
    examples = scored_pairs(64)
    held = np.concatenate([part for _, part in fold_places(examples)])
    assert sorted(held) == list(range(64))
    assert examples.targets is not None
    agreed = judge(examples, examples.targets[:, None])
    assert agreed.suspicious == 0 and not agreed.values.any()


def test_predictions_drawn_to_the_middle_are_corrected_before_scores_are_doubted() -> None:
    examples, places = flip(scored_pairs(300), 15)
    right, random = scored_pairs(300).targets, np.random.default_rng(2)
    assert right is not None
    doubts = judge(examples, (0.3 + 0.4 * right + random.normal(0, 0.03, 300))[:, None])
    assert set(doubts.order[:15]) == set(places) and np.abs(doubts.predicted - right).max() < 0.3


def test_classes_that_cannot_be_predicted_are_not_doubted() -> None:
    random = np.random.default_rng(5)
    texts = labelled_texts(400)
    count = len(texts.labels)
    assert judge(replace(texts, targets=random.integers(0, count, 400)), random.random((400, count))).suspicious == 0
    found = []
    for _trial in range(40):  # of a rare class, wrong labels are found all the same
        right = (random.random(200) < 0.03).astype(np.int64)
        wrong = random.random(200) < 0.03
        predicted = np.eye(2)[right] * 0.8 + 0.1 + random.normal(0, 0.02, (200, 2))
        labels = np.where(wrong, 1 - right, right)
        found.append(judge(replace(labelled_texts(200), targets=labels, labels=("a", "b")), predicted).suspicious > 0 or not wrong.any())
    assert np.mean(found) > 0.7


def test_scores_that_cannot_be_predicted_are_not_all_doubted() -> None:
    random = np.random.default_rng(5)
    right = (random.random(1000) < 0.43).astype(np.float32)
    examples = replace(scored_pairs(1000), targets=right)
    assert judge(examples, random.uniform(0.38, 0.48, (1000, 1))).suspicious == 0
