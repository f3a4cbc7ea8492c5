"""Columns of dates, compared with the standard library's calendar."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from sbert_studio.data.dates import choose_period, parse_dates, split_in_periods

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
