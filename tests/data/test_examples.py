"""Examples of a table, and the report of its rows."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from openpyxl import Workbook

from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.dev_file import build_dev_examples
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.examples import build_examples, read_examples, write_examples
from sbert_studio.data.findings import Finding
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.data.row_report import REMOVED_BY_USER, RowReport, SkippedRows, report_rows
from sbert_studio.data.schema.inference import infer_roles
from sbert_studio.data.schema.roles import Roles
from sbert_studio.data.split import split_examples
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


def test_spellings_of_labels_count_as_one_class_and_missing_negatives_repeat_the_first(tmp_path: Path) -> None:
    cells = ["Entailment", "neutral ", "CONTRADICTION", "-", "maybe", "蕴含"]
    table = table_from_columns("t", {"a": list("uvwxyz"), "b": list("abcdef"), "label": cells})
    examples, findings = build_examples(table, LABELLED)
    assert examples.targets is not None and examples.targets.dtype == np.int64 and examples.targets.tolist() == [2, 1, 0, 2]
    assert [(finding.rows, finding.skip_reason.rpartition(" ")[2]) for finding in findings] == [((5,), "'-'"), ((6,), "'maybe'")]
    path = tmp_path / "t.jsonl"
    rows = [{"query": "a b", "positive": "c d", "negatives": ["e f", "g h"]}, {"query": "i j", "positive": "k l", "negatives": ["m n"]}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = read_table(path)
    examples, findings = build_examples(table, infer_roles(table))
    assert examples.kind == "triplets" and [finding.rows for finding in findings] == [(2,)]
    assert list(zip(*examples.texts, strict=True)) == [("a b", "c d", "e f", "g h"), ("i j", "k l", "m n", "m n")]


def test_examples_stay_aligned_and_their_digest_depends_on_texts_targets_and_order(tmp_path: Path) -> None:
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


Rows = list[list[str] | None]
WORDS = ["cat", "dog", "mat", "park", "red", "blue", "fast", "slow", "hello", "world", "bank", "card", "lost", "found", "river"]
NAMES = ["sentence1", "sentence2", "score"]
FORMATS = ("csv", "tsv", "jsonl", "json", "xlsx", "txt")


def make_rows(random: np.random.Generator, number: int) -> Rows:
    """Return scored pairs, some of them blank (None), half blank, or with a cell that is no score."""

    def sentence() -> str:
        return " ".join(random.choice(WORDS, random.integers(3, 9))) + "."

    rows: Rows = [[sentence(), sentence(), f"{place % 6}"] for place in range(12)]
    for _ in range(number):
        row = [sentence(), sentence(), f"{random.uniform(0, 5):.1f}"]
        kind = int(random.integers(0, 12))
        if kind in (1, 2):
            row[kind - 1] = ""
        if kind == 3:
            row[2] = str(random.choice(["high", "", "nan", "77", "−", "n/a"]))
        rows.append(None if kind == 0 else ["", "", ""] if kind == 4 else row)
    return [*rows, ["The end is near.", "It ends here.", "3.5"]]


def write(path: Path, rows: Rows) -> None:
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as target:
            writer = csv.writer(target, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(NAMES)
            for row in rows:
                writer.writerow(row) if row else target.write("\r\n")
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(NAMES, row, strict=True))) if row else "" for row in rows), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps([dict(zip(NAMES, row or ["", "", ""], strict=True)) for row in rows]), encoding="utf-8")
    elif path.suffix == ".xlsx":
        book = Workbook()
        for number, cells in enumerate([NAMES, *rows], start=1):
            for place, cell in enumerate(cells or (), start=1):
                book.active.cell(number, place, cell or None)
        book.save(path)
    else:
        path.write_text("\n".join(row[0] if row else "" for row in rows), encoding="utf-8")


def check(account: RowReport, read: int) -> None:
    rows = [row for reason in account.reasons for row in reason.rows]
    assert len(rows) == len(set(rows)), "no row is skipped for two reasons"
    assert account.used + account.held_out + account.skipped == account.read == read
    assert RowReport.from_json(json.loads(json.dumps(account.to_json()))) == account


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("seed", range(6))
def test_every_row_of_a_file_is_counted_once(tmp_path: Path, suffix: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = make_rows(random, int(random.integers(5, 80)))
    path = tmp_path / f"rows.{suffix}"
    write(path, rows)
    table = read_table(path)
    corpus = corpus_from_table(table, table.columns[0])
    check(corpus.account, len(rows))
    positions, total = corpus.positions()
    assert total == len(rows)
    assert list(zip(positions.tolist(), corpus.texts, strict=True)) == [(at, row[0]) for at, row in enumerate(rows) if row and row[0]]
    if suffix != "txt":
        check(diagnose(table).account, len(rows))
        examples, findings = build_examples(table, infer_roles(table))
        train, dev = split_examples(examples, 0.2)
        account = report_rows(table, findings, train.lines, dev.lines)
        check(account, len(rows))
        assert (account.used, account.held_out) == (len(train), len(dev))


def test_reasons_are_counted_and_quote_the_cells(tmp_path: Path) -> None:
    texts = {"a": ["one"] * 8, "b": ["two"] * 8}
    labels = table_from_columns("labels.csv", {**texts, "label": ["yes", "no", "yes", "no", "-", "none", "-", "no"]})
    account = diagnose(labels).account
    assert account.reasons == (SkippedRows("a placeholder for a missing label: '-', 'none'", (6, 7, 8)),)
    assert account.describe().endswith("3 skipped: a placeholder for a missing label: '-', 'none' (3: rows 6, 7, 8)")
    scores = table_from_columns("scores.csv", {**texts, "score": ["1", "2", "3", "5", "4", "high", "−", "77"]})
    account = diagnose(scores, Roles("scored_pairs", ("a", "b"), "score", low=0.0, high=5.0)).account
    assert {reason.why: reason.rows for reason in account.reasons} == {
        "the score is not a number, such as 'high', '−'": (7, 8),
        "the score is outside 0–5, such as '77'": (9,),
    }
    table = table_from_columns("t.csv", {"text": list("abcdef")}, [2, 2, 3, 5, 7, 8])
    findings = [Finding("warning", "…", (4, 5), skip_reason="blank"), Finding("warning", "…", (5, 6), skip_reason="no text")]
    skipped = (SkippedRows("blank", (4, 5)), SkippedRows("no text", (6,)), SkippedRows("shared", (7, 8)))
    assert report_rows(table, findings, [2, 2], [2, 3], otherwise="shared") == RowReport(7, 1, 1, skipped, examples=2)
    assert report_rows(table, [Finding("warning", "read with gaps", (3, 7))], table.lines) == RowReport(5, 5, examples=6)
    removed = (
        table_from_columns("t.csv", {"text": [f"sentence {row} is here" for row in range(9)]}).without_lines([3, 4]).without_lines([4, 7])
    )
    assert corpus_from_table(removed).account == RowReport(9, 6, 0, (SkippedRows(REMOVED_BY_USER, (3, 4, 7)),))
    rows = np.array([2, 3, 6, 7, 8, 9, 10])
    account = RowReport(9, 7, 0, skipped[:1]).after_split(rows, rows[:4], rows[4:6], "shares a text")
    assert account == RowReport(9, 4, 2, (SkippedRows("blank", (4, 5)), SkippedRows("shares a text", (10,))))
    assert account.summarize("used for training") == "9 rows read, 4 used for training, 2 held out, 3 skipped"
    path = tmp_path / "lines.csv"
    path.write_text('text,topic\n"one\n\ntwo, three",a\n\nfour is here,b\n', encoding="utf-8")
    positions, total = corpus_from_table(read_table(path)).positions()
    assert (positions.tolist(), total) == ([0, 2], 3)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_lists_expanded_into_several_examples_count_as_rows_and_examples(tmp_path: Path, form: str) -> None:
    rows = [{"query": f"how do I pay bill {at}", "pos": [f"paying bill {at}", f"bill {at} by card", f"settle {at}"]} for at in range(20)]
    path = tmp_path / f"pairs.{form}"
    if form == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    account = diagnose(read_table(path)).account
    check(account, 20)
    assert account.describe() == "20 rows read, 20 used (60 examples), 0 skipped"
