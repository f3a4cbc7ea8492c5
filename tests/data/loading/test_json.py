"""Lists and objects in JSON become rows and columns, and nothing becomes JSON text silently."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from data.loading.files import contents, read

from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.loading.json import parse_elements
from sbert_studio.errors import StudioError
from sbert_studio.i18n import translate

Rows = list[list[str]]
CASES = json.loads(Path(__file__).with_name("json_cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES["lists"])
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_lists_are_spread(tmp_path: Path, name: str, suffix: str) -> None:
    case = CASES["lists"][name]
    table = read(tmp_path, case["values"] if suffix == ".jsonl" else json.dumps(case["values"]), f"rows{suffix}")
    assert (list(table.columns), table.head(99), table.lines.tolist()) == (case["columns"], case["rows"], case["lines"])


@pytest.mark.parametrize("name", CASES["documents"])
@pytest.mark.parametrize("indent", [None, 1])
def test_documents_of_rows_are_found(tmp_path: Path, name: str, indent: int | None) -> None:
    case = CASES["documents"][name]
    table = read(tmp_path, json.dumps(case["document"], indent=indent), "rows.json")
    assert (list(table.columns), table.head(99)) == (case["columns"], case["rows"])


def test_json_lines_keep_line_numbers_and_numbers_as_written(tmp_path: Path) -> None:
    text = '{"text": "a", "score": 5.000}\n\n{"text": "b", "more": [1, {"x": null}]}\n{"score": null, "text": true}\n'
    table = read(tmp_path, text, "rows.jsonl")
    assert table.columns == ("text", "score", "more")
    assert contents(table) == [("a", "5.000", ""), ("b", "", '["1", {"x": null}]'), ("true", "", "")]
    assert table.lines.tolist() == [1, 3, 4]
    text = '{"text": "a, b", "label": "x"}\n{"text": "bad \\ud800 pair", "label": "y"}\n'
    assert contents(read(tmp_path, text, "rows.csv")) == [("a, b", "x"), ("bad \ufffd pair", "y")]
    rows = [{"text": "a b", "tags": ["x", "y"]}, {"text": "c d", "tags": []}, {"text": "e", "tags": ["z", "w"]}]
    table = read(tmp_path, rows, "rows.jsonl")
    assert [(note.severity, note.rows) for note in table.notes] == [("warning", (1, 3))]
    assert "'tags'" in table.notes[0].message


@pytest.mark.parametrize("line", ['{"text": ', "[" * 100_000, "nonsense"])
def test_a_line_that_is_not_json_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(StudioError) as caught:
        read(tmp_path, '{"text": "a"}\n{"text": "b"}\n' + line + "\n", "rows.jsonl")
    assert caught.value.rows == (3,)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": }', "a value is missing"),
        ('{"text" "a"}', "a colon is missing"),
        ('{"text": "a" "b": 1}', "a comma is missing"),
        ("{text: 1}", "a name in double quotes is missing"),
        ('{"text": "a"} b', "there is extra text after the value"),
        ('{"text": "a', "a string is not closed"),
        ('{"text": "a\tb"}', "a control character"),
        (r'{"text": "\q"}', "a backslash that does not start a valid escape sequence"),
        (r'{"text": "\u12"}', "a backslash that does not start a valid escape sequence"),
    ],
)
def test_the_reason_why_a_line_is_not_json_can_be_translated(tmp_path: Path, line: str, reason: str) -> None:
    """The messages of Python's parser, of which there is no translation, are not shown."""
    with pytest.raises(StudioError, match=reason) as caught:
        read(tmp_path, f'{{"text": "a"}}\n{line}\n', "rows.jsonl")
    file, words = translate(caught.value.message, "zh").split("：", 1)
    assert file == "rows.jsonl" and not re.search("[A-Za-z]", words.replace("JSON", ""))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": 1}, {"a": 2} {"a": 3}]', "missing"),
        ('[{"a": 1}] [', "after the array"),
        ('[{"a": 1},', "valid JSON"),
        ('[{"a": "x', "valid JSON"),
        ('{"train": [{"text": "a"}], "test": [{"text": "b"}]}', "several lists"),
    ],
)
def test_a_broken_or_ambiguous_document_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StudioError, match=words):
        read(tmp_path, text, "rows.json")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 1000])
