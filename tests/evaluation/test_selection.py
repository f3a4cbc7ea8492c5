"""The interval of the gain of a model that was chosen by the very rows that judge it."""

from __future__ import annotations

import numpy as np
import pytest

from sbert_studio.evaluation.bootstrap import ScoredModel, bootstrap_mean, paired_gain, resample_weights, selected_model_gain


def scored(values: np.ndarray) -> ScoredModel:
    return ScoredModel(float(values.mean()), bootstrap_mean(values))


def test_of_one_candidate_the_interval_is_that_of_the_paired_bootstrap() -> None:
    rng = np.random.default_rng(1)
    untuned, tuned = rng.normal(0, 1, 80), rng.normal(0.3, 1, 80)
    plain = paired_gain(bootstrap_mean(untuned), bootstrap_mean(tuned))
    assert selected_model_gain(bootstrap_mean(untuned), scored(tuned), []) == plain
    clearly_worse = [scored(tuned - 1 + rng.normal(0, 0.1, 80)), scored(tuned - 3)]
    assert selected_model_gain(bootstrap_mean(untuned), scored(tuned), clearly_worse) == plain, "they were not in the running"
    assert selected_model_gain(bootstrap_mean(untuned), scored(tuned), [scored(tuned)]) == plain, "a copy adds no choice"


def test_candidates_that_may_as_well_be_the_best_lower_the_lower_end_alone() -> None:
    rng = np.random.default_rng(2)
    untuned, *tuned = (scored(values) for values in rng.normal(0, 1, (6, 80)))
    tuned.sort(key=lambda model: -model.score)
    plain = paired_gain(untuned.resampled, tuned[0].resampled)["gain_interval"]
    lows = []
    for many in range(5):
        low, high = selected_model_gain(untuned.resampled, tuned[0], tuned[1 : many + 1])["gain_interval"]
        assert high == plain[1]
        lows.append(low)
    assert lows == sorted(lows, reverse=True) and lows[0] == plain[0] > lows[-1]


def test_the_lower_end_is_that_of_the_least_fortunate_error() -> None:
    """By hand: two candidates that score the same, and each resample favours one of them."""
    untuned, luck = np.zeros(1000), np.linspace(-0.1, 0.1, 1000)
    one, other = ScoredModel(0.2, 0.2 + luck), ScoredModel(0.2, 0.2 - luck)
    low, high = selected_model_gain(untuned, one, [other])["gain_interval"]
    assert low == pytest.approx(0.2 - np.quantile(abs(luck), 0.975))
    assert high == pytest.approx(0.2 + np.quantile(luck, 0.975))


@pytest.mark.parametrize(("deviations", "counts"), [(0.0, True), (2.9, True), (3.1, False), (20.0, False)])
def test_a_candidate_counts_up_to_three_standard_deviations_below_the_chosen_one(deviations: float, counts: bool) -> None:
    rng = np.random.default_rng(6)
    untuned, chosen = np.zeros(1000), ScoredModel(0.5, 0.5 + rng.normal(0, 0.02, 1000))
    difference = rng.normal(0, 0.05, 1000)
    short = deviations * float(difference.std())
    other = ScoredModel(0.5 - short, chosen.resampled - short + difference)
    plain = paired_gain(untuned, chosen.resampled)["gain_interval"]
    low, _ = selected_model_gain(untuned, chosen, [other])["gain_interval"]
    assert (low < plain[0] - 0.02) == counts
    assert (low == plain[0]) != counts


def test_what_is_not_defined_takes_no_part() -> None:
    rng = np.random.default_rng(3)
    untuned, tuned, other = (scored(values) for values in rng.normal(0, 1, (3, 80)))
    plain = paired_gain(untuned.resampled, tuned.resampled)
    nothing = [ScoredModel(float("nan"), other.resampled), ScoredModel(0.5, np.empty(0)), ScoredModel(tuned.score, np.full(1000, np.nan))]
    assert selected_model_gain(untuned.resampled, tuned, nothing) == plain
    assert selected_model_gain(None, tuned, [other]) == selected_model_gain(untuned.resampled, ScoredModel(0.5, np.empty(0)), [other]) == {}
    mostly = ScoredModel(tuned.score, np.where(np.arange(1000) % 5 == 0, np.nan, tuned.resampled))
    assert selected_model_gain(untuned.resampled, mostly, [other]) == {}


def test_of_ten_checkpoints_that_gain_nothing_the_best_is_seldom_called_better() -> None:
    """1,000 simulated trainings: at most four in a hundred intervals lie above the true gain of zero, where one in six did."""
    rng = np.random.default_rng(4)
    drawn = np.concatenate(list(resample_weights(60))) / 60
    plain = allowed = 0
    for _ in range(1000):
        values = rng.normal(0, 1, (11, 60))
        untuned, *tuned = (ScoredModel(float(one.mean()), found) for one, found in zip(values, values @ drawn.T, strict=True))
        tuned.sort(key=lambda model: -model.score)
        plain += paired_gain(untuned.resampled, tuned[0].resampled)["gain_interval"][0] > 0
        allowed += selected_model_gain(untuned.resampled, tuned[0], tuned[1:])["gain_interval"][0] > 0
    assert plain > 120
    assert allowed <= 40


def test_a_gain_of_the_best_that_is_no_luck_is_still_found() -> None:
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(50):
        noise = rng.normal(0, 1, (11, 60))
        untuned, *tuned = (scored(values) for values in noise + np.array([0, *np.linspace(0.2, 1.5, 10)])[:, None])
        tuned.sort(key=lambda model: -model.score)
        low, high = selected_model_gain(untuned.resampled, tuned[0], tuned[1:])["gain_interval"]
        found += 0 < low < high
    assert found == 50
