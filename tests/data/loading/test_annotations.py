"""Exports of annotation tools and the corpora of BEIR are read by their own conventions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data.loading.files import contents, read

from sbert_studio.data.row_report import report_rows

_SPAN = {"start": 0, "end": 1, "text": "a", "labels": ["X"]}
_TEXTS = {"text1": "a cat sleeps here", "text2": "here sleeps a cat"}


def _argilla(*values: Any) -> dict[str, Any]:
    return {"fields": _TEXTS, "responses": {"similarity": [{"value": value, "user_id": f"u{n}"} for n, value in enumerate(values)]}}


def _label_studio(*values: Any, **more: Any) -> dict[str, Any]:
    results = [{"result": [{"from_name": "similarity", "type": "choices", "value": value}], "was_cancelled": False} for value in values]
    return {"id": 1, "data": _TEXTS, "annotations": [*results, *more.get("others", [])]}


_CANCELLED = {"result": [{"from_name": "similarity", "value": {"rating": 1}}], "was_cancelled": True}


@pytest.mark.parametrize(
    ("rows", "answers"),
    [
        ([_argilla(5, 4), _argilla(1)], ["4.5", "1"]),
        ([_argilla("same", "other", "same"), _argilla("other")], ["same", "other"]),
        ([_argilla("same", "other"), _argilla("other")], ["", "other"]),
        ([{**_TEXTS, "similarity.responses": [5, 4], "similarity.responses.users": ["a", "b"]}] * 2, ["4.5", "4.5"]),
        ([{"fields": _TEXTS, "responses": [{"values": {"similarity": {"value": 3}}, "status": "submitted"}]}] * 2, ["3", "3"]),
        ([_label_studio({"choices": ["same"]}), _label_studio({"choices": ["other"]})], ["same", "other"]),
        ([_label_studio({"text": ["a text"]}), _label_studio({"text": ["another"]})], ["a text", "another"]),
        ([_label_studio({"rating": 4}, {"rating": 5}), _label_studio({"rating": 2}, others=[_CANCELLED])], ["4.5", "2"]),
    ],
    ids=["mean", "majority", "disagreement", "Hub", "records", "choices", "texts", "ratings"],
)
def test_the_answers_of_annotators_become_one_value(tmp_path: Path, rows: list[Any], answers: list[str]) -> None:
    table = read(tmp_path, rows, "rows.jsonl")
    column = next(name for name in table.columns if name.startswith("similarity"))
    assert table.column(column) == answers
    assert table.column("text1") == [_TEXTS["text1"]] * 2
    assert any("annotations read" in note.message for note in table.notes)
    assert [note.rows for note in table.notes if "disagree" in note.message] == ([(1,)] if "" in answers else [])


def test_annotations_in_csv_cells_are_read_and_unreadable_ones_stay_as_json(tmp_path: Path) -> None:
    table = read(tmp_path, [_label_studio(_SPAN, {"rating": 4}), _label_studio(_SPAN)], "rows.jsonl")
    assert table.column("similarity") == ["4", ""]
    assert all('"labels": ["X"]' in cell for cell in table.column("annotations"))
    assert any(note.severity == "warning" and "'annotations'" in note.message and note.rows == (1, 2) for note in table.notes)
    table = read(tmp_path, 'text,rating,tags\na cat,"[{""rating"": 5}]",x\na dog,"[{""rating"": 2}]",y\nno rating,,z\n')
    assert table.column("rating") == ["5", "2", ""]
    assert read(tmp_path, [{"text": "a cat", "kind": {"choices": ["x", "y"]}}], "min.json").column("kind") == ["x, y"]
    both = read(tmp_path, 'text,kind\na cat,"{""choices"": [""x"", ""y""]}"\na dog,x\n')
    assert both.column("kind") == ['{"choices": ["x", "y"]}', "x"], "one cell is no annotation"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_rows_that_a_prodigy_annotator_rejected_or_ignored_are_left_out(tmp_path: Path, name: str) -> None:
    rows = [("cards", "accept"), ("fees", "reject"), ("fees", "accept"), ("cards", "ignore")]
    objects = [{"text": f"about {label}", "label": label, "answer": answer, "_task_hash": 1} for label, answer in rows]
    lines = ["text,label,answer,_task_hash", *(f"about {label},{label},{answer},1" for label, answer in rows)]
    table = read(tmp_path, objects if name == "rows.jsonl" else "\n".join(lines), name)
    first = int(table.lines[0])
    assert table.column("answer") == ["accept", "accept"]
    account = report_rows(table, table.notes, table.lines)
    assert (account.read, account.used, [reason.rows for reason in account.reasons]) == (4, 2, [(first + 1, first + 3)])
    one_label = read(tmp_path, [{**one, "label": "same"} for one in objects], "rows.jsonl")
    assert one_label.column("answer") == ["accept", "reject", "accept"], "the answers are the labels"


def test_the_titles_of_a_beir_corpus_are_put_before_its_texts(tmp_path: Path) -> None:
    first, second = {"_id": "d0", "title": "Gate", "text": "How to open it.", "metadata": {}}, {"_id": "d1", "title": "", "text": "x"}
    table = read(tmp_path, [first, second], "c.jsonl")
    assert contents(table) == [("d0", "Gate How to open it.", ""), ("d1", "x", "")]
    other = read(tmp_path, [{**first, "score": 1}, second], "c.jsonl")
    assert "title" in other.columns
