"""Siblings of tables that were once misread, in other languages and forms: names and evidence that agree, conflict, or are silent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.labels import order_by_words
from sbert_studio.data.schema.overrides import SchemaOverrides
from sbert_studio.data.tables import Table, table_from_columns

WORDS = [f"{first}{last}" for first in ("ri", "sto", "clo", "gree", "pla", "mu") for last in ("ver", "ne", "ud", "mos")]


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _similar(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """The share of words that two texts have in common."""
    pairs = [(_words(a), _words(b)) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def _texts(rows: int, seed: int) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    return [generator.choice(WORDS, 8, replace=False).tolist() for _ in range(rows)]


def _changed(text: list[str], share: float, generator: np.random.Generator) -> str:
    return " ".join(word if generator.random() < share else str(generator.choice(WORDS)) for word in text)


def _pairs(shares: Sequence[float], rows: int = 300) -> tuple[dict[str, list[str]], list[int]]:
    """Pairs of which those of each place among ``shares`` have such a share of words in common, and the places."""
    generator = np.random.default_rng(7)
    base = _texts(rows, 3)
    places = [row % len(shares) for row in range(rows)]
    second = [_changed(text, shares[place], generator) for text, place in zip(base, places, strict=True)]
    return {"one": [" ".join(text) for text in base], "two": second}, places


def _table(columns: dict[str, list[str]]) -> Table:
    return table_from_columns("pairs.csv", columns)


@pytest.mark.parametrize(
    "names",
    [
        ("q", "good", "bad_1", "bad_2"),
        ("query", "pos", "neg1", "neg2"),
        ("查询", "正例", "负例1", "负例2"),
        ("Anfrage", "richtig", "falsch_1", "falsch_2"),
        ("anchor", "best", "worst", "wrong"),
        ("образец", "верный", "неверный1", "неверный2"),
        ("u", "v", "w1", "w2"),
    ],
)
def test_several_negatives_are_found_whatever_they_are_called(names: tuple[str, ...]) -> None:
    generator = np.random.default_rng(3)
    base = _texts(120, 1)
    near = [_changed(text, 0.85, generator) for text in base]
    columns = [" ".join(text) for text in base], near, near[17:] + near[:17], near[31:] + near[:31]
    reading = infer_schema(_table(dict(zip(names, columns, strict=True))), similar=_similar)
    assert (reading.roles.kind, reading.roles.texts, reading.certain) == ("triplets", names, True)


def test_good_and_bad_are_asked_about_without_a_model() -> None:
    base = [" ".join(text) for text in _texts(60, 1)]
    reading = infer_schema(_table({"Frage": base, "richtig": base[1:] + base[:1], "falsch": base[9:] + base[:9]}))
    assert reading.roles.texts == ("Frage", "richtig", "falsch")
    assert not reading.certain


@pytest.mark.parametrize("name", ["lengteverschil", "Δ", "分差", "roznica", "gap"])
def test_a_column_that_follows_from_the_lengths_is_no_score(name: str) -> None:
    columns, places = _pairs((0.1, 0.4, 0.7, 0.95))
    columns["two"] = [text + " and so on" * (row % 7) for row, text in enumerate(columns["two"])]
    columns[name] = [str(abs(len(a) - len(b))) for a, b in zip(columns["one"], columns["two"], strict=True)]
    columns["zz"] = [str(place) for place in places]
    reading = infer_schema(_table(columns), similar=_similar)
    assert (reading.roles.target, reading.certain) == ("zz", True)


def test_the_mean_of_several_marks_is_the_score_on_their_scale() -> None:
    columns, places = _pairs((0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97))
    generator = np.random.default_rng(2)
    marks = {who: [min(7, max(1, place + 1 + int(generator.integers(-1, 2)))) for place in places] for who in ("Ana", "Bo", "Çem")}
    columns |= {who: [str(mark) for mark in given] for who, given in marks.items()}
    columns["ζ"] = [f"{sum(row) / 3:.2f}" for row in zip(*marks.values(), strict=True)]
    reading = infer_schema(_table(columns), similar=_similar)
    assert (reading.roles.target, reading.roles.low, reading.roles.high, reading.certain) == ("ζ", 1.0, 7.0, True)


@pytest.mark.parametrize("name", ["Note", "derece", "Stufe", "xyz"])
def test_a_name_that_leaves_the_direction_open_is_read_by_overwhelming_evidence(name: str) -> None:
    columns, places = _pairs((0.97, 0.8, 0.6, 0.4, 0.2, 0.05))
    reading = infer_schema(_table({**columns, name: [str(place + 1) for place in places]}), similar=_similar)
    assert (reading.roles.low, reading.roles.high, reading.certain) == (6.0, 1.0, True)


@pytest.mark.parametrize("name", ["score", "similarity", "Ähnlichkeit", "сходство", "相似度"])
def test_a_name_that_says_the_opposite_of_the_evidence_is_asked_about(name: str) -> None:
    columns, places = _pairs((0.97, 0.8, 0.6, 0.4, 0.2, 0.05))
    reading = infer_schema(_table({**columns, name: [str(place + 1) for place in places]}), similar=_similar)
    assert [question.name for question in reading.questions] == ["scale"]


@pytest.mark.parametrize("name", ["diferença", "różnica", "Skillnad", "farklılık", "Abweichung", "fark", "differenza"])
def test_a_difference_in_any_language_is_turned_round_without_a_question_where_the_model_agrees(name: str) -> None:
    columns, places = _pairs((0.97, 0.8, 0.6, 0.4, 0.2, 0.05))
    reading = infer_schema(_table({**columns, name: [str(place) for place in places]}), similar=_similar)
    assert (reading.roles.low, reading.roles.high, reading.certain) == (5.0, 0.0, True)


@pytest.mark.parametrize("labels", [("ku", "pa"), ("tav", "rek")])
def test_two_labels_that_say_nothing_of_similarity_are_asked_about(labels: tuple[str, str]) -> None:
    columns, _ = _pairs((0.85,))
    generator = np.random.default_rng(8)
    cells = [labels[int(generator.integers(2))] for _ in columns["one"]]
    reading = infer_schema(_table({**columns, "zz": cells}), similar=_similar)
    assert [question.name for question in reading.questions] == ["target"]
    assert {option.choice.get("target") or option.choice.get("kind") for option in reading.questions[0].options} == {"zz", "positive_pairs"}


@pytest.mark.parametrize(
    "labels",
    [
        ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
        ("contredit", "indécis", "découle"),
        ("weerlegd", "onbekend", "bevestigd"),
        ("反驳", "不确定", "支持"),
        ("опровергает", "неизвестно", "подтверждает"),
    ],
)
def test_claims_that_are_checked_have_their_order_in_any_language(labels: tuple[str, ...]) -> None:
    columns, places = _pairs((0.2, 0.45, 0.8))
    reading = infer_schema(_table({**columns, "zz": [labels[place] for place in places]}), similar=_similar)
    assert (reading.roles.labels, reading.certain) == (labels, True)
    mixed, places = _pairs((0.6, 0.3, 0.85))  # contradictions in the same words, as in SICK
    reading = infer_schema(_table({**mixed, "zz": [labels[place] for place in places]}), similar=_similar)
    assert reading.roles.labels == labels


@pytest.mark.parametrize(
    "labels",
    [
        ("★", "★★", "★★★", "★★★★"),
        ("I", "II", "III", "IV"),
        ("毫不相干", "略有关系", "部分相同", "完全一样"),
        ("全く違う", "少し似ている", "ほぼ同じ", "同じ"),
        ("E", "D", "B", "A"),
    ],
)
def test_degrees_stars_and_numerals_are_ordered(labels: tuple[str, ...]) -> None:
    columns, places = _pairs((0.05, 0.35, 0.65, 0.95))
    reading = infer_schema(_table({**columns, "zz": [labels[place] for place in places]}), similar=_similar)
    assert (reading.roles.labels, reading.certain) == (labels, True)
    named = order_by_words(sorted(labels))
    assert labels[0] == "E" or (named is not None and named.labels == labels)


@pytest.mark.parametrize("name", ["Zuständig", "emoção", "유형", "column_1"])
def test_categories_of_any_name_are_read_where_neighbours_share_them_and_others_are_not(name: str) -> None:
    generator = np.random.default_rng(4)
    topics = [generator.choice(WORDS, 6, replace=False).tolist() for _ in range(4)]
    texts = [" ".join([*generator.choice(topics[row % 4], 4, replace=False), *generator.choice(WORDS, 3)]) for row in range(200)]
    reading = infer_schema(_table({"text": texts, name: [f"Art {'abcd'[row % 4]}" for row in range(200)]}), similar=_similar)
    assert (reading.roles.kind, reading.roles.target, reading.certain) == ("labelled_texts", name, True)
    assert not reading.saturation, "some are mixed up"
    thrown = [["one", "two", "three"][int(generator.integers(3))] for _ in texts]
    assert infer_schema(_table({"text": texts, name: thrown}), similar=_similar).roles.kind == "sentences"


def test_categories_that_the_model_tells_apart_already_are_told_before_anything_trains() -> None:
    generator = np.random.default_rng(4)
    topics = [WORDS[place : place + 6] for place in (0, 6, 12)]
    texts = [" ".join(generator.permutation(topics[row % 3])) + f" {row}" for row in range(150)]
    table = _table({"text": texts, "category": ["abc"[row % 3] * 3 for row in range(150)]})
    found = diagnose(table, similar=_similar).findings
    assert [one.severity for one in found if "apart already by the model (100% of 150 texts" in one.message] == ["info"]


def test_a_rank_is_asked_about_without_a_model() -> None:
    columns, places = _pairs((0.97, 0.6, 0.3, 0.05))
    table = _table({**columns, "rank": [str(place + 1) for place in places]})
    assert [question.name for question in infer_schema(table).questions] == ["target", "scale"]
    assert [question.name for question in infer_schema(table, SchemaOverrides(target="rank")).questions] == ["scale"]
