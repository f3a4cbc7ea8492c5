"""Types of columns: text, number, date, category, identifier or list, and the cells parsed as that type; periods of dates."""

from __future__ import annotations

import ast
import csv
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ..errors import StudioError
from ..i18n import _
from .cells import cell_text
from .loading.table import Table
from .schema.content import TAG_SEPARATORS, ColumnProfile, find_tag_separator, profile_column, profile_table
from .schema.names import GROUP, LABEL
from .schema.numbers import amounts_of, find_currencies, numbers_of

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
    days = np.array([dates.get(cell) or np.datetime64("NaT") for cell in cells], dtype="datetime64[D]")
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


ColumnType = Literal["text", "number", "date", "category", "id", "list"]
COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)

_SAMPLE_ROWS, _CURRENCY_ROWS = 20_000, 1_000
_EXAMPLES = 5
_MAX_BINARY = 2
_MAX_SHORT_CATEGORIES, _MAX_CATEGORY_WORDS = 20, 4.0
_EXACT_DIGITS = 15  # of a whole number in float64
_LONGEST_LIST = 100_000  # characters of a cell that is parsed as a list


@dataclass(frozen=True)
class TypedColumn:
    """A column of n cells with its type.

    Attributes:
        name: name of the column.
        type: how its cells are interpreted.
        rows: n.
        blank: number of blank cells.
        distinct: number of distinct non-blank cells or, for lists, of distinct items.
        examples: the most frequent categories or items, otherwise the first distinct cells, at most five.
        is_detected: whether the type was detected rather than set by the user.
        currencies: the currencies of a column of amounts in several, which is not read as numbers; otherwise empty.
    """

    name: str
    type: ColumnType
    rows: int
    blank: int
    distinct: int
    examples: tuple[str, ...]
    is_detected: bool = True
    currencies: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnValues:
    """The n cells of a column, parsed as a type.

    Attributes:
        type: the type.
        cells: the cells without surrounding white space.
        numbers: (n,) float64, NaN for a cell without a number; only for numbers.
        days: (n,) datetime64[D], NaT for a cell without a date; only for dates.
        items: the items of each cell, distinct and in order; only for lists and for categories, which have at most one item per cell.
        unit: how a number is written with its currency or unit, such as ``${}`` or ``{} kg``; empty without one.
    """

    type: ColumnType
    cells: tuple[str, ...]
    numbers: np.ndarray | None = None
    days: np.ndarray | None = None
    items: tuple[tuple[str, ...], ...] | None = None
    unit: str = ""

    @cached_property
    def is_blank(self) -> np.ndarray:
        """Mask of the blank cells, (n,) bool."""
        return np.fromiter((not cell for cell in self.cells), bool, len(self.cells))

    @cached_property
    def unreadable(self) -> np.ndarray:
        """Mask of the cells that are filled but cannot be parsed as this type, (n,) bool."""
        empty: np.ndarray = np.zeros(len(self.cells), bool)
        if self.numbers is not None:
            empty = np.isnan(self.numbers)
        elif self.days is not None:
            empty = np.isnat(self.days)
        empty &= ~self.is_blank
        return empty

    def select(self, rows: Sequence[int]) -> ColumnValues:
        """Return the values of some rows, which keep the format that all cells together show."""
        index = np.asarray(rows, np.int64)
        return ColumnValues(
            self.type,
            tuple(self.cells[row] for row in rows),
            None if self.numbers is None else self.numbers[index],
            None if self.days is None else self.days[index],
            None if self.items is None else tuple(self.items[row] for row in rows),
            self.unit,
        )

    def count_items(self) -> Counter[str]:
        """Count the cells that contain each item or, for types without items, the occurrences of each distinct cell."""
        found = self.items if self.items is not None else ((cell,) for cell in self.cells if cell)
        return Counter(item for items in found for item in items)


