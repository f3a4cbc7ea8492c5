"""What a person specifies about the columns, as values and as typed on a command line."""

from __future__ import annotations

import pytest
from data.schema.synthetic import make_table, random_texts

from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.loading.table import Table
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.names import split_words
from sbert_studio.data.schema.roles import Kind, SchemaOverrides, format_names, format_scale, parse_columns, parse_order, parse_scale
from sbert_studio.errors import StudioError

N = 60
SCORES = [f"{index % 11 / 2:g}" for index in range(N)]
LABELS = ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"] * 20


def table(**more: list[str]) -> Table:
    return make_table({"sentence1": random_texts(N, 1), "sentence2": random_texts(N, 2), **more})


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("one, two", 'c "c"'), ("句子1", "$HOME"), ("a b", "-x")])
def test_column_names_survive_the_command_line(names: tuple[str, ...]) -> None:
    assert parse_columns(format_names(names)) == names


@pytest.mark.parametrize(
    ("kinds", "kind", "target"),
    [
        ((), "scored_pairs", "score"),
        (("labelled_pairs",), "labelled_pairs", "label"),
        (("labelled_pairs", "scored_pairs"), "scored_pairs", "score"),
        (("triplets",), "scored_pairs", "score"),
    ],
)
def test_the_loss_decides_between_scores_and_labels(kinds: tuple[Kind, ...], kind: str, target: str) -> None:
    both = table(score=SCORES, label=LABELS)
    roles = infer_schema(both, None, kinds).roles
    assert (roles.kind, roles.target) == (kind, target)
    assert ("not 'score'" in roles.note) == (target == "label")
    assert infer_schema(both, SchemaOverrides(target="score"), kinds).roles.target == "score"
    assert infer_schema(table(score=SCORES), None, ("labelled_pairs",)).roles.kind == "scored_pairs"


@pytest.mark.parametrize("scale", [(0.0, 5.0), (1.0, 7.0), (-1.0, 1.0), (-10.0, -2.5), (0.0, 1e12), (0.001, 0.002), (5.0, 0.0)])
def test_a_scale_survives_the_command_line(scale: tuple[float, float]) -> None:
    assert parse_scale(format_scale(*scale)) == scale


def test_scales_and_orders_are_read_as_people_write_them_or_refused() -> None:
    assert [parse_scale(text) for text in ("1 – 7", "-1-1", "-1 to 1", "0:100")] == [(1, 7), (-1, 1), (-1, 1), (0, 100)]
    assert parse_order("none") == parse_order("") == () and parse_order('no, "yes, surely"') == ("no", "yes, surely")
    for text in ("", "5", "a-b", "0-5-9", "0,5"):
        with pytest.raises(StudioError, match="not a scale"):
            parse_scale(text)
    for text in ("yes", "a,a"):
        with pytest.raises(StudioError, match="not an order"):
            parse_order(text)


def test_group_and_scale_replace_what_was_found() -> None:
    topics = table(score=SCORES, topic=["x", "y"] * 30, part=["p", "q"] * 30)
    groups = [infer_schema(topics, SchemaOverrides(group=group)).roles.group for group in (None, "part", "")]
    assert groups == ["topic", "part", None]
    scaled = infer_schema(topics, SchemaOverrides(scale=(0.0, 10.0))).roles
    assert (scaled.low, scaled.high, scaled.note) == (0.0, 10.0, "scores 0–10, divided by 10")


def test_a_diagnosis_says_whether_it_is_certain_and_usable() -> None:
    unknown = table(label=["wug", "blick"] * 30)
    told = diagnose(unknown).to_json()
    assert (told["certain"], [question["name"] for question in told["questions"]]) == (False, ["order"])
    assert diagnose(unknown, SchemaOverrides(as_read=True)).certain
    short = diagnose(make_table({"sentence1": ["a man sings"], "sentence2": ["someone sings"], "score": ["5"]}))
    assert not short.usable and short.to_json()["usable"] is False


def test_combining_marks_are_parts_of_words() -> None:
    assert split_words("समानता अंक") == ("समानता", "अंक")
    assert split_words("دَرَجَة") == ("درجة",)
    assert split_words("humanScore_2") == ("human", "score", "2") and split_words("answerid") == ("answer", "id")
