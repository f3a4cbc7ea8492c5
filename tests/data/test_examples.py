"""Rows become examples; those that cannot are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.examples import build_examples
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.schema.roles import Roles
from sbert_studio.data.splits.held_out import build_like
from sbert_studio.errors import StudioError

SCORED = Roles("scored_pairs", ("a", "b"), "score", 1.0, 5.0)
LABELLED = Roles("labelled_pairs", ("a", "b"), "label", labels=("contradiction", "neutral", "entailment"))


def test_scores_are_scaled_and_bad_rows_named_by_what_is_wrong() -> None:
    table = table_from_columns(
        "t",
        {
            "a": ["x1", "x2", "", "x4", "x5", "x6", "", "x8"],
            "b": ["y1", "", "y3", "y4", "y5", "y6", " ", "y8"],
            "score": ["1", "2", "2", "n/a", "", "7", "3", "4,0"],
        },
    )
    examples, findings = build_examples(table, SCORED)
    assert examples.texts == (("x1", "x8"), ("y1", "y8"))
    assert examples.targets is not None and examples.targets.dtype == np.float32
    assert examples.targets.tolist() == [0.0, 0.75]
    assert examples.lines.tolist() == [2, 9]
    assert {finding.message.partition(", left out")[0]: finding.rows for finding in findings} == {
        "1 row without any text": (8,),
        "2 rows with text on one side only": (3, 4),
        "1 row without a score": (6,),
        "1 row whose score is not a number": (5,),
        "1 row with a score outside 1–5": (7,),
    }


def test_label_spellings_count_as_one_class_and_unknown_ones_are_named() -> None:
    cells = ["Entailment", "neutral ", "CONTRADICTION", "-", "maybe", "蕴含"]
    table = table_from_columns("t", {"a": list("uvwxyz"), "b": list("abcdef"), "label": cells})
    examples, findings = build_examples(table, LABELLED)
    assert examples.targets is not None and examples.targets.dtype == np.int64
    assert examples.targets.tolist() == [2, 1, 0, 2]
    assert [finding.rows for finding in findings] == [(5,), (6,)]
    assert [finding.left_out.rpartition(" ")[2] for finding in findings] == ["'-'", "'maybe'"]


def test_a_triplet_with_fewer_negatives_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"query": "a b", "positive": "c d", "negatives": ["e f", "g h"]}, {"query": "i j", "positive": "k l", "negatives": ["m n"]}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = read_table(path)
    examples, findings = build_examples(table, infer_roles(table))
    assert examples.kind == "triplets"
    assert list(zip(*examples.texts, strict=True)) == [("a b", "c d", "e f", "g h"), ("i j", "k l", "m n", "m n")]
    assert [finding.rows for finding in findings] == [(2,)]


def test_no_usable_row_is_an_error_that_names_rows() -> None:
    table = table_from_columns("t", {"a": ["x", "y"], "b": ["", "z"], "score": ["1", "many"]})
    with pytest.raises(StudioError) as caught:
        build_examples(table, SCORED)
    assert caught.value.rows == (2, 3)


def test_taking_examples_keeps_everything_aligned() -> None:
    table = table_from_columns("t", {"a": list("uvwx"), "b": list("abcd"), "score": ["1", "2", "3", "5"], "topic": list("pqpq")})
    examples, _ = build_examples(table, replace(SCORED, group="topic"))
    taken = examples.take([3, 1])
    assert (taken.texts, taken.groups, taken.lines.tolist()) == ((("x", "v"), ("d", "b")), ("q", "q"), [5, 3])
    assert taken.targets is not None and taken.targets.tolist() == [1.0, 0.25]
    assert len(examples.take([])) == 0


def test_the_digest_names_texts_targets_and_order() -> None:
    table = table_from_columns("t", {"a": list("uvw"), "b": list("abc"), "score": ["1", "2", "3"]})
    examples, _ = build_examples(table, SCORED)
    assert examples.digest == examples.take([0, 1, 2]).digest
    rescored, _ = build_examples(table, replace(SCORED, low=0.0))
    assert len({examples.digest, examples.take([1, 0, 2]).digest, examples.take([0, 1]).digest, rescored.digest}) == 4


def test_a_held_out_file_gets_the_same_class_ids_under_other_column_names() -> None:
    dev = table_from_columns(
        "dev",
        {
            "premise": [f"there are {index} men on the road" for index in range(20)],
            "hypothesis": [f"some {index} people stand outside" for index in range(20)],
            "gold_label": ["entailment", "neutral"] * 10,
        },
    )
    examples, _ = build_like(dev, LABELLED)
    assert examples.labels == LABELLED.labels
    assert examples.targets is not None and examples.targets[:2].tolist() == [2, 1]


@pytest.mark.parametrize("column", ["text", "sentence1"])
def test_bare_sentences_are_judged_by_scored_pairs(column: str) -> None:
    sentences = table_from_columns("train", {column: [f"there are {index} men on the road" for index in range(30)]})
    dev = table_from_columns(
        "dev",
        {
            "sentence1": [f"there are {index} cats on the mat" for index in range(20)],
            "sentence2": [f"some {index} animals sit outside" for index in range(20)],
            "score": [f"{index % 6}" for index in range(20)],
        },
    )
    examples, _ = build_like(dev, infer_roles(sentences))
    assert examples.kind == "scored_pairs" and examples.targets is not None


def test_a_held_out_file_of_the_same_columns_keeps_the_scale() -> None:
    dev = table_from_columns("dev", {"a": ["x"], "b": ["y"], "score": ["3"]})
    examples, _ = build_like(dev, replace(SCORED, group="absent"))
    assert examples.targets is not None and examples.targets.tolist() == [0.5]


def test_stsb_scores_are_a_fifth_of_the_files(real_data: Path) -> None:
    table = read_table(real_data / "stsb" / "test.csv")
    examples, findings = build_examples(table, infer_roles(table))
    assert findings == ()
    np.testing.assert_allclose(examples.targets, np.array([float(cell) for cell in table.column("score")]) / 5, atol=1e-6)
