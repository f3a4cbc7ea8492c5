"""Numbers as people write them: in single cells, and across a column with units, percentages or thousands separators."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from .words import word_lists

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
_PERCENT = ("%", "％", "٪")
_MEASURE = re.compile(r"([^\d.,+-]{0,14}?)[\s:]*([+-]?\d+(?:[.,]\d+)?)\s*([^\d]{0,14})")
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|[^\W\d]+(?:\s[^\W\d]+)?)\s*(\d+)(?:\s*[^\W\d]{1,10}\.?)?")
_THOUSANDS = {sign: re.compile(rf"\d{{1,3}}({re.escape(sign)}\d{{3}})*") for sign in ",."}
_UNITS: tuple[str, ...] = tuple(word_lists("cells")["unit"].split())
_WHOLE_UNITS = frozenset(["l", "p", "pt", "bal", "бал"])  # too short to be the beginning of a longer unit
_NEARLY_ALL = 0.95


def parse_number(text: str) -> float:
    """Return the number in a cell, or NaN.

    - A decimal comma is a decimal point: ``3,5`` gives 3.5, and so ``1,234`` gives 1.234.
    - A percent sign is dropped, with or without a blank before it: ``85 %`` gives 85.0.
    - A fraction of at most 1 is divided: ``4/5`` gives 0.8, ``½`` gives 0.5.
    - Thousands separators are dropped where nothing else can be meant: ``1,234.5``, ``1.234,5``, ``1 234``, ``1,234,567``.
    - Typographic minus signs, full-width digits and unusual blanks count as their plain forms.
    - ``nan`` and ``inf`` are not numbers.

    A column that mixes forms (:func:`number_form`) mixes scales; :func:`numbers_of` reads a column as a whole.
    """
    return _parse(text)[0]


def number_form(text: str) -> NumberForm | None:
    """Return how a cell writes its number; None if it holds none."""
    value, form = _parse(text)
    return None if math.isnan(value) else form


def numbers_of(cells: Sequence[str], *, as_written: bool = False) -> np.ndarray:
    """Return (n,) float64, the number in each cell or NaN; see :func:`parse_column`."""
    known = parse_column(cells, as_written=as_written)
    return np.fromiter((known[cell] for cell in cells), dtype=np.float64, count=len(cells))


def parse_column(cells: Iterable[str], *, as_written: bool = False) -> dict[str, float]:
    """Return the number in each distinct cell of a column, or NaN; the cells together decide how they are read.

    - A unit in nearly every cell is dropped: ``3分``, ``4 Punkte``, ``Level 2``, ``5 pts``, ``★4``.
    - ``7 из 10`` and ``3 out of 5`` are fractions, as ``3/5`` is.
    - ``8,230`` beside ``35`` and ``412`` is eight thousand: a column of decimals would have 0,035 there.
    - ``60%`` beside ``0.85`` is 0.6, if :func:`mixes_percentages` and not ``as_written``.
    """
    known = {cell: parse_number(cell) for cell in dict.fromkeys(cells)}
    filled = {cell.strip(): value for cell, value in known.items() if cell.strip()}
    if not filled:
        return known
    if sum(map(math.isnan, filled.values())) > 0.5 * len(filled):
        found = _without_unit(filled) or _as_fractions(filled)
    else:
        found = _with_thousands(filled)
        if not found and not as_written and mixes_percentages(filled):
            found = {cell: value / 100 if number_form(cell) == "percent" else value for cell, value in filled.items()}
    return {cell: found.get(cell.strip(), math.nan) for cell in known} if found else known


def mixes_percentages(cells: Iterable[str]) -> bool:
    """Return True if some cells are percentages and all others lie in [0, 1], so that both fit one scale: ``60%`` and ``0.85``."""
    distinct = dict.fromkeys(cell.strip() for cell in cells)
    if not any(cell.endswith(_PERCENT) for cell in distinct):
        return False
    known = [(form, parse_number(cell)) for cell in distinct if (form := number_form(cell)) is not None]
    percents = [value for form, value in known if form == "percent"]
    plain = [value for form, value in known if form != "percent" and value]
    if not percents or not plain:
        return False
    return min(plain) >= 0 and max(plain) <= 1 and min(percents) >= 0 and max(percents) <= 100 and max(percents) - min(percents) > 1


def _parse(text: str) -> tuple[float, NumberForm]:
    text = text.strip()
    if NUMBER.fullmatch(text):
        return _parse_plain(text)
    if not text.isascii():
        text = text.translate(_TO_ASCII).strip()
        if text and unicodedata.category(text[-1]) == "No" and text[-1] not in _SUPERSCRIPTS:
            return _parse_vulgar_fraction(text)
    if text.endswith("%") and NUMBER.fullmatch(shorter := text[:-1].rstrip()) and not shorter.endswith("%"):
        return _parse_plain(shorter)[0], "percent"
    if found := _FRACTION.fullmatch(text):
        upper, lower = _parse_plain(found[1])[0], _parse_plain(found[2])[0]
        return (upper / lower if lower > 0 and upper <= lower else math.nan), "fraction"
    for grouped, separators in _GROUPED.items():
        if grouped.fullmatch(text):
            text = re.sub(f"[{separators}]", "", text)
            break
    return _parse_plain(text) if NUMBER.fullmatch(text) else (math.nan, "number")


def _parse_plain(text: str) -> tuple[float, NumberForm]:
    value = float(text.rstrip("%").replace(",", "."))
    return (value if math.isfinite(value) else math.nan), ("percent" if text.endswith("%") else "number")


def _parse_vulgar_fraction(text: str) -> tuple[float, NumberForm]:
    # ½ and 3½; a circled or Roman figure is not a number.
    whole, value = text[:-1].rstrip(), unicodedata.numeric(text[-1], math.nan)
    if not 0 < value < 1:
        return math.nan, "fraction"
    if not whole:
        return value, "fraction"
    return (float(whole) + value, "number") if re.fullmatch(r"\d+", whole) else (math.nan, "fraction")


def _without_unit(cells: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    units = set()
    for cell in cells:
        if not (match := _MEASURE.fullmatch(_fold(cell))):
            continue
        before, after = (_unit(part) for part in (match[1], match[3]))
        if before is None or after is None or not (before or after):
            continue
        units.add((before, after))
        found[cell] = parse_number(match[2])
    return found if len(units) == 1 and len(found) >= _NEARLY_ALL * len(cells) else {}


def _unit(text: str) -> str | None:
    """Return the stem of a unit, so that point and points are one; empty if there is none, None if it is unknown."""
    word = text.strip(" .()[]（）:")
    if not word:
        return ""
    for unit in _UNITS:
        if word == unit or (len(unit) > 1 and unit not in _WHOLE_UNITS and word.startswith(unit) and len(word) <= len(unit) + 4):
            return unit[:2] if unit.isalpha() else unit
    return None


def _as_fractions(cells: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    wholes = set()
    for cell in cells:
        if match := _OUT_OF.fullmatch(_fold(cell)):
            upper, whole = parse_number(match[1]), parse_number(match[2])
            if whole >= max(upper, 1):
                found[cell] = upper / whole
                wholes.add(whole)
    return found if len(wholes) == 1 and len(found) >= _NEARLY_ALL * len(cells) else {}


def _with_thousands(cells: Mapping[str, float]) -> dict[str, float]:
    """Read a comma or point before the last three digits as a thousands separator if all numbers from 1000 on have one."""
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


def _fold(cell: str) -> str:
    return unicodedata.normalize("NFKC", cell).casefold().strip()
