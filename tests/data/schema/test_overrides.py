"""Column roles that a person overrides, of a held-out file, and of cells without content."""

from __future__ import annotations

import numpy as np
import pytest
from data.schema.tables import make_table, overlap, pair_table, pairs, random_texts

from sbert_studio.data.dev_file import build_dev_examples
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.loading.table import Table
from sbert_studio.data.schema.inference import infer_schema
from sbert_studio.data.schema.names import split_words
from sbert_studio.data.schema.roles import Kind, Roles, SchemaOverrides, format_names, format_scale, parse_columns, parse_order, parse_scale
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
        with pytest.raises(StudioError, match="not a valid label order"):
            parse_order(text)


def test_group_and_scale_replace_what_was_found() -> None:
    topics = table(score=SCORES, topic=["x", "y"] * 30, part=["p", "q"] * 30)
    groups = [infer_schema(topics, SchemaOverrides(group=group)).roles.group for group in (None, "part", "")]
    assert groups == ["topic", "part", None]
    scaled = infer_schema(topics, SchemaOverrides(scale=(0.0, 10.0))).roles
    assert (scaled.low, scaled.high, scaled.note) == (0.0, 10.0, "scores 0–10, divided by 10")


@pytest.mark.parametrize("kind", ["positive_pairs", "scored_pairs", "labelled_pairs"])
@pytest.mark.parametrize("columns", [("sentence1",), ("sentence1", "sentence2", "score")])
def test_pairs_of_another_number_of_columns_are_refused(kind: Kind, columns: tuple[str, ...]) -> None:
    with pytest.raises(StudioError, match=f"need 2 text columns, not {len(columns)}"):
        infer_schema(table(score=SCORES), SchemaOverrides(kind, columns))


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


ROWS = 120
SHARE = pairs(None, ROWS)[1]
IS_SIMILAR = (SHARE > 0.5).astype(int).tolist()


def labelled(no: str, yes: str, names: tuple[str, str, str] = ("one", "two", "label")) -> Table:
    columns, _ = pairs(None, ROWS)
    return make_table(dict(zip(names, (*columns.values(), [(no, yes)[one] for one in IS_SIMILAR]), strict=True)))


def scored(name: str = "score", top: float = 5, *, is_reversed: bool = False) -> Table:
    return pair_table(name, [f"{top * (1 - one if is_reversed else one):.2f}" for one in SHARE])


@pytest.mark.parametrize("names", [("x", "y", "etikett"), ("one", "two", "label")])
def test_labels_are_never_put_in_alphabetical_order(names: tuple[str, str, str]) -> None:
    dev, table = labelled("glorp", "blarg", names), labelled("no", "yes")
    found = diagnose(table, dev=dev)
    assert found.dev_examples is None
    assert all(words in found.errors[0].message for words in ("blarg, glorp", "(no, yes)", "rename them", "do not use the file"))
    known = diagnose(table, dev=dev, similar=overlap)
    assert any("labels glorp, blarg are mapped to no, yes: " in one.message for one in known.findings)
    assert known.dev_examples.targets.tolist() == IS_SIMILAR


@pytest.mark.parametrize("names", [("x", "y", "verdict"), ("one", "two", "label")])
def test_known_words_correspond_to_the_labels_of_the_training_file(names: tuple[str, str, str]) -> None:
    roles = infer_schema(labelled("wug", "blick"), SchemaOverrides(order=("wug", "blick"))).roles
    examples, _ = build_dev_examples(labelled("0", "1", names), roles)
    assert examples.targets is not None and examples.targets.tolist() == IS_SIMILAR


def test_other_categories_are_refused_and_reversed_scores_too() -> None:
    roles = Roles("labelled_texts", ("text",), "topic", labels=("art", "sport"), ordered=False)
    dev = make_table({"text": [f"a text of number {row}" for row in range(40)], "topic": ["wug", "blick"] * 20})
    with pytest.raises(StudioError, match="cannot be mapped to those of the training file"):
        build_dev_examples(dev, roles)
    reversed_roles = infer_schema(scored("distance"), SchemaOverrides(scale=(5.0, 0.0))).roles
    assert build_dev_examples(scored("score"), reversed_roles)[0].targets == pytest.approx(1 - SHARE, abs=0.01)
    for column in ("score", "wert"):
        found = diagnose(scored(), dev=scored(column, is_reversed=True), similar=overlap)
        assert found.dev_examples is None and "held-out file cannot be used" in found.errors[0].message
        assert diagnose(scored(), dev=scored(column), similar=overlap).dev_examples is not None


def test_another_scale_loses_no_row_and_two_scales_are_refused_with_their_rows() -> None:
    found = diagnose(scored(), dev=scored(top=100))
    assert found.dev_examples is not None and len(found.dev_examples) == len(found.examples)
    assert found.dev_examples.targets == pytest.approx(found.examples.targets, abs=0.01)
    assert any("but those of the training file are on 0–5" in one.message for one in found.findings)
    cells = [f"{5 * one * (20 if place % 3 == 0 else 1):g}" for place, one in enumerate(SHARE)]
    with pytest.raises(StudioError, match="outside the training file's scale 0–5") as caught:
        build_dev_examples(pair_table("score", cells), Roles("scored_pairs", ("one", "two"), "score", 0.0, 5.0))
    assert caught.value.rows == tuple(place + 2 for place, cell in enumerate(cells) if float(cell) > 5)
    assert "do not use the file" in caught.value.hint


def test_nothing_is_offered_that_would_make_a_guess_come_true() -> None:
    noise = np.random.default_rng(3).random(ROWS)
    table = pair_table("note", [f"{5 - 2 * one - 3 * more:.1f}" for one, more in zip(SHARE, noise, strict=True)])
    found = diagnose(table, similar=overlap)
    assert found.questions and not found.offers
    assert all(finding.fix is None for finding in found.findings if "dissimilar to itself" in finding.message)
    answered = diagnose(table, SchemaOverrides(scale=(5.0, 0.0)), similar=overlap)
    assert answered.offers and not answered.questions
