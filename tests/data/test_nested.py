"""Lists and objects in JSON and Parquet become rows and columns, and nothing becomes JSON text in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.loading.table import Table, read_table
from sbert_studio.errors import StudioError

FLAG = [{"query": "q1", "pos": ["p1", "p2"], "neg": ["n1", "n2"], "pos_scores": [0.9, 0.8]}, {"query": "q2", "pos": ["p3"], "neg": ["n3"]}]
Rows = list[list[str]]

LINES: dict[str, tuple[list[Any], tuple[str, ...], Rows, list[int]]] = {
    "FlagEmbedding": (
        FLAG, ("query", "pos", "neg", "neg_2"), [["q1", "p1", "n1", "n2"], ["q1", "p2", "n1", "n2"], ["q2", "p3", "n3", ""]], [1, 1, 2],
    ),
    "query and pos": ([{"query": "q", "pos": ["a", "b"]}], ("query", "pos"), [["q", "a"], ["q", "b"]], [1, 1]),
    "set of two": ([{"set": ["a", "b"]}, {"set": ["c", "d"]}], ("text1", "text2"), [["a", "b"], ["c", "d"]], [1, 2]),
    "set of three": ([{"set": ["a", "b", "c"]}], ("text1", "text2"), [["a", "b"], ["a", "c"]], [1, 1]),
    "texts and score": ([{"texts": ["a", "b"], "score": 3}], ("text1", "text2", "score"), [["a", "b", "3"]], [1]),
    "negatives": (
        [{"anchor": "a", "positive": "p", "negatives": ["x", "y"]}],
        ("anchor", "positive", "negatives", "negatives_2"), [["a", "p", "x", "y"]], [1],
    ),
    "translation": ([{"translation": {"en": "hello", "de": "hallo"}}], ("en", "de"), [["hello", "hallo"]], [1]),
    "passages": (
        [{"question": "q", "positive_ctxs": [{"title": "T", "text": "p"}], "hard_negative_ctxs": [{"title": "U", "text": "n"}]}],
        ("question", "positive_ctxs", "hard_negative_ctxs"), [["q", "p", "n"]], [1],
    ),
    "arrays with a header": ([["sentence1", "sentence2"], ["a", "b"]], ("sentence1", "sentence2"), [["a", "b"]], [2]),
    "lists of one": ([{"text": "a", "label": [1]}, {"text": "b", "label": [0]}], ("text", "label"), [["a", "1"], ["b", "0"]], [1, 2]),
}  # fmt: skip


def contents(table: Table) -> Rows:
    return table.head(99)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_lists_are_spread(tmp_path: Path, name: str, suffix: str) -> None:
    values, columns, rows, lines = LINES[name]
    path = tmp_path / f"rows{suffix}"
    path.write_text("\n".join(map(json.dumps, values)) if suffix == ".jsonl" else json.dumps(values), encoding="utf-8")
    table = read_table(path)
    assert (table.columns, contents(table), table.lines.tolist()) == (columns, rows, lines)
    assert not any("[" in cell or "{" in cell for row in contents(table) for cell in row)


DOCUMENTS: dict[str, tuple[Any, tuple[str, ...], Rows]] = {
    "the Hub's viewer": (
        {"features": [{"name": "a"}], "rows": [{"row_idx": 0, "row": {"a": "x", "b": 1.5}, "truncated_cells": []}], "num_rows_total": 1},
        ("a", "b"), [["x", "1.5"]],
    ),
    "data": ({"version": "1", "data": [{"text": "a"}, {"text": "b"}]}, ("text",), [["a"], ["b"]]),
    "columns": ({"text": ["a", "b"], "label": ["x", "y"]}, ("text", "label"), [["a", "x"], ["b", "y"]]),
    "pandas columns": ({"text": {"0": "a", "1": "b"}, "n": {"0": 1, "1": 2}}, ("text", "n"), [["a", "1"], ["b", "2"]]),
    "pandas index": ({"0": {"text": "a"}, "1": {"text": "b"}}, ("text",), [["a"], ["b"]]),
    "pandas split": ({"columns": ["text", "n"], "index": [0], "data": [["a", 1]]}, ("text", "n"), [["a", "1"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("indent", [None, 1])
def test_documents_of_rows_are_found(tmp_path: Path, name: str, indent: int | None) -> None:
    value, columns, rows = DOCUMENTS[name]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
    table = read_table(path)
    assert (table.columns, contents(table)) == (columns, rows)


def test_parquet_lists_and_structs_are_spread_as_those_of_json(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(FLAG), tmp_path / "flag.parquet")
    table = read_table(tmp_path / "flag.parquet")
    assert contents(table) == [["q1", "p1", "n1", "n2"], ["q1", "p2", "n1", "n2"], ["q2", "p3", "n3", ""]]
    assert table.lines.tolist() == [2, 2, 3]
    pq.write_table(pa.table({"translation": [{"en": "hello", "de": "hallo"}]}), tmp_path / "pairs.parquet")
    assert contents(read_table(tmp_path / "pairs.parquet")) == [["hello", "hallo"]]


def test_flag_embeddings_file_becomes_triplets(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"query": f"what is number {n}?", "pos": [f"it is the number {n}.", f"a number, {n}."], "neg": [f"a colour {n}", f"a day {n}"]}
        for n in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = diagnose(read_table(path))
    assert (found.roles.kind, found.roles.texts) == ("triplets", ("query", "pos", "neg", "neg_2"))
    assert len(found.examples) == 60


def test_what_cannot_be_spread_is_said_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"text": "a b", "tags": ["x", "y"]}\n{"text": "c d", "tags": []}\n{"text": "e", "tags": ["z", "w"]}\n', encoding="utf-8"
    )
    table = read_table(path)
    assert [(note.severity, note.rows) for note in table.notes] == [("warning", (1, 3))]
    assert "'tags'" in table.notes[0].message


def test_a_float_of_32_bits_has_the_digits_that_it_was_given(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"text": ["a", "b", "c"], "score": pa.array(np.array([0.1, 4.2, 5.0], np.float32))}), path)
    assert read_table(path).column("score") == ["0.1", "4.2", "5"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": 1}, {"a": 2} {"a": 3}]', "missing"),
        ('[{"a": 1}] [', "follows"),
        ('[{"a": 1},', "valid JSON"),
        ('[{"a": "x', "valid JSON"),
        ('{"train": [{"text": "a"}], "test": [{"text": "b"}]}', "several lists"),
    ],
)
def test_a_broken_or_ambiguous_document_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudioError, match=words):
        read_table(path)


def test_an_array_is_the_same_wherever_its_pieces_are_cut() -> None:
    from sbert_studio.data.loading.json import parse_elements

    values = [{"a": 1, "b": ["x]", '"']}, "t,[", 12, [], {}, None, 1.5e3, "é\\"]
    text = " " + json.dumps(values, indent=1) + "\n"
    for size in (1, 2, 3, 7, 50, 1000):
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        assert list(parse_elements(parts, json.JSONDecoder(), lambda reason, place: StudioError(reason))) == values


def _lines(path: Path, values: list[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["ways_to_ask", "paraphrases", "questions", "anything"])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_a_list_of_texts_is_spread_whatever_it_is_called(tmp_path: Path, name: str, most: int) -> None:
    values = [{"faq_id": n, name: [f"how do I ask {n} and {m}?" for m in range(2 if n % 5 == 0 else most)]} for n in range(20)]
    table = read_table(_lines(tmp_path / "rows.jsonl", values))
    assert table.columns == ("faq_id", name, f"{name}_2")
    pairs = [[str(value["faq_id"]), value[name][0], other] for value in values for other in value[name][1:]]
    assert contents(table) == pairs
    found = diagnose(table)
    assert (found.roles.kind, found.roles.texts) == ("positive_pairs", (name, f"{name}_2"))
    assert any(repr(name) in note.message and "belong together" in note.message for note in table.notes)


def test_the_texts_of_a_lists_object_without_other_keys_belong_together_too(tmp_path: Path) -> None:
    values = [{"paraphrases": [f"one text {n}", f"another text {n}", f"a third text {n}"]} for n in range(9)]
    table = read_table(_lines(tmp_path / "rows.jsonl", values))
    assert contents(table)[:2] == [["one text 0", "another text 0"], ["one text 0", "a third text 0"]]


def test_paraphrases_beside_a_text_make_pairs_with_it(tmp_path: Path) -> None:
    values = [{"question": f"what is the number {n}?", "paraphrases": [f"the number {n} is?", f"say number {n}"]} for n in range(9)]
    table = read_table(_lines(tmp_path / "rows.jsonl", values))
    assert contents(table)[:2] == [["what is the number 0?", "the number 0 is?"], ["what is the number 0?", "say number 0"]]


CANDIDATES: list[list[str]] = [[f"a candidate {m} of {n}" for m in range(2 + n % 3)] for n in range(30)]


@pytest.mark.parametrize(
    "value",
    [
        lambda n, texts, labels: {"q": f"what is asked in {n}?", "candidates": texts, "labels": labels},
        lambda n, texts, labels: {"query": f"what is asked in {n}?", "passages": {"is_selected": labels, "passage_text": texts}},
        lambda n, texts, labels: {
            "query": f"what is asked in {n}?",
            "docs": [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)],
        },
    ],
    ids=["lists", "MS MARCO", "objects"],
)
def test_candidates_stand_beside_the_label_of_the_same_place(tmp_path: Path, value: Any) -> None:
    values = [value(n, texts, [int(m == n % len(texts)) for m in range(len(texts))]) for n, texts in enumerate(CANDIDATES)]
    table = read_table(_lines(tmp_path / "rows.jsonl", values))
    assert len(table) == sum(map(len, CANDIDATES))
    found = diagnose(table)
    assert found.roles.kind == "labelled_pairs"
    first, second = (table.column(name) for name in found.roles.texts)
    told = {(a, b): label for a, b, label in zip(first, second, table.column(found.roles.target or ""), strict=True)}
    assert told["what is asked in 5?", CANDIDATES[5][1]] == "1"
    assert told["what is asked in 5?", CANDIDATES[5][2]] == "0"


def test_a_list_that_is_shorter_than_the_one_beside_it_costs_no_text_in_silence(tmp_path: Path) -> None:
    values: list[Any] = [
        {"q": f"what is asked in {n % 30}?", "candidates": CANDIDATES[n % 30], "labels": [1, 0, 0, 0][: 2 + n % 3]} for n in range(60)
    ]
    values.append({"q": "what is asked last?", "candidates": ["a candidate one", "a candidate two"], "labels": [1]})
    found = diagnose(read_table(_lines(tmp_path / "rows.jsonl", values)))
    assert [(one.message, one.rows) for one in found.findings if one.left_out] == [("1 row without a label, left out", (61,))]
    assert found.examples.texts[1][-1] == "a candidate one"


@pytest.mark.parametrize("more", [{}, {"rating": 4}])
def test_conversations_are_refused_in_words(tmp_path: Path, more: dict[str, int]) -> None:
    turns = [{"role": "user", "content": "how are you today?"}, {"role": "assistant", "content": "I am very well."}]
    table = read_table(_lines(tmp_path / "rows.jsonl", [{"messages": turns, **more}] * 9))
    with pytest.raises(StudioError, match=r"'messages' of rows\.jsonl holds lists or objects"):
        diagnose(table)
    with pytest.raises(StudioError, match="lists or objects"):
        corpus_from_table(table)


def test_dates_and_times_that_python_cannot_hold_stay_as_texts_and_are_noted(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    far, mars = 2**45, pa.timestamp("us", tz="Mars/Phobos")
    held = {
        "seconds": (pa.array([0, far, None], pa.timestamp("s")), ["1970-01-01T00:00:00", "1116918-05-14T19:20:32.000", ""]),
        "micro": (pa.array([-(2**62), 0, 0], pa.timestamp("us")), ["-144169-06-28T09:59:32.612096", *["1970-01-01T00:00:00"] * 2]),
        "day": (pa.array([2**30, -(2**30), 0], pa.date32()), ["2941775-04-07", "-2937836-09-26", "1970-01-01"]),
        "milli": (pa.array([2**30 * 86_400_000] * 3, pa.date64()), ["2941775-04-07"] * 3),
        "long": (pa.array([2**62, None, 1], pa.duration("s")), ["4611686018427387904 seconds", "", "0:00:01"]),
        "late": (pa.array([2**62, 0, 0], pa.int64()).view(pa.time64("us")), ["4611686018427387904 microseconds", *["00:00:00"] * 2]),
        "zone": (pa.array([0, None, 1], mars), ["1970-01-01T00:00:00.000000+00:00", "", "1970-01-01T00:00:00.000001+00:00"]),
    }
    texts = ["one two", "three four", "five six"]
    for name, (column, told) in held.items():
        pq.write_table(pa.table({"text": texts, name: column}), tmp_path / f"{name}.parquet")
        table = read_table(tmp_path / f"{name}.parquet")
        assert contents(table) == [list(row) for row in zip(texts, told, strict=True)], name
        (note,) = [finding for finding in table.notes if "date or time" in finding.message]
        assert repr(name) in note.message
        assert 1 <= len(note.rows) <= 3
        assert set(note.rows) <= {2, 3, 4}
    nested = {
        "list": pa.array([[far], [0], []], pa.list_(pa.timestamp("s"))),
        "struct": pa.array([{"a": far}, None, {"a": 0}], pa.struct([("a", pa.timestamp("s"))])),
        "map": pa.array([[("a", far)], [], None], pa.map_(pa.string(), pa.timestamp("s"))),
    }
    for name, column in nested.items():
        pq.write_table(pa.table({"text": texts, name: column}), tmp_path / "nested.parquet")
        table = read_table(tmp_path / "nested.parquet")
        assert "1116918-05-14T19:20:32" in str(contents(table)[0]), name
        assert any(f"'{name}'" in finding.message and finding.rows == (2,) for finding in table.notes)
