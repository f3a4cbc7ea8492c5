"""A column of several tags a cell is asked about, and never read as the second text of a pair."""

from __future__ import annotations

import pytest

from sbert_studio.data.schema.content import are_tags
from sbert_studio.data.schema.inference import infer_columns, infer_schema
from sbert_studio.data.schema.overrides import parse_overrides
from sbert_studio.data.tables import Table, table_from_columns

TOPICS = ["card arrival", "top up failed", "lost phone", "exchange rate", "cash withdrawal", "age limit", "refund", "direct debit", "pin"]
MESSAGES = [f"I would like to know what happens with number {n}, please help me." for n in range(90)]


def tags(sign: str) -> list[str]:
    return [
        f"{TOPICS[n % 9]}{sign} {TOPICS[(n * n + 1) % 9]}" + (f"{sign} urgent" if n % 4 == 0 else "") if n % 3 == 0 else TOPICS[n % 9]
        for n in range(90)
    ]


def table(name: str, cells: list[str]) -> Table:
    return table_from_columns("file.csv", {"Message": MESSAGES, name: cells})


@pytest.mark.parametrize("name", ["Tags", "Topics", "Schlagworte", "x"])
@pytest.mark.parametrize("sign", [",", ";", " |", "，"])
def test_several_tags_a_cell_are_asked_about(name: str, sign: str) -> None:
    reading = infer_columns(table(name, tags(sign)))
    (question,) = reading.questions
    assert reading.roles.kind != "positive_pairs"
    assert [option.choice["kind"] for option in question.options] == ["labelled_texts", "sentences", "positive_pairs"]
    assert question.proposed is None
    for option in question.options:
        choice = option.choice
        asked = parse_overrides(kind=choice["kind"], columns=",".join(choice["columns"]), target=choice.get("target"))
        told = infer_schema(table(name, tags(sign)), asked)
        assert (told.roles.kind, told.questions) == (choice["kind"], ())


def test_tags_that_never_come_twice_together_leave_the_texts_alone() -> None:
    cells = [f"{TOPICS[n % 9]}, {TOPICS[n // 9 % 9]}" + ", urgent" * (n == 89) for n in range(90)]
    cells = [cell if n < 81 else f"{cell}, {TOPICS[(n + 3) % 9]}" for n, cell in enumerate(cells)]
    reading = infer_columns(table("Tags", cells))
    assert reading.roles.kind == "sentences"
    assert [option.choice["kind"] for option in reading.questions[0].options] == ["sentences", "positive_pairs"]


@pytest.mark.parametrize(
    "cells",
    [
        [["books, music and films", "garden", "toys, games"][n % 3] for n in range(90)],
        [f"{['Bonn', 'Ulm', 'Trier'][n % 3]}, {['Germany', 'Europe'][n % 2]}" for n in range(90)],
        [f"You asked about number {n}, and we will see, as we said, what can be done, friend {n}." for n in range(90)],
        [f"{n},{n + 1}" if n % 2 else str(n) for n in range(90)],
    ],
    ids=["categories with commas", "places", "sentences", "numbers"],
)
def test_what_has_commas_for_other_reasons_is_no_column_of_tags(cells: list[str]) -> None:
    assert not are_tags(cells)
