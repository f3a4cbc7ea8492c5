"""Files taken together: means over them, all their rows as one set, and the comparison of two models on both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_studio.data.loading.table import Table, table_from_columns
from sbert_studio.evaluation.comparison import (
    Comparison,
    EvaluationFile,
    ModelScores,
    SuiteAverage,
    average_bootstraps,
    compare_models,
    evaluate_model,
    group_files,
    paired_difference,
    weighted_mean,
)
from sbert_studio.evaluation.encoding import CachingEncoder, encode_columns, similarities
from sbert_studio.evaluation.evaluate import choose_task
from sbert_studio.models.base import PairScorer

from .conftest import WordEncoder

WORDS = list("abcdefghijklmnopqrs")


def pairs(rows: int, seed: int, most: float = 5.0) -> Table:
    """Pairs whose score is the share of words that both sides hold, with some noise."""
    random = np.random.default_rng(seed)
    left, right = ([" ".join(random.choice(WORDS, 4)) for _ in range(rows)] for _ in range(2))
    shared = [len(set(a.split()) & set(b.split())) / 4 for a, b in zip(left, right, strict=True)]
    scores = [f"{most * min(1, max(0, share + random.normal(0, 0.1))):.2f}" for share in shared]
    scores[:2] = ["0", f"{most:g}"]
    return table_from_columns(f"set-{seed}", {"sentence1": left, "sentence2": right, "score": scores})


def file_of(table: Table, suite: str = "", task: str = "auto") -> EvaluationFile:
    chosen, roles = choose_task(table, task, None)
    return EvaluationFile(table.name, chosen.read(table, roles), chosen, task == "auto", suite)  # type: ignore[arg-type]


class Random(WordEncoder):
    """Vectors that say nothing."""

    def _one(self, text: str) -> np.ndarray:
        return np.random.default_rng(len(text)).normal(size=self.dim) + 0.01 * super()._one(text)


class Overlap(PairScorer):
    """The share of words that both sides hold."""

    labels = 1
    class_names = ()
    fingerprint = "0" * 16

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def predict(self, pairs: Any, *, progress: Any = None, should_stop: Any = None) -> np.ndarray:
        self.seen += pairs
        return np.asarray([len(set(a.split()) & set(b.split())) / 4 for a, b in pairs], np.float32)


def test_the_mean_is_over_files_and_all_is_over_their_rows() -> None:
    tables = [pairs(40, 1), pairs(90, 2)]
    files = [file_of(table) for table in tables]
    (group,) = group_files(files)
    encoder = WordEncoder()
    found = evaluate_model("words", encoder, files, [group])
    own = found.groups[0]
    first, second = (report.scores for report in found.reports)
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        for kind in ("spearman", "pearson"):
            a, b = first[name][kind], second[name][kind]
            assert own.mean[name][kind] == pytest.approx((a + b) / 2)
            assert own.weighted[name][kind] == pytest.approx((40 * a + 90 * b) / 130)
    left, right = ([text for table in tables for text in table.column(side)] for side in ("sentence1", "sentence2"))
    gold = [float(score) for table in tables for score in table.column("score")]
    cosine = similarities(*encode_columns(encoder, [left, right]))["cosine"]
    assert own.pooled.rows == 130
    assert own.pooled.scores["cosine"]["spearman"] == pytest.approx(spearmanr(cosine, gold).statistic)
    assert own.main == own.mean["cosine"]["spearman"]


def test_every_distinct_text_is_encoded_once_over_all_files_and_columns() -> None:
    shared = pairs(30, 3)
    turned = table_from_columns(
        "turned", {"sentence1": shared.column("sentence2"), "sentence2": shared.column("sentence1"), "score": shared.column("score")}
    )
    files = [file_of(table) for table in (shared, turned, pairs(30, 4))]
    encoder = WordEncoder()
    evaluate_model("words", encoder, files, group_files(files))
    (asked,) = encoder.calls
    assert len(asked) == len(set(asked)) == len({text for file in files for column in file.rows.examples.texts for text in column})
    scorer = Overlap()
    evaluate_model("overlap", scorer, files, group_files(files))
    assert len(scorer.seen) == len(set(scorer.seen))


def test_an_encoder_that_remembers_asks_for_new_texts_only() -> None:
    encoder = WordEncoder()
    remembered = CachingEncoder(encoder)
    first, second = remembered.encode(["a cat", "a dog", "a cat"]), remembered.encode(["a bird", "a dog"])
    assert encoder.calls == [["a cat", "a dog"], ["a bird"]]
    assert np.array_equal(first, WordEncoder().encode(["a cat", "a dog", "a cat"])) and np.array_equal(second[1], first[1])
    assert remembered.encode([]).shape == (0, encoder.dim)


def test_scores_of_different_scales_and_tasks_are_not_one_set() -> None:
    files = [file_of(pairs(40, 1)), file_of(pairs(40, 2, most=1.0))]
    (group,) = group_files(files)
    assert group.pooled is None and "0–5, 0–1" in group.pooling_note
    assert evaluate_model("words", WordEncoder(), files, [group]).groups[0].pooled is None  # type: ignore[union-attr]

    def labelled(seed: int) -> Table:
        table = pairs(40, seed)
        labels = ["1" if float(score) > 1.3 else "0" for score in table.column("score")]
        return table_from_columns(f"labels-{seed}", {**{side: table.column(side) for side in ("sentence1", "sentence2")}, "label": labels})

    files = [file_of(labelled(1)), file_of(pairs(40, 2)), file_of(labelled(3))]
    (group,) = group_files(files)
    assert group.members == (0, 2) and group.pooled is None and not group.pooling_note
    found = evaluate_model("words", WordEncoder(), files, [group])
    own = found.groups[0]
    precisions = [found.reports[place].scores["cosine"]["average_precision"] for place in (0, 2)]
    assert own is not None and own.mean == {"cosine": {"average_precision": pytest.approx(np.mean(precisions))}}


def test_a_model_that_scores_pairs_stands_beside_one_that_gives_vectors() -> None:
    files = [file_of(pairs(60, 1)), file_of(pairs(60, 2))]
    groups = group_files(files)
    models = [evaluate_model("words", Random(), files, groups), evaluate_model("overlap", Overlap(), files, groups)]
    found = compare_models(files, groups, [], models)
    assert [(one.subject, one.level) for one in found] == [("set-1", "file"), ("set-2", "file"), ("2 files", "mean"), ("2 files", "all")]
    for one in found:
        assert (
            one.better == "overlap" and one.description == "better beyond chance: overlap" and one.chance is not None and one.chance < 0.01
        )
        assert one.interval is not None and 0 < one.interval[0] < one.difference < one.interval[1]


def test_an_average_is_over_the_figures_of_suites() -> None:
    files = [file_of(pairs(40, 1), "A"), file_of(pairs(50, 2), "A"), file_of(pairs(60, 3), "B")]
    groups = group_files(files)
    assert [(group.name, group.members) for group in groups] == [("A", (0, 1))]
    found = evaluate_model("words", WordEncoder(), files, groups, [SuiteAverage("both", ("A", "B"), 2)])
    own, average = found.groups[0], found.averages[0]
    figures = [own.pooled.scores["cosine"]["spearman"], found.reports[2].scores["cosine"]["spearman"]]
    assert average.mean["cosine"]["spearman"] == pytest.approx(np.mean(figures)) == average.main


def test_the_same_model_twice_differs_by_nothing_and_other_scores_are_not_compared() -> None:
    files = [file_of(pairs(60, 1)), file_of(pairs(60, 2))]
    groups = group_files(files)
    twice = [evaluate_model(name, WordEncoder(), files, groups) for name in ("one", "two")]
    for one in compare_models(files, groups, [], twice):
        assert (one.difference, one.interval, one.chance, one.better) == (0.0, (0.0, 0.0), 1.0, None)
        assert one.description == "no difference beyond chance"
    files = [file_of(pairs(40, 1))]
    one = evaluate_model("words", WordEncoder(), files)
    other = ModelScores("other", tuple(type(report)("pairs", report.rows, {}) for report in one.reports), ())
    assert compare_models(files, [], [], [one, other]) == []


def test_the_chance_is_the_share_of_resamples_in_which_the_order_turns() -> None:
    random = np.random.default_rng(0)
    first = random.normal(0.5, 0.1, 1000)
    second = first + random.normal(0.1, 0.1, 1000)
    interval, chance = paired_difference((0.5, 0.6), (first, second))
    assert chance == (second <= first).mean() and 0.05 < chance < 0.3
    assert interval == pytest.approx(np.quantile(second - first, (0.025, 0.975)))
    assert paired_difference((0.6, 0.5), (second, first))[1] == chance
    missing = np.where(np.arange(1000) < 200, np.nan, first)
    one = Comparison("x", "file", "pairs", "accuracy", ("a", "b"), (0.5, 0.6), *paired_difference((0.5, 0.6), (missing, second)))
    assert one.interval is None and one.chance is None and "too few rows of one class" in one.description
    assert "too few queries" in replace(one, task="retrieval").description
    assert one.to_json()["difference"] == pytest.approx(0.1)


def test_files_are_resampled_each_by_itself() -> None:
    draws = np.random.default_rng(0).normal(size=1000)
    mean = average_bootstraps([draws, draws, draws, draws])
    assert mean is not None and mean.std() == pytest.approx(draws.std() / 2, rel=0.1), "as of four independent files"
    assert np.array_equal(average_bootstraps([draws, draws[:300]]), average_bootstraps([draws, draws[:300]]))  # type: ignore[arg-type]
    assert average_bootstraps([draws, None]) is None
    assert weighted_mean([{"a": 1.0, "b": {"c": 2.0}}, {"a": 4.0, "b": {"c": 5.0, "d": 1.0}}], [1, 2]) == {"a": 3.0, "b": {"c": 4.0}}
