"""The kind of examples, the columns' parts and the scale are found out, and can be chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.schema.labels import find_classes, order_by_words
from sbert_studio.data.schema.roles import Roles
from sbert_studio.data.schema.scales import describe_scale, detect_scale
from sbert_studio.data.tables import Table, read_table, table_from_columns
from sbert_studio.errors import StudioError

N = 40
A = [f"a man number {index} plays the guitar on stage" for index in range(N)]
B = [f"someone called {index} makes music for people" for index in range(N)]
C = [f"the cat of house {index} sleeps on the sofa" for index in range(N)]
SCORES = [f"{index % 11 / 2:g}" for index in range(N)]


def table(**columns: list[str]) -> Table:
    return table_from_columns("file.csv", columns)


@pytest.mark.parametrize(
    ("columns", "kind", "texts", "target"),
    [
        ({"sentence1": A, "sentence2": B, "score": SCORES}, "scored_pairs", ("sentence1", "sentence2"), "score"),
        ({"score": SCORES, "s2": B, "s1": A}, "scored_pairs", ("s1", "s2"), "score"),
        ({"column_1": A, "column_2": B, "column_3": SCORES}, "scored_pairs", ("column_1", "column_2"), "column_3"),
        ({"id": [str(i) for i in range(N)], "a": A, "b": B, "rating": SCORES}, "scored_pairs", ("a", "b"), "rating"),
        ({"sentence1": A, "sentence2": B, "label": ["0", "1"] * 20}, "labelled_pairs", ("sentence1", "sentence2"), "label"),
        ({"sentence1": A, "sentence2": B, "label": SCORES}, "scored_pairs", ("sentence1", "sentence2"), "label"),
        ({"premise": A, "hypothesis": B, "label": ["0", "1", "2", "-1"] * 10}, "labelled_pairs", ("premise", "hypothesis"), "label"),
        ({"前提": A, "假设": B, "标签": ["蕴含", "中立", "矛盾", "中立"] * 10}, "labelled_pairs", ("前提", "假设"), "标签"),
        ({"question": A, "answer": B}, "positive_pairs", ("question", "answer"), None),
        ({"anchor": A, "positive": B, "negative": C}, "triplets", ("anchor", "positive", "negative"), None),
        ({"negative_2": C, "negative_1": B, "query": A, "pos": C[::-1]}, "triplets", ("query", "pos", "negative_2", "negative_1"), None),
        ({"sent0": A, "sent1": B, "hard_neg": C}, "triplets", ("sent0", "sent1", "hard_neg"), None),
        ({"column_1": A, "column_2": B, "column_3": C}, "triplets", ("column_1", "column_2", "column_3"), None),
        ({"text": A}, "sentences", ("text",), None),
        ({"text": A, "category": ["x", "y"] * 20}, "labelled_texts", ("text",), "category"),
        ({"text": A, "label": ["0", "3"] * 20}, "labelled_texts", ("text",), "label"),
    ],
)
def test_kind_columns_and_target_are_found(columns: dict[str, list[str]], kind: str, texts: tuple[str, ...], target: str | None) -> None:
    roles = infer_roles(table(**columns))
    assert (roles.kind, roles.texts, roles.target) == (kind, texts, target)


def test_scores_win_over_labels_unless_labels_are_asked_for() -> None:
    sick = table(
        sentence1=A, sentence2=B, score=[str(1 + i % 5) for i in range(N)], label=["ENTAILMENT", "NEUTRAL", "CONTRADICTION", "NEUTRAL"] * 10
    )
    assert infer_roles(sick).target == "score"
    for roles in (infer_roles(sick, kind="labelled_pairs"), infer_roles(sick, target="label")):
        assert (roles.kind, roles.target) == ("labelled_pairs", "label")
        assert roles.labels == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
    assert infer_roles(sick, kind="positive_pairs").target is None
    assert infer_roles(sick, kind="sentences", columns=["sentence2"]).texts == ("sentence2",)


def test_groups_are_found_by_name_and_for_sentences_by_content() -> None:
    topics = ["sport", "music"] * 20
    assert infer_roles(table(text=A, category=topics), "sentences").group == "category"
    assert infer_roles(table(text=A, kind=topics)).group == "kind"
    assert infer_roles(table(sentence1=A, sentence2=B, topic=topics, score=SCORES)).group == "topic"
    assert infer_roles(table(sentence1=A, sentence2=B, score=SCORES)).group is None


def test_snlis_own_numbers_are_ordered_by_similarity() -> None:
    roles = infer_roles(table(premise=A, hypothesis=B, label=["0", "1", "2", "-1"] * 10))
    assert roles.labels == ("2", "1", "0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "scored_pairs"}, "one column of text"),
        ({"kind": "positive_pairs"}, "one column of text"),
        ({"kind": "triplets"}, "triplets need"),
        ({"columns": ["text", "nothing"]}, "no column 'nothing'"),
        ({"columns": ["text", "text"]}, "two roles"),
        ({"columns": ["text", "label"], "target": "text"}, "two roles"),
        ({"kind": "sentences", "columns": ["text", "label"]}, "need 1 text column"),
        ({"kind": "quadruplets", "columns": ["text", "label"]}, "not a kind"),
    ],
)
def test_what_cannot_be_had_is_refused_in_words(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(StudioError, match=words):
        infer_roles(table(text=A, label=["x", "y"] * 20), **arguments)  # type: ignore[arg-type]


def test_a_column_called_score_may_hold_a_few_words_for_no_score() -> None:
    cells = ["n/a" if row % 5 == 0 else str(row % 6) for row in range(40)]
    assert infer_roles(table(sentence1=A, sentence2=B, score=cells)).kind == "scored_pairs"
    cells = ["n/a" if row % 5 == 0 else f"{row / 8:.3f}" for row in range(40)]
    assert infer_roles(table(sentence1=A, sentence2=B, similarity=cells)).target == "similarity"


def test_words_are_refused_as_scores_and_sentences_as_labels() -> None:
    pairs = table(sentence1=A, sentence2=B, label=["x", "y"] * 20, remark=C)
    with pytest.raises(StudioError, match="words, not scores"):
        infer_roles(pairs, kind="scored_pairs", target="label")
    with pytest.raises(StudioError, match="too many to be classes"):
        infer_roles(pairs, kind="labelled_pairs", columns=["sentence1", "sentence2"], target="remark")
    with pytest.raises(StudioError, match="no column of scores"):
        infer_roles(table(sentence1=A, sentence2=B), kind="scored_pairs")


@pytest.mark.parametrize(
    ("scores", "scale", "words"),
    [
        ([0, 0.3, 1], (0, 1), "scores 0–1, taken as they are"),
        ([0, 2.5, 5], (0, 5), "scores 0–5, divided by 5"),
        ([0.2, 2.5, 4.8], (0, 5), "scores 0–5, divided by 5"),
        ([1, 2.5, 5], (1, 5), "scores 1–5, rescaled"),
        ([1.2, 2.5, 4.9], (0, 5), "scores 0–5, divided by 5"),
        ([-1, -0.2, 0.9], (-1, 1), "scores -1–1, rescaled"),
        ([0, 55.5, 100], (0, 100), "scores 0–100, divided by 100"),
        ([0, 1, 2, 3], (0, 3), "scores 0–3, divided by 3"),
        ([1, 4, 7], (1, 7), "scores 1–7, rescaled"),
        ([0, 8.5, 9.5], (0, 10), "scores 0–10, divided by 10"),
        ([-300, 12, 900], (-300, 900), "scores -300–900, rescaled"),
        ([*[1, 3.4, 6.2, 7] * 20], (1, 7), "scores 1–7, rescaled"),
        ([*[0, 2.2, 4] * 40], (0, 5), "scores 0–5, divided by 5"),
        ([*[0, 2.5, 5] * 40, 55], (0, 5), "scores 0–5, divided by 5"),
    ],
)
def test_the_scale_is_found_and_one_typing_error_does_not_stretch_it(scores: list[float], scale: tuple[float, float], words: str) -> None:
    assert detect_scale(np.array(scores, dtype=float)) == scale
    assert describe_scale(*scale).startswith(words)


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["neutral", "entailment", "contradiction"], ("contradiction", "neutral", "entailment")),
        (["Entailment", "entailment", "entailment", "NEUTRAL", "contradiction", "-"], ("contradiction", "NEUTRAL", "entailment")),
        (["矛盾", "蕴含", "中立"], ("矛盾", "中立", "蕴含")),
        (["1", "0", "1"], ("0", "1")),
        (["1.0", "0", "1"], ("0", "1")),
        (["yes", "no", "Yes", "yes"], ("no", "yes")),
        (["-1", "1"], ("-1", "1")),
        (["entailment", "not_entailment"], ("not_entailment", "entailment")),
        (["10", "9", "2"], ("2", "9", "10")),
        (["sport", "art", ""], ("art", "sport")),
        (["不相似", "相似"], ("不相似", "相似")),
    ],
)
def test_labels_come_in_an_order_that_means_something(cells: list[str], labels: tuple[str, ...]) -> None:
    names = find_classes(cells)
    known = order_by_words(names)
    found = known.labels if known else names
    assert tuple(label.replace("1.0", "1") for label in found) == labels


def test_roles_survive_json() -> None:
    roles = Roles("scored_pairs", ("a", "b"), "c", 0.0, 5.0, group="g", note="scores 0–5, divided by 5")
    assert Roles.from_json(roles.to_json()) == roles


def test_a_scale_without_extent_is_refused() -> None:
    with pytest.raises(StudioError, match="empty"):
        Roles("scored_pairs", ("a", "b"), "c", 5.0, 5.0)


@pytest.mark.parametrize(
    ("file", "kind", "note", "group"),
    [
        ("stsb/train.csv", "scored_pairs", "scores 0–5, divided by 5", None),
        ("stsb-zh/train.csv", "scored_pairs", "scores 0–5, divided by 5", None),
        ("sick/train.csv", "scored_pairs", "scores 1–5, rescaled", None),
        ("snli/train.csv", "labelled_pairs", "labels contradiction, neutral, entailment", None),
        ("mrpc/train.csv", "labelled_pairs", "labels 0, 1", None),
        ("banking77/train.csv", "labelled_texts", "77 categories", None),
        ("trec/train.csv", "labelled_texts", "6 categories", None),
    ],
)
def test_public_sets_are_understood(real_data: Path, file: str, kind: str, note: str, group: str | None) -> None:
    roles = infer_roles(read_table(real_data / file))
    assert (roles.kind, roles.group) == (kind, group) and roles.note.startswith(note)
