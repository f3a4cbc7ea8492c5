"""Columns of dates: parsing, and periods of a suitable length."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

import numpy as np

Period = Literal["day", "week", "month", "year"]

_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d.%m.%y"),
    *("%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%m-%d-%Y", "%d-%m-%Y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d %Y", "%B %d %Y", "%a %b %d %Y", "%a %d %b %Y", "%b %Y", "%B %Y"),
    *("%Y-%m", "%Y/%m", "%Y.%m", "%m/%Y"),
)
_SWAPPED = {"%m/%d/%Y": "%d/%m/%Y", "%m/%d/%y": "%d/%m/%y", "%m-%d-%Y": "%d-%m-%Y"}
_YEAR, _YEAR_NAME = re.compile(r"\d{4}"), re.compile(r"\byears?\b|年", re.IGNORECASE)
# A time of day with its time zone. The local day is meant, so that no time is converted.
_ZONES = "Z|UTC|GMT|CES?T|EES?T|WES?T|BST|[ECMP][SD]T|MSK|IST|JST|KST|HKT|SGT|AE[SD]T|Uhr"
_TIME = re.compile(
    rf"[T\s]\s*\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?(\s*[AaPp]\.?[Mm]\.?)?(\s*({_ZONES})\b)?(\s*[+-]\d{{1,2}}(:?\d{{2}})?)?(\s*\[[\w/]+\])?",
    re.IGNORECASE,
)
_LONGEST = 50  # characters of a date
_TRIED = 200  # distinct cells that decide the format
_MIN_SHARE = 0.9  # of the filled cells, which must be dates
_FIRST_YEAR, _LAST_YEAR = 1800, 2200  # other numbers of eight digits are identifiers
_MAX_PERIODS, _MIN_PERIODS = 40, 6


@dataclass(frozen=True)
class DateColumn:
    """Dates of n cells.

    Attributes:
        days: (n,) datetime64[D], NaT for cells without a date.
        blank: number of blank cells.
        unreadable: number of other cells without a date.
        order: the assumed order, ``month/day`` or ``day/month``, if the cells are ambiguous; otherwise empty.
    """

    days: np.ndarray
    blank: int
    unreadable: int
    order: str = ""

    def select(self, rows: Sequence[int], cells: Sequence[str]) -> DateColumn:
        """Return the dates of some rows, whose cells are ``cells``; they keep the format that the whole column shows."""
        days = self.days[np.asarray(rows, np.int64)]
        blank = sum(not cell.strip() for cell in cells)
        return DateColumn(days, blank, int(np.isnat(days).sum()) - blank, self.order)


def parse_dates(name: str, cells: Sequence[str]) -> DateColumn | None:
    """Return the dates of a column; ``None`` unless at least 90 % of its filled cells are dates of one format.

    Args:
        name: name of the column; four-digit numbers are read as years only if it suggests years.
    """
    counts = Counter(cells)
    filled = {cell: _without_time(cell) for cell in counts if cell.strip()}
    head = list(dict.fromkeys(itertools.islice(filled.values(), _TRIED)))
    if not head or sum(any(letter.isdigit() for letter in cell) and len(cell) <= _LONGEST for cell in head) < _MIN_SHARE * len(head):
        return None
    formats = ("%Y", *_FORMATS) if _YEAR_NAME.search(name.replace("_", " ")) else _FORMATS
    found = max(formats, key=lambda form: sum(_parse(cell, form) is not None for cell in head))
    dates = {cell: _parse(short, found) for cell, short in filled.items()}
    parsed = sum(counts[cell] for cell, day in dates.items() if day is not None)
    total = sum(counts[cell] for cell in filled)
    if parsed < _MIN_SHARE * total:
        return None
    days = np.array([dates.get(cell) or np.datetime64("NaT") for cell in cells], "datetime64[D]")
    swapped = _SWAPPED.get(found)
    is_unclear = swapped is not None and all(
        _parse(short, swapped) is not None for cell, short in filled.items() if dates[cell] is not None
    )
    return DateColumn(days, len(cells) - total, total - parsed, "month/day" if is_unclear else "")


def choose_period(days: np.ndarray) -> Period:
    """Return the period that divides (n,) datetime64[D] days into about 6 to 40 parts; NaT is ignored."""
    known = days[~np.isnat(days)]
    numbers = {period: int(np.ptp(_numbers(known, period))) + 1 for period in ("day", "week", "month", "year")}
    period: Period = "day" if numbers["day"] <= _MAX_PERIODS else "week"
    if numbers["week"] > _MAX_PERIODS:
        period = "year" if numbers["month"] > _MAX_PERIODS and numbers["year"] >= _MIN_PERIODS else "month"
    return period


def split_in_periods(days: np.ndarray, period: Period) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the index of the period of each day, (n,) int64, -1 for NaT, and the name of each period from the first to the last."""
    known = ~np.isnat(days)
    numbers = _numbers(days[known], period)
    first = int(numbers.min())
    found = np.full(len(days), -1, np.int64)
    found[known] = numbers - first
    return found, tuple(_name(number, period) for number in range(first, int(numbers.max()) + 1))


def _numbers(days: np.ndarray, period: Period) -> np.ndarray:
    if period == "week":
        return (days.astype(np.int64) + 3) // 7  # 1970-01-01 was a Thursday
    return days.astype(f"datetime64[{period[0].upper() if period != 'day' else 'D'}]").astype(np.int64)


def _name(number: int, period: Period) -> str:
    if period == "week":
        year, week, _ = date.fromordinal(date(1970, 1, 1).toordinal() + number * 7 - 3).isocalendar()
        return f"{year}-W{week:02d}"
    return str(np.datetime64(number, "Y" if period == "year" else "M" if period == "month" else "D"))


def _without_time(cell: str) -> str:
    text = _TIME.sub(" ", cell.strip()[: 2 * _LONGEST], count=1)
    text = re.sub(r"\s*[年月]\s*", "-", text).replace("日", "").replace(",", " ")
    return " ".join(text.rstrip("- ").split())


def _parse(cell: str, form: str) -> date | None:
    if (form == "%Y%m%d" and len(cell) != 8) or (form == "%Y" and not _YEAR.fullmatch(cell)):
        return None
    try:
        day = datetime.strptime(cell, form).date()  # a day has no time zone
    except ValueError:
        return None
    return day if _FIRST_YEAR <= day.year <= _LAST_YEAR else None
