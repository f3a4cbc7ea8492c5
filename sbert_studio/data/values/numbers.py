"""Numbers as people write them in cells."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Literal

Form = Literal["number", "percent", "fraction"]

NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?%?")
"""A plain number: digits, one decimal point or comma, an exponent, a percent sign."""

_GROUPED = {
    re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+|[+-]?\d{1,3}(,\d{3}){2,}"): ",",
    re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+|[+-]?\d{1,3}(\.\d{3}){2,}"): ".",
    re.compile(r"[+-]?\d{1,3}([ '’]\d{3})+([.,]\d+)?"): " '’",
}
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_FRACTION = re.compile(r"(\d+(?:[.,]\d+)?) ?[/⁄∕] ?(\d+(?:[.,]\d+)?)")
_MINUS = "\u2010\u2011\u2012\u2013\u2014\u2212\u207b\ufe63\uff0d"
_BLANKS = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE = "\u200b\u200e\u200f\u2060\ufeff"
_PLAINLY = str.maketrans(
    {
        **dict.fromkeys(_MINUS, "-"),
        **dict.fromkeys(_BLANKS, " "),
        **dict.fromkeys(_INVISIBLE, ""),
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        **{"．": ".", "，": ",", "％": "%", "＋": "+", "／": "/", "٫": ".", "٬": "'", "٪": "%"},
    }
)


def parse_number(text: str) -> float:
    """The number that ``text`` shows, or NaN.

    - A decimal comma is a decimal point: ``3,5`` → 3.5, and so ``1,234`` → 1.234.
    - A percent sign is left out, with or without a blank before it: ``85 %`` → 85.0.
    - A fraction whose upper number is not the larger one is a part of a whole, in [0, 1]: ``4/5`` → 0.8, ``½`` → 0.5.
    - Separators of thousands are taken out where nothing else can be meant: ``1,234.5``, ``1.234,5``, ``1 234``, ``1,234,567``.
    - Typographic minus signs and dashes, full-width digits and unbreakable, thin and full-width blanks count as their plain forms.
    - ``nan`` and ``inf`` are no numbers.

    A column that mixes forms (:func:`number_form`) mixes scales; who reads it is to say so.
    """
    return _read(text)[0]


def number_form(text: str) -> Form | None:
    """Whether ``text`` is a plain number, a percentage or a fraction; ``None`` if it is no number."""
    value, form = _read(text)
    return None if math.isnan(value) else form


def _read(text: str) -> tuple[float, Form]:
    text = text.strip()
    if NUMBER.fullmatch(text):
        return _plain(text)
    if not text.isascii():
        text = text.translate(_PLAINLY).strip()
        if text and unicodedata.category(text[-1]) == "No" and text[-1] not in _RAISED:
            return _vulgar(text)
    if text.endswith("%") and NUMBER.fullmatch(shorter := text[:-1].rstrip()) and not shorter.endswith("%"):
        return _plain(shorter)[0], "percent"
    if found := _FRACTION.fullmatch(text):
        upper, lower = _plain(found[1])[0], _plain(found[2])[0]
        return (upper / lower if lower > 0 and upper <= lower else math.nan), "fraction"
    text = _ungrouped(text)
    return _plain(text) if NUMBER.fullmatch(text) else (math.nan, "number")


def _ungrouped(text: str) -> str:
    """``text`` without separators of thousands."""
    for grouped, separators in _GROUPED.items():
        if grouped.fullmatch(text):
            return re.sub(f"[{separators}]", "", text)
    return text


def _plain(text: str) -> tuple[float, Form]:
    value = float(text.rstrip("%").replace(",", "."))
    return (value if math.isfinite(value) else math.nan), ("percent" if text.endswith("%") else "number")


def _vulgar(text: str) -> tuple[float, Form]:
    """``½`` and ``3½``; a circled or Roman figure is no number."""
    whole, part = text[:-1].rstrip(), text[-1]
    value = unicodedata.numeric(part, math.nan)
    if not 0 < value < 1:
        return math.nan, "fraction"
    if not whole:
        return value, "fraction"
    return (float(whole) + value, "number") if re.fullmatch(r"\d+", whole) else (math.nan, "fraction")
