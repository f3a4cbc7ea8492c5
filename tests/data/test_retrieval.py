"""Retrieval sets: the BEIR layout, and a table of queries, documents and grades under the names that people use."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from sbert_studio.data import known_items
from sbert_studio.data.documents.document import Document, Documents, Section
from sbert_studio.data.known_items import build_known_items, hold_out_documents
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.data.retrieval import (
    beir_splits,
    build_set,
    is_beir_archive,
    read_beir,
    read_judgments,
    retrieval_kind,
    unpack_beir,
)
from sbert_studio.data.schema.roles import SchemaOverrides
from sbert_studio.errors import StudioError


def write_beir(folder: Path, qrels: Sequence[tuple[str, str, object]], split: str = "test", titles: bool = True) -> Path:
    """Write three queries and four documents, and the judgments of one split."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    documents = [("d1", "Cats", "they sleep"), ("d2", "Dogs", "they bark"), ("d3", "", "the moon is far"), ("d4", "Bread", "is baked")]
    queries = [("q1", "which animal sleeps"), ("q2", "what barks"), ("q3", "THE MOON is far")]
    for name, rows in (
        (
            "corpus",
            [{"_id": key, "title": title, "text": text} if titles else {"_id": key, "text": text} for key, title, text in documents],
        ),
        ("queries", [{"_id": key, "text": text} for key, text in queries]),
    ):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_folder_is_read_with_titles_and_grades_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    judged = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d2", 1), ("q3", "d4", 0), ("q9", "d1", 1), ("q1", "d1", 1)]
    write_beir(tmp_path, [("q3", "d3", 1)], "train")
    data = read_beir(write_beir(tmp_path, judged))
    assert (data.split, beir_splits(tmp_path)) == ("test", ["test", "train"])
    assert data.query_ids == ("q1", "q2")  # q3 has no relevant document
    assert data.documents == ("Cats they sleep", "Dogs they bark", "the moon is far", "Bread is baked")
    assert data.grades == ({0: 2.0, 1: 0.0}, {1: 1.0})
    assert [sum(word in note for note in data.notes) for word in ("left out", "not in the folder", "several grades")] == [1, 1, 1]
    assert read_beir(tmp_path, "train").queries == ("THE MOON is far",)
    assert read_beir(tmp_path, "train").digest != data.digest
    assert [one.title for one in data.as_documents()] == ["Cats", "Dogs", "", "Bread"]
    bare = read_beir(tmp_path, titles=False)
    assert bare.documents == ("they sleep", "they bark", "the moon is far", "is baked")
    assert [one.text for one in data.as_documents()] == [one.text for one in bare.as_documents()] == list(bare.documents)


def test_queries_that_were_used_for_training_can_be_left_out() -> None:
    texts = {"a": "Opening  hours", "b": "Late fees", "c": "A new card"}
    data = build_set("help", texts, texts, [(key, key, 1) for key in texts])
    assert data.take(data.unseen(["opening HOURS", "late"])).queries == ("Late fees", "A new card")


def test_a_document_equal_to_the_query_is_ignored_unless_it_is_judged(tmp_path: Path) -> None:
    assert read_beir(write_beir(tmp_path / "a", [("q3", "d1", 1)], titles=False)).ignored() == {0: [2]}
    assert read_beir(write_beir(tmp_path / "b", [("q3", "d3", 1)], titles=False)).ignored() == {}


@pytest.mark.parametrize("separator", ["\t", " "])
@pytest.mark.parametrize("lines", ["q1 d1 1\nq2 d2 0\n", "q1 0 d1 1\nq2 0 d2 0\n", "query-id corpus-id score\nq1 d1 1\nq2 d2 0\n"])
def test_judgments_are_read_as_in_beir_and_trec_with_tabs_or_spaces(tmp_path: Path, lines: str, separator: str) -> None:
    write_beir(tmp_path, [])
    (tmp_path / "qrels" / "test.tsv").write_text(lines.replace(" ", separator))
    data = read_beir(tmp_path)
    assert (data.query_ids, data.grades, data.notes[:-1]) == (("q1",), ({0: 1.0},), ())


