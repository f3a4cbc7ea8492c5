"""What is said of the columns by hand, as values and as the words of a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.overrides import SchemaOverrides, format_names, format_scale, parse_columns, parse_scale
from sbert_studio.data.tables import Table, read_table, table_from_columns
from sbert_studio.errors import StudioError

N = 60
A = [f"a man number {index} plays the guitar on stage" for index in range(N)]
B = [f"someone called {index} makes music for people" for index in range(N)]
SCORES = [f"{index % 11 / 2:g}" for index in range(N)]
LABELS = ["ENTAILMENT", "NEUTRAL", "CONTRADICTION"] * 20


def table(**more: list[str]) -> Table:
    return table_from_columns("file.csv", {"sentence1": A, "sentence2": B, **more})


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("one, two", 'c "c"'), ("句子1", "$HOME"), ("a b", "-x")])
def test_column_names_survive_the_command_line(names: tuple[str, ...]) -> None:
    assert parse_columns(format_names(names)) == names


@pytest.mark.parametrize("scale", [(0.0, 5.0), (1.0, 7.0), (-1.0, 1.0), (-10.0, -2.5), (0.0, 1e12), (0.001, 0.002)])
def test_a_scale_survives_the_command_line(scale: tuple[float, float]) -> None:
    assert parse_scale(format_scale(*scale)) == scale


@pytest.mark.parametrize(
    ("text", "scale"), [("0-5", (0, 5)), ("1 – 7", (1, 7)), ("-1-1", (-1, 1)), ("-1 to 1", (-1, 1)), ("0:100", (0, 100))]
)
def test_a_scale_is_read_as_people_write_it(text: str, scale: tuple[float, float]) -> None:
    assert parse_scale(text) == scale


@pytest.mark.parametrize("text", ["", "5", "a-b", "0-5-9", "0,5"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(StudioError, match="not a scale"):
        parse_scale(text)


@pytest.mark.parametrize(
    ("kinds", "kind", "target"),
    [
        ((), "scored_pairs", "score"),
        (("labelled_pairs",), "labelled_pairs", "label"),
        (("labelled_pairs", "scored_pairs"), "scored_pairs", "score"),
        (("triplets",), "scored_pairs", "score"),
    ],
)
def test_what_the_objective_learns_from_decides_between_scores_and_labels(kinds: tuple[str, ...], kind: str, target: str) -> None:
    both = table(score=SCORES, label=LABELS)
    roles = infer_schema(both, None, kinds).roles  # type: ignore[arg-type]
    assert (roles.kind, roles.target) == (kind, target)
    assert ("not 'score'" in roles.note) == (target == "label")
    assert infer_schema(both, SchemaOverrides(target="score"), kinds).roles.target == "score"  # type: ignore[arg-type]


def test_scores_are_never_read_as_labels_for_want_of_them() -> None:
    assert infer_schema(table(score=SCORES), None, ("labelled_pairs",)).roles.kind == "scored_pairs"
    assert infer_schema(table(label=LABELS), None, ("scored_pairs",)).roles.kind == "labelled_pairs"


def test_the_public_set_with_both_columns_follows_the_objective(real_data: Path) -> None:
    sick = read_table(real_data / "sick" / "train.csv")
    assert infer_schema(sick).roles.kind == "scored_pairs"
    assert infer_schema(sick, None, ("labelled_pairs",)).roles.labels == ("contradiction", "neutral", "entailment")


def test_group_and_scale_take_the_place_of_what_was_found() -> None:
    topics = table(score=SCORES, topic=["x", "y"] * 30, part=["p", "q"] * 30)
    assert infer_schema(topics).roles.group == "topic"
    assert infer_schema(topics, SchemaOverrides(group="part")).roles.group == "part"
    assert infer_schema(topics, SchemaOverrides(group="")).roles.group is None
    scaled = infer_schema(topics, SchemaOverrides(scale=(0.0, 10.0))).roles
    assert (scaled.low, scaled.high, scaled.note) == (0.0, 10.0, "scores 0–10, divided by 10")
