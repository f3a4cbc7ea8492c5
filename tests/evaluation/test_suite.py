from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import Table, read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.errors import StudioError
from sbert_studio.evaluation.evaluate import SCORED_KINDS, detect_task, evaluate, evaluate_examples, main_score

LEFT = ["a red apple fell", "the cat sat down", "we paid the bill", "it rains a lot", "she reads old books", "he drove too fast"]
RIGHT = ["a red apple fell down", "the cat sat", "snow is white", "it rains so hard today", "old dogs sleep", "nobody called back yet"]
OTHER = ["blue whales sing", "taxes went up", "we paid the bill twice", "green tea", "the moon is full", "a quick nap"]


def table(**columns: list[str]) -> Table:
    return table_from_columns("set", columns)


TABLES = {
    "sts": table(sentence1=LEFT, sentence2=RIGHT, score=["4.8", "4.5", "0.2", "3.1", "1.0", "0.0"]),
    "pairs": table(sentence1=LEFT, sentence2=RIGHT, label=["1", "1", "0", "1", "0", "0"]),
    "triplets": table(anchor=LEFT, positive=RIGHT, negative=OTHER),
    "retrieval": table(anchor=LEFT, positive=RIGHT),
    "categories": table(text=[*LEFT, *RIGHT, *OTHER], category=["x", "y"] * 9),
}


@pytest.mark.parametrize("task", list(TABLES))
def test_the_task_is_found_from_the_columns_and_scored(task: str, encoder) -> None:
    assert detect_task(TABLES[task]) == task
    report = evaluate(encoder, TABLES[task])
    assert report.task == task and report.rows == len(TABLES[task])
    name, score = main_score(report)
    assert 0 <= score <= 1 and name
    assert len(encoder.calls) == 1
    assert report.to_json().keys() >= {"task", "rows", *report.scores}


def test_three_classes_are_ordered_by_similarity(encoder) -> None:
    nli = table(premise=LEFT, hypothesis=RIGHT, label=["entailment", "entailment", "contradiction", "neutral", "neutral", "contradiction"])
    report = evaluate(encoder, nli)
    assert report.task == "sts"
    assert report.scores["cosine"]["spearman"] > 0.8


def test_clustering_is_chosen_by_name_and_uses_the_classes(encoder) -> None:
    texts = [f"refund money card {place}" for place in range(8)] + [f"river boat water {place}" for place in range(8)]
    report = evaluate(encoder, table(text=texts, topic=["a"] * 8 + ["b"] * 8), "clustering")
    assert report.task == "clustering" and report.scores["v_measure"] == pytest.approx(1)


def test_examples_of_every_scored_kind_are_judged(encoder) -> None:
    for task in ("sts", "pairs", "triplets", "retrieval"):
        examples, _ = build_examples(TABLES[task], infer_roles(TABLES[task]))
        assert examples.kind in SCORED_KINDS
        assert evaluate_examples(encoder, examples).task == task


def test_bare_sentences_cannot_judge_a_model(encoder) -> None:
    sentences = table(text=LEFT)
    examples, _ = build_examples(sentences, infer_roles(sentences))
    assert examples.kind not in SCORED_KINDS
    with pytest.raises(StudioError, match="sentences"):
        evaluate_examples(encoder, examples)


def test_rows_left_out_are_named_in_the_notes(encoder) -> None:
    half = table(sentence1=[*LEFT, ""], sentence2=[*RIGHT, "x"], score=["4", "5", "0", "3", "1", "0", "2"])
    report = evaluate(encoder, half)
    assert report.rows == 6 and report.notes
    classed = table(text=[*LEFT, *RIGHT], category=["x", "y"] * 5 + ["x", ""])
    report = evaluate(encoder, classed, "transfer")
    assert report.rows == 11 and "row 13" in report.to_json()["notes"][0]
    account = report.account.to_json()
    assert account == {"read": 12, "used": 11, "held_out": 0, "left_out": 1, "reasons": [{"why": "no text or no class", "rows": [13]}]}
    account = evaluate(encoder, half).account
    assert (account.read, account.used) == (7, 6) and account.reasons[0].rows == (8,)
    assert evaluate(encoder, half).notes == ("1 row with text on one side only, skipped (row 8)",)


@pytest.mark.parametrize(
    ("task", "data", "said"),
    [
        ("nonsense", TABLES["sts"], "no evaluation"),
        ("sts", TABLES["triplets"], "no column of scores"),
        ("triplets", TABLES["retrieval"], "triplets"),
        ("clustering", table(text=LEFT), "classes"),
        ("auto", table(sentence1=LEFT, sentence2=RIGHT, score=["0.5"] * 6), "same score"),
        ("transfer", table(text=LEFT, category=["x"] * 6), "class"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(task: str, data: Table, said: str, encoder) -> None:
    with pytest.raises(StudioError, match=said):
        evaluate(encoder, data, task)
    assert encoder.calls == []


def test_real_sets_are_recognised(real_data: Path) -> None:
    for path, task in (("stsb/dev.csv", "sts"), ("mrpc/test.csv", "pairs"), ("snli/test.csv", "sts"), ("trec/test.csv", "categories")):
        data = read_table(real_data / path)
        assert detect_task(data.select(np.arange(300))) == task, path


def test_two_labels_without_an_order_are_never_ranked(encoder) -> None:
    from dataclasses import replace

    from sbert_studio.data.examples import build_examples
    from sbert_studio.data.schema.inference import infer_schema
    from sbert_studio.data.schema.roles import SchemaOverrides

    labels = ["agrees", "quotes"] * 12
    data = table(sentence1=[f"{text} {n}" for n, text in enumerate(LEFT * 4)], sentence2=RIGHT * 4, label=labels)
    roles = infer_schema(data, SchemaOverrides(kind="labelled_pairs", target="label", order=())).roles
    assert not roles.ordered
    examples, _ = build_examples(data, roles)
    report = evaluate_examples(encoder, examples)
    assert report.task == "classes" and not any("spearman" in name or "average_precision" in name for name in report.scores)
    assert evaluate(encoder, data, roles=roles).task == "classes"
    for task in ("sts", "pairs"):
        with pytest.raises(StudioError, match="no order"):
            evaluate(encoder, data, task, roles=roles)
    assert evaluate_examples(encoder, replace(examples, ordered=True)).task == "pairs"
