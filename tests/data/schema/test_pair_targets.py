"""Which column beside two texts holds their scores or labels, in which direction, and what must be asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from data.schema.tables import graded, make_table, overlap, pair_table, pairs, random_texts

from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table
from sbert_studio.data.schema.inference import infer_roles, infer_schema
from sbert_studio.data.schema.roles import InferredSchema, SchemaOverrides

ROWS = 200
SHARE = pairs(None, ROWS)[1]
BESIDE: dict[str, Sequence[object]] = {
    "date": [f"2023-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(ROWS)],
    "comment": [["", "checked", "ask the team about this one"][at % 3] for at in range(ROWS)],
    "annotator": [["Anna", "Tom", "Mia"][at % 3] for at in range(ROWS)],
    "sim_std": [f"{at * 37 % 100 / 80:.2f}" for at in range(ROWS)],
    "year": [1998 + at * 7 % 27 for at in range(ROWS)],
    "user_id": [1254 + at * 7919 % 97601 for at in range(ROWS)],
    "split": [["train", "dev"][at % 2] for at in range(ROWS)],
}


def scores(top: float = 5, digits: int = 1, *, is_reversed: bool = False) -> list[str]:
    return [f"{top * (1 - one if is_reversed else one):.{digits}f}" for one in SHARE]


def names(schema: InferredSchema) -> list[str]:
    return [question.name for question in schema.questions]


@pytest.mark.parametrize(
    "column", ["human_score", "sim_mean", "Bewertung", "puntuación", "оценка", "类似得分", "How similar are they?", "dolor"]
)
def test_a_score_is_found_under_any_name_beside_other_columns(column: str) -> None:
    schema = infer_schema(pair_table(column, scores(), **BESIDE), similar=overlap)
    assert (schema.roles.kind, schema.roles.texts, schema.roles.target) == ("scored_pairs", ("one", "two"), column)
    assert schema.certain and schema.roles.split == "split" and "not used for training" in " ".join(schema.why)


@pytest.mark.parametrize("column", BESIDE)
def test_other_columns_beside_question_and_answer_are_no_target(column: str) -> None:
    columns, _ = pairs((0.9,), ROWS)
    table = make_table({"question": columns["one"], "answer": columns["two"], column: BESIDE[column]})
    schema = infer_schema(table, similar=overlap)
    assert (schema.roles.kind, schema.roles.texts) == ("positive_pairs", ("question", "answer"))
    assert schema.certain or column == "sim_std"


@pytest.mark.parametrize("name", ["column_1", "answerid", "row id", "nr"])
@pytest.mark.parametrize("rows", [24, 200])
def test_consecutive_numbers_are_no_scores(name: str, rows: int) -> None:
    shares = np.linspace(1, 0, rows)  # sorted, so that the row number follows the similarity
    roles = infer_roles(pair_table(name, list(range(rows)), shares.tolist()), similar=overlap)
    assert roles.target is None


def test_a_column_called_score_may_hold_a_few_words_for_no_score_but_not_nothing() -> None:
    cells = ["n/a" if row % 5 == 0 else str(row % 6) for row in range(40)]
    assert infer_roles(pair_table("score", cells)).kind == "scored_pairs"
    assert infer_roles(pair_table("similarity", ["n/a" if row % 5 == 0 else f"{row / 8:.3f}" for row in range(40)])).target == "similarity"
    assert "'score' is empty" in infer_schema(pair_table("score", [""] * 160), similar=overlap).questions[0].why
    nested = infer_schema(pair_table("score", ['[{"value": 1}]'] * 60, (0.9,)), similar=overlap)
    assert nested.roles.target is None and nested.questions


def test_scores_win_over_labels_unless_labels_are_specified() -> None:
    both = pair_table("label", ["ENTAILMENT", "NEUTRAL", "CONTRADICTION", "NEUTRAL"] * 10, score=[1 + row % 5 for row in range(40)])
    assert infer_roles(both).target == "score"
    for roles in (infer_roles(both, kind="labelled_pairs"), infer_roles(both, target="label")):
        assert (roles.kind, roles.target, roles.labels) == ("labelled_pairs", "label", ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"))
    assert infer_roles(both, kind="positive_pairs").target is None
    assert infer_roles(both, kind="sentences", columns=["two"]).texts == ("two",)


# --- numbers that were computed, and numbers under other names


@pytest.mark.parametrize("name", ["lengteverschil", "Δ", "分差", "gap"])
def test_a_column_that_follows_from_the_lengths_is_no_score(name: str) -> None:
    columns, kept = pairs((0.1, 0.4, 0.7, 0.95))
    columns["two"] = [text + " and so on" * (row % 7) for row, text in enumerate(columns["two"])]
    lengths = [abs(len(a) - len(b)) for a, b in zip(columns["one"], columns["two"], strict=True)]
    schema = infer_schema(make_table({**columns, name: lengths, "zz": (10 * kept).astype(int)}), similar=overlap)
    assert (schema.roles.target, schema.certain) == ("zz", True)


def test_the_mean_of_several_ratings_is_the_score_on_their_scale() -> None:
    shares = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97)
    generator = np.random.default_rng(2)
    ratings = np.array([np.clip(np.resize(range(1, 8), 300) + generator.integers(-1, 2, 300), 1, 7) for _ in range(3)])
    raters = dict(zip(("Ana", "Bo", "Çem"), ratings.tolist(), strict=True))
    schema = infer_schema(pair_table("ζ", [f"{one:.2f}" for one in ratings.mean(axis=0)], shares, **raters), similar=overlap)
    assert (schema.roles.target, schema.roles.low, schema.roles.high, schema.certain) == ("ζ", 1.0, 7.0, True)
    ana = np.round(5 * SHARE)
    luis = np.clip(ana + (np.arange(ROWS) % 9 == 0), 0, 5)
    close = infer_schema(pair_table("Nota Ana", ana.tolist(), **{"Nota Luis": luis, "Media": (ana + luis) / 2}), similar=overlap)
    assert (close.roles.target, close.questions) == ("Media", ())


def test_a_score_unrelated_to_the_similarity_is_asked_about_and_numbers_that_follow_it_under_any_name() -> None:
    for name in ("nr", "weight", "confidence of score"):
        schema = infer_schema(pair_table(name, scores(3000, 0)), similar=overlap)
        assert schema.questions or schema.roles.target == name
    shuffled = [f"{one:.0f}" for one in np.random.default_rng(8).permutation(100 * SHARE)]
    beside = infer_schema(pair_table("score", shuffled, rater_1=scores(5, 0)), similar=overlap)
    assert [option.choice.get("target") for option in beside.questions[0].options][:2] == ["score", "rater_1"]
    assert infer_schema(pair_table("score", shuffled), similar=overlap).questions


@pytest.mark.parametrize("labels", [("ku", "pa"), ("alpha", "beta", "gamma", "delta", "eps", "zeta")])
def test_labels_unrelated_to_the_similarity_are_asked_about(labels: tuple[str, ...]) -> None:
    cells = np.random.default_rng(8).choice(labels, 300).tolist()
    schema = infer_schema(pair_table("zz", cells, (0.85,)), similar=overlap)
    assert names(schema) == ["target"]
    choices = [option.choice for option in schema.questions[0].options]
    assert [choice.get("target") for choice in choices] == [None, "zz", "zz"]
    assert [choice.get("kind") for choice in choices] == ["positive_pairs", None, "labelled_texts"]


@pytest.mark.parametrize("marks", [("-", "+"), ("−", "+"), ("0", "1"), ("n", "j")])
def test_few_answers_in_a_column_called_key_are_labels_even_without_a_model(marks: tuple[str, str]) -> None:
    schema = infer_schema(pair_table("key", [marks[int(one > 0.5)] for one in SHARE]))
    assert schema.questions or schema.roles.target == "key"


@pytest.mark.parametrize("labels", [("ต่างกัน", "เหมือนกัน"), ("မတူပါဘူး", "တူတယ်"), ("अलग-अलग", "एक जैसे"), ("مُخْتَلِف", "مُتَطَابِق")])
def test_labels_of_scripts_with_combining_marks_are_not_passed_over(labels: tuple[str, str]) -> None:
    table = pair_table("ผล", [labels[int(one > 0.5)] for one in SHARE])
    assert infer_roles(table, similar=overlap).labels == labels or infer_schema(table, similar=overlap).questions
    assert infer_roles(table).target == "ผล" or infer_schema(table).questions


# --- direction


@pytest.mark.parametrize(
    ("name", "proposed"),
    [("value", [5.0, 0.0]), ("score", None), ("similarity", None), ("Ähnlichkeit", None), ("相似度", None), ("сходство", None)],
)
def test_scores_against_the_model_are_asked_about_and_reversed_unless_their_name_says_otherwise(name: str, proposed: object) -> None:
    noise = np.random.default_rng(3).random(ROWS)
    cells = [f"{5 - 2 * one - 3 * more:.1f}" for one, more in zip(SHARE, noise, strict=True)]
    (question,) = infer_schema(pair_table(name, cells), similar=overlap).questions
    assert (question.name, question.options[1].flag) == ("scale", "--scale 5-0")
    assert (None if question.proposed is None else question.options[question.proposed].choice["scale"]) == proposed


@pytest.mark.parametrize(
    "name", ["distance", "diferença", "różnica", "Skillnad", "farklılık", "Abweichung", "fark", "Note", "derece", "Stufe", "xyz"]
)
def test_a_distance_and_a_name_of_open_direction_are_reversed_where_the_model_agrees(name: str) -> None:
    table = pair_table(name, scores(is_reversed=True))
    schema = infer_schema(table, similar=overlap)
    assert (schema.roles.low, schema.roles.high, schema.certain) == (5.0, 0.0, True)
    assert build_examples(table, schema.roles)[0].targets == pytest.approx(SHARE, abs=0.011)


@pytest.mark.parametrize("similar", [overlap, None])
def test_a_distance_that_no_model_confirms_is_proposed_as_its_name_says(similar: object) -> None:
    cells = [f"{value:.1f}" for value in np.random.default_rng(5).random(ROWS) * 5]
    questions = infer_schema(pair_table("distance", cells), similar=similar).questions  # type: ignore[arg-type]
    (question,) = (one for one in questions if one.name == "scale")
    low, high = question.options[question.proposed or 0].choice["scale"]
    assert low > high


@pytest.mark.parametrize(
    "name", ["similarity_rank", "rank of similarity", "score rank", "類似度順位", "相似度排名", "Rank (1 = most similar)"]
)
def test_a_rank_begins_at_the_most_similar(name: str) -> None:
    ranks = (np.argsort(np.argsort(-SHARE)) + 1).tolist()
    schema = infer_schema(pair_table(name, ranks), similar=overlap)
    assert schema.certain and (schema.roles.target, schema.roles.low, schema.roles.high) == (name, ROWS, 1)
    for other in ("rank", "Rang", "place"):
        schema = infer_schema(pair_table(other, ranks), similar=overlap)
        assert schema.questions or (schema.roles.target, schema.roles.low, schema.roles.high) == (other, ROWS, 1)


def test_a_rank_is_asked_about_without_a_model_or_beside_few_rows() -> None:
    table = graded(("1", "2", "3", "4"), (0.97, 0.6, 0.3, 0.05), "rank")
    assert names(infer_schema(table)) == ["target", "scale"]
    assert names(infer_schema(table, SchemaOverrides(target="rank"))) == ["scale"]
    for rows in (12, 20):
        few = pair_table("rank", [f"{one:.1f}" for one in np.random.default_rng(rows).random(rows) * 5])
        assert infer_schema(few, similar=overlap).questions


@pytest.mark.parametrize(
    ("name", "is_reversed"),
    [("類似度（0～5）", False), ("Similarity (0-5)", False), ("same? (0/5)", False), ("how similar: different (5), same (0)", True)],
)
def test_ends_in_a_name_tell_the_direction_only_with_words(name: str, is_reversed: bool) -> None:
    schema = infer_schema(pair_table(name, scores(is_reversed=is_reversed)), similar=overlap)
    assert schema.certain and (schema.roles.low, schema.roles.high) == ((5, 0) if is_reversed else (0, 5))


def few_rows(rows: int, target: str, *, is_reversed: bool) -> Table:
    shared = [round(6 * row / (rows - 1)) for row in range(rows)]
    first = [text.split()[:6] for text in random_texts(rows, 4)]
    second = [[*text[:number], *(f"other{place}" for place in range(6 - number))] for text, number in zip(first, shared, strict=True)]
    points = [6 - number if is_reversed else number for number in shared]
    cells = [f"{5 * one / 6:.2f}" if target == "score" else int(one > 3) for one in points]
    return make_table({"sentence1": list(map(" ".join, first)), "sentence2": list(map(" ".join, second)), target: cells})


@pytest.mark.parametrize("target", ["score", "label"])
@pytest.mark.parametrize("rows", [8, 14, 30])
def test_a_few_rows_that_say_the_opposite_are_asked_about_and_plain_ones_are_not(rows: int, target: str) -> None:
    schema = infer_schema(few_rows(rows, target, is_reversed=True), similar=overlap)
    assert names(schema) == [{"score": "scale", "label": "order"}[target]]
    assert infer_schema(few_rows(rows, target, is_reversed=False), similar=overlap).certain


def test_example_rows_of_a_question_have_texts() -> None:
    columns, _ = pairs(None, ROWS)
    cells = scores(is_reversed=True)
    blank = {name: ["" if float(cell) < 1 else text for cell, text in zip(cells, texts, strict=True)] for name, texts in columns.items()}
    schema = infer_schema(make_table({**blank, "score": cells}), similar=overlap)
    assert schema.questions and all(all(row.texts) for row in schema.questions[0].rows)
