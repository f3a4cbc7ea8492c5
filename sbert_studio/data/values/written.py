"""How a whole column writes its numbers: with a unit in every cell, out of a highest one, with separators of thousands."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping

from .numbers import number_form, parse_number

# The beginnings of what people write beside points, so that point and points, балл and баллов are one.
_UNIT_WORDS = """
point pts pt pkt punkt punto punti punten punt ponto pontos pont poäng poeng balle балл бал очк звезд зірк star stern étoile
etoile estrella stell estrela ster gwiazd grade level lvl stufe note nota niveau nivel livello nível nivå score mark rating rank
puan điểm sao अंक คะแนน ดาว درجة نقطة نجوم נקוד 分 点 點 점 星 级 級 等级 等級 등급 별 段 颗星 顆星 l p ★ ⭐ ☆ * % ° #
"""
_UNITS = tuple(_UNIT_WORDS.split())
_ALONE = frozenset(["l", "p", "pt", "bal", "бал"])
_CELL = re.compile(r"([^\d.,+-]{0,14}?)[\s:]*([+-]?\d+(?:[.,]\d+)?)\s*([^\d]{0,14})")
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|[^\W\d]+(?:\s[^\W\d]+)?)\s*(\d+)(?:\s*[^\W\d]{1,10}\.?)?")
_THOUSANDS = {sign: re.compile(rf"\d{{1,3}}({re.escape(sign)}\d{{3}})*") for sign in ",."}
_NEARLY_ALL = 0.95
_PERCENT = ("%", "％", "٪")


def numbers_written(cells: Iterable[str], *, as_written: bool = False) -> dict[str, float]:
    """The number in each different cell of a column, NaN where there is none; the cells together decide how they are read.

    - A unit that stands in nearly every cell is left out: ``3分``, ``4 Punkte``, ``Level 2``, ``5 pts``, ``★4``.
    - ``7 из 10`` and ``3 out of 5`` are parts of a whole, as ``3/5`` is.
    - ``8,230`` beside ``35`` and ``412`` is eight thousand: a column of decimals would have 0,035 there.
    - ``60%`` beside ``0.85`` is 0.6, where :func:`one_scale` holds and not ``as_written``.
    """
    known = {cell: parse_number(cell) for cell in dict.fromkeys(cells)}
    filled = {cell.strip(): value for cell, value in known.items() if cell.strip()}
    if not filled:
        return known
    words = sum(map(math.isnan, filled.values())) > 0.5 * len(filled)
    found = (_with_unit(filled) or _out_of(filled)) if words else _thousands(filled)
    if not words and not found and not as_written and one_scale(filled):
        found = {cell: value / 100 if number_form(cell) == "percent" else value for cell, value in filled.items()}
    return {cell: found.get(cell.strip(), math.nan) for cell in known} if found else known


def one_scale(cells: Iterable[str]) -> bool:
    """Whether some cells are percentages and all others parts of 1, so that both can be of one scale: ``60%`` and ``0.85``."""
    different = dict.fromkeys(cell.strip() for cell in cells)
    if not any(cell.endswith(_PERCENT) for cell in different):
        return False
    known = [(form, parse_number(cell)) for cell in different if (form := number_form(cell)) is not None]
    percents = [value for form, value in known if form == "percent"]
    plain = [value for form, value in known if form != "percent" and value]
    if not percents or not plain:
        return False
    return min(plain) >= 0 and max(plain) <= 1 and min(percents) >= 0 and max(percents) <= 100 and max(percents) - min(percents) > 1


def _with_unit(cells: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    units = set()
    for cell in cells:
        if not (match := _CELL.fullmatch(_plainly(cell))):
            continue
        before, after = (_unit(part) for part in (match[1], match[3]))
        if before is None or after is None or not (before or after):
            continue
        units.add((before, after))
        found[cell] = parse_number(match[2])
    return found if len(units) == 1 and len(found) >= _NEARLY_ALL * len(cells) else {}


def _unit(text: str) -> str | None:
    """What is left of a unit once its ending is gone; empty: there is none; None: it is no unit that is known."""
    word = text.strip(" .()[]（）:")
    if not word:
        return ""
    for unit in _UNITS:
        if word == unit or (len(unit) > 1 and unit not in _ALONE and word.startswith(unit) and len(word) <= len(unit) + 4):
            return unit[:2] if unit.isalpha() else unit
    return None


def _out_of(cells: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    wholes = set()
    for cell in cells:
        if match := _OUT_OF.fullmatch(_plainly(cell)):
            upper, whole = parse_number(match[1]), parse_number(match[2])
            if whole >= max(upper, 1):
                found[cell] = upper / whole
                wholes.add(whole)
    return found if len(wholes) == 1 and len(found) >= _NEARLY_ALL * len(cells) else {}


def _thousands(cells: Mapping[str, float]) -> dict[str, float]:
    """Whole numbers of which those from a thousand on have a comma or a point before their last three digits."""
    for sign, form in _THOUSANDS.items():
        wholes = [cell for cell in cells if form.fullmatch(cell)]
        parted = [cell for cell in wholes if sign in cell]
        plain = [cell for cell in wholes if sign not in cell and cell != "0"]
        if not parted or not plain or len(wholes) < _NEARLY_ALL * len(cells):
            continue
        if any(cell.startswith("0") for cell in parted) or len(parted) + len(plain) < 5 or max(map(len, plain)) < 2:
            continue
        return {cell: float(cell.replace(sign, "")) if cell in set(wholes) else value for cell, value in cells.items()}
    return {}


def _plainly(cell: str) -> str:
    return unicodedata.normalize("NFKC", cell).casefold().strip()
