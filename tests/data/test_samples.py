"""The bundled samples are what their index and README say: well-formed, varied, without repeats or filled-in templates."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from leakage import leakage

from sbert_studio.data import samples as module
from sbert_studio.data.corpus import corpus_from_table
from sbert_studio.data.doctor.diagnosis import diagnose
from sbert_studio.data.language import detect_main_language
from sbert_studio.data.loading.table import read_table
from sbert_studio.data.samples import Sample, default_sample, get_sample, list_samples, sample_texts
from sbert_studio.data.split import split_examples
from sbert_studio.errors import StudioError

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
FILES = {  # columns, the number of text columns, the minimum number of rows
    "support_requests.csv": (["text", "topic", "channel"], 1, 520),
    "scored_pairs.csv": (["sentence1", "sentence2", "score"], 2, 320),
    "triplets.csv": (["anchor", "positive", "negative"], 3, 220),
    "nli_pairs.csv": (["premise", "hypothesis", "label"], 2, 220),
    "chinese_pairs.csv": (["sentence1", "sentence2", "score"], 2, 220),
    "chinese_messages.csv": (["text", "topic"], 1, 72),
    "labelled_texts.csv": (["text", "category"], 1, 200),
    "bank_messages.csv": (["text", "category"], 1, 240),
}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def rows_of(name: str) -> list[list[str]]:
    with (SAMPLES / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.reader(handle, strict=True))[1:]


def texts_of(name: str) -> list[str]:
    if name.endswith(".txt"):
        return (SAMPLES / name).read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(cell for row in rows_of(name) for cell in row[: FILES[name][1]]))


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_its_columns_and_enough_clean_rows(name: str) -> None:
    columns, _, least = FILES[name]
    rows = rows_of(name)
    assert (SAMPLES / name).read_text(encoding="utf-8").splitlines()[0] == ",".join(columns)
    assert len(rows) >= least and {len(row) for row in rows} == {len(columns)}
    assert all(cell and cell == cell.strip() and cell[0] not in "=+-@" for row in rows for cell in row), "no formula of a spreadsheet"


@pytest.mark.parametrize("name", ["support_requests.csv", "chinese_messages.csv", "triplets.csv", "questions.txt"])
def test_no_text_appears_twice(name: str) -> None:
    texts = texts_of(name) if name == "questions.txt" else [cell for row in rows_of(name) for cell in row[: FILES[name][1]]]
    assert len(texts) >= 60 and max(Counter(text.casefold() for text in texts).values()) == 1


@pytest.mark.parametrize("name", ["scored_pairs.csv", "chinese_pairs.csv", "nli_pairs.csv"])
def test_no_pair_appears_twice_in_either_order(name: str) -> None:
    pairs = Counter(frozenset(cell.casefold() for cell in row[:2]) for row in rows_of(name))
    assert max(pairs.values()) == 1 and all(len(pair) == 2 for pair in pairs)


@pytest.mark.parametrize(
    ("name", "column", "classes", "least", "most"),
    [
        ("support_requests.csv", 1, 12, 20, 520),
        ("support_requests.csv", 2, 3, 100, 520),
        ("chinese_messages.csv", 1, 6, 12, 12),
        ("nli_pairs.csv", 2, 3, 70, 80),
    ],
)
def test_classes_are_balanced(name: str, column: int, classes: int, least: int, most: int) -> None:
    sizes = Counter(row[column] for row in rows_of(name))
    assert len(sizes) >= classes and least <= min(sizes.values()) and max(sizes.values()) <= most


def words(text: str) -> list[str]:
    """The words, or the characters of Chinese texts."""
    return re.findall(r"[\u4e00-\u9fff]|[a-z0-9']+", text.lower())


@pytest.mark.parametrize("name", ["scored_pairs.csv", "chinese_pairs.csv"])
def test_scores_cover_the_scale_and_are_not_word_overlap(name: str) -> None:
    rows = [(set(words(a)), set(words(b)), float(score)) for a, b, score in rows_of(name)]
    fifths = Counter(min(int(score), 4) for _, _, score in rows)
    assert len(fifths) == 5 and min(fifths.values()) >= 0.12 * len(rows)
    assert sum(score < 2 and len(a & b) >= 0.6 * len(a | b) for a, b, score in rows) >= 10
    assert sum(score >= 4 and len(a & b) <= 0.2 * len(a | b) for a, b, score in rows) >= 10


@pytest.mark.parametrize("name", [*FILES, "questions.txt"])
def test_texts_are_not_filled_in_templates_and_chinese_is_simplified(name: str) -> None:
    is_chinese = name.startswith("chinese")
    length = 10 if is_chinese else 6  # a Chinese word has about one and a half characters
    phrases: Counter[tuple[str, ...]] = Counter()
    for text in texts_of(name):
        found = words(text)
        phrases.update({tuple(found[at : at + length]) for at in range(len(found) - length + 1)})
        if is_chinese:
            assert CHINESE.search(text) and not set(text) & set(",;:!?()這個們說時來過還沒會對開問間長車東買賣錢學書電話氣點讓請與為國")
    assert {" ".join(key): count for key, count in phrases.items() if count > 3} == {}


def test_the_index_lists_every_file_once_and_each_language_has_example_texts() -> None:
    entries = json.loads((SAMPLES / "index.json").read_text(encoding="utf-8"))
    assert all(set(entry) == {"id", "title", "kind", "file", "description", "language"} for entry in entries)
    assert len({entry["id"] for entry in entries}) == len(entries)
    assert sorted(entry["file"] for entry in entries) == sorted(path.name for path in SAMPLES.iterdir() if path.suffix in {".csv", ".txt"})
    assert {entry["kind"] for entry in entries} == {"corpus", "scored_pairs", "triplets", "labelled_pairs", "labelled_texts"}
    assert {entry["language"] for entry in entries} == {"en", "zh"}
    assert all(entry["description"].endswith(".") and entry["description"].count(". ") == 0 for entry in entries)
    by_language = json.loads((SAMPLES / "examples.json").read_text(encoding="utf-8"))
    assert set(by_language) == {"en", "zh"} and sample_texts("fr") == sample_texts("en")
    for language in by_language:
        found = sample_texts(language)
        texts = [found.first, found.second, found.query, *found.several]
        assert len(found.several) == 5 and len(set(texts)) == len(texts)
        assert all(bool(CHINESE.search(text)) == (language == "zh") for text in texts)


@pytest.mark.parametrize("sample", list_samples(), ids=lambda sample: sample.id)
def test_a_sample_is_read_as_its_index_says(sample: Sample) -> None:
    table = read_table(sample.path)
    assert table.notes == ()
    if sample.kind == "corpus":
        corpus = corpus_from_table(table)
        assert len(corpus) == len(table) and detect_main_language(corpus.texts).code == sample.language
        return
    diagnosis = diagnose(table, languages=[sample.language])
    assert diagnosis.roles.kind == sample.kind and len(diagnosis.examples) == diagnosis.rows
    assert not [finding for finding in diagnosis.findings if finding.severity != "info"]
    train, dev = split_examples(diagnosis.examples)
    assert leakage(train, dev) == () and len(dev) >= 0.05 * len(table)


def test_samples_are_found_by_id_and_an_index_never_points_outside_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = list_samples()
    assert len({sample.id for sample in samples}) == len(samples) >= 5 and get_sample(samples[0].id) == samples[0]
    with pytest.raises(StudioError, match="no sample called"):
        get_sample("../../etc/passwd")
    (tmp_path / "samples").mkdir()
    entry = {"id": "x", "title": "X", "kind": "corpus", "file": "../../etc/passwd", "description": "", "language": "en"}
    (tmp_path / "samples" / "index.json").write_text(json.dumps([entry]), encoding="utf-8")
    monkeypatch.setattr(module, "ASSETS", tmp_path)
    assert get_sample("x").path == tmp_path / "samples" / "passwd"
    monkeypatch.setattr(module, "ASSETS", tmp_path / "absent")
    assert list_samples() == []


@pytest.mark.parametrize(
    ("language", "kind", "name"),
    [
        ("zh", "corpus", "chinese_messages"),
        ("zh", "scored_pairs", "chinese_pairs"),
        ("zh", "triplets", "triplets"),
        ("en", "corpus", "support_requests"),
        ("fr", "corpus", "support_requests"),
        ("zh", "no such kind", None),
    ],
)
def test_the_default_sample_is_in_the_language_of_the_page(language: str, kind: str, name: str | None) -> None:
    sample = default_sample(language, kind)
    assert (sample and sample.id) == name
