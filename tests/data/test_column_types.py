"""Types of columns, compared with generated values whose type is known."""

from __future__ import annotations

import json
import math
from datetime import date, timedelta

import numpy as np
import pytest

from sbert_studio.data.column_types import (
    COLUMN_TYPES,
    check_type,
    choose_period,
    describe_column,
    describe_columns,
    detect_type,
    parse_column,
    parse_dates,
    split_in_periods,
)
from sbert_studio.data.loading.table import read_table, table_from_columns
from sbert_studio.data.samples import list_samples
from sbert_studio.data.schema import content
from sbert_studio.errors import StudioError
from sbert_studio.services.data_overview import choose_text_columns, describe_data

ROWS = 120
SENTENCES = [f"The {size} parcel number {row} never came to our {place}." for row, (size, place) in enumerate([("small", "shop")] * ROWS)]
TOPICS = ("billing", "delivery", "returns", "login")
TAGS = [(("late", "lost"), ("late",), ("damaged", "late", "refund"), ())[row % 4] for row in range(ROWS)]
COLUMNS = {
    "message": ("text", SENTENCES),
    "price": ("number", [f"{row * 1.37 % 50:.2f}" if row % 5 else "" for row in range(ROWS)]),
    "amount": ("number", [f"{760_168_000 - row * 7919 % 100_000}" for row in range(ROWS)]),
    "stars": ("number", [str(1 + row % 5) for row in range(ROWS)]),
    "rating": ("number", [f"{row % 30} points" for row in range(ROWS)]),
    "sent": ("date", [(date(2024, 1, 1) + timedelta(days=row)).isoformat() for row in range(ROWS)]),
    "when": ("date", [(date(2024, 1, 1) + timedelta(days=row)).strftime("%d.%m.%Y") if row % 3 else "" for row in range(ROWS)]),
    "topic": ("category", [TOPICS[row % 4] for row in range(ROWS)]),
    "is_open": ("category", ["true" if row % 3 else "false" for row in range(ROWS)]),
    "urgent": ("category", [str(row % 2) for row in range(ROWS)]),
    "label": ("category", [str(row % 4) for row in range(ROWS)]),
    "reason": ("category", [("not delivered yet", "sent to the wrong address", "other")[row % 3] for row in range(ROWS)]),
    "row": ("id", [str(row + 1) for row in range(ROWS)]),
    "ticket": ("id", [f"T-{row * 7919 % 100_000:05d}" for row in range(ROWS)]),
    "link": ("id", [f"https://example.org/t/{row}" for row in range(ROWS)]),
    "zip": ("id", [f"{row * 7919 % 100_000:05d}" for row in range(ROWS)]),
    "branch": ("category", [f"{row % 9:03d}" for row in range(ROWS)]),
    "order number": ("id", [str(120_000_000_000_000_000 + row * 7919 % 1_000) for row in range(ROWS)]),
    "tags": ("list", ["; ".join(tags) for tags in TAGS]),
    "json": ("list", [json.dumps(tags) for tags in TAGS]),
    "python": ("list", [str(list(tags)) for tags in TAGS]),
    "empty": ("category", [""] * ROWS),
}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,200.50", "$35", "-$12.00", "$ 1,500"], [1200.5, 35, -12, 1500]),
        (["12,50 €", "1.200 €", "", "1.200,75 €", "7 €"], [12.5, 1200, math.nan, 1200.75, 7]),
        (["1.549 €", "1.629 €", "1.599 €"], [1.549, 1.629, 1.599]),
        (["1.549 €", "0.62 €", "12.999 €"], [1.549, 0.62, 12.999]),
        (["1,5 €", "2,25 €", "3,125 €"], [1.5, 2.25, 3.125]),
        (["$1,500", "$2,350", "$9,999"], [1500, 2350, 9999]),
        (["R$ 1.500", "R$ 2.350"], [1500, 2350]),
        (["$1,234.567", "$2"], [1234.567, 2]),
        (["₹1,00,000", "₹12,345", "₹99"], [100_000, 12_345, 99]),
        (["¥300", "¥ 12,000", "¥1,000,000"], [300, 12_000, 1_000_000]),
        (["USD 0.125", "usd 10,000", "USD -5"], [0.125, 10_000, -5]),
        (["300元", "1 200元", "45.5元"], [300, 1200, 45.5]),
        (["1'250.00 CHF", "80.-CHF", "19.90 CHF"], None),
        (["12 kg", "1.5 kg", "", "1,250 kg", "7kg"], [12, 1.5, math.nan, 1250, 7]),
        (["3 ms", "12 ms", "0.5 ms"], [3, 12, 0.5]),
        (["5 %", "12.5 %", "-3 %"], [5, 12.5, -3]),
        (["3 kg", "4 g", "5 m"], None),
        (["3 rooms", "4 rooms", "5 rooms"], None),
    ],
)
def test_amounts_of_one_currency_are_numbers(cells: list[str], expected: list[float] | None) -> None:
    cells, expected = cells * 20, expected and expected * 20
    assert (detect_type("total", cells) == "number") == (expected is not None)
    if expected is not None:
        np.testing.assert_allclose(parse_column("total", cells, "number").numbers, expected)  # type: ignore[arg-type]
    mixed = [cell.replace("$", "€" if row % 2 else "$").replace("¥", "£" if row % 2 else "¥") for row, cell in enumerate(cells)]
    assert mixed == cells or detect_type("total", mixed) != "number"


