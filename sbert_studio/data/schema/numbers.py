"""Numbers as written by people, their scales, and missing-value codes such as 99."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from ...i18n import _
from .names import word_lists

NumberForm = Literal["number", "percent", "fraction"]

NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?")
"""A plain number: digits, one decimal point or comma, an exponent, a percent sign."""

_GROUPED = {
    re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+|[+-]?\d{1,3}(,\d{3}){2,}"): ",",
    re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+|[+-]?\d{1,3}(\.\d{3}){2,}"): ".",
    re.compile(r"[+-]?\d{1,3}([ '’]\d{3})+([.,]\d+)?"): " '’",
}
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_FRACTION = re.compile(r"(\d+(?:[.,]\d+)?) ?[/⁄∕] ?(\d+(?:[.,]\d+)?)")
_TO_ASCII = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\u207b\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        **dict.fromkeys("\u200b\u200e\u200f\u2060\ufeff", ""),
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        **{"．": ".", "，": ",", "％": "%", "＋": "+", "／": "/", "٫": ".", "٬": "'", "٪": "%"},
    }
)
_MEASURE = re.compile(r"([^\d.,+-]{0,14}?)[\s:]*([+-]?\d+(?:[.,]\d+)?)\s*([^\d]{0,14})")
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|[^\W\d]+(?:\s[^\W\d]+)?)\s*(\d+)(?:\s*[^\W\d]{1,10}\.?)?")
_THOUSANDS = {sign: re.compile(rf"\d{{1,3}}({re.escape(sign)}\d{{3}})*") for sign in ",."}
_AMOUNT = re.compile(r"([+-]?)([^\d.,+-]{0,5})([+-]?\d[\d.,'’ ]*)([^\d.,+-]{0,5})")
_THOUSAND = re.compile(r"(?<=[1-9])[.,'’](?=\d{3}(?!\d))|(?<=\d\d)[.,'’](?=\d{3}(?!\d))")
_PRICE_PER_UNIT = re.compile(r"[+-]?\d[.,]\d{3}")  # of fuel or electricity: 1.549 €
_THOUSANDS_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_SEPARATORS = ".,'’"
_LONGEST_AMOUNT = 30  # characters
_CURRENCIES = frozenset(word_lists("cells")["currency"].split())
_MEASURES = frozenset(word_lists("cells")["measure"].split())
_POINT_CURRENCIES, _COMMA_CURRENCIES = (frozenset(word_lists("cells")[f"{sign}_currency"].split()) for sign in ("point", "comma"))
_UNITS: tuple[str, ...] = tuple(word_lists("cells")["unit"].split())
_WHOLE_UNITS = frozenset(["l", "p", "pt", "bal", "бал"])  # too short to be the beginning of a longer unit
_NEARLY_ALL = 0.95


def parse_number(text: str) -> float:
    """Return the number in a cell, or NaN.

    - A decimal comma is read as a decimal point: ``3,5`` gives 3.5, and ``1,234`` gives 1.234.
    - A percent sign is removed, with or without a space before it: ``85 %`` gives 85.0.
    - A fraction of at most 1 is divided: ``4/5`` gives 0.8, ``½`` gives 0.5.
    - Thousands separators are removed where they are unambiguous: ``1,234.5``, ``1.234,5``, ``1 234``, ``1,234,567``.
    - Typographic minus signs, full-width digits and unusual spaces are normalized.
    - ``nan`` and ``inf`` are not numbers.

    A column that mixes formats (:func:`number_form`) mixes scales; :func:`numbers_of` reads a column as a whole.
    """
    return _parse(text)[0]


def parse_numbers(text: str) -> tuple[float, ...]:
    """Return the number in a cell, or those of a JSON list; empty if it contains anything else."""
    if not text.lstrip().startswith("["):
        return () if math.isnan(found := parse_number(text)) else (found,)
    try:
        numbers = tuple(float(one) for one in json.loads(text))
    except (ValueError, TypeError):
        return ()
    return numbers if all(map(math.isfinite, numbers)) else ()


def number_form(text: str) -> NumberForm | None:
    """Return the format of the number in a cell; None if it is not a number."""
    value, form = _parse(text)
    return None if math.isnan(value) else form


def numbers_of(cells: Sequence[str], *, as_written: bool = False) -> np.ndarray:
    """Return the number in each cell of a column or NaN, (n,) float64, choosing the format from all cells together.

    - A unit in nearly every cell is removed: ``3分``, ``4 Punkte``, ``Level 2``, ``5 pts``, ``★4``.
    - ``7 из 10`` and ``3 out of 5`` are fractions, like ``3/5``.
    - ``8,230`` in a column with ``35`` and ``412`` is eight thousand: a column of decimals would contain 0,035.
    - ``2,345`` in a column with ``1,234.5`` or ``1,234,567`` is two thousand.
    - ``60%`` in a column with ``0.85`` is 0.6, if :func:`mixes_percentages` and not ``as_written``.
    """
    known = {cell: parse_number(cell) for cell in dict.fromkeys(cells)}
    filled = {cell.strip(): value for cell, value in known.items() if cell.strip()}
    found: Mapping[str, float] = {}
    if sum(map(math.isnan, filled.values())) > 0.5 * len(filled):
        found = _parse_with_unit(filled) or _parse_as_fractions(filled)
    elif filled:
        found = _parse_with_thousands(filled) or _parse_grouped(filled)
        if not found and not as_written and mixes_percentages(filled):
            found = {cell: value / 100 if number_form(cell) == "percent" else value for cell, value in filled.items()}
    if found:
        known = {cell: found.get(cell.strip(), math.nan) for cell in known}
    return np.fromiter((known[cell] for cell in cells), dtype=np.float64, count=len(cells))


def amounts_of(cells: Sequence[str]) -> tuple[np.ndarray, str]:
    """Return the amount in each cell of a column or NaN, (n,) float64, and how it is written (``$1,200.50``, ``12 kg``, ``5 %``).

    The second value is a template such as ``${}`` or ``{} kg``. Without one currency or unit in at least 95 % of the filled cells (of
    percentages: in all), all amounts are NaN and it is empty.
    """
    filled = dict.fromkeys(cell.strip() for cell in cells if cell.strip())
    matches = _match_amounts(filled)
    units = {sign.casefold() for _match, sign in matches.values()}
    if len(matches) < (1 if units == {"%"} else _NEARLY_ALL) * len(filled) or len(units) != 1:
        return np.full(len(cells), math.nan), ""
    digits = {cell: match[1] + match[3].replace(" ", "").strip("'’") for cell, (match, _sign) in matches.items()}
    first, sign = next(iter(matches.values()))
    template = f"{first[2].lstrip()}{{}}" if first[2].strip() else f"{{}}{' ' * first[3].endswith(' ')}{sign}"
    plain = dict(zip(digits, _without_thousands(list(digits.values()), sign.casefold()), strict=True))
    found = [plain.get(cell.strip(), "") for cell in cells]
    return np.array([parse_number(amount) for amount in found]) if units <= _CURRENCIES else numbers_of(found), template


def find_currencies(cells: Iterable[str]) -> tuple[str, ...]:
    """Return the currencies of a column, most frequent first; empty unless 95 % of its filled cells are amounts of money."""
    filled = dict.fromkeys(cell.strip() for cell in cells if cell.strip())
    counts = Counter(sign for _match, sign in _match_amounts(filled).values() if sign.casefold() in _CURRENCIES)
    return tuple(sign for sign, _count in counts.most_common()) if counts.total() >= _NEARLY_ALL * len(filled) else ()


def _match_amounts(cells: Iterable[str]) -> dict[str, tuple[re.Match[str], str]]:
    """Return the parts and the currency or unit of each cell that is an amount; a unit follows its number."""
    short = (cell for cell in cells if len(cell) <= _LONGEST_AMOUNT)
    matches = {cell: match for cell in short if (match := _AMOUNT.fullmatch(cell.translate(_TO_ASCII).strip()))}
    signs = {cell: (match[2] + match[4]).strip(" .") for cell, match in matches.items()}
    units = {cell for cell, sign in signs.items() if not matches[cell][2] and (sign if len(sign) == 1 else sign.casefold()) in _MEASURES}
    return {cell: (matches[cell], sign) for cell, sign in signs.items() if sign.casefold() in _CURRENCIES or cell in units}


def _without_thousands(amounts: Sequence[str], unit: str) -> list[str]:
    """Remove the thousands separators of a column's amounts, whose cells together show which sign is the decimal one."""
    decimal_signs = {sign for amount in amounts if (sign := _decimal_sign(amount))}
    if len(decimal_signs) == 1:
        (decimal,) = decimal_signs
        others = re.compile(f"[{_SEPARATORS.replace(decimal, '')}]")
        return [others.sub("", amount).replace(decimal, ".") for amount in amounts]
    if unit not in _CURRENCIES or all(_PRICE_PER_UNIT.fullmatch(amount) for amount in amounts):
        grouping = "," if unit in _POINT_CURRENCIES else "." if unit in _COMMA_CURRENCIES else ""
        return [amount.replace(grouping, "") if grouping else amount for amount in amounts]
    return [_THOUSAND.sub("", amount) for amount in amounts]


