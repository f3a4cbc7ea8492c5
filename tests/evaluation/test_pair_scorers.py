"""Cross-encoders judged: their scores against scipy and sklearn, their intervals against resamples written out, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, average_precision_score, f1_score

from sbert_studio.data.examples import Examples
from sbert_studio.data.loading.table import Table, table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.bootstrap import resample_weights
from sbert_studio.evaluation.evaluate import evaluate, evaluate_examples
from sbert_studio.evaluation.tasks import main_score
from sbert_studio.evaluation.tasks.pairs import bootstrap_decisions, evaluate_labels
from sbert_studio.evaluation.tasks.sts import bootstrap_pearson, evaluate_scores
from sbert_studio.evaluation.tasks.transfer import evaluate_classes
from sbert_studio.models.cross_encoder import CrossEncoder

RNG = np.random.default_rng(4)


GOLD = RNG.integers(0, 6, 120) / 5


SCORES = np.round(GOLD + RNG.normal(0, 0.3, 120), 1).astype(np.float32)  # with ties


LABELS = (GOLD > 0.5).astype(np.int64)


def drawn(rows: int) -> list[np.ndarray]:
    """The first resamples, as row numbers."""
    return [np.repeat(np.arange(rows), times.astype(int)) for block in resample_weights(rows) for times in block][:20]


def test_scores_are_judged_by_two_correlations_and_the_squared_error() -> None:
    report = evaluate_scores(SCORES, GOLD)
    found = report.scores["pair"]
    assert found["spearman"] == pytest.approx(spearmanr(SCORES, GOLD).statistic)
    assert found["pearson"] == pytest.approx(pearsonr(SCORES, GOLD).statistic)
    assert found["mse"] == pytest.approx(np.mean((SCORES.astype(np.float64) - GOLD) ** 2))
    assert main_score(report) == ("spearman", found["spearman"])
    for name, (low, high) in found["intervals"].items():
        assert low < found[name] < high
    assert report.scores["interval"] == found["intervals"]["spearman"]


def test_each_resample_of_pearson_and_of_decisions_is_that_of_its_rows() -> None:
    correlations, decisions = bootstrap_pearson(SCORES.astype(np.float64), GOLD), bootstrap_decisions(SCORES, LABELS)
    for number, rows in enumerate(drawn(len(GOLD))):
        assert correlations[number] == pytest.approx(pearsonr(SCORES[rows].astype(np.float64), GOLD[rows]).statistic)
        cuts = [np.inf, *np.unique(SCORES[rows])]
        assert decisions[number, 0] == pytest.approx(max(accuracy_score(LABELS[rows], SCORES[rows] >= cut) for cut in cuts))
        assert decisions[number, 1] == pytest.approx(max(f1_score(LABELS[rows], SCORES[rows] >= cut) for cut in cuts))


def test_labels_are_judged_by_average_precision_accuracy_and_f1() -> None:
    report = evaluate_labels(SCORES, LABELS)
    found = report.scores["pair"]
    assert found["average_precision"] == pytest.approx(average_precision_score(LABELS, SCORES))
    assert found["accuracy"] == pytest.approx(accuracy_score(LABELS, found["threshold"] <= SCORES))
    assert found["f1"] == pytest.approx(f1_score(LABELS, found["f1_threshold"] <= SCORES))
    assert main_score(report) == ("average_precision", found["average_precision"])
    assert all(low <= found[name] <= high for name, (low, high) in found["intervals"].items())


def test_classes_are_judged_by_accuracy_and_macro_f1() -> None:
    truth, found = RNG.integers(0, 3, 90), RNG.integers(0, 3, 90)
    found[:60] = truth[:60]
    report = evaluate_classes(found, truth)
    assert report.scores["accuracy"] == pytest.approx(accuracy_score(truth, found))
    assert report.scores["macro_f1"] == pytest.approx(f1_score(truth, found, average="macro"))
    assert report.scores["majority"] == pytest.approx(np.bincount(truth).max() / 90)
    for number, rows in enumerate(drawn(90)):
        assert report.resampled[number] == pytest.approx(accuracy_score(truth[rows], found[rows]))


class Words(CrossEncoder):
    """Scores a pair by the words that both sides hold; of classes it names the first for none, the last for all."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.__dict__["_modules"] = {}
        self.names, self.labels, self.seen = names, max(1, len(names)), 0

    class_names = property(lambda self: self.names)  # type: ignore[assignment]

    def predict(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray:
        self.seen += len(pairs)
        shared = np.asarray([len(set(a.split()) & set(b.split())) / len(set(a.split()) | set(b.split())) for a, b in pairs], np.float32)
        return shared if self.labels == 1 else np.eye(self.labels)[np.minimum((shared * self.labels).astype(int), self.labels - 1)]


def table(**columns: list[str]) -> Table:
    return table_from_columns("pairs.csv", columns)


LEFT = ["a cat sat", "a dog ran", "the moon", "red fish", "blue bird", "a stone"] * 4


RIGHT = ["a cat sat", "a dog sat", "my bank card", "red fish", "blue sky", "the river"] * 4


def scored() -> Table:
    return table(sentence1=LEFT, sentence2=RIGHT, score=["5.0", "3.0", "0.0", "4.5", "2.0", "0.5"] * 4)


def labelled(*names: str) -> Table:
    return table(sentence1=LEFT, sentence2=RIGHT, label=[*names] * (24 // len(names)))


def test_tables_of_scores_and_of_yes_and_no_are_read_pair_by_pair() -> None:
    report = evaluate(Words(), scored())
    assert (report.task, report.rows) == ("sts", 24)
    assert set(report.scores) == {"pair", "interval"}
    assert report.scores["pair"]["spearman"] > 0.9
    report = evaluate(Words(), labelled("1", "0", "0", "1", "0", "0"))
    assert report.task == "pairs"
    assert report.scores["pair"]["accuracy"] == 1.0


def test_classes_are_found_by_name_whatever_their_order() -> None:
    names = ("contradiction", "neutral", "entailment")
    rows = labelled("entailment", "neutral", "contradiction", "entailment", "contradiction", "contradiction")
    report = evaluate(Words(names), rows)
    assert report.task == "classes"
    turned = evaluate(Words(names[::-1]), rows)
    right = report.scores["accuracy"]
    assert right > 0.6 and turned.scores["accuracy"] < 0.5
    examples = Examples("labelled_pairs", (tuple(LEFT), tuple(RIGHT)), np.asarray([0, 1, 2, 0, 2, 2] * 4), np.arange(24), names[::-1])
    assert evaluate_examples(Words(names), examples).scores["accuracy"] == right


def test_triplets_compare_the_scores_of_two_pairs() -> None:
    model = Words()
    report = evaluate(model, table(anchor=LEFT, positive=LEFT, negative=RIGHT))
    assert report.task == "triplets"
    assert report.scores["pair"]["accuracy"] == pytest.approx(4 / 6), "a tie counts against the model"
    assert model.seen == 10, "a pair that stands in several rows is scored once"
    assert main_score(report)[0] == "accuracy"


@pytest.mark.parametrize("task", ["retrieval", "transfer", "clustering"])
def test_tasks_of_vectors_are_refused(task: str) -> None:
    rows = table(question=LEFT, answer=RIGHT) if task == "retrieval" else table(text=LEFT, topic=["x", "y"] * 12)
    with pytest.raises(StudioError, match="cross-encoder"):
        evaluate(Words(), rows, task)


def test_other_classes_and_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(StudioError, match="classifies pairs"):
        evaluate(Words(("no", "yes")), scored())
    with pytest.raises(StudioError, match="has no classes"):
        evaluate(Words(), labelled("x", "y"), "classes")
    with pytest.raises(StudioError, match="not one of the model's classes"):
        evaluate(Words(("no", "yes")), labelled("x", "y"))

    class Broken(Words):
        def predict(self, pairs: Sequence[tuple[str, str]], **_: Any) -> np.ndarray:
            return np.full(len(pairs), np.nan, np.float32)

    with pytest.raises(StudioError, match="not finite"):
        evaluate(Broken(), scored())
