"""Texts with a category: nearest neighbour, nearest centroid, and what is taken for what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError
from sbert_studio.evaluation import evaluate as judging
from sbert_studio.evaluation.evaluate import evaluate, evaluate_examples, sample_reference
from sbert_studio.evaluation.report import Report
from sbert_studio.evaluation.tasks import TASKS, categories, main_score
from sbert_studio.evaluation.tasks import categories as task
from sbert_studio.evaluation.tasks.categories import ReferenceTexts, evaluate_categories

from .test_evaluate import table

RANDOM = np.random.default_rng(0)


NAMES = ["card", "fee", "loan", "pin"]


def cloud(rows: int, seed: int, spread: float = 0.9) -> tuple[np.ndarray, list[str], list[str]]:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(len(NAMES), 6))
    classes = random.integers(0, len(NAMES), rows)
    vectors = (centres[classes] + spread * random.normal(size=(rows, 6))).astype(np.float32)
    return vectors, [NAMES[one] for one in classes], [f"text {seed} {place}" for place in range(rows)]


def unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.mark.parametrize("alone", [True, False])
def test_both_accuracies_are_those_of_a_plain_loop(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(categories, "_BLOCK", 300)
    new, labels, texts = cloud(60, 1)
    old, theirs, known = (new, labels, texts) if alone else cloud(90, 2)
    report = evaluate_categories(new, labels, texts, None if alone else ReferenceTexts(old, theirs, known))

    near = centre = 0
    for place, vector in enumerate(unit(new)):
        others = [row for row in range(len(old)) if not alone or row != place]
        best = max(others, key=lambda row: float(unit(old)[row] @ vector))
        near += theirs[best] == labels[place]
        means = {name: unit(old)[[row for row in others if theirs[row] == name]].mean(axis=0) for name in NAMES}
        centre += max(means, key=lambda name: float(vector @ means[name] / np.linalg.norm(means[name]))) == labels[place]
    assert 0.3 < near / 60 < 0.95, "a task with faults to count"
    assert report.scores["nearest_neighbour_accuracy"] == pytest.approx(near / 60)
    assert report.scores["centroid_accuracy"] == pytest.approx(centre / 60)
    assert report.scores["known_rows"] == (0 if alone else 90)
    assert main_score(report) == ("nearest_neighbour_accuracy", pytest.approx(near / 60))
    low, high = report.scores["interval"]
    assert low < near / 60 < high and report.resampled is not None and report.resampled.mean() == pytest.approx(near / 60, abs=0.02)


def test_a_repeat_of_the_text_itself_is_no_neighbour() -> None:
    vectors = np.array([[1, 0], [1, 0], [0.9, 0.1], [0, 1], [0.1, 1]], np.float32)
    labels, texts = ["a", "a", "b", "b", "b"], ["Lost card", "lost  CARD", "fee", "pin", "code"]
    report = evaluate_categories(vectors, labels, texts)
    assert report.scores["nearest_neighbour_accuracy"] == pytest.approx(2 / 5), "both copies have only b beside them, and fee has a"
    known = ReferenceTexts(vectors[:1], ["a"], ["lost card"])
    assert evaluate_categories(vectors[:1], ["a"], texts[:1], known).scores["nearest_neighbour_accuracy"] == 0


def test_vectors_that_coincide_or_are_closer_than_rounding_find_nothing() -> None:
    one = np.random.default_rng(0).normal(size=(1, 384)).astype(np.float32)
    for rows in (301, 1003):
        labels = [str(row % 3) for row in range(rows)]
        report = evaluate_categories(np.repeat(one, rows, axis=0), labels, [str(row) for row in range(rows)])
        assert report.scores["nearest_neighbour_accuracy"] == report.scores["centroid_accuracy"] == 0
    zeros = evaluate_categories(np.zeros((12, 4), np.float32), ["a", "b"] * 6, [str(row) for row in range(12)])
    assert zeros.scores["nearest_neighbour_accuracy"] == 0
    vectors = np.array([[1, 0], [1, 0], [1, 0.001], [1, 0.001]], np.float32)
    report = evaluate_categories(vectors, list("aabb"), list("wxyz"))
    assert report.scores["nearest_neighbour_accuracy"] == report.scores["centroid_accuracy"] == 0


def test_the_only_text_of_its_category_is_wrong_and_a_single_category_is_judged_too() -> None:
    vectors = RANDOM.normal(size=(5, 3)).astype(np.float32)
    assert evaluate_categories(vectors, list("abcde"), list("vwxyz")).scores["nearest_neighbour_accuracy"] == 0
    one = evaluate_categories(vectors, ["a"] * 5, list("vwxyz"))
    assert one.scores["nearest_neighbour_accuracy"] == one.scores["centroid_accuracy"] == 1
    assert "v_measure" not in one.scores and one.scores["confused"] == []
    assert evaluate_categories(vectors[:1], ["a"], ["v"]).scores["nearest_neighbour_accuracy"] == 0


def test_confused_categories_are_counted_both_ways_and_added_over_reports() -> None:
    #         two of a at b's place, one of b at a's, one of c at d's
    places = {"a": 0, "b": 1, "c": 2, "d": 3}
    corners = np.eye(4, dtype=np.float32)
    known = ReferenceTexts(corners, list(places), [f"known {name}" for name in places])
    rows = [("a", "b", "one"), ("a", "b", "two"), ("b", "a", "three"), ("c", "d", "four"), ("d", "d", "five")]
    vectors = np.stack([corners[places[found]] for _, found, _ in rows])
    report = evaluate_categories(vectors, [truth for truth, _, _ in rows], [text for _, _, text in rows], known)
    first, second = report.scores["confused"]
    assert (first["categories"], first["count"]) == (["a", "b"], 3)
    assert first["texts"] == [{"text": "one", "category": "a", "found": "b"}, {"text": "two", "category": "a", "found": "b"}]
    assert (second["categories"], second["count"]) == (["c", "d"], 1)

    def pair(one: str, two: str, count: int, text: str) -> dict[str, Any]:
        return {"categories": [one, two], "count": count, "texts": [{"text": text, "category": one, "found": two}]}

    found = categories.merge_confusions([[pair("a", "b", 2, "first")], [pair("c", "d", 3, "second"), pair("a", "b", 2, "third")]])
    assert [(one["categories"], one["count"]) for one in found] == [(["a", "b"], 4), (["c", "d"], 3)]
    assert [text["text"] for text in found[0]["texts"]] == ["first", "third"]


def texts_of(rows: int, offset: int = 0) -> tuple[tuple[str, ...], np.ndarray]:
    subjects = ["refund money card", "river boat water"]
    return tuple(f"{subjects[place % 2]} {place + offset}" for place in range(rows)), np.arange(rows, dtype=np.int64) % 2


def labelled(rows: int, offset: int = 0) -> Examples:
    texts, classes = texts_of(rows, offset)
    return Examples("labelled_texts", (texts,), classes, np.arange(rows, dtype=np.int64) + 2, ("money", "water"), (), False)


def test_examples_are_laid_beside_those_that_were_learned_or_a_sample_of_them(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = evaluate_examples(encoder, labelled(6), reference=labelled(20, 100))
    assert (report.task, report.rows, report.scores["known_rows"]) == ("categories", 6, 20)
    assert report.scores["nearest_neighbour_accuracy"] == 1 and len(encoder.calls) == 1
    alone = evaluate_examples(encoder, labelled(6))
    assert alone.scores["known_rows"] == 0 and alone.scores["nearest_neighbour_accuracy"] == 1
    monkeypatch.setattr(judging, "MAX_REFERENCE_TEXTS", 7)
    first, second = sample_reference(labelled(40)), sample_reference(labelled(40))
    assert len(first) == 7 and first.digest == second.digest
    assert sorted(first.lines.tolist()) == first.lines.tolist()


def test_a_table_is_judged_text_by_text_and_large_ones_by_a_sample(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, classes = texts_of(30)
    rows = table(text=[*texts, "lonely text", ""], category=[*("ab"[one] for one in classes), "c", "a"])
    report = evaluate(encoder, rows, "categories")
    assert (report.task, report.rows) == ("categories", 31)
    assert report.scores["nearest_neighbour_accuracy"] == pytest.approx(30 / 31)
    assert any("row 33" in note for note in report.notes) and any("the only ones in their category" in note for note in report.notes)
    monkeypatch.setattr(task, "_MAX_TEXTS", 10)
    small = evaluate(encoder, rows, "categories")
    assert small.rows == 10 and any("sample of 10 of the 31" in note for note in small.notes)


def test_labels_without_an_order_are_judged_by_a_regression_not_by_ranks(encoder: Any) -> None:
    left = [f"red apple {place}" for place in range(30)]
    right = [("red apple", "blue sky", "green tea")[place % 3] + f" {place}" for place in range(30)]
    pairs = Examples(
        "labelled_pairs",
        (tuple(left), tuple(right)),
        np.arange(30, dtype=np.int64) % 3,
        np.arange(30),
        ("fruit", "air", "drink"),
        (),
        False,
    )
    report = evaluate_examples(encoder, pairs)
    assert report.task == "classes" and main_score(report)[0] == "accuracy"
    assert report.scores["accuracy"] > 0.9 and report.scores["majority"] < 0.5 and report.resampled is not None
    shuffled = Examples(pairs.kind, pairs.texts, RANDOM.permutation(pairs.targets), pairs.lines, pairs.labels, (), False)
    assert evaluate_examples(encoder, shuffled).scores["accuracy"] < 0.7


def test_every_task_has_a_main_score_and_an_unknown_one_is_answered_with_all(encoder: Any) -> None:
    with pytest.raises(StudioError) as refused:
        evaluate(encoder, table(text=["a"], category=["x"]), "nonsense")
    for name in TASKS:
        assert name in refused.value.hint
        with pytest.raises((KeyError, TypeError)):  # known: only the scores are missing
            main_score(Report(name, 1, {}))
