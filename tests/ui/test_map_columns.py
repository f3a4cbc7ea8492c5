"""Columns as the map's page receives them, decoded and compared with the cells."""

from __future__ import annotations

import base64
import math
import random
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from sbert_studio.ui.map_columns import BLANK, MAX_LABELS, OTHER, column_value
from sbert_studio.ui.views import Value

DRAW = random.Random(0)
ROWS = 200


def array(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def items(value: Value) -> list[list[str]]:
    starts, codes = array(value["starts"], "<i4"), array(value["items"], "<i4").tolist()
    return [[value["labels"][code] for code in codes[starts[row] : starts[row + 1]]] for row in range(value["n"])]


def test_numbers_keep_all_digits_and_dates_are_days_since_1970() -> None:
    cells = ["" if row % 7 == 0 else repr(DRAW.gauss(0, 1e9)) for row in range(ROWS)]
    value = column_value("amount", cells)
    assert value["kind"] == "number" and value["unreadable"] == 0
    np.testing.assert_array_equal(array(value["numbers"], "<f8"), [float(cell) if cell else math.nan for cell in cells])
    days = [date(1960, 1, 1) + timedelta(days=DRAW.randrange(40_000)) for _row in range(ROWS)]
    value = column_value("sent", [*(day.isoformat() for day in days), ""])
    assert value["kind"] == "date"
    found = array(value["numbers"], "<f8")
    assert [date(1970, 1, 1) + timedelta(days=int(number)) for number in found[:-1]] == days and math.isnan(found[-1])


def test_categories_are_largest_first_and_rare_ones_one_group() -> None:
    cells = [*(["b"] * 50), *(["a"] * 70), *([" "] * 3)]
    value = column_value("team", cells)
    assert (value["kind"], value["labels"], value["distinct"]) == ("category", ["a", "b"], 2)
    assert array(value["codes"], "<i4").tolist() == [1] * 50 + [0] * 70 + [BLANK] * 3
    many = column_value("place", [f"place {row}" for row in range(MAX_LABELS + 5)] * 2)
    codes = array(many["codes"], "<i4")
    assert len(many["labels"]) == MAX_LABELS and many["distinct"] == MAX_LABELS + 5 and int((codes == OTHER).sum()) == 10


@pytest.mark.parametrize("pair", [("yes", "no"), ("True", "False"), ("1", "0"), ("是", "否")])
def test_booleans_are_told_from_other_pairs(pair: tuple[str, str]) -> None:
    cells = [pair[row % 3 == 0] for row in range(ROWS)]
    assert column_value("urgent", cells)["kind"] == "boolean"
    assert column_value("team", [("north", "south")[row % 3 == 0] for row in range(ROWS)])["kind"] == "category"


def test_lists_have_an_entry_for_each_item() -> None:
    rows = [DRAW.sample(["late", "lost", "damaged"], DRAW.randint(0, 3)) for _row in range(ROWS)]
    value = column_value("tags", ["; ".join(row) for row in rows])
    assert value["kind"] == "list" and items(value) == rows
    counts = pd.Series([item for row in rows for item in row]).value_counts()
    assert [counts[label] for label in value["labels"]] == sorted(counts, reverse=True)


def test_a_type_that_the_user_chose_is_used_unless_no_cell_has_it() -> None:
    stars = [str(1 + row % 5) for row in range(ROWS)]
    assert column_value("stars", stars)["kind"] == "number"
    assert column_value("stars", stars, "category")["labels"] == ["1", "2", "3", "4", "5"]
    assert column_value("team", ["north", "south"] * 9, "number")["kind"] == "category", "there is nothing to draw a scale of"
    assert column_value("price", ["1", "2", "unknown"], "number")["unreadable"] == 1