def _decimal_sign(amount: str) -> str:
    """Return the sign before the decimals of an amount, empty if it has none or may have none: ``1,234``."""
    signs = [sign for sign in amount if sign in ".,"]
    if not signs:
        return ""
    last = signs[-1]
    if len(signs) > 1 and len(set(signs)) == 1:  # 1,234,567, and 1,00,000 in India
        return "." if last == "," else ","
    return "" if _THOUSANDS_GROUP.fullmatch(amount) else last


def mixes_percentages(cells: Iterable[str]) -> bool:
    """Return True if some cells are percentages and all others are in [0, 1], so that both fit one scale: ``60%`` and ``0.85``."""
    distinct = dict.fromkeys(cell.strip() for cell in cells)
    if not any(cell.endswith(("%", "％", "٪")) for cell in distinct):
        return False
    known = [(form, parse_number(cell)) for cell in distinct if (form := number_form(cell)) is not None]
    percents = [value for form, value in known if form == "percent"]
    plain = [value for form, value in known if form != "percent" and value]
    if not percents or not plain:
        return False
    return min(plain) >= 0 and max(plain) <= 1 and min(percents) >= 0 and max(percents) <= 100 and max(percents) - min(percents) > 1


def _parse(text: str) -> tuple[float, NumberForm]:
    text = text.strip()
    if NUMBER.fullmatch(text):  # checked first, because most cells are plain
        return _to_float(text.rstrip("%")), "percent" if text.endswith("%") else "number"
    if not text.isascii():
        text = text.translate(_TO_ASCII).strip()
        if text and unicodedata.category(text[-1]) == "No" and text[-1] not in _SUPERSCRIPTS:
            return _parse_vulgar_fraction(text)
    if text.endswith("%") and NUMBER.fullmatch(shorter := text[:-1].rstrip()) and not shorter.endswith("%"):
        return _to_float(shorter), "percent"
    if found := _FRACTION.fullmatch(text):
        upper, lower = _to_float(found[1]), _to_float(found[2])
        return (upper / lower if lower > 0 and upper <= lower else math.nan), "fraction"
    for grouped, separators in _GROUPED.items():
        if grouped.fullmatch(text):
            text = re.sub(f"[{separators}]", "", text)
            break
    return (_to_float(text) if NUMBER.fullmatch(text) else math.nan), "number"