@pytest.mark.parametrize("lines", ["q1\td1\nq2\td2\n", "query-id\tcorpus-id\nq1\td1\nq2\td2\n", "q1 d1\nq2 d2\n"])
def test_judgments_without_grades_are_all_relevant_which_is_noted(tmp_path: Path, lines: str) -> None:
    write_beir(tmp_path, [])
    (tmp_path / "qrels" / "test.tsv").write_text(lines)
    data = read_beir(tmp_path)
    assert (data.query_ids, data.grades) == (("q1", "q2"), ({0: 1.0}, {1: 1.0}))
    assert any("test.tsv has no grades" in note for note in data.notes)


def test_a_judgment_with_other_parts_than_the_rest_is_named(tmp_path: Path) -> None:
    write_beir(tmp_path, [])
    (tmp_path / "qrels" / "test.tsv").write_text("q1 0 d1 1\nq2 0 d2 1\nq3 d3\n")
    with pytest.raises(StudioError, match=r"rows of test\.tsv do not have 4 parts .*\(row 3\)"):
        read_beir(tmp_path)


@pytest.mark.parametrize(
    "row", ['"a text"', '["a", "b"]', "42", "null", '{"title": "Fish", "text": "swim"}', '{"_id": "d9"}', '{"_id": "d9", "text": null}']
)
def test_a_row_of_the_corpus_without_an_id_or_text_is_no_document(tmp_path: Path, row: str) -> None:
    write_beir(tmp_path, [("q1", "d1", 1)])
    with (tmp_path / "corpus.jsonl").open("a") as corpus:
        corpus.write(f'{row}\n{{"_id": "d6", "title": "", "text": "the sun"}}\n{{"_id": "d7", "title": "Stars", "text": ""}}\n')
    data = read_beir(tmp_path)
    assert data.document_ids == ("d1", "d2", "d3", "d4", "d6", "d7") and data.documents[-2:] == ("the sun", "Stars")
    assert data.titles == ("Cats", "Dogs", "", "Bread", "", "Stars")
    assert [note for note in data.notes if "(row 5)" in note and "1 row of corpus.jsonl" in note]
    assert read_beir(tmp_path, titles=False).documents[0] == "they sleep"


@pytest.mark.parametrize("text", ['""', '"  "', "null"])
def test_a_query_without_text_is_left_out(tmp_path: Path, text: str) -> None:
    write_beir(tmp_path, [("q1", "d1", 1), ("q4", "d2", 1)])
    with (tmp_path / "queries.jsonl").open("a") as queries:
        queries.write(f'{{"_id": "q4", "text": {text}}}\n')
    data = read_beir(tmp_path)
    assert data.query_ids == ("q1",)
    assert [note for note in data.notes if "(row 4)" in note] and not any("not in the folder" in note for note in data.notes)
    (tmp_path / "queries.jsonl").write_text(f'{{"_id": "q4", "text": {text}}}\n')
    with pytest.raises(StudioError, match=r"queries\.jsonl has no row with an id and a text"):
        read_beir(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("queries.jsonl", '{"_id": "q1", "text": "a"}\n{"_id":', r"queries\.jsonl: a line is not valid JSON.*\(row 2\)"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", r"test\.tsv: the file contains a header but no rows"),
    ],
)
def test_an_error_in_one_of_the_files_of_a_folder_names_it(tmp_path: Path, file: str, text: str, words: str) -> None:
    write_beir(tmp_path, [("q1", "d1", 1)])
    (tmp_path / file).write_text(text)
    with pytest.raises(StudioError, match=words):
        read_beir(tmp_path)


