"""No column that may say something is passed over in silence, whatever it is called and however it is written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.schema.evidence import SimilarityFunction
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.names import rate_category_name
from sbert_studio.data.schema.words import split_words
from sbert_studio.data.tables import Table, read_table, table_from_columns

TOPICS = {
    "cards": ["card", "chip", "bank", "limit", "cash", "pin"],
    "travel": ["train", "plane", "hotel", "trip", "beach", "map"],
    "food": ["soup", "bread", "cheese", "apple", "salt", "rice"],
    "sport": ["ball", "goal", "team", "race", "coach", "gym"],
}


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _similar(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    pairs = [(_words(a), _words(b)) for a, b in zip(first, second, strict=True)]
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in pairs])


def _pairs(rows: int = 160) -> tuple[list[str], list[str], np.ndarray]:
    generator = np.random.default_rng(2)
    words = [word for topic in TOPICS.values() for word in topic]
    a = [generator.choice(words, 6, replace=False).tolist() for _ in range(rows)]
    share = generator.random(rows)
    b = [
        [word if generator.random() < kept else f"x{generator.integers(99)}" for word in text] for text, kept in zip(a, share, strict=True)
    ]
    return [" ".join(text) for text in a], [" ".join(text) for text in b], share


def _table(name: str, cells: Sequence[str]) -> Table:
    a, b, _ = _pairs(len(cells))
    return table_from_columns("t.csv", {"text_a": a, "text_b": b, name: list(cells)})


def _questions(rows: int = 200) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(3)
    names = [str(name) for name in generator.choice(list(TOPICS), rows)]
    return [" ".join(generator.choice(TOPICS[name], 4, replace=False)) for name in names], names


@pytest.mark.parametrize("name", ["class_id", "category no", "intent_nr", "类别编号", "topic key", "kind"])
def test_numbers_of_categories_are_read_or_asked_for(name: str) -> None:
    texts, names = _questions()
    numbers = [str(100 + 10 * list(TOPICS).index(one)) for one in names]
    table = table_from_columns("t.csv", {"id": list(map(str, range(200))), "text": texts, name: numbers})
    reading = infer_schema(table, similar=_similar)
    assert reading.roles.target == name or reading.questions
    assert rate_category_name("id") == "never"


@pytest.mark.parametrize(
    "form", ["Home > {}", "Help desk > what is wrong with the {} today", "help/{}", "Help::{}", "Finance → {}", "A » {}"]
)
def test_paths_of_topics_are_categories(form: str) -> None:
    texts, names = _questions()
    reading = infer_schema(table_from_columns("t.csv", {"text": texts, "path": [form.format(one) for one in names]}), similar=_similar)
    assert (reading.roles.kind, reading.roles.target) == ("labelled_texts", "path")


def test_of_two_names_of_the_categories_the_words_are_read() -> None:
    texts, names = _questions()
    numbers = [str(list(TOPICS).index(one)) for one in names]
    reading = infer_schema(table_from_columns("t.csv", {"text": texts, "label": numbers, "label_text": names}), similar=_similar)
    assert reading.certain and reading.roles.target == "label_text"


def test_of_two_coders_and_what_they_agreed_on_the_last_is_read() -> None:
    texts, names = _questions()
    coders = {f"coder {at}": [name if row % 7 != at else "food" for row, name in enumerate(names)] for at in (1, 2)}
    reading = infer_schema(table_from_columns("t.csv", {"text": texts, **coders, "final": names}), similar=_similar)
    assert reading.certain and reading.roles.target == "final"


@pytest.mark.parametrize("name", ["Rank (1 = most similar)", "rank", "Rang", "place"])
def test_places_in_a_ranking_are_read_or_asked_for(name: str) -> None:
    places = (np.argsort(np.argsort(-_pairs()[2])) + 1).tolist()
    reading = infer_schema(_table(name, list(map(str, places))), similar=_similar)
    assert reading.questions or (reading.roles.target, reading.roles.low, reading.roles.high) == (name, 160.0, 1.0)


@pytest.mark.parametrize("name", ["nr", "column_3", "weight", "page"])
def test_numbers_that_follow_the_similarity_are_never_passed_over(name: str) -> None:
    cells = [f"{3000 * one:.0f}" for one in _pairs()[2]]
    reading = infer_schema(_table(name, cells), similar=_similar)
    assert reading.questions or reading.roles.target == name


@pytest.mark.parametrize(
    "labels",
    [
        ("ต่างกัน", "เหมือนกัน"),
        ("ແຕກຕ່າງກັນ", "ຄືກັນ"),
        ("ខុសគ្នា", "ដូចគ្នា"),
        ("မတူပါဘူး", "တူတယ်"),
        ("अलग-अलग", "एक जैसे"),
        ("வேறுபட்டவை", "ஒன்றே"),
        ("مُخْتَلِف", "مُتَطَابِق"),
    ],
)
def test_labels_of_scripts_with_combining_marks_are_not_passed_over(labels: tuple[str, str]) -> None:
    cells = [labels[int(one > 0.5)] for one in _pairs()[2]]
    reading = infer_schema(_table("ผล", cells), similar=_similar)
    assert reading.roles.labels == labels or reading.questions
    assert infer_schema(_table("ผล", cells)).roles.target == "ผล" or infer_schema(_table("ผล", cells)).questions


def test_combining_marks_are_parts_of_words() -> None:
    assert split_words("समानता अंक") == ("समानता", "अंक")
    assert split_words("دَرَجَة") == ("درجة",)


@pytest.mark.parametrize("marks", [("-", "+"), ("−", "+"), ("0", "1"), ("n", "j")])
def test_few_answers_in_a_column_called_key_are_labels_even_without_a_model(marks: tuple[str, str]) -> None:
    reading = infer_schema(_table("key", [marks[int(one > 0.5)] for one in _pairs()[2]]))
    assert reading.questions or reading.roles.target == "key"


def test_a_survey_with_three_header_rows_keeps_the_names_of_the_first(tmp_path: Path) -> None:
    a, b, share = _pairs(40)
    rows = [f"R_{at}q,{x},{y},{1 + round(6 * one)}" for at, (x, y, one) in enumerate(zip(a, b, share, strict=True))]
    heads = ["ResponseId,text_a,text_b,Q4", "Response ID,text_a,text_b,How close are they?"]
    heads.append('"{""ImportId"":""_id""}","{""ImportId"":""a""}","{""ImportId"":""b""}","{""ImportId"":""QID4""}"')
    path = tmp_path / "t.csv"
    path.write_text("\n".join([*heads, *rows]), encoding="utf-8")
    table = read_table(path)
    assert table.columns == ("ResponseId", "text_a", "text_b", "Q4") and len(table) == 40
    assert sum("header row" in note.message for note in table.notes) == 2


@pytest.mark.parametrize(
    "grades",
    [
        ("ungenügend", "mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"),
        ("insuffisant", "passable", "bien", "très bien", "excellent"),
        ("неудовлетворительно", "удовлетворительно", "хорошо", "отлично"),
        ("insufficiente", "sufficiente", "buono", "ottimo"),
    ],
)
def test_grades_in_words_are_known_in_their_order(grades: tuple[str, ...]) -> None:
    cells = [grades[min(int(one * len(grades)), len(grades) - 1)] for one in _pairs(400)[2]]
    reading = infer_schema(_table("Urteil", cells), similar=_similar)
    assert reading.certain and reading.roles.labels == grades


def test_a_column_of_few_values_beside_pairs_leads_to_a_question() -> None:
    cells = [("alpha", "beta", "gamma", "delta", "eps", "zeta")[at % 6] for at in range(160)]
    reading = infer_schema(_table("q", cells), similar=_similar)
    assert [one.name for one in reading.questions] == ["target"]


@pytest.mark.parametrize("name", ["key", "source", "Status", "page"])
def test_categories_under_a_name_that_says_otherwise_are_asked_for(name: str) -> None:
    texts, names = _questions()
    cells = [str(list(TOPICS).index(one)) for one in names] if name in ("key", "page") else names
    reading = infer_schema(table_from_columns("t.csv", {"text": texts, name: cells}), similar=_similar)
    assert [one.name for one in reading.questions] == ["kind"]


def test_a_nought_that_stands_for_no_answer_is_asked_for() -> None:
    cells = ["0" if at % 5 == 0 else str(1 + min(4, int(one * 5))) for at, one in enumerate(_pairs()[2])]
    (question,) = infer_schema(_table("rating", cells), similar=_similar).questions
    assert [option.choice for option in question.options] == [{"scale": [1.0, 5.0]}, {"scale": [0.0, 5.0]}]
    plain = [str(min(5, int(one * 6))) for one in _pairs()[2]]
    assert infer_schema(_table("rating", plain), similar=_similar).certain


@pytest.mark.parametrize("name", ["similarity_rank", "rank of similarity", "score rank", "類似度順位", "相似度排名"])
def test_a_rank_of_likeness_begins_at_the_most_alike(name: str) -> None:
    share = _pairs()[2]
    ranks = np.empty(len(share), int)
    ranks[np.argsort(-share)] = np.arange(1, len(share) + 1)
    reading = infer_schema(_table(name, [str(rank) for rank in ranks]), similar=_similar)
    assert reading.certain and (reading.roles.target, reading.roles.low, reading.roles.high) == (name, len(share), 1)


def test_numbers_that_follow_the_model_are_asked_about_whatever_they_are_called() -> None:
    share = _pairs()[2]
    reading = infer_schema(_table("confidence of score", [f"{1000 * one:.0f}" for one in share]), similar=_similar)
    assert reading.questions


@pytest.mark.parametrize("name", ["類似度（0～5）", "相似度(0-5)", "SimilarityFunction (0-5)", "same? (0/5)"])
def test_the_ends_alone_explain_no_direction(name: str) -> None:
    share = _pairs()[2]
    reading = infer_schema(_table(name, [f"{5 * one:.1f}" for one in share]), similar=_similar)
    assert reading.certain and (reading.roles.low, reading.roles.high) == (0, 5)


def test_words_before_bracketed_ends_explain_them() -> None:
    share = _pairs()[2]
    name = "how alike: different (5), same (0)"
    reading = infer_schema(_table(name, [f"{5 - 5 * one:.1f}" for one in share]), similar=_similar)
    assert reading.certain and (reading.roles.low, reading.roles.high) == (5, 0)


def test_a_score_that_has_nothing_to_do_with_likeness_is_asked_about_beside_one_that_has() -> None:
    share = _pairs(200)[2]
    shuffled = np.random.default_rng(8).permutation(100 * share)
    a, b, _ = _pairs(200)
    columns = {"a": a, "b": b, "rater_1": [f"{5 * one:.0f}" for one in share], "score": [f"{one:.0f}" for one in shuffled]}
    reading = infer_schema(table_from_columns("t.csv", columns), similar=_similar)
    assert [option.choice.get("target") for option in reading.questions[0].options][:2] == ["score", "rater_1"]
    alone = table_from_columns("t.csv", {name: cells for name, cells in columns.items() if name != "rater_1"})
    assert infer_schema(alone, similar=_similar).questions


@pytest.mark.parametrize("rows", [12, 20])
def test_a_rank_beside_few_rows_is_asked_about(rows: int) -> None:
    scores = [f"{one:.1f}" for one in np.random.default_rng(rows).random(rows) * 5]
    assert infer_schema(_table("rank", scores), similar=_similar).questions


@pytest.mark.parametrize("form", ["C{:02d}", "intent_{}", "/{:02d}x", "@{:02d}x"])
@pytest.mark.parametrize(("name", "similar"), [("category", _similar), ("category", None), ("F2", _similar)])
def test_codes_of_categories_are_categories(form: str, name: str, similar: SimilarityFunction | None) -> None:
    generator = np.random.default_rng(4)
    words = [[f"w{topic}x{place}" for place in range(6)] for topic in range(15)]
    rows = [topic for topic in range(15) for _ in range(8)]
    texts = [" ".join(generator.choice(words[topic], 4, replace=False)) for topic in rows]
    table = table_from_columns("t.csv", {"text": texts, name: [form.format(topic) for topic in rows]})
    reading = infer_schema(table, similar=similar)
    assert (reading.roles.kind, reading.roles.target) == ("labelled_texts", name)
    assert bool(reading.questions) == (similar is None)


def test_codes_of_orders_are_no_categories() -> None:
    generator = np.random.default_rng(4)
    texts = [" ".join(generator.choice([f"w{place}" for place in range(80)], 5)) for _ in range(120)]
    table = table_from_columns("t.csv", {"text": texts, "order no": [f"A{place % 30:03d}" for place in range(120)]})
    assert infer_schema(table, similar=_similar).roles.kind == "sentences"


def test_the_mean_of_raters_who_nearly_agree_is_the_score() -> None:
    a, b, share = _pairs()
    ana = np.round(5 * share)
    luis = np.clip(ana + (np.arange(len(ana)) % 9 == 0), 0, 5)
    columns = {"Frase A": a, "Frase B": b, "Nota Ana": ana, "Nota Luis": luis, "Media": (ana + luis) / 2}
    table = table_from_columns("t.csv", {name: [str(cell) for cell in cells] for name, cells in columns.items()})
    reading = infer_schema(table, similar=_similar)
    assert reading.roles.target == "Media" and not reading.questions


def test_a_score_column_without_a_value_is_asked_about() -> None:
    reading = infer_schema(_table("score", [""] * 160), similar=_similar)
    assert reading.questions and "'score' is empty" in reading.questions[0].why
    assert not infer_schema(_table("remarks", [""] * 160), similar=_similar).questions
