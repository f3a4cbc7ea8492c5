from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from sbert_studio.evaluation.bootstrap import (
    CHANCE,
    ScoredModel,
    bootstrap_mean,
    difference_interval,
    include_zero,
    mean_interval,
    paired_gain,
    percentile_interval,
    randomization_p,
    resample_clusters,
    resample_count,
    resample_weights,
    selected_model_gain,
    share_interval,
)
from sbert_studio.evaluation.tasks.categories import bootstrap_v_measure
from sbert_studio.evaluation.tasks.pairs import bootstrap_average_precision, bootstrap_decisions, evaluate_pairs, evaluate_triplets
from sbert_studio.evaluation.tasks.retrieval import evaluate_retrieval
from sbert_studio.evaluation.tasks.sts import bootstrap_pearson, bootstrap_spearman, evaluate_sts


def drawn_rows(rows: int) -> list[np.ndarray]:
    """The rows of each resample, written out."""
    return [np.repeat(np.arange(rows), times.astype(int)) for block in resample_weights(rows) for times in block]


def test_resamples_are_drawn_with_replacement_and_a_mean_is_that_of_the_drawn_rows() -> None:
    blocks = np.concatenate(list(resample_weights(30)))
    assert blocks.shape == (1000, 30)
    assert (blocks.sum(axis=1) == 30).all()
    assert blocks.max() > 3 and blocks.min() == 0
    assert np.array_equal(blocks, np.concatenate(list(resample_weights(30))))
    assert (resample_count(20_000), resample_count(40_000), resample_count(10**7)) == (1000, 500, 200)
    values = np.random.default_rng(5).normal(size=17)
    assert bootstrap_mean(values) == pytest.approx([values[rows].mean() for rows in drawn_rows(17)])


def test_average_precision_of_each_resample_equals_sklearn_on_the_drawn_rows_with_ties() -> None:
    rng = np.random.default_rng(4)
    scores, labels = rng.integers(0, 5, 24) / 5, rng.integers(0, 2, 24)
    found = bootstrap_average_precision(scores, labels)
    for rows, score in list(zip(drawn_rows(24), found, strict=True))[:200]:
        assert score == pytest.approx(average_precision_score(labels[rows], scores[rows]))


def test_a_resample_with_one_label_or_one_gold_score_alone_has_no_score_and_takes_no_part() -> None:
    labels, gold = np.array([1, 0, 0, 0, 0]), np.array([0.1, 0.3, 0.3, 0.3, 0.3])
    scores = np.array([0.9, 0.2, 0.4, 0.1, 0.3])
    undefined = np.array([len(set(labels[rows])) < 2 for rows in drawn_rows(5)])
    assert undefined.any() and not undefined.all()
    for found in (
        bootstrap_average_precision(scores, labels),
        bootstrap_average_precision(scores, 1 - labels),
        bootstrap_decisions(scores, labels)[:, 0],
        bootstrap_decisions(scores, labels)[:, 1],
        bootstrap_spearman(scores, gold),
        bootstrap_pearson(scores, gold),
        bootstrap_v_measure(labels, np.array([0, 1, 1, 0, 0])),
    ):
        assert np.array_equal(np.isnan(found), undefined)
    assert percentile_interval(np.array([np.nan, 0.5, np.nan, 0.7])) == pytest.approx(list(np.quantile([0.5, 0.7], (0.025, 0.975))))
    assert percentile_interval(np.full(5, np.nan)) == []


def test_a_model_that_gives_every_pair_the_same_score_has_one_where_the_gold_scores_differ() -> None:
    gold = np.random.default_rng(2).random(30)
    assert np.array_equal(bootstrap_spearman(np.full(30, 0.3), gold), np.zeros(1000)), "it is the model that says nothing, and that is a 0"
    assert np.array_equal(bootstrap_pearson(np.full(30, 0.3), gold), np.zeros(1000))
    assert paired_gain(bootstrap_spearman(gold, gold), bootstrap_spearman(np.full(30, 0.3), gold))["gain_interval"] == [-1, -1]


@pytest.mark.slow
def test_one_or_two_positives_make_no_gain_sure_and_three_as_rarely_as_is_said() -> None:
    """Models that are as good as each other."""
    rng, wrong, runs = np.random.default_rng(11), {1: 0, 2: 0, 3: 0}, {1: 30, 2: 30, 3: 150}
    for positives in wrong:
        labels = (np.arange(60) < positives).astype(int)
        for _ in range(runs[positives]):
            base = rng.normal(size=60) + labels
            one, other = (bootstrap_average_precision(base + 0.7 * rng.normal(size=60), labels) for _ in range(2))
            low, high = paired_gain(one, other).get("gain_interval", (-1, 1))
            wrong[positives] += low > 0 or high < 0
    assert wrong[1] == wrong[2] == 0
    assert wrong[3] / runs[3] <= 0.1


