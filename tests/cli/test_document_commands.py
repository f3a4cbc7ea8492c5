"""Documents on the command line: searched by their best passage, mapped and deduplicated whole, encoded passage by passage."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data.documents.files import write_zip
from tiny_studio import sentences, studio_at

from sbert_studio.cli.main import run
from sbert_studio.data.corpus import corpus_from_table, group_passages
from sbert_studio.data.documents.loading import load_documents
from sbert_studio.data.documents.passages import TEXT, passage_table
from sbert_studio.errors import StudioError
from sbert_studio.services.documents import passage_budget

WORDS = ("cat", "dog", "mat", "red", "blue", "fast", "bank", "card", "money", "green")
LONG = " ".join(f"The {WORDS[number % 10]} saw the {WORDS[number % 7]} near {WORDS[number % 3]}." for number in range(60))

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def use_tiny(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBERT_STUDIO_MODEL", str(tiny_model))
    monkeypatch.setenv("SBERT_STUDIO_MULTILINGUAL_MODEL", "")
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    members = {f"{name}.md": f"# About {name}\n\n{LONG}\n\n## The end\n\nA {name} at last.\n" for name in WORDS[:6]}
    return write_zip(tmp_path / "docs.zip", {**members, "copy.md": members["cat.md"], "broken.pdf": b"%PDF nonsense"})


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Any, str]:
    code = run([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out), err


@pytest.mark.parametrize("mode", ["semantic", "lexical", "hybrid"])
def test_search_returns_the_best_passage_of_each_document_and_its_place(
    capsys: pytest.CaptureFixture[str], archive: Path, mode: str
) -> None:
    found, err = call(capsys, "search", archive, "a bank card at last", "-k", 7, "--mode", mode)
    documents = {document.id: document for document in load_documents(archive).documents}
    hits = found["hits"]
    assert sorted(hit["place"]["document"] for hit in hits) == sorted(documents)
    for hit in hits:
        place = hit["place"]
        part = documents[place["document"]].text[place["start"] : place["end"]]
        assert part and hit["text"].endswith(part) and hit["text"].startswith(place["heading"][0]) and place["page"] is None
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert "1 file skipped (damaged, or not what its name says): broken.pdf" in err and "of 7 documents" in err


def test_a_map_shows_documents_or_passages(capsys: pytest.CaptureFixture[str], archive: Path, tmp_path: Path) -> None:
    whole, _ = call(capsys, "map", archive, "--out", tmp_path / "a.html", "--topics", 2)
    parts, _ = call(capsys, "map", archive, "--out", tmp_path / "b.html", "--topics", 2, "--unit", "passage")
    assert whole["points"] == 7 and parts["points"] > 14
    assert "About cat" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert run(["map", str(write_table(tmp_path)), "--out", "x.html", "--unit", "document"]) == 2


def test_duplicates_and_vectors_cover_whole_documents(capsys: pytest.CaptureFixture[str], archive: Path, tmp_path: Path) -> None:
    found, _ = call(capsys, "duplicates", archive, "--threshold", 0.99999, "--out", tmp_path / "kept.csv")
    assert (found["removed"], found["kept"], len(found["groups"])) == (1, 6, 1)
    encoded, _ = call(capsys, "encode", archive, "--out", tmp_path / "x.npy")
    lines = [json.loads(line) for line in Path(encoded["passages"]).read_text(encoding="utf-8").splitlines()]
    vectors = np.load(tmp_path / "x.npy")
    assert len(lines) == len(vectors) == encoded["rows"] and np.isfinite(vectors).all()
    assert {line["document"] for line in lines} == {document.id for document in load_documents(archive).documents}


def write_table(folder: Path) -> Path:
    path = folder / "long.csv"
    rows = [f'T{number},"{LONG} {number}"' for number in range(5)]
    path.write_text("\n".join(["title,text", *rows, "S,A short text here."]), encoding="utf-8")
    return path


def test_long_texts_of_a_table_are_counted_and_cut_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_table(tmp_path)
    for command in (["search", path, "a cat"], ["mine", path], ["encode", path, "--out", tmp_path / "x.npy"]):
        found, _ = call(capsys, *command)
        assert any("5 of 6 texts are longer than the" in note for note in found["notes"]), command
        found, err = call(capsys, *command, "--passages")
        assert not any("longer than" in note for note in found["notes"]) and "of 6 documents" in err
    assert found["rows"] > 20
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(f'sentence1,sentence2,score\n"{LONG}",A cat.,1\nA dog.,A cat.,2\n', encoding="utf-8")
    assert any(note.startswith("1 of 4 texts is longer") for note in call(capsys, "similarity", "--pairs", pairs)[0]["notes"])


def test_vectors_of_documents_are_means_of_their_passages_also_of_a_part(archive: Path, tmp_path: Path, tiny_model: Path) -> None:
    with studio_at(tmp_path / "home", tiny_model) as studio:
        encoder = studio.catalog.load(str(tiny_model))
        table = passage_table(load_documents(archive), passage_budget(encoder))
        passages = corpus_from_table(table, TEXT)
        assert max(encoder.tokens.count_tokens(passages.texts)) <= encoder.max_length  # type: ignore[union-attr]
        documents = group_passages(passages)
        assert len(documents) == 7 and documents.texts[0].replace("\n", " ") == f"About blue {LONG} A blue at last."
        vectors, parts = studio.search.vectors(documents), studio.search.vectors(passages)
        own = [row for row, place in enumerate(passages.places) if place.number == 2]
        mean = parts[own].sum(0)
        assert np.allclose(vectors[2], mean / np.linalg.norm(mean), atol=1e-6)
        some = documents.subset([1, 2, 5], "some", "not needed")
        assert np.allclose(studio.search.vectors(some), vectors[[1, 2, 5]], atol=1e-6) and some.digest != documents.digest
        with pytest.raises(StudioError, match="no columns"):
            studio.data.read_corpus(archive, "text")
        best = studio.search.search(passages.subset(own, "one", "not needed"), "cat").hits
        assert len(best) == 1 and best[0].place in [passages.places[row] for row in own]


def test_rows_of_a_table_keep_their_other_columns(tmp_path: Path, tiny_model: Path) -> None:
    path = tmp_path / "notes.csv"
    rows = [f'a{row},Note {row},"{LONG}",{["north", "south"][row % 2]},{row},,{row}' for row in range(4)]
    path.write_text("\n".join(["id,title,text,team,page,empty,passages", *rows]), encoding="utf-8")
    with studio_at(tmp_path / "home", tiny_model) as studio:
        corpus = studio.data.read_corpus(path, passages=True)
        assert len(corpus) > 8 and list(corpus.fields) == ["title", "id", "team", "page", "passages"]
        hit = studio.search.search(corpus, "a cat").hits[0]
        assert hit.fields["id"] == f"a{hit.place.number}" and hit.fields["team"] == ["north", "south"][hit.place.number % 2]
        documents = group_passages(corpus)
        assert documents.fields["team"] == ("north", "south") * 2 and documents.fields["page"] == documents.fields["passages"] == tuple(
            "0123"
        )
        assert sum(map(int, documents.fields["passages_"])) == len(corpus) and documents.default_category() == "team"
        (tmp_path / "files.csv").write_text(
            "text,file\nA cat sat on the mat today.,a.txt\nA dog ran in the rain today.,b.txt\n", encoding="utf-8"
        )
        named = studio.data.read_corpus(tmp_path / "files.csv", passages=True)
        assert group_passages(named).fields["file"] == ("a.txt", "b.txt")
        columns = {f"c{number}": number for number in range(120)}
        (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d", "text": LONG, "metadata": {}} | columns), encoding="utf-8")
        many = studio.data.read_corpus(tmp_path / "corpus.jsonl", passages=True)
        assert list(many.fields) == list(columns)[:100] and "20 further columns are left out" in many.reading_notes()


@pytest.mark.slow
def test_the_five_lines_of_the_readme_lead_from_documents_to_a_search(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    block = next(block for block in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) if "--corpus handbook/" in block)
    (tmp_path / "handbook").mkdir()
    texts = iter(sentences(1000, 5))
    for number in range(40):
        parts = [" ".join(f"It is {next(texts)} in {number}." for _ in range(6)) for _ in range(2)]
        text = f"# About {next(texts)} {number}\n\n{parts[0]}\n\n## Where is the {next(texts)} {number}?\n\n{parts[1]}\n"
        (tmp_path / "handbook" / f"{number}.md").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # The texts of an untrained model are all alike, so that no margin is left.
    quick = {"negatives": ["--relative-margin", "0"], "train": ["--epochs", "0.5", "--batch-size", "8", "--set", "evaluation=split"]}
    results = {}
    for line in block.strip().splitlines():
        words = [str(tiny_model) if word == "all-MiniLM-L6-v2" else word for word in shlex.split(line, comments=True)]
        results[words[1]], _ = call(capsys, *words[1:], *quick.get(words[1], []))
    assert list(results) == ["pairs", "negatives", "train", "evaluate", "search"]
    assert sum(results["pairs"]["kept"].values()) > 30 and results["negatives"]["negatives"] > 10
    assert [model["name"] for model in results["evaluate"]["models"]] == [str(tiny_model), "my-search"] and results["evaluate"][
        "known_item"
    ]
    assert results["search"]["hits"][0]["place"]["document"].endswith(".md")
