"""The order of labels by their words and by a model; what these leave open is asked."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from data.schema.tables import graded, overlap, pair_table, pairs

from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table, table_from_columns
from sbert_studio.data.schema.evidence import EncoderSimilarity, SimilarityFunction
from sbert_studio.data.schema.inference import infer_roles, infer_schema
from sbert_studio.data.schema.labels import find_classes, order_by_words
from sbert_studio.data.schema.roles import SchemaOverrides, parse_order
from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.training.spec import default_loss
from sbert_studio.workspace import Workspace

SAMPLES = Path(__file__).resolve().parents[3] / "assets" / "samples"
SHARE = pairs(None, 200)[1]


@pytest.fixture(scope="module")
def similar(tmp_path_factory: pytest.TempPathFactory) -> SimilarityFunction:
    """The bundled model's cosines, each text encoded once for all tests."""
    return EncoderSimilarity(Catalog(Workspace(tmp_path_factory.mktemp("home")), device="cpu").load("all-MiniLM-L6-v2").encode)


def clear_pairs(no: str, yes: str) -> Table:
    """Return real pairs that are clearly similar or clearly not."""
    with (SAMPLES / "scored_pairs.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if not 1.5 < float(row["score"]) < 4][::2]
    columns = {name: [row[name] for row in rows] for name in ("sentence1", "sentence2")}
    return table_from_columns("t.csv", {**columns, "label": [yes if float(row["score"]) > 3 else no for row in rows]})


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("not_equivalent", "equivalent"), ("mismatch", "match"), ("unique", "duplicate"), ("non-entailment", "entailment"),
        ("ungleich", "gleich"), ("pas équivalent", "équivalent"), ("неэквивалентно", "эквивалентно"), ("不等价", "等价"),
        ("別物", "同義"), ("different", "not different"), ("wug", "blick"), ("blick", "wug"), ("✗", "✓"),
    ],
)  # fmt: skip
def test_two_words_in_any_language_are_ordered_or_asked_about(similar: SimilarityFunction, no: str, yes: str) -> None:
    table = clear_pairs(no, yes)
    roles = infer_roles(table, similar=similar)
    assert (roles.kind, roles.labels, roles.ordered) == ("labelled_pairs", (no, yes), True)
    blind = infer_schema(table)
    assert blind.roles.labels == (no, yes) or [one.name for one in blind.questions] == ["order"]


def test_known_words_against_the_model_are_asked_about_and_each_answer_is_obeyed(similar: SimilarityFunction) -> None:
    table = clear_pairs("yes", "no")  # reversed
    (question,) = infer_schema(table, similar=similar).questions
    assert [option.answer for option in question.options] == ["yes", "the other way round", "they have no order"]
    assert (question.options[1].flag, question.proposed) == ("--order yes,no", None)
    assert {row.read_as for row in question.rows} == {"most similar", "least similar"}
    assert all(row.value and len(row.texts) == 2 for row in question.rows)
    schemas = [infer_schema(table, SchemaOverrides(order=tuple(option.choice["order"])), similar=similar) for option in question.options]
    assert [(one.roles.labels, one.roles.ordered, one.certain) for one in schemas] == [
        (("no", "yes"), True, True),
        (("yes", "no"), True, True),
        (("no", "yes"), False, True),
    ]
    assert infer_schema(table, SchemaOverrides(as_read=True), similar=similar).certain