def test_amounts_keep_how_they_are_written_and_several_currencies_are_named() -> None:
    forms = {"${}": "$1,200", "{} €": "12,50 €", "USD {}": "USD 300", "{} kg": "12 kg", "{}%": "5%", "": "12"}
    assert {form: parse_column("total", [cell] * 3, "number").unit for form, cell in forms.items()} == {form: form for form in forms}
    assert parse_column("total", ["$1", "$2"], "number").select([1]).unit == "${}"
    assert describe_column("total", ["$5", "7 €", "$8"] * 9).currencies == ("$", "€")
    assert describe_column("total", ["$5", "$7", "$8"] * 9).currencies == describe_column("total", COLUMNS["topic"][1]).currencies == ()


@pytest.mark.parametrize("name", COLUMNS)
def test_type_is_detected_from_cells_and_name(name: str) -> None:
    kind, cells = COLUMNS[name]
    assert detect_type(name, cells) == kind


def test_small_files_have_the_same_types_and_statistics_count_cells() -> None:
    ten = {name: cells[:12] for name, (_, cells) in COLUMNS.items() if name in ("message", "price", "sent", "topic", "is_open", "stars")}
    found = {column.name: column.type for column in describe_columns(table_from_columns("ten.csv", ten))}
    assert found == {name: COLUMNS[name][0] for name in ten}
    found = describe_column("price", COLUMNS["price"][1])
    filled = [cell for cell in COLUMNS["price"][1] if cell]
    assert (found.rows, found.blank, found.distinct) == (ROWS, ROWS - len(filled), len(set(filled)))
    assert found.examples == tuple(dict.fromkeys(filled))[:5] and found.is_detected
    topics = describe_column("topic", ["b", "a", "b", " ", "a", "b"], "category")
    assert (topics.examples, topics.blank, topics.is_detected) == (("b", "a"), 1, False)
    assert [check_type(name) for name in COLUMN_TYPES] == list(COLUMN_TYPES)
    with pytest.raises(StudioError, match="colour"):
        check_type("colour")


def test_columns_are_parsed_as_numbers_or_days_and_unreadable_cells_are_marked() -> None:
    found = parse_column("price", COLUMNS["price"][1], "number")
    assert found.numbers is not None and found.numbers.dtype == np.float64
    expected = [float(cell) if cell else math.nan for cell in COLUMNS["price"][1]]
    np.testing.assert_array_equal(found.numbers, expected)
    assert not found.unreadable.any() and int(found.is_blank.sum()) == ROWS // 5
    found = parse_column("price", ["1", "2.5", "", "unknown", "3", "4"], "number")
    assert found.unreadable.tolist() == [False, False, False, True, False, False]
    assert found.is_blank.tolist() == [False, False, True, False, False, False]
    found = parse_column("when", COLUMNS["when"][1], "date")
    assert found.days is not None and found.days.dtype == np.dtype("datetime64[D]")
    assert found.days[1] == np.datetime64("2024-01-02") and np.isnat(found.days[0])
    assert np.isnat(parse_column("topic", COLUMNS["topic"][1], "date").days).all()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tags", "json", "python"])
def test_lists_are_split_into_items(name: str) -> None:
    found = parse_column(name, COLUMNS[name][1], "list")
    assert found.items == tuple(TAGS)
    assert found.count_items()["late"] == 3 * ROWS // 4
    assert describe_column(name, COLUMNS[name][1]).distinct == 4


@pytest.mark.parametrize(
    ("cells", "items"),
    [
        (["a, b", "c"], (("a", "b"), ("c",))),
        (["红，蓝", ""], (("红", "蓝"), ())),
        (["x"], (("x",),)),
        (['["a", null, true, 2.0, {"name": "é"}]', "[]"], (("a", "true", "2", '{"name": "é"}'), ())),
        (['"Roe, Jane", "Doe, John"', "Poe", '3" pipe, nail'], (("Roe, Jane", "Doe, John"), ("Poe",), ('3" pipe', "nail"))),
    ],
)
def test_any_column_can_be_read_as_a_list(cells: list[str], items: tuple[tuple[str, ...], ...]) -> None:
    assert parse_column("anything", cells, "list").items == items


