"""The sample sets hold what their README promises: enough rows, no repeats, a spread of scores, no filled-in templates."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
COLUMNS = {
    "support_requests.csv": ["text", "topic", "channel"],
    "scored_pairs.csv": ["sentence1", "sentence2", "score"],
    "triplets.csv": ["anchor", "positive", "negative"],
    "nli_pairs.csv": ["premise", "hypothesis", "label"],
    "chinese_pairs.csv": ["sentence1", "sentence2", "score"],
    "chinese_messages.csv": ["text", "topic"],
    "labelled_texts.csv": ["text", "category"],
    "bank_messages.csv": ["text", "category"],
}
AT_LEAST = {
    "support_requests.csv": 520,
    "scored_pairs.csv": 320,
    "triplets.csv": 220,
    "nli_pairs.csv": 220,
    "chinese_pairs.csv": 220,
    "chinese_messages.csv": 72,
    "labelled_texts.csv": 200,
    "bank_messages.csv": 240,
}
TEXT_COLUMNS = {
    name: 3 if name == "triplets.csv" else 2 if name in ("scored_pairs.csv", "nli_pairs.csv", "chinese_pairs.csv") else 1
    for name in COLUMNS
}


def rows_of(name: str) -> list[list[str]]:
    """The rows of a CSV file below its header."""
    with (SAMPLES / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.reader(handle, strict=True))[1:]


def lines_of(name: str) -> list[str]:
    return (SAMPLES / name).read_text(encoding="utf-8").splitlines()


def texts_of(name: str) -> list[str]:
    """Every distinct text of a set, whichever column it stands in."""
    if name.endswith(".txt"):
        return list(dict.fromkeys(lines_of(name)))
    return list(dict.fromkeys(cell for row in rows_of(name) for cell in row[: TEXT_COLUMNS[name]]))


def words(text: str) -> list[str]:
    """Words, or single characters for Chinese."""
    return re.findall(r"[\u4e00-\u9fff]|[a-z0-9']+", text.lower())


@pytest.mark.parametrize("name", COLUMNS)
def test_a_set_has_its_columns_enough_rows_and_no_empty_cell(name: str) -> None:
    with (SAMPLES / name).open(encoding="utf-8", newline="") as handle:
        assert next(csv.reader(handle)) == COLUMNS[name]
    rows = rows_of(name)
    assert len(rows) >= AT_LEAST[name]
    assert {len(row) for row in rows} == {len(COLUMNS[name])}
    assert all(cell and cell == cell.strip() for row in rows for cell in row)


def test_the_question_corpus_is_plain_distinct_lines() -> None:
    lines = lines_of("questions.txt")
    assert len(lines) >= 60
    assert len(set(lines)) == len(lines)
    assert all(line and line == line.strip() for line in lines)


@pytest.mark.parametrize("name", [*COLUMNS, "questions.txt", "index.json", "examples.json", "README.md"])
def test_files_are_utf8_without_bom_and_end_lines_with_lf(name: str) -> None:
    raw = (SAMPLES / name).read_bytes()
    assert not raw.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    raw.decode("utf-8")


@pytest.mark.parametrize("name", COLUMNS)
def test_no_cell_starts_like_a_spreadsheet_formula(name: str) -> None:
    assert not [cell for row in rows_of(name) for cell in row if cell[0] in "=+-@\t"]


def test_no_support_request_appears_twice() -> None:
    counts = Counter(row[0].casefold() for row in rows_of("support_requests.csv"))
    assert max(counts.values()) == 1


def test_chinese_messages_are_distinct_and_cover_their_topics_evenly() -> None:
    rows = rows_of("chinese_messages.csv")
    assert len({row[0] for row in rows}) == len(rows)
    assert set(Counter(row[1] for row in rows).values()) == {12} and len({row[1] for row in rows}) == 6


def test_the_page_opens_with_examples_in_each_of_its_languages() -> None:
    held = json.loads((SAMPLES / "examples.json").read_text(encoding="utf-8"))
    assert set(held) == {"en", "zh"}
    for language, found in held.items():
        assert set(found) == {"first", "second", "several", "query"} and len(found["several"]) == 5
        texts = [found["first"], found["second"], found["query"], *found["several"]]
        assert len(set(texts)) == len(texts)
        assert all(bool(re.search(r"[\u4e00-\u9fff]", text)) == (language == "zh") for text in texts)


def test_support_requests_cover_many_topics_and_three_channels() -> None:
    rows = rows_of("support_requests.csv")
    topics = Counter(row[1] for row in rows)
    channels = Counter(row[2] for row in rows)
    assert len(topics) >= 12
    assert min(topics.values()) >= 20
    assert set(channels) == {"email", "chat", "phone"}
    assert min(channels.values()) >= 100


@pytest.mark.parametrize("name", ["scored_pairs.csv", "chinese_pairs.csv", "nli_pairs.csv"])
def test_no_pair_appears_twice_in_either_order(name: str) -> None:
    pairs = Counter(frozenset(cell.casefold() for cell in row[:2]) for row in rows_of(name))
    assert max(pairs.values()) == 1
    assert all(len(pair) == 2 for pair in pairs)


def test_no_text_of_the_triplets_appears_twice() -> None:
    counts = Counter(cell.casefold() for row in rows_of("triplets.csv") for cell in row)
    assert max(counts.values()) == 1


@pytest.mark.parametrize("name", ["scored_pairs.csv", "chinese_pairs.csv"])
def test_scores_have_one_decimal_and_spread_over_the_whole_scale(name: str) -> None:
    cells = [row[2] for row in rows_of(name)]
    assert all(re.fullmatch(r"[0-4]\.\d|5\.0", cell) for cell in cells)
    scores = [float(cell) for cell in cells]
    fifths = Counter(min(int(score), 4) for score in scores)
    assert set(fifths) == {0, 1, 2, 3, 4}
    assert min(fifths.values()) >= 0.12 * len(scores)
    assert min(scores) == 0.0
    assert max(scores) == 5.0


def jaccard(one: str, other: str) -> float:
    first, second = set(words(one)), set(words(other))
    return len(first & second) / len(first | second)


@pytest.mark.parametrize("name", ["scored_pairs.csv", "chinese_pairs.csv"])
def test_some_pairs_share_words_but_not_meaning_and_others_meaning_but_not_words(name: str) -> None:
    rows = rows_of(name)
    assert sum(float(score) < 2 and jaccard(one, other) >= 0.6 for one, other, score in rows) >= 10
    assert sum(float(score) >= 4 and jaccard(one, other) <= 0.2 for one, other, score in rows) >= 10


def test_labels_of_the_entailment_pairs_are_balanced() -> None:
    labels = Counter(row[2] for row in rows_of("nli_pairs.csv"))
    assert set(labels) == {"entailment", "neutral", "contradiction"}
    assert max(labels.values()) - min(labels.values()) <= 3


@pytest.mark.parametrize("name", ["chinese_pairs.csv", "chinese_messages.csv"])
def test_chinese_sets_are_simplified_chinese_in_chinese_punctuation(name: str) -> None:
    for text in texts_of(name):
        assert re.search(r"[\u4e00-\u9fff]", text)
        assert not re.search(r"[,;:!?()]", text)
        assert not set(text) & set("這個們說時來過還沒會對開問間長車東買賣錢學書電話氣點讓請與為國")


@pytest.mark.parametrize("name", [*COLUMNS, "questions.txt"])
def test_no_opening_and_no_phrase_recurs_as_in_a_template(name: str) -> None:
    # Chinese is counted by characters, of which a word takes about one and a half.
    opening, phrase = (8, 10) if name.startswith("chinese") else (5, 6)
    openings: Counter[tuple[str, ...]] = Counter()
    phrases: Counter[tuple[str, ...]] = Counter()
    for text in texts_of(name):
        found = words(text)
        if len(found) >= opening:
            openings[tuple(found[:opening])] += 1
        phrases.update({tuple(found[at : at + phrase]) for at in range(len(found) - phrase + 1)})
    assert {" ".join(key): count for key, count in openings.items() if count > 3} == {}
    assert {" ".join(key): count for key, count in phrases.items() if count > 3} == {}


def test_the_index_names_every_set_once_and_nothing_else() -> None:
    entries = json.loads((SAMPLES / "index.json").read_text(encoding="utf-8"))
    assert all(set(entry) == {"id", "title", "kind", "file", "description", "language"} for entry in entries)
    assert len({entry["id"] for entry in entries}) == len(entries)
    files = sorted(entry["file"] for entry in entries)
    assert files == sorted(path.name for path in SAMPLES.iterdir() if path.suffix in {".csv", ".txt"})
    assert {entry["kind"] for entry in entries} == {"corpus", "scored_pairs", "triplets", "labelled_pairs", "labelled_texts"}
    assert {entry["language"] for entry in entries} == {"en", "zh"}
    for entry in entries:
        assert entry["description"].endswith(".") and entry["description"].count(". ") == 0