def detect_type(name: str, cells: Sequence[str], profile: ColumnProfile | None = None) -> ColumnType:
    """Detect the type of a column from its name and at most 20,000 of its cells.

    Numbers with two distinct values and label codes are categories; increasing integers, keys, URLs and codes are identifiers, also
    codes of digits that a number would lose (00501). Amounts of one currency or unit (``$1,200.50``, ``12 kg``) are numbers.

    Args:
        profile: statistics of the cells, if known.
    """
    sample = cells[:: max(1, len(cells) // _SAMPLE_ROWS)]
    profile = profile or profile_column(name, sample)
    if profile.filled == 0:
        return "category"
    if not profile.is_number and amounts_of(sample)[1]:
        return "number"
    if profile.is_tags or (profile.is_nested and _are_lists(sample)):
        return "list"
    if parse_dates(name, sample) is not None:
        return "date"
    if profile.is_number and _are_codes(sample):
        return "category" if profile.has_few_values else "id"
    return _type_of_cells(profile)


def _type_of_cells(profile: ColumnProfile) -> ColumnType:
    if profile.is_number and (profile.distinct <= _MAX_BINARY or (profile.key in LABEL | GROUP and profile.has_few_values)):
        return "category"
    if profile.is_identifier or profile.is_nested:
        return "id"
    if profile.is_number:
        return "number"
    return "category" if _is_category(profile) else "text"


def describe_column(
    name: str, cells: Sequence[str], column_type: ColumnType | None = None, profile: ColumnProfile | None = None
) -> TypedColumn:
    """Return the statistics of a column, read as ``column_type`` if the user has set it, otherwise as the detected type."""
    found = column_type or detect_type(name, cells, profile)
    values = parse_column(name, cells, "category" if found in ("number", "date", "text", "id") else found)
    counts = values.count_items()
    ordered: Iterable[str] = (item for item, _ in counts.most_common(_EXAMPLES)) if found in ("category", "list") else counts
    examples = tuple(item for item, _ in zip(ordered, range(_EXAMPLES), strict=False))
    currencies = find_currencies(cells[:: max(1, len(cells) // _CURRENCY_ROWS)]) if found in ("category", "text", "id") else ()
    blank, is_detected = int(values.is_blank.sum()), column_type is None
    return TypedColumn(name, found, len(cells), blank, len(counts), examples, is_detected, currencies if len(currencies) > 1 else ())


def describe_columns(table: Table, types: Mapping[str, ColumnType] | None = None) -> tuple[TypedColumn, ...]:
    """Return the columns of a table with their types.

    Args:
        types: types set by the user; the others are detected.
    """
    chosen = types or {}
    return tuple(describe_column(one.name, table.texts(one.name)[:], chosen.get(one.name), one) for one in profile_table(table))


def parse_column(name: str, cells: Sequence[str], column_type: ColumnType) -> ColumnValues:
    """Parse the cells of a column as a type, which need not be the detected one; cells that cannot be parsed have no value."""
    stripped = tuple(cell.strip() for cell in cells)
    if column_type == "number":
        amounts, unit = amounts_of(stripped)
        return ColumnValues(column_type, stripped, numbers=amounts if unit else numbers_of(stripped), unit=unit)
    if column_type == "date":
        found = parse_dates(name, stripped)
        days = np.full(len(stripped), np.datetime64("NaT", "D")) if found is None else found.days
        return ColumnValues(column_type, stripped, days=days)
    if column_type == "category":
        return ColumnValues(column_type, stripped, items=tuple((cell,) if cell else () for cell in stripped))
    if column_type == "list":
        return ColumnValues(column_type, stripped, items=_split_lists(stripped))
    return ColumnValues(column_type, stripped)


def check_type(name: object) -> ColumnType:
    """Return ``name`` if it is a column type, else raise a StudioError; it may come from a browser or a file."""
    for known in COLUMN_TYPES:
        if known == name:
            return known
    raise StudioError(_("there is no column type {name}", name=repr(name)), _("the types are: {types}", types=", ".join(COLUMN_TYPES)))


def _is_category(profile: ColumnProfile) -> bool:
    if profile.words > _MAX_CATEGORY_WORDS and not profile.has_paths:
        return profile.is_inference
    if profile.is_named_target or profile.is_language or profile.is_split:
        return 2 * profile.distinct <= profile.filled or not profile.is_text
    few = profile.distinct <= min(_MAX_SHORT_CATEGORIES, profile.filled / 2)
    return profile.is_category or few or (profile.filled <= 2 and not profile.is_text)


def _are_codes(cells: Sequence[str]) -> bool:
    """Return True for digits of one length with leading zeros, and for digits that no float64 can tell apart."""
    filled = [text for cell in cells if (text := cell.strip())]
    if not all(text.isdecimal() for text in filled):
        return False
    lengths = [len(text) for text in filled]
    has_zeros = any(text.startswith("0") for text in filled)
    return (has_zeros and min(lengths) == max(lengths) > 1) or min(lengths) > _EXACT_DIGITS


def _are_lists(cells: Sequence[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip()]
    return sum(cell.startswith("[") for cell in filled) > 0.8 * len(filled)


def _split_lists(cells: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    known = dict.fromkeys(cells)
    filled = [cell for cell in known if cell]
    if sum(cell.startswith("[") for cell in filled) > 0.5 * len(filled):
        found = {cell: _parse_list(cell) for cell in known}
    else:
        separator = find_tag_separator([cell for cell in cells if cell]) or _most_common_separator(filled)
        found = {cell: _distinct(_split_cell(cell, separator) if separator else [cell]) for cell in known}
    return tuple(found[cell] for cell in cells)


def _split_cell(cell: str, separator: str) -> list[str]:
    """Split a cell at the separators outside quotation marks, as in a line of CSV."""
    if '"' not in cell:
        return cell.split(separator)
    try:
        (parts,) = csv.reader([cell], delimiter=separator, skipinitialspace=True)
    except (csv.Error, ValueError):  # a line break in an item
        return cell.split(separator)
    return parts


def _parse_list(cell: str) -> tuple[str, ...]:
    """Return the items of a JSON or Python list; any other cell is a single item."""
    if not cell.startswith("[") or len(cell) > _LONGEST_LIST:
        return _distinct([cell])
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list):
            return _distinct(map(cell_text, found))
    # numpy writes lists without commas, and others without quotation marks.
    return _distinct(part.strip("'\" ") for part in cell.strip("[]").split("," if "," in cell else None))


def _most_common_separator(cells: Sequence[str]) -> str:
    counts = Counter({sign: sum(sign in cell for cell in cells) for sign in TAG_SEPARATORS})
    sign, number = counts.most_common(1)[0]
    return sign if number else ""


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for item in items if (text := item.strip())))