def _to_float(text: str) -> float:
    value = float(text.replace(",", "."))
    return value if math.isfinite(value) else math.nan


def _parse_vulgar_fraction(text: str) -> tuple[float, NumberForm]:
    # ½ and 3½; circled digits and Roman numerals are not numbers.
    whole, value = text[:-1].rstrip(), unicodedata.numeric(text[-1], math.nan)
    if not 0 < value < 1 or not re.fullmatch(r"\d*", whole):
        return math.nan, "fraction"
    return (float(whole) + value, "number") if whole else (value, "fraction")


def _parse_with_unit(cells: Iterable[str]) -> dict[str, float]:
    matches = {cell: match for cell in cells if (match := _MEASURE.fullmatch(_fold(cell)))}
    units = {cell: (_find_unit(match[1]), _find_unit(match[3])) for cell, match in matches.items()}
    found = {cell: parse_number(matches[cell][2]) for cell, unit in units.items() if None not in unit and any(unit)}
    return found if len({units[cell] for cell in found}) == 1 and len(found) >= _NEARLY_ALL * len(list(cells)) else {}


def _find_unit(text: str) -> str | None:
    # Stem of a unit, equal for "point" and "points"; empty without a unit, None if it is unknown.
    word = text.strip(" .()[]（）:")
    if not word:
        return ""
    for unit in _UNITS:
        if word == unit or (len(unit) > 1 and unit not in _WHOLE_UNITS and word.startswith(unit) and len(word) <= len(unit) + 4):
            return unit[:2] if unit.isalpha() else unit
    return None


def _parse_as_fractions(cells: Iterable[str]) -> dict[str, float]:
    matches = {cell: match for cell in cells if (match := _OUT_OF.fullmatch(_fold(cell)))}
    parts = {cell: (parse_number(match[1]), parse_number(match[2])) for cell, match in matches.items()}
    found = {cell: upper / whole for cell, (upper, whole) in parts.items() if whole >= max(upper, 1)}
    return found if len({parts[cell][1] for cell in found}) == 1 and len(found) >= _NEARLY_ALL * len(list(cells)) else {}


