"""A corpus takes its texts from the right column, and loses none in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.data.corpus import corpus_from_table, text_columns
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.workspace import digest_texts

TICKETS = [f"my order number {index} has not come yet, where is it" for index in range(30)]


def test_the_text_column_is_found_and_the_others_become_fields() -> None:
    table = table_from_columns(
        "tickets",
        {
            "id": [f"T-{index}" for index in range(30)],
            "channel": ["mail", "chat", "phone"] * 10,
            "complaint": TICKETS,
            "minutes": [str(index * 7 % 11) for index in range(30)],
        },
    )
    corpus = corpus_from_table(table)
    assert text_columns(table) == ["complaint"]
    assert corpus.texts == tuple(TICKETS)
    assert corpus.column == "complaint"
    assert set(corpus.fields) == {"id", "channel", "minutes"}
    assert corpus.fields["channel"][:3] == ("mail", "chat", "phone")
    assert corpus.digest == digest_texts(TICKETS)
    assert corpus.lines == tuple(range(2, 32))


def test_a_column_called_text_wins_over_a_wordier_one() -> None:
    notes = [f"{text}, said the customer on the phone this morning at length" for text in TICKETS]
    assert text_columns(table_from_columns("t", {"notes": notes, "text": TICKETS})) == ["text", "notes"]


def test_rows_without_text_are_left_out_and_named() -> None:
    table = table_from_columns("t", {"text": ["one thing", " ", "another thing", ""], "label": ["a", "b", "c", "d"]})
    corpus = corpus_from_table(table, "text")
    assert corpus.texts == ("one thing", "another thing")
    assert corpus.fields["label"] == ("a", "c")
    assert corpus.lines == (2, 4)
    assert corpus.notes[-1].rows == (3, 5)


def test_any_column_can_be_chosen_and_a_wrong_one_is_refused() -> None:
    table = table_from_columns("t", {"text": TICKETS, "label": ["x", "y"] * 15})
    assert corpus_from_table(table, "label").texts[:2] == ("x", "y")
    with pytest.raises(StudioError, match="text, label"):
        corpus_from_table(table, "txt")


def test_tables_without_text_are_refused() -> None:
    numbers = [str(index) for index in range(20)]
    with pytest.raises(StudioError, match="looks like text"):
        corpus_from_table(table_from_columns("t", {"a": numbers, "b": numbers}))
    with pytest.raises(StudioError, match="blank in every row"):
        corpus_from_table(table_from_columns("t", {"text": ["", " "]}), "text")


def test_one_column_of_short_words_is_what_its_user_means() -> None:
    assert corpus_from_table(table_from_columns("t", {"column_1": ["cat", "dog", "cat", "cat"]})).texts == ("cat", "dog", "cat", "cat")


@pytest.mark.parametrize(
    ("file", "column"), [("banking77/train.csv", "text"), ("stsb-zh/dev.csv", "sentence1"), ("snli/test.csv", "premise")]
)
def test_the_text_column_of_public_sets_is_found(real_data: Path, file: str, column: str) -> None:
    table = read_table(real_data / file)
    corpus = corpus_from_table(table)
    assert (corpus.column, len(corpus)) == (column, len(table))