def test_columns_of_the_samples() -> None:
    found = {}
    for sample in list_samples():
        for column in describe_columns(read_table(sample.path)):
            found[sample.id, column.name] = column.type
    categories = {("support_requests", "topic"), ("support_requests", "channel"), ("bank_messages", "category")}
    categories |= {("nli_pairs", "label"), ("labelled_texts", "category"), ("chinese_messages", "topic")}
    numbers = {("scored_pairs", "score"), ("chinese_pairs", "score")}
    assert {key for key, kind in found.items() if kind == "category"} == categories
    assert {key for key, kind in found.items() if kind == "number"} == numbers
    assert {kind for key, kind in found.items() if key not in categories | numbers} == {"text"}


def test_the_columns_of_a_wide_table_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(content, "numbers_of", lambda cells, original=content.numbers_of: seen.append("") or original(cells))
    rows = {f"field {column}": [f"words of row {row} in column {column}" for row in range(12)] for column in range(60)}
    table = table_from_columns("wide", rows)
    overview = describe_data(table, choose_text_columns(table))
    assert len(seen) == 60 == len(overview.columns)


DAYS = [date(2023, 1, 28) + timedelta(days=9 * step) for step in range(30)]


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%Y-%m-%dT23:59:59+08:00", "%Y-%m-%d 09:05:01.250", "%Y/%m/%d", "%d.%m.%Y", "%Y%m%d", "%m/%d/%Y 9:00 PM", "%d/%m/%Y"),
        *("%B %d, %Y", "%d %b %Y", "%a %b %d 10:00:00 +0000 %Y", "%Y年%m月%d日", "%Y-%m-%dT00:30:00Z"),
        *(
            "%Y/%m/%d 10:01:00 AM GMT+1",
            "%d.%m.%Y, 09:00 Uhr",
            "%Y-%m-%d 23:00 CET",
            "%Y-%m-%dT01:00:00+01:00[Europe/Berlin]",
            "%a %b %d 9:00 PDT %Y",
        ),
    ],
)
def test_formats_of_people_and_programs_are_read_as_their_local_day(form: str) -> None:
    found = parse_dates("sent", [day.strftime(form) for day in DAYS])
    assert found.days.tolist() == DAYS and (found.blank, found.unreadable, found.order) == (0, 0, "")


def test_unreadable_cells_orders_and_years_are_told() -> None:
    cells = [*(day.isoformat() for day in DAYS), "", "  ", "unknown"]
    found = parse_dates("sent", cells)
    assert found is not None and (found.blank, found.unreadable) == (2, 1)
    assert np.isnat(found.days[-3:]).all() and not np.isnat(found.days[:-3]).any()
    assert parse_dates("sent", [*(day.isoformat() for day in DAYS[:10]), *["unknown"] * 5]) is None, "a third of it are no dates"
    found = parse_dates("sent", ["03/04/2023", "05/06/2023", "01/02/2023"])
    assert found is not None and found.order == "month/day" and found.days[0].item() == date(2023, 3, 4)
    found = parse_dates("pub_year", ["1999", "2005", "2010"])
    assert found is not None and [day.item().year for day in found.days] == [1999, 2005, 2010]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("id", ["10482213", "99482214", "77782215"]),
        ("amount", ["1999", "2005", "2010"]),
        ("score", ["0.5", "1.25", "3"]),
        ("topic", ["billing", "2nd line", "other"]),
        ("empty", ["", " "]),
    ],
)
def test_other_columns_are_no_dates(name: str, cells: list[str]) -> None:
    assert parse_dates(name, cells) is None


@pytest.mark.parametrize(
    ("span", "period", "parts"),
    [(1, "day", 1), (40, "day", 40), (60, "week", 10), (270, "week", 40), (400, "month", 14), (1500, "month", 50), (3000, "year", 9)],
)
def test_the_period_follows_from_the_span(span: int, period: str, parts: int) -> None:
    days = np.array([date(2020, 1, 1), date(2020, 1, 1) + timedelta(days=span - 1), None], "datetime64[D]")
    assert choose_period(days) == period
    found, names = split_in_periods(days, choose_period(days))
    assert found[-1] == -1 and len(names) == found.max() + 1 and abs(len(names) - parts) <= 1


@pytest.mark.parametrize("period", ["day", "week", "month", "year"])
def test_periods_are_those_of_the_calendar(period: str) -> None:
    found, names = split_in_periods(np.array(DAYS, "datetime64[D]"), period)  # type: ignore[arg-type]
    for day, place in zip(DAYS, found.tolist(), strict=True):
        year, week, _ = day.isocalendar()
        expected = {"day": day.isoformat(), "week": f"{year}-W{week:02d}", "month": day.isoformat()[:7], "year": str(day.year)}
        assert names[place] == expected[period]
    assert len(set(names)) == len(names) and list(names) == sorted(names)