def test_a_zip_of_a_beir_folder_is_read_without_what_else_it_contains(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "set", [("q1", "d1", 2)])
    path = tmp_path / "my set.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other/corpus.jsonl.txt", "no corpus")
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            archive.write(file, f"set/{file.relative_to(folder)}")
        archive.writestr("../corpus.jsonl", "no member of this set")
    assert is_beir_archive(path)
    with unpack_beir(path, 1 << 20) as unpacked:
        found = read_beir(unpacked)
    assert (found.name, found.digest) == ("my set", read_beir(folder).digest) and not unpacked.exists()
    with pytest.raises(StudioError, match="larger than the maximum"), unpack_beir(path, 10):
        pass
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
            archive.writestr(name, "a text " * 100)
    damaged = bytearray(path.read_bytes())
    damaged[42:60] = b"\xff" * 18  # within the compressed bytes of the first file
    path.write_bytes(damaged)
    with pytest.raises(StudioError, match="cannot be unpacked"), unpack_beir(path, 1 << 20):
        pass
    path.write_bytes(damaged.replace(b"PK\x01\x02", b"PK\x01\x09"))
    assert not is_beir_archive(path), "its list of files is damaged"
    documents = tmp_path / "documents.zip"
    with zipfile.ZipFile(documents, "w") as archive:
        archive.writestr("corpus.jsonl", "{}")
        archive.writestr("a.md", "# A")
    assert not is_beir_archive(documents) and not is_beir_archive(folder / "corpus.jsonl")


def test_data_is_a_retrieval_set_if_its_columns_say_so() -> None:
    for names, kind in (
        (("query", "document", "grade"), "labelled"),
        (("query", "document", "score"), None),  # also pairs with a score
        (("query", "document", "other"), None),
        (("sentence1", "sentence2", "grade"), None),
    ):
        assert retrieval_kind(table_from_columns("t", {name: ["a", "b"] for name in names})) == kind


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    write_beir(tmp_path, [("q1", "d1", 1)])
    with pytest.raises(StudioError, match=r"qrels/dev.tsv.*test"):
        read_beir(tmp_path, "dev")
    for file in ("queries.jsonl", "corpus.jsonl", "qrels/test.tsv"):
        (tmp_path / file).unlink()
        with pytest.raises(StudioError, match=rf"has no .*{re.escape(file)}.*a BEIR folder contains corpus\.jsonl"):
            read_beir(tmp_path)
    with pytest.raises(StudioError, match="has a relevant document"):
        read_beir(write_beir(tmp_path / "zero", [("q1", "d1", 0)]))
    twice = write_beir(tmp_path / "twice", [("q1", "d1", 1)])
    (twice / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n')
    with pytest.raises(StudioError, match="twice"):
        read_beir(twice)


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        (("query", "document", "grade"), ("2", "0", "1")),
        (("Question", "Passage", "Relevance"), ("2.0", "0", "1")),
        (("查询", "文档", "相关性"), ("2", "0", "1")),
        (("grade", "anchor", "positive", "id"), None),
        (("query", "text", "label"), ("relevant", "not relevant", "yes")),
    ],
)
def test_a_table_is_read_by_the_names_of_its_columns(columns: tuple[str, ...], cells: tuple[str, ...] | None) -> None:
    texts = (["a cat", "a cat", "a dog"], ["cats sleep", "dogs bark", "dogs bark"])
    rows = {columns[0]: texts[0], columns[1]: texts[1], columns[2]: list(cells or ())}
    if cells is None:
        rows = {"anchor": texts[0], "positive": texts[1]}
    data = read_judgments(table_from_columns("t", rows))
    assert (data.queries, data.documents) == (("a cat", "a dog"), ("cats sleep", "dogs bark"))
    first = {0: 1.0, 1: 1.0} if cells is None else {0: 1.0 if cells[0] == "relevant" else 2.0, 1: 0.0}
    assert data.grades == (first, {1: 1.0})


