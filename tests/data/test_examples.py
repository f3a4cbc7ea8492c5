"""Rows become examples; those that cannot are skipped and reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sbert_studio.data.dev_file import build_dev_examples
from sbert_studio.data.examples import build_examples, read_examples, write_examples
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.schema.roles import Roles
from sbert_studio.errors import StudioError

SCORED = Roles("scored_pairs", ("a", "b"), "score", 1.0, 5.0)
LABELLED = Roles("labelled_pairs", ("a", "b"), "label", labels=("contradiction", "neutral", "entailment"))


def test_scores_are_rescaled_and_bad_rows_reported_by_problem() -> None:
    table = table_from_columns(
        "t",
        {
            "a": ["x1", "x2", "", "x4", "x5", "x6", "", "x8"],
            "b": ["y1", "", "y3", "y4", "y5", "y6", " ", "y8"],
            "score": ["1", "2", "2", "n/a", "", "7", "3", "4,0"],
        },
    )
    examples, findings = build_examples(table, SCORED)
    assert examples.texts == (("x1", "x8"), ("y1", "y8")) and examples.lines.tolist() == [2, 9]
    assert examples.targets is not None and examples.targets.dtype == np.float32 and examples.targets.tolist() == [0.0, 0.75]
    assert {finding.message.partition(", skipped")[0]: finding.rows for finding in findings} == {
        "1 row without any text": (8,),
        "2 rows with text on one side only": (3, 4),
        "1 row without a score": (6,),
        "1 row whose score is not a number": (5,),
        "1 row with a score outside 1–5": (7,),
    }
    with pytest.raises(StudioError) as caught:
        build_examples(table.select([1, 3]), SCORED)
    assert caught.value.rows == (3, 5), "no usable row"


def test_spellings_of_labels_count_as_one_class() -> None:
    cells = ["Entailment", "neutral ", "CONTRADICTION", "-", "maybe", "蕴含"]
    table = table_from_columns("t", {"a": list("uvwxyz"), "b": list("abcdef"), "label": cells})
    examples, findings = build_examples(table, LABELLED)
    assert examples.targets is not None and examples.targets.dtype == np.int64 and examples.targets.tolist() == [2, 1, 0, 2]
    assert [(finding.rows, finding.skip_reason.rpartition(" ")[2]) for finding in findings] == [((5,), "'-'"), ((6,), "'maybe'")]


def test_a_triplet_with_fewer_negatives_repeats_its_first(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"query": "a b", "positive": "c d", "negatives": ["e f", "g h"]}, {"query": "i j", "positive": "k l", "negatives": ["m n"]}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = read_table(path)
    examples, findings = build_examples(table, infer_roles(table))
    assert examples.kind == "triplets" and [finding.rows for finding in findings] == [(2,)]
    assert list(zip(*examples.texts, strict=True)) == [("a b", "c d", "e f", "g h"), ("i j", "k l", "m n", "m n")]


def test_taking_and_storing_examples_keeps_everything_aligned(tmp_path: Path) -> None:
    table = table_from_columns("t", {"a": list("uvwx"), "b": list("abcd"), "score": ["1", "2", "3", "5"], "topic": list("pqpq")})
    examples, _ = build_examples(table, replace(SCORED, group="topic"))
    taken = examples.take([3, 1])
    assert (taken.texts, taken.groups, taken.lines.tolist()) == ((("x", "v"), ("d", "b")), ("q", "q"), [5, 3])
    assert taken.targets is not None and taken.targets.tolist() == [1.0, 0.25] and len(examples.take([])) == 0
    write_examples(taken, tmp_path / "rows.parquet")
    stored = read_examples(tmp_path / "rows.parquet")
    assert (stored.digest, stored.groups, stored.lines.tolist()) == (taken.digest, taken.groups, [5, 3])
    (tmp_path / "rows.parquet").write_bytes(b"torn")
    with pytest.raises(StudioError, match=r"rows \(rows.parquet\) are damaged"):
        read_examples(tmp_path / "rows.parquet")


def test_the_digest_depends_on_texts_targets_and_order() -> None:
    table = table_from_columns("t", {"a": list("uvw"), "b": list("abc"), "score": ["1", "2", "3"]})
    examples, _ = build_examples(table, SCORED)
    assert examples.digest == examples.take([0, 1, 2]).digest
    rescored, _ = build_examples(table, replace(SCORED, low=0.0))
    assert len({examples.digest, examples.take([1, 0, 2]).digest, examples.take([0, 1]).digest, rescored.digest}) == 4


def test_a_held_out_file_gets_the_class_ids_and_the_scale_of_the_training_file() -> None:
    labels = {
        "premise": [f"there are {index} men on the road" for index in range(20)],
        "hypothesis": [f"some {index} people stand outside" for index in range(20)],
        "gold_label": ["entailment", "neutral"] * 10,
    }
    examples, _ = build_dev_examples(table_from_columns("dev", labels), LABELLED)
    assert examples.labels == LABELLED.labels and examples.targets is not None and examples.targets[:2].tolist() == [2, 1]
    scores = table_from_columns("dev", {"a": ["x"], "b": ["y"], "score": ["3"]})
    examples, _ = build_dev_examples(scores, replace(SCORED, group="absent"))
    assert examples.targets is not None and examples.targets.tolist() == [0.5]


@pytest.mark.parametrize("column", ["text", "sentence1"])
def test_bare_sentences_are_evaluated_on_scored_pairs(column: str) -> None:
    sentences = table_from_columns("train", {column: [f"there are {index} men on the road" for index in range(30)]})
    pairs = {
        "sentence1": [f"there are {index} cats on the mat" for index in range(20)],
        "sentence2": [f"some {index} animals sit outside" for index in range(20)],
        "score": [f"{index % 6}" for index in range(20)],
    }
    assert build_dev_examples(table_from_columns("dev", pairs), infer_roles(sentences))[0].kind == "scored_pairs"