@pytest.mark.parametrize(
    ("labels", "shares"),
    [
        *(
            (labels, (0.1, 0.5, 0.9))
            for labels in (("low", "medium", "high"), ("niedrig", "mittel", "hoch"), ("rot", "gelb", "grün"), ("低", "中", "高"))
        ),
        *((labels, (0.2, 0.45, 0.8)) for labels in (("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"), ("contredit", "indécis", "découle"))),
        *((labels, (0.2, 0.45, 0.8)) for labels in (("反驳", "不确定", "支持"), ("опровергает", "неизвестно", "подтверждает"))),
        *((labels, (0.2, 0.45, 0.8)) for labels in (("contradiction", "neutral", "entailment"), ("Widerspruch", "neutral", "Folgerung"))),
        *((labels, (0.05, 0.35, 0.65, 0.95)) for labels in (("★", "★★", "★★★", "★★★★"), ("I", "II", "III", "IV"), ("E", "D", "B", "A"))),
        (("毫不相干", "略有关系", "部分相同", "完全一样"), (0.05, 0.35, 0.65, 0.95)),
        (("全く違う", "少し似ている", "ほぼ同じ", "同じ"), (0.05, 0.35, 0.65, 0.95)),
        (("ungenügend", "mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"), (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (("insuffisant", "passable", "bien", "très bien", "excellent"), (0, 0.25, 0.5, 0.75, 1)),
        (("ga", "bu", "zo"), (0.0, 0.5, 1.0)),
    ],
)  # fmt: skip
def test_degrees_grades_and_inference_labels_are_ordered(labels: tuple[str, ...], shares: tuple[float, ...]) -> None:
    schema = infer_schema(graded(labels, shares), similar=overlap)
    assert (schema.roles.labels, schema.certain) == (labels, True)
    words = order_by_words(sorted(labels))
    assert labels[0] in ("E", "ga") or (words is not None and words.labels == labels)


def test_contradictions_in_the_same_words_do_not_change_the_order_of_inference_labels() -> None:
    labels = ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS")
    assert infer_roles(graded(labels, (0.6, 0.3, 0.85)), similar=overlap).labels == labels
    columns, _ = pairs((0.6, 0.3), 40)
    numbered = {"premise": columns["one"], "hypothesis": columns["two"], "label": ["0", "1", "2", "-1"] * 10}
    assert infer_roles(table_from_columns("t", numbered)).labels == ("2", "1", "0")


def test_three_unknown_labels_and_tied_ones_are_asked_about() -> None:
    unknown = infer_schema(graded(("tav", "rek", "sof"), (0.3, 0.5, 0.8)), similar=overlap)
    assert unknown.roles.labels == ("tav", "rek", "sof")
    assert [one.name for one in unknown.questions] == ["order"], "three unknown classes may be those of inference"
    tied = infer_schema(graded(("ga", "bu", "zo", "ri"), (0.0, 0.5, 0.5, 1.0)), similar=overlap)
    orders = [option.choice.get("order") for option in tied.questions[0].options]
    assert ["ga", "bu", "zo", "ri"] in orders and ["ga", "zo", "bu", "ri"] in orders


def test_the_proposed_order_is_the_models_unless_it_is_by_chance() -> None:
    noisy = np.random.default_rng(4).random(60) < 0.38
    labels = ["zorg" if (one > 0.5) != flip else "blip" for one, flip in zip(pairs(None, 60)[1], noisy, strict=True)]
    (question,) = infer_schema(pair_table("label", labels), similar=overlap).questions
    assert question.proposed is not None and question.options[question.proposed].choice == {"order": ["blip", "zorg"]}
    by_chance = pair_table("label", np.random.default_rng(7).permutation(["zorg", "blip"] * 100).tolist())
    for similar in (overlap, None):
        (question,) = infer_schema(by_chance, similar=similar).questions
        assert question.proposed is None
    satisfaction = pair_table("score", np.random.default_rng(7).permutation(["good", "bad", "unoffered"] * 20).tolist())
    options = infer_schema(satisfaction, similar=overlap).questions[-1].options
    assert options[-1].choice["kind"] == "labelled_texts", "labels unrelated to the similarity may be categories"


def test_a_mark_or_nothing_makes_two_classes() -> None:
    table = graded(("", "x"), (0.1, 0.9))
    schema = infer_schema(table, similar=overlap)
    assert (schema.roles.kind, schema.roles.labels) == ("labelled_pairs", ("", "x"))
    examples, findings = build_examples(table, schema.roles)
    assert len(examples) == 300 and not [finding for finding in findings if finding.skip_reason]
    assert not infer_schema(table).certain
    assert infer_roles(table, target="zz").labels == ("", "x")
    assert infer_schema(table, SchemaOverrides(target="zz", order=parse_order("x,"))).roles.labels == ("x", "")


def test_relations_have_no_order_and_an_order_names_every_label_once() -> None:
    cells = np.resize(["cause", "part-of", "is-a", "example"], 200).tolist()
    schema = infer_schema(pair_table("relation", cells), SchemaOverrides(target="relation"))
    assert (schema.roles.kind, schema.roles.ordered, schema.certain) == ("labelled_pairs", False, True)
    assert default_loss("labelled_pairs", ("cause", "contrast"), ordered=False) == "softmax"
    assert default_loss("labelled_pairs", ("no", "yes")) == "cosent"
    with pytest.raises(StudioError, match="does not list each label"):
        infer_schema(clear_pairs("wug", "blick"), SchemaOverrides(order=("wug", "other")))
    with pytest.raises(StudioError, match="have no label order"):
        infer_schema(pair_table("score", SHARE.tolist()), SchemaOverrides(order=("a", "b")))


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["neutral", "entailment", "contradiction"], ("contradiction", "neutral", "entailment")),
        (["Entailment", "entailment", "entailment", "NEUTRAL", "contradiction", "-"], ("contradiction", "NEUTRAL", "entailment")),
        (["矛盾", "蕴含", "中立"], ("矛盾", "中立", "蕴含")), (["1.0", "0", "1"], ("0", "1")), (["yes", "no", "Yes", "yes"], ("no", "yes")),
        (["-1", "1"], ("-1", "1")), (["entailment", "not_entailment"], ("not_entailment", "entailment")),
        (["10", "9", "2"], ("2", "9", "10")), (["sport", "art", ""], ("art", "sport")), (["不相似", "相似"], ("不相似", "相似")),
    ],
)  # fmt: skip
def test_classes_are_in_the_order_of_their_meaning(cells: list[str], labels: tuple[str, ...]) -> None:
    classes = find_classes(cells)
    words = order_by_words(classes)
    assert tuple(label.replace("1.0", "1") for label in (words.labels if words else classes)) == labels