def test_an_array_is_the_same_wherever_its_chunks_are_cut(size: int) -> None:
    values = [{"a": 1, "b": ["x]", '"']}, "t,[", 12, [], {}, None, 1.5e3, "é\\"]
    text = " " + json.dumps(values, indent=1) + "\n"
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(parse_elements(chunks, json.JSONDecoder(), lambda reason, place: StudioError(reason))) == values


@pytest.mark.parametrize("name", ["ways_to_ask", "paraphrases", "questions", "anything"])
@pytest.mark.parametrize("most", [2, 3, 4])
def test_a_list_of_texts_is_spread_whatever_it_is_called(tmp_path: Path, name: str, most: int) -> None:
    values = [{"faq_id": n, name: [f"how do I ask {n} and {m}?" for m in range(2 if n % 5 == 0 else most)]} for n in range(20)]
    table = read(tmp_path, values, "rows.jsonl")
    assert table.columns == ("faq_id", name, f"{name}_2")
    assert table.head(99) == [[str(value["faq_id"]), value[name][0], other] for value in values for other in value[name][1:]]
    found = diagnose(table)
    assert (found.roles.kind, found.roles.texts) == ("positive_pairs", (name, f"{name}_2"))
    assert any(repr(name) in note.message and "assumed to be similar" in note.message for note in table.notes)


@pytest.mark.parametrize(
    ("value", "pairs"),
    [
        ({"paraphrases": ["one text {0}", "another {0}", "a third {0}"]}, [["one text 0", "another 0"], ["one text 0", "a third 0"]]),
        (
            {"question": "what is {0} now?", "paraphrases": ["say it {0}", "it {0} is?"]},
            [["what is 0 now?", "say it 0"], ["what is 0 now?", "it 0 is?"]],
        ),
    ],
    ids=["alone", "beside a text"],
)
def test_paraphrases_make_pairs_with_the_text_beside_them_or_the_first(tmp_path: Path, value: Any, pairs: Rows) -> None:
    rows = [json.loads(json.dumps(value).replace("{0}", str(n))) for n in range(9)]
    assert read(tmp_path, rows, "rows.jsonl").head(2) == pairs


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
    table = read(tmp_path, values, "rows.jsonl")
    assert len(table) == sum(map(len, CANDIDATES))
    roles = diagnose(table).roles
    assert roles.kind == "labelled_pairs"
    first, second = (table.column(name) for name in roles.texts)
    labels = {(a, b): label for a, b, label in zip(first, second, table.column(roles.target or ""), strict=True)}
    for n, texts in enumerate(CANDIDATES):
        assert [labels[f"what is asked in {n}?", text] for text in texts] == [str(int(m == n % len(texts))) for m in range(len(texts))]


def test_a_list_that_is_shorter_than_the_one_beside_it_loses_no_text_silently(tmp_path: Path) -> None:
    values: list[Any] = [
        {"q": f"what is asked in {n % 30}?", "candidates": CANDIDATES[n % 30], "labels": [1, 0, 0, 0][: 2 + n % 3]} for n in range(60)
    ]
    values.append({"q": "what is asked last?", "candidates": ["a candidate one", "a candidate two"], "labels": [1]})
    found = diagnose(read(tmp_path, values, "rows.jsonl"))
    assert [(one.message, one.rows) for one in found.findings if one.skip_reason] == [("1 row without a label, skipped", (61,))]
    assert found.examples.texts[1][-1] == "a candidate one"


@pytest.mark.parametrize("more", [{}, {"rating": 4}])
def test_conversations_are_refused(tmp_path: Path, more: dict[str, int]) -> None:
    turns = [{"role": "user", "content": "how are you today?"}, {"role": "assistant", "content": "I am very well."}]
    table = read(tmp_path, [{"messages": turns, **more}] * 9, "rows.jsonl")
    with pytest.raises(StudioError, match=r"'messages' of rows\.jsonl contains lists or objects"):
        diagnose(table)
    with pytest.raises(StudioError, match="lists or objects"):
        corpus_from_table(table)
