"""The gain that is claimed of a model chosen among several is none where there is nothing to gain."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sbert_studio.training.crossval import FoldScores, nested_evaluation, pool_folds

ROWS, FOLDS, MARKS, RESAMPLES = 75, 4, 7, 100


def simulated(generator: np.random.Generator, gain: float = 0.0) -> tuple[float, float]:
    """(what is claimed, what choosing on the judged rows would have claimed), 0 where the untuned model did best."""
    tried: list[list[FoldScores]] = [[] for _ in range(MARKS + 1)]
    for _ in range(FOLDS):
        # Each row says how much better than the untuned model a mark does on it; marks are alike, as blends of one training are.
        shared = generator.normal(0, 0.3, ROWS)
        rows = [np.zeros(ROWS)] + [gain + 0.7 * shared + generator.normal(0, 0.2, ROWS) for _ in range(MARKS)]
        drawn = generator.integers(0, ROWS, (RESAMPLES, ROWS))
        for mark, values in enumerate(rows):
            score = 0.8 + float(values.mean())
            tried[mark].append(FoldScores({"metric": "m", "score": score, "rows": ROWS}, 0.8 + values[drawn].mean(axis=1)))
    means = [float(np.mean([one.scores["score"] for one in folds])) - 0.8 for folds in tried]
    if max(means) <= 0:
        return 0.0, 0.0
    found = nested_evaluation(tried, [one.resampled for one in tried[0]])
    return found["score"] - 0.8, max(means)


@pytest.mark.slow
def test_under_a_true_zero_the_mean_claim_is_zero() -> None:
    generator = np.random.default_rng(5)
    claims = np.array([simulated(generator) for _ in range(600)])
    honest, naive = claims.mean(axis=0)
    error = claims.std(axis=0) / np.sqrt(len(claims))
    assert naive > 6 * error[1], "choosing on the judged rows claims a gain"
    assert abs(honest) < 2.5 * error[0]
    assert abs(honest) < 0.25 * naive


def test_a_true_gain_is_claimed_whole() -> None:
    generator = np.random.default_rng(6)
    claims = np.array([simulated(generator, 0.1)[0] for _ in range(100)])
    assert claims.mean() == pytest.approx(0.1, abs=0.006)


def test_without_resamples_the_score_of_the_others_choice_is_told() -> None:
    folds = [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]
    tried = [[FoldScores({"metric": "m", "score": score, "rows": 10}, None) for score in one] for one in folds]
    found = nested_evaluation(tried)
    assert found["score"] == found["nested"] == pytest.approx((0.2 + 0.1) / 2)
    assert found["tried"] == 3


def test_what_an_owner_has_set_to_zero_is_not_called_a_training_without_gain() -> None:
    from sbert_studio.evaluation.report import describe_gain, describe_kept_model, describe_run
    from sbert_studio.training.blend import scores_at_strength

    before = {"metric": "cosine_spearman", "task": "sts", "rows": 60, "score": 0.6}
    marks = [{"strength": 0.0, "score": 0.6, "gain_interval": [0.0, 0.0]}, {"strength": 1.0, "score": 0.8, "gain_interval": [0.1, 0.3]}]
    ended = {**before, "score": 0.8, "gain_interval": [0.1, 0.3], "strength": 1.0, "strengths": marks}
    single = scores_at_strength(before, ended, 0.0)
    several = scores_at_strength(before, {**before, "score": 0.78, "sd": 0.02, "each": [0.76, 0.8], "kept": ended}, 0.0)
    for after in (single, several):
        said = " ".join([*describe_run(before, after), describe_gain(before, after)])
        assert ("as selected" in said or "set manually" in said) and "no gain" not in said and "neither" not in said
    unjudged = scores_at_strength({}, {}, 0.0)
    assert describe_kept_model(unjudged) == "strength 0 (set manually): not evaluated"
    assert describe_run(before, scores_at_strength(before, single, 1.0))[0].startswith("better")


def test_a_strength_that_was_chosen_by_looking_at_the_rows_is_never_called_better_by_them() -> None:
    from sbert_studio.evaluation.report import describe_gain, describe_run, verdict
    from sbert_studio.training.blend import scores_at_strength

    before = {"metric": "cosine_spearman", "task": "sts", "rows": 400, "score": 0.824}
    marks = [
        {"strength": 0.0, "score": 0.824, "gain_interval": [0.0, 0.0]},
        {"strength": 0.25, "score": 0.8333, "gain_interval": [0.0026, 0.0179]},
        {"strength": 0.5, "score": 0.8345, "gain_interval": [-0.0001, 0.0196]},
    ]
    ended = {**before, "score": 0.8315, "gain_interval": [-0.0001, 0.0196], "strength": 0.5, "strengths": marks, "tried": 5}
    by_hand = scores_at_strength(before, ended, 0.25)
    of_an_earlier_version = by_hand | {"gain_interval": [0.0026, 0.0179]}
    for after in (by_hand, of_an_earlier_version):
        said = describe_run(before, after)
        assert verdict(after) == ""
        assert said[0].startswith("strength 0.25 was selected manually") and "these rows" in said[0]
        assert said[1].startswith("strength 0.5, selected automatically") and "no difference beyond chance: 0.824" in said[1]
        card = describe_gain(before, after)
        assert "selected manually" in card and "no difference beyond chance" in card
        assert "better" not in " ".join([*said, card])
    assert verdict(scores_at_strength(before, by_hand, 0.5)) == "no difference beyond chance"


def test_a_model_that_gains_only_on_the_rows_that_chose_it_is_told_of_as_such() -> None:
    from sbert_studio.evaluation.report import describe_kept_model

    marks = [{"strength": 0.0, "score": 0.6}, {"strength": 0.5, "score": 0.63}, {"strength": 1.0, "score": 0.58}]
    after = {"metric": "cosine_spearman", "score": 0.6, "strength": 0.0, "strengths": marks, "nested": 0.59, "tried": 5}
    said = describe_kept_model(after)
    assert said.startswith("the base model is kept") and "0.630" in said and "as selected" not in said and "set manually" not in said


def folds_of(scores: list[float | None], drawn: list[np.ndarray | None]) -> list[FoldScores]:
    return [
        FoldScores({"metric": "m", "task": "pairs", "rows": 10 * (place + 1), "score": score, "cosine": {"f1": score}}, one)
        for place, (score, one) in enumerate(zip(scores, drawn, strict=True))
    ]


def test_a_fold_without_a_score_takes_no_part() -> None:
    rng = np.random.default_rng(1)
    drawn: list[np.ndarray | None] = [rng.normal(0.5, 0.05, 1000), np.full(1000, np.nan), rng.normal(0.9, 0.05, 1000)]
    for none in (None, float("nan")):
        found = pool_folds(folds_of([0.5, none, 0.9], drawn), [None if one is None else one - 0.1 for one in drawn])
        assert found["score"] == found["cosine"]["f1"] == pytest.approx((10 * 0.5 + 30 * 0.9) / 40)
        assert found["rows"] == 40 and found["by_fold"] == [0.5, None, 0.9]
        assert found["gain_interval"] == pytest.approx([0.1, 0.1])
        tried = [folds_of([0.5, none, 0.9], drawn), folds_of([0.6, none, 0.8], drawn)]
        honest = nested_evaluation(tried, drawn)
        assert honest["nested"] == pytest.approx((10 * 0.5 + 30 * 0.8) / 40), "each is chosen by the other"
        json.dumps([found, honest], allow_nan=False)


def test_undefined_resamples_take_no_part_or_make_no_gain_sure() -> None:
    """The same folds, but for one resample in ten that has no score."""
    rng = np.random.default_rng(2)
    whole: list[np.ndarray | None] = [rng.normal(mean, 0.05, 1000) for mean in (0.5, 0.8)]
    holed = [np.where(rng.random(1000) < 0.1, np.nan, one) for one in whole]
    found, wanted = (pool_folds(folds_of([0.5, 0.8], list(drawn)), [one - 0.1 for one in drawn]) for drawn in (holed, whole))
    assert found["interval"] == pytest.approx(wanted["interval"], abs=0.01)
    assert found["gain_interval"] == pytest.approx([0.1, 0.1])
    better = folds_of([0.6, 0.9], [one + 0.1 + rng.normal(0, 0.02, 1000) for one in holed])
    honest = nested_evaluation([folds_of([0.5, 0.8], list(holed)), better], holed)
    assert honest["score"] == pytest.approx(pool_folds(better)["score"], abs=0.01) and honest["gain_interval"][0] > 0
    noise = folds_of([0.5, 0.81], [one + rng.normal(0, 0.1, 1000) for one in holed])
    chance = nested_evaluation([folds_of([0.5, 0.8], list(holed)), noise], holed)
    assert np.isfinite(chance["score"]) and chance["score"] < chance["nested"] + 1e-9
    drawn = [np.where(np.arange(1000) % 3 == 0, np.nan, 0.5) for _ in range(3)]
    found = pool_folds(folds_of([0.9] * 3, [one + 0.4 for one in drawn]), drawn)
    assert "gain_interval" not in found and found["interval"] == pytest.approx([0.9, 0.9])


def test_of_candidates_that_gain_nothing_few_folds_find_one_that_is_better() -> None:
    """300 runs in folds with seven independent candidates: at most four in a hundred intervals lie above the true gain of zero."""
    generator = np.random.default_rng(7)
    chosen_before = told = 0
    for _ in range(300):
        tried: list[list[FoldScores]] = [[] for _ in range(MARKS + 1)]
        for _ in range(FOLDS):
            drawn = generator.integers(0, ROWS, (RESAMPLES, ROWS))
            for mark in range(MARKS + 1):
                values = generator.normal(0, 0.3, ROWS) if mark else np.zeros(ROWS)
                tried[mark].append(
                    FoldScores({"metric": "m", "score": 0.8 + values.mean(), "rows": ROWS}, 0.8 + values[drawn].mean(axis=1))
                )
        untuned = [one.resampled for one in tried[0]]
        if (found := nested_evaluation(tried, untuned))["score"] <= 0.8:
            continue  # the base model is kept, and no gain is claimed
        picked = max(tried, key=lambda folds: sum(one.scores["score"] for one in folds))
        chosen_before += pool_folds(picked, untuned)["gain_interval"][0] > 0
        told += found["gain_interval"][0] > 0
    assert chosen_before > 30
    assert told <= 12