def _parse_with_thousands(cells: Mapping[str, float]) -> dict[str, float]:
    # A comma or point before the last three digits is a thousands separator if all numbers from 1000 on have one.
    for sign, form in _THOUSANDS.items():
        wholes = {cell for cell in cells if form.fullmatch(cell)}
        grouped = [cell for cell in wholes if sign in cell]
        plain = [cell for cell in wholes if sign not in cell and cell != "0"]
        if not grouped or not plain or len(wholes) < _NEARLY_ALL * len(cells):
            continue
        if any(cell.startswith("0") for cell in grouped) or len(grouped) + len(plain) < 5 or max(map(len, plain)) < 2:
            continue
        return {cell: float(cell.replace(sign, "")) if cell in wholes else value for cell, value in cells.items()}
    return {}


def _parse_grouped(cells: Mapping[str, float]) -> dict[str, float]:
    # Beside 1,234.5 or 1,234,567, a comma before three digits is a thousands separator too.
    known = [cell for cell, value in cells.items() if not math.isnan(value)]
    decimals = {_decimal_sign(cell) for cell in known} - {""}
    if len(decimals) != 1 or not any(cell.count(".") + cell.count(",") > 1 for cell in known):
        return {}
    sign = "," if "." in decimals else "."
    grouped = [cell for cell in cells if sign in cell and _THOUSANDS_GROUP.fullmatch(cell)]
    return {**cells, **{cell: float(cell.replace(sign, "")) for cell in grouped}} if grouped else {}


def _fold(cell: str) -> str:
    return unicodedata.normalize("NFKC", cell).casefold().strip()


# --- scales

MISSING_CODES = (
    *(-9999.0, -999.0, -99.0, -98.0, -97.0, -9.0, -8.0, -2.0, -1.0),
    *(8.0, 9.0, 77.0, 88.0, 97.0, 98.0, 99.0, 888.0, 998.0, 999.0, 9999.0),
)
"""Codes that surveys and programs use for a missing value."""
SCALE_TOLERANCE = 1e-5
"""Share of a scale by which a score may lie outside it, as a result of float32 rounding."""

_KNOWN_SCALES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 5.0), (0.0, 10.0), (0.0, 20.0), (0.0, 100.0))
_INSIDE = 0.98
_FREQUENT = 0.04
_FREQUENT_ROWS = 8  # fewer could match by chance
_MOST_STEPS = 30
_MOST_OUTLIERS = 3  # distinct codes on one side: refused, don't know, not asked
_MOST_OUTLIER_ROWS = 0.5
_VARIED = 5  # with fewer distinct scores, a distant one may be a rare value of the scale


def detect_scale(scores: np.ndarray) -> tuple[float, float]:
    """Return the lowest and the highest possible score of the scale.

    The scale is the first of 0–1, −1–1, 0–5, 0–10, 0–20 and 0–100 that contains 98 % of the scores, so that a typo does not extend it;
    1–5 (or 1–4, 1–7, …) if all scores are integers and none is below 1; 2–5 if 2 is common; 0–7 or 1–7 if fractional scores often reach
    that end; otherwise the observed range. Missing-value codes and outliers are ignored.

    Args:
        scores: (n,) finite numbers, n ≥ 1.
    """
    low, high = _fit_scale(_without_outliers(scores))
    known = without_codes(scores)
    return _fit_scale(known[(known >= low) & (known <= high)])


def describe_scale(low: float, high: float) -> str:
    """Describe a scale in words: ``scores 0–5, divided by 5``; reversed if ``low`` is the higher number."""
    if low > high:
        return _(
            "scores {high}–{low}, reversed: {low} is least similar and becomes 0, {high} is most similar and becomes 1",
            high=f"{high:g}",
            low=f"{low:g}",
        )
    span = _("scores {low}–{high}", low=f"{low:g}", high=f"{high:g}")
    if (low, high) == (0.0, 1.0):
        return _("{span}, unchanged", span=span)
    return (
        _("{span}, divided by {high}", span=span, high=f"{high:g}")
        if low == 0.0
        else _("{span}, rescaled so that {low} becomes 0 and {high} becomes 1", span=span, low=f"{low:g}", high=f"{high:g}")
    )