@pytest.mark.parametrize("task", ["sts", "pairs", "triplets", "retrieval"])
def test_every_task_has_an_interval_around_its_main_score(task: str) -> None:
    rng = np.random.default_rng(6)
    left = rng.normal(size=(80, 8)).astype(np.float32)
    noise = rng.uniform(0, 4, 80)
    right = left + noise[:, None].astype(np.float32) * rng.normal(size=(80, 8)).astype(np.float32)
    texts = [str(row) for row in range(80)]
    report = {
        "sts": lambda: evaluate_sts(left, right, -noise),
        "pairs": lambda: evaluate_pairs(left, right, noise < rng.uniform(1, 3, 80)),
        "triplets": lambda: evaluate_triplets(left, right, [rng.normal(size=(80, 8)).astype(np.float32)]),
        "retrieval": lambda: evaluate_retrieval(left, right, texts, texts),
    }[task]()
    from sbert_studio.evaluation.tasks import main_score

    low, high = report.to_json()["interval"]
    assert low < main_score(report)[1] < high
    assert high - low < 0.4
    assert report.resampled is not None and "resampled" not in report.to_json()


@pytest.mark.slow
def test_a_gain_is_measured_on_the_same_resamples_of_both() -> None:
    rng = np.random.default_rng(7)
    gold = rng.normal(size=150)
    before = gold + rng.normal(size=150)
    after = before + 0.3 * (gold - before)  # the same errors, all a little smaller
    found = paired_gain(bootstrap_spearman(before, gold), bootstrap_spearman(after, gold))["gain_interval"]
    rows = drawn_rows(150)
    plain = [stats.spearmanr(after[r], gold[r]).statistic - stats.spearmanr(before[r], gold[r]).statistic for r in rows]
    assert found == pytest.approx(np.quantile(plain, (0.025, 0.975)))
    apart = [percentile_interval(bootstrap_spearman(values, gold)) for values in (before, after)]
    assert found[0] > 0 and apart[1][0] < apart[0][1], "the gain is sure although the two intervals overlap"


def test_a_model_that_is_no_better_gains_an_interval_around_nothing() -> None:
    rng = np.random.default_rng(8)
    gold = rng.normal(size=100)
    one, other = (bootstrap_spearman(gold + rng.normal(size=100), gold) for _ in range(2))
    low, high = paired_gain(one, other)["gain_interval"]
    assert low < 0 < high
    assert paired_gain(one, one)["gain_interval"] == [0, 0]
    assert paired_gain(None, one) == paired_gain(one, None) == paired_gain(one, one[:5]) == {}


@pytest.mark.parametrize("clusters", [1, 2, 4])
def test_copies_of_a_few_rows_tell_nothing(clusters: int) -> None:
    """With a single text every resample is the same, so that any difference would be sure."""
    rng = np.random.default_rng(10)
    texts = [f"text {row}" for row in range(clusters) for _ in range(20)]
    with resample_clusters(texts):
        one, other = (bootstrap_mean(np.repeat(rng.random(clusters), 20)) for _ in range(2))
    assert paired_gain(one, other) == {}
    assert percentile_interval(one) == []


def test_a_report_draws_rows_that_share_a_text_together(encoder: Any) -> None:
    from sbert_studio.data.examples import Examples
    from sbert_studio.evaluation.evaluate import evaluate_examples

    class Words(type(encoder)):  # type: ignore[misc]
        """Vectors that have nothing to do with the texts."""

        def encode(self, texts: list[str], *_: object, **__: object) -> np.ndarray:
            seeds = [int.from_bytes(text.encode()[-6:], "little") for text in texts]
            return np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds]).astype(np.float32)

    def width(copies: int) -> float:
        rows = [row for row in range(60) for _ in range(copies)]
        targets = np.array([np.random.default_rng(row).random() for row in rows], np.float32)
        sides = (tuple(f"a {row:04d}" for row in rows), tuple(f"b {row:04d}" for row in rows))
        examples = Examples("scored_pairs", sides, targets, np.arange(len(rows)))
        low, high = evaluate_examples(Words(), examples).to_json()["interval"]
        return float(high - low)

    assert width(5) == pytest.approx(width(1), rel=0.1)


def test_rows_of_one_text_are_drawn_together_and_chains_are_not_one_cluster() -> None:
    alone = np.concatenate(list(resample_weights(30)))
    with resample_clusters([f"text {row}" for row in range(30)]):
        assert np.array_equal(np.concatenate(list(resample_weights(30))), alone)
    with resample_clusters(["the one query"] * 30, [f"text {row // 2}" for row in range(30)]):
        pairs = np.concatenate(list(resample_weights(30)))
    assert (pairs[:, ::2] == pairs[:, 1::2]).all()
    assert pairs.std(axis=1).min() > 0, "all rows share the query, and yet they are resampled"
    queries = ["the one query"] * 12 + [f"query {row // 2}" for row in range(30)]
    with resample_clusters(queries, [f"answer {row}" for row in range(42)]):
        drawn = np.concatenate(list(resample_weights(42)))
    assert (drawn[:, 12::2] == drawn[:, 13::2]).all()
    assert (drawn[:, 0] != drawn[:, 1]).any()


