"""A corpus takes its texts from the right column and reports every skipped row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sbert_studio.data.corpus import corpus_from_table, find_text_columns
from sbert_studio.data.loading.table import table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.workspace import digest_texts

TICKETS = [f"my order number {index} has not come yet, where is it" for index in range(30)]


def test_the_text_column_is_found_and_the_others_become_fields() -> None:
    columns = {"id": [f"T-{index}" for index in range(30)], "channel": ["mail", "chat", "phone"] * 10, "complaint": TICKETS}
    table = table_from_columns("tickets", {**columns, "minutes": [str(index * 7 % 11) for index in range(30)]})
    corpus = corpus_from_table(table)
    assert find_text_columns(table) == ["complaint"] == [corpus.column]
    assert corpus.texts == tuple(TICKETS) and corpus.digest == digest_texts(TICKETS) and corpus.lines == tuple(range(2, 32))
    assert set(corpus.fields) == {"id", "channel", "minutes"} and corpus.fields["channel"][:3] == ("mail", "chat", "phone")
    assert list(corpus.columns()) == list(table.columns) and corpus.category_columns() == ["channel", "minutes"]
    few = corpus.subset([0, 2], "few", "not needed")
    assert few.lines == (2, 4) and few.account.skipped == 28 and few.account.reasons[-1].why == "not needed"
    notes = [f"{text}, said the customer on the phone this morning at length" for text in TICKETS]
    assert find_text_columns(table_from_columns("t", {"notes": notes, "text": TICKETS})) == ["text", "notes"]


def test_dates_numbers_and_lists_are_no_default_category() -> None:
    columns: dict[str, list[str]] = {
        "complaint": TICKETS,
        "date": [f"2024-01-{1 + index % 9:02}" for index in range(30)],
        "minutes": [str(index * 7 % 11) for index in range(30)],
        "tags": [("late; lost", "late", "lost; rude")[index % 3] for index in range(30)],
    }
    corpus = corpus_from_table(table_from_columns("tickets", columns))
    assert corpus.category_columns() == ["date", "minutes", "tags"] and corpus.default_category() is None
    assert replace(corpus, types={"minutes": "category"}).default_category() == "minutes"
    with_channel = corpus_from_table(table_from_columns("tickets", {**columns, "channel": ["mail", "chat", "phone"] * 10}))
    assert with_channel.default_category() == "channel"


def test_rows_without_text_are_skipped_and_reported() -> None:
    texts = ["one thing", " ", "another thing here", "", "n/a", "another thing here"]
    corpus = corpus_from_table(table_from_columns("t", {"text": texts, "label": list("abcdef")}), "text")
    assert corpus.texts == ("one thing", "another thing here", "another thing here") and corpus.fields["label"] == ("a", "c", "f")
    assert corpus.lines == (2, 4, 7) and [note.rows for note in corpus.notes] == [(3, 5), (6,)]
    assert corpus.repeat_notes() == ["1 text repeats an earlier one and is kept."]


@pytest.mark.parametrize(
    "columns", [{"column_1": ["cat", "dog", "cat", "cat"]}, {"text": TICKETS[:4], "column_1": ["cat", "dog", "cat", "cat"]}]
)
def test_a_column_of_labels_is_used_if_it_is_chosen_or_the_only_one(columns: dict[str, list[str]]) -> None:
    corpus = corpus_from_table(table_from_columns("t", columns), "column_1" if len(columns) > 1 else None)
    assert corpus.texts == ("cat", "dog", "cat", "cat")


@pytest.mark.parametrize(
    ("columns", "column", "words"),
    [
        ({"text": TICKETS, "label": ["x", "y"] * 15}, "txt", "text, label"),
        ({"a": list("123456789"), "b": list("123456789")}, None, "looks like text"),
        ({"text": ["", " "]}, "text", "blank in every row"),
    ],
)
def test_tables_without_text_are_refused(columns: dict[str, list[str]], column: str | None, words: str) -> None:
    with pytest.raises(StudioError, match=words):
        corpus_from_table(table_from_columns("t", columns), column)