def find_outliers(scores: np.ndarray) -> np.ndarray:
    """Return the distinct outliers of (n,) scores, so far from all others that they may be missing-value codes."""
    known = without_codes(scores)
    low, high = detect_scale(known)
    if (low, high) == _fit_scale(known):
        return np.array([])
    outliers = np.setdiff1d(known, _without_outliers(known))
    return outliers[(outliers < low) | (outliers > high)]


def off_scale(numbers: np.ndarray) -> np.ndarray:
    """Return a mask, (n,) bool, of the numbers (NaN if missing) that are or may be missing-value codes."""
    good = numbers[~np.isnan(numbers)]
    if not len(good):
        return np.zeros(len(numbers), dtype=bool)
    codes = np.setdiff1d(good, without_codes(good))
    return np.isin(numbers, np.concatenate([codes, find_outliers(good)]))


def without_codes(scores: np.ndarray) -> np.ndarray:
    """Remove missing-value codes from (n,) finite numbers: common codes far from all other scores."""
    values = np.unique(scores)
    for code in values[np.isin(values, MISSING_CODES)][::-1]:
        rest = values[values != code]
        if len(rest) < 3 or np.ptp(rest) == 0:
            continue
        low, high = float(rest.min()), float(rest.max())
        whole = bool((rest % 1 == 0).all())
        above = code > high and (code >= 2 * high + 10 or (whole and code >= high + 2 and len(rest) >= 4 and code >= 8))
        below = code < 0 <= low and (code < -1 or len(rest) > 3 or not whole)
        if (above and len(rest) <= _MOST_STEPS) or (below and (scores == code).sum() > 1):
            return without_codes(scores[scores != code])
    return scores


def is_usual_code(numbers: np.ndarray) -> bool:
    """Return True if all numbers are common missing-value codes."""
    return bool(np.isin(numbers, MISSING_CODES).all())


def _without_outliers(scores: np.ndarray) -> np.ndarray:
    """Remove codes and numbers that may be codes: farther from all other scores than these are from each other.

    Up to three distinct numbers on each side may be codes, if each is a common code or occurs more than once; a single one may also be a
    typo. The texts, or the user, decide.
    """
    scores = without_codes(scores)
    values = np.unique(scores)
    sizes = range(1, min(_MOST_OUTLIERS, len(values) - 1) + 1)
    for outliers in (part for size in sizes for part in (values[-size:], values[:size])):
        rest = np.setdiff1d(scores, outliers)
        usual = is_usual_code(outliers)
        if len(rest) < 2 or (not usual and np.isin(scores, outliers).sum() > _MOST_OUTLIER_ROWS * len(scores)):
            continue
        low, high = float(rest.min()), float(rest.max())
        gap = outliers.min() - high if outliers[0] > high else low - outliers.max()
        repeated = len(outliers) == 1 or all((scores == one).sum() > 1 for one in outliers)
        negative = usual and len(rest) > 3 and outliers.max() < 0 <= low
        if negative or ((usual or (len(rest) >= _VARIED and repeated)) and gap > high - low > 0):
            return _without_outliers(scores[~np.isin(scores, outliers)])
    return scores


def _fit_scale(scores: np.ndarray) -> tuple[float, float]:
    for low, high in _KNOWN_SCALES:
        slack = SCALE_TOLERANCE * (high - low)
        inside = scores[(scores >= low - slack) & (scores <= high + slack)].clip(low, high)
        if len(inside) >= _INSIDE * len(scores):
            return _narrow_scale(inside, low, high)
    return float(scores.min()), float(scores.max())


def _narrow_scale(inside: np.ndarray, low: float, high: float) -> tuple[float, float]:
    top, bottom = float(inside.max()), float(inside.min())
    whole = bool((inside % 1 == 0).all())
    is_end = top % 1 == 0 and int((inside == top).sum()) >= max(_FREQUENT_ROWS, _FREQUENT * len(inside))
    if high in (5.0, 10.0) and 2 <= top < high and (whole or (high > 5 and is_end)):
        high = top  # 0–2, 0–3, 0–4, 1–6, 1–7
    if high in (5.0, 10.0, top) and low == 0.0 and bottom == 1.0 and high > 1:
        low = 1.0
    elif whole and low == 0.0 and bottom > 1 and 3 <= high <= 7:
        # Marks from 2 to 5 have no 1; if 2 is rare, 1 could be missing by chance in a file of this size.
        low = bottom if bottom == 2 and (inside == bottom).sum() >= max(20, _FREQUENT * len(inside)) else 1.0
    return low, high