def test_the_interval_of_a_share_holds_near_one_and_copies_make_it_no_surer() -> None:
    everything = np.ones(50, bool)
    assert percentile_interval(bootstrap_mean(everything)) == [1.0, 1.0]
    low, high = share_interval(bootstrap_mean(everything), everything)
    assert low == pytest.approx(50 / (50 + 1.959964**2)) and high == pytest.approx(1)  # Wilson's, by hand
    random = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        right = random.random(50) < 0.97
        low, high = share_interval(bootstrap_mean(right), right)
        held += low <= 0.97 <= high
    assert 0.9 <= held / 200 <= 0.99
    right = np.random.default_rng(2).random(60) < 0.9
    alone = share_interval(bootstrap_mean(right), right)
    with resample_clusters([str(row // 4) for row in range(240)]):
        assert share_interval(bootstrap_mean(np.repeat(right, 4)), np.repeat(right, 4)) == pytest.approx(alone)
    few = right[:3]
    assert share_interval(bootstrap_mean(few), few) == []


def scored(values: np.ndarray) -> ScoredModel:
    return ScoredModel(float(values.mean()), bootstrap_mean(values))


@pytest.mark.parametrize(("count", "share"), [(10, 0.9), (30, 0.97), (100, 0.99), (100, 0.8)])
def test_the_interval_of_a_mean_holds_near_one(count: int, share: float) -> None:
    rng, rows = np.random.default_rng(3), np.arange(count)
    samples = (rng.random((200, count)) < share).astype(np.float64)
    intervals = [mean_interval(bootstrap_mean(values), values, rows) for values in samples]
    assert np.mean([low <= share <= high for low, high in intervals]) >= 0.93
    perfect = np.ones(count)
    low, high = mean_interval(bootstrap_mean(perfect), perfect, rows)
    assert low < 1 and high == 1 and mean_interval(np.empty(0), perfect, rows) == []
    assert mean_interval(bootstrap_mean(perfect), perfect, rows // 2)[0] < low


def test_few_differences_are_not_beyond_chance() -> None:
    rows, few = np.arange(100), np.zeros(100)
    few[:5] = 1
    assert percentile_interval(bootstrap_mean(few))[0] > 0 and randomization_p(few, rows) == 2 / 2**5 > CHANCE
    few[:6] = 1
    assert randomization_p(few, rows) == 2 / 2**6 and randomization_p(few, rows // 2) == 2 / 2**3
    assert randomization_p(np.zeros(100), rows) == 1
    rng = np.random.default_rng(4)
    differ = rng.choice([-1.0, 1.0], (300, 100)) * (rng.random((300, 100)) < 0.3)
    assert np.mean([randomization_p(one, rows) <= CHANCE for one in differ]) <= 0.08
    assert randomization_p(differ[0] + 0.5, rows) == 1 / 4001  # never 0
    assert include_zero([0.1, 0.2]) == [0.0, 0.2] and include_zero([]) == []


def test_where_few_queries_differ_the_interval_is_no_point() -> None:
    rng, rows = np.random.default_rng(6), np.arange(15)
    covered = []
    for gains in (rng.random((200, 15)) < 0.1) * 0.6:
        low, high = difference_interval(gains[rng.integers(0, 15, (500, 15))].mean(axis=1), gains, rows)
        covered.append(low <= 0.06 <= high)
        assert high - low > 0.1
    assert np.mean(covered) >= 0.95
    sure = np.full(8, 0.3)
    low, high = difference_interval(np.full(500, 0.3), sure, np.arange(8))
    assert low == 0.3 and high > 0.3, "beyond chance, the bound towards zero stays"
    assert difference_interval(np.empty(0), sure, np.arange(8)) == []


def test_of_one_candidate_the_interval_is_the_paired_bootstraps_and_others_lower_it() -> None:
    rng = np.random.default_rng(1)
    untuned, tuned = rng.normal(0, 1, 80), rng.normal(0.3, 1, 80)
    plain = paired_gain(bootstrap_mean(untuned), bootstrap_mean(tuned))
    assert selected_model_gain(bootstrap_mean(untuned), scored(tuned), []) == plain
    clearly_worse = [scored(tuned - 1 + rng.normal(0, 0.1, 80)), scored(tuned - 3)]
    assert selected_model_gain(bootstrap_mean(untuned), scored(tuned), clearly_worse) == plain, "they were not in the running"
    assert selected_model_gain(bootstrap_mean(untuned), scored(tuned), [scored(tuned)]) == plain, "a copy adds no choice"
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
