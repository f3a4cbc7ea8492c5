"""Columns told apart by what a model says of them: triplets by any name, a mark or nothing, grades and tied grades."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sbert_studio.data.choices.column_choices import ColumnChoices, parse_order, read_roles
from sbert_studio.data.examples import build_examples
from sbert_studio.data.tables import Table, table_from_columns
from sbert_studio.data.values.scales import detect_scale
from sbert_studio.training.spec import default_objective

WORDS = [f"{first}{last}" for first in ("ri", "sto", "clo", "gree") for last in ("ver", "ne", "ud", "mos")]


def _similar(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """The share of words that two texts have in common."""
    pairs = [(set(a.split()), set(b.split())) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def _texts(rows: int, seed: int) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    return [generator.choice(WORDS, 6, replace=False).tolist() for _ in range(rows)]


def _mixed(text: list[str], share: float, generator: np.random.Generator) -> str:
    return " ".join(word if generator.random() < share else str(generator.choice(WORDS)) for word in text)


def _table(columns: dict[str, list[str]]) -> Table:
    return table_from_columns("pairs.csv", columns)


def _three(names: Sequence[str], pool: bool = True) -> Table:
    generator = np.random.default_rng(3)
    base = _texts(120, 1)
    anchors = [" ".join(text) for text in base]
    near = [_mixed(text, 0.85, generator) for text in base]
    far = near[17:] + near[:17] if pool else [" ".join(text[::-1]) for text in _texts(120, 9)]
    return _table(dict(zip(names, (anchors, near, far), strict=True)))


@pytest.mark.parametrize("names", [("Anker", "gut", "schlecht"), ("u", "v", "w"), ("query", "pos_passage", "neg_passage")])
def test_triplets_are_found_whatever_they_are_called(names: tuple[str, str, str]) -> None:
    reading = read_roles(_three(names), similar=_similar)
    assert reading.roles.kind == "triplets"
    assert reading.roles.texts == names
    assert reading.certain


def test_a_third_text_is_never_left_out_in_silence() -> None:
    table = _three(("u", "v", "w"), pool=False)
    for similar in (_similar, None):
        reading = read_roles(table, similar=similar)
        assert not reading.certain
        kinds = {option.choice.get("kind") for option in reading.questions[0].options}
        assert {"triplets", "positive_pairs"} <= kinds or reading.questions[0].name == "columns"


def _graded(labels: Sequence[str], shares: Sequence[float]) -> Table:
    generator = np.random.default_rng(5)
    base = _texts(300, 2)
    places = [row % len(labels) for row in range(300)]
    second = [_mixed(text, shares[place], generator) for text, place in zip(base, places, strict=True)]
    return _table({"one": [" ".join(text) for text in base], "two": second, "zzz": [labels[place] for place in places]})


def test_a_mark_or_nothing_makes_two_classes() -> None:
    table = _graded(("", "x"), (0.1, 0.9))
    reading = read_roles(table, similar=_similar)
    assert (reading.roles.kind, reading.roles.labels) == ("labelled_pairs", ("", "x"))
    examples, findings = build_examples(table, reading.roles)
    assert len(examples) == 300
    assert not [finding for finding in findings if finding.left_out]
    assert not read_roles(table).certain
    assert read_roles(table, ColumnChoices(target="zzz", order=parse_order("x,"))).roles.labels == ("x", "")


def test_grades_far_apart_are_read_and_tied_ones_offered_both_ways() -> None:
    assert read_roles(_graded(("ga", "bu", "zo"), (0.0, 0.5, 1.0)), similar=_similar).roles.labels == ("ga", "bu", "zo")
    tied = read_roles(_graded(("ga", "bu", "zo", "ri"), (0.0, 0.5, 0.5, 1.0)), similar=_similar)
    orders = [option.choice["order"] for option in tied.questions[0].options]
    assert ["ga", "bu", "zo", "ri"] in orders
    assert ["ga", "zo", "bu", "ri"] in orders


def test_a_scale_of_whole_steps_has_the_ends_of_its_answers() -> None:
    assert detect_scale(np.array([1.0, 2, 3, 4, 5, 6])) == (1.0, 6.0)


def test_two_labels_without_an_order_are_learned_as_classes() -> None:
    assert default_objective("labelled_pairs", ("cause", "contrast"), ordered=False) == "softmax"
    assert default_objective("labelled_pairs", ("no", "yes")) == "cosent"


def _few(rows: int, target: str, turned: bool) -> Table:
    """Plain pairs, from wholly unlike to equal, with a score from 0 to 5 or a label 0 or 1."""
    base = _texts(rows, 4)
    shared = [round(6 * row / (rows - 1)) for row in range(rows)]
    second = [[*text[:number], *(f"other{place}" for place in range(6 - number))] for text, number in zip(base, shared, strict=True)]
    scores = [6 - number if turned else number for number in shared]
    cells = [f"{5 * score / 6:.2f}" if target == "score" else str(int(score > 3)) for score in scores]
    return _table({"sentence1": [" ".join(text) for text in base], "sentence2": [" ".join(text) for text in second], target: cells})


@pytest.mark.parametrize("target", ["score", "label"])
@pytest.mark.parametrize("rows", [8, 14, 16, 30])
def test_a_few_rows_that_say_the_opposite_are_asked_about_and_plain_ones_are_not(rows: int, target: str) -> None:
    asked = read_roles(_few(rows, target, turned=True), similar=_similar)
    assert [question.name for question in asked.questions] == [{"score": "scale", "label": "order"}[target]]
    assert not asked.certain
    assert read_roles(_few(rows, target, turned=False), similar=_similar).certain