def test_a_table_may_name_its_columns_and_be_searched_among_further_documents(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    path.write_text("x,y,z\na cat,cats sleep,3\na dog,dogs bark,1\na dog,,1\n,milk,\n")
    overrides = SchemaOverrides(columns=("x", "y"), target="z")
    data = read_judgments(read_table(path), overrides, ["dogs bark", "bread", ""])
    assert data.documents == ("cats sleep", "dogs bark", "milk", "bread")
    assert data.document_ids == ("1", "2", "3", "4")
    assert any("1 row without" in note for note in data.notes), "a document alone is no incomplete row"
    for table, words in (
        ({"query": ["a"], "other": ["b"]}, "no column for document"),
        ({"query": ["a"], "document": ["b"], "grade": ["perhaps"]}, "not a number"),
    ):
        with pytest.raises(StudioError, match=words):
            read_judgments(table_from_columns("t", table))


def documents(*rows: tuple[str, str, Sequence[tuple[tuple[str, ...], str]]]) -> Documents:
    made = (Document(key, title, tuple(Section(*section) for section in sections), f"{key}.md") for key, title, sections in rows)
    return Documents("docs", tuple(made))


def test_queries_are_made_from_headings_titles_and_first_sentences_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    headed = [((), "An opening."), (("Guide", "How to bake"), "Heat the oven."), (("Guide", "How to cool"), "Open the door.")]
    data = build_known_items(
        documents(
            ("a", "Guide", headed),
            ("b", "The moon", [((), "It is far. It is cold.")]),
            ("c", "c", [((), "Rivers flow to the sea. Seas do not flow.")]),
            ("d", "d", [((), "Alone.")]),
            *((f"e{place}", "Introduction", [((), f"Number {place} of five.")]) for place in range(5)),
        )
    )
    found = {query: data.documents[next(iter(grades))] for query, grades in zip(data.queries, data.grades, strict=True)}
    assert found == {
        "How to bake": "Heat the oven.", "How to cool": "Open the door.", "The moon": "It is far. It is cold.",
        "Rivers flow to the sea.": "Seas do not flow.",
    }  # fmt: skip
    assert len(data.documents) == 10
    assert all(part in data.known_item for part in ("1 title,", "2 headings", "1 first sentence"))
    both = build_known_items(documents(("a", "The moon", [((), "far")]), ("b", "the Moon", [((), "cold")])))
    assert both.grades == ({0: 1.0, 1: 1.0},)
    monkeypatch.setattr(known_items, "QUERIES", 7)
    many = documents(*((f"d{place}", f"Title number {place}", [((), f"text {place}")]) for place in range(30)))
    assert len(build_known_items(many)) == 7
    assert build_known_items(many).digest == build_known_items(many).digest
    with pytest.raises(StudioError, match="no queries"):
        build_known_items(documents(("d", "d", [((), "Alone.")])))


def test_sections_can_also_be_asked_for_by_their_first_sentence_and_documents_with_few_headings_are_held_out_more() -> None:
    text = "Rivers flow to the sea. Seas do not flow."
    both = build_known_items(
        documents(("a", "Water", [(("Water", "Rivers"), text)]), ("b", "The moon", [((), text.upper())])), sentences=True
    )
    assert both.queries == ("Rivers", "Rivers flow to the sea.", "The moon") or len(both) == 3
    assert both.documents[0] == "Seas do not flow." and both.documents[1].startswith("SEAS"), "a text lacks the sentence that asks for it"
    for sections, number in ((1, 60), (6, 30)):
        rows = [(f"d{row}", f"Page {row}", [(("", f"Part {row} {part}"), "Short.") for part in range(sections)]) for row in range(300)]
        held_out = hold_out_documents(documents(*rows))
        assert len(held_out) == number
        known = build_known_items(documents(*rows), held_out, sentences=True)
        assert len(known) == number * sections and len(known.documents) == 300 * sections, "all texts are searched"
        asked = [next(iter(own)) for own in known.sample(50, 100).grades]
        assert {known.sample(50, 100).owners[row] for row in asked} <= held_out, "and each has the document that it is from"
    assert not hold_out_documents(documents(*rows[:99]))


def test_judgments_of_ids_that_the_folder_lacks_are_named(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match=r"no judgment in .* names a query and a document of the folder, for example 'q9' → 'd0'"):
        read_beir(write_beir(tmp_path / "set", [("q9", "d0", 1), ("q0", "d99", 1)]))
