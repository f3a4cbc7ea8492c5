"""The scale of scores, and the classes that labels make."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...errors import StudioError
from ..lexicon.label_words import nli_class, order_by_words
from . import no_answer
from .cells import parse_number
from .codes import without_codes, without_strays

_KNOWN_SCALES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 5.0), (0.0, 10.0), (0.0, 20.0), (0.0, 100.0))
_INSIDE = 0.98
_OFTEN = 0.04
_OFTEN_AT_AN_END = 8  # rows: fewer could stand together by chance
_MOST_CLASSES = 200
NOISE = 1e-5
"""The share of a scale by which a score may lie outside it, as what was once computed in 32 bits does."""
# As a number, -1 is what SNLI's "-" became.
_NO_LABEL_IF_RARE = frozenset({"none", "-1", "unknown", "unlabeled", "unlabelled", "unsure"})
NO_LABEL = no_answer.NO_LABEL | _NO_LABEL_IF_RARE
"""The keys of labels that may say that there is none."""
BLANK = "(blank)"
"""How a class without a label is shown."""
_RARE = 0.1


def detect_scale(scores: np.ndarray) -> tuple[float, float]:
    """The lowest and highest score that the scale allows.

    The first of 0–1, −1–1, 0–5, 0–10, 0–20 and 0–100 that holds 98% of the scores, so that a typing error does not stretch it;
    1–5 (or 1–4, 1–7, …) where all are whole and none is below 1, 2–5 where 2 is common, 0–7 or 1–7 where scores with decimals often stand
    at that end; else the lowest and highest score there are.
    Numbers that stand for no answer, and those far beyond all others, have no part in it (:mod:`.codes`).
    Scores that are outside by no more than 32 bits round (:data:`NOISE`) are inside.

    Args:
        scores: (n,) finite numbers, n ≥ 1.
    """
    low, high = _scale_of(without_strays(scores))
    known = without_codes(scores)
    return _scale_of(known[(known >= low) & (known <= high)])


def stray_scores(scores: np.ndarray) -> np.ndarray:
    """The different numbers that would stretch the scale, so far beyond all others that they may stand for no answer; mostly none.

    Args:
        scores: (n,) finite numbers, n ≥ 1.
    """
    known = without_codes(scores)
    low, high = detect_scale(known)
    if (low, high) == _scale_of(known):
        return np.array([])
    strays = np.setdiff1d(known, without_strays(known))
    return strays[(strays < low) | (strays > high)]


def off_scale(numbers: np.ndarray) -> np.ndarray:
    """(n,) bool: which of some numbers, NaN where there is none, are codes for no answer or may be one."""
    good = numbers[~np.isnan(numbers)]
    if not len(good):
        return np.zeros(len(numbers), dtype=bool)
    codes = np.setdiff1d(good, without_codes(good))
    return np.isin(numbers, np.concatenate([codes, stray_scores(good)]))


def _scale_of(scores: np.ndarray) -> tuple[float, float]:
    for low, high in _KNOWN_SCALES:
        slack = NOISE * (high - low)
        inside = scores[(scores >= low - slack) & (scores <= high + slack)].clip(low, high)
        if len(inside) >= _INSIDE * len(scores):
            return _narrowed(inside, low, high)
    return float(scores.min()), float(scores.max())


def _narrowed(inside: np.ndarray, low: float, high: float) -> tuple[float, float]:
    top, bottom = float(inside.max()), float(inside.min())
    whole = bool((inside % 1 == 0).all())
    if high in (5.0, 10.0) and top < high and top >= 2 and (whole or (high > 5 and _is_an_end(inside, top))):
        high = top  # 0–2, 0–3, 0–4, 1–6, 1–7: a scale of whole steps, or one whose end is often given, ends where its answers do
    if high in (5.0, 10.0, top) and low == 0.0 and bottom == 1.0 and high > 1:
        low = 1.0
    elif whole and low == 0.0 and bottom > 1 and 3 <= high <= 7:
        # Marks of 2 to 5 have no 1; where it is only rare, a file of this size could lack it.
        low = bottom if bottom == 2 and (inside == bottom).sum() >= max(20, _OFTEN * len(inside)) else 1.0
    return low, high


def _is_an_end(scores: np.ndarray, top: float) -> bool:
    """Whether the highest score is one that nothing could exceed: a whole number that stands there more often than by chance."""
    return top % 1 == 0 and int((scores == top).sum()) >= max(_OFTEN_AT_AN_END, _OFTEN * len(scores))


def describe_scale(low: float, high: float) -> str:
    """In words, as the page shows it: ``scores 0–5, divided by 5``; where ``low`` is the higher one, the other way round."""
    if low > high:
        return f"scores {high:g}–{low:g}, the other way round: {low:g} is least alike and becomes 0, {high:g} is most alike and becomes 1"
    span = f"scores {low:g}–{high:g}"
    if (low, high) == (0.0, 1.0):
        return f"{span}, taken as they are"
    if low == 0.0:
        return f"{span}, divided by {high:g}"
    return f"{span}, rescaled so that {low:g} becomes 0 and {high:g} becomes 1"


def label_key(cell: str) -> str:
    """What makes two label cells the same class: their number, or their letters without case."""
    text = unicodedata.normalize("NFKC", cell).strip()
    number = parse_number(text)
    return text.casefold() if math.isnan(number) else f"{number:g}"


def blank_is_a_class(cells: Sequence[str]) -> bool:
    """Whether a column holds one mark or nothing, such as ``x`` and blank, each in one row of twenty or more: two answers."""
    marks = {label_key(cell) for cell in set(cells) if cell.strip()}
    blank = sum(not cell.strip() for cell in cells)
    return len(marks) == 1 and min(blank, len(cells) - blank) >= max(4, len(cells) / 20)


def classes_of(cells: Sequence[str]) -> tuple[str, ...]:
    """As :func:`find_classes`, with the blank as a class of its own where it is one; see :func:`blank_is_a_class`."""
    found = find_classes(cells)
    return ("", *found) if blank_is_a_class(cells) else found


def find_classes(cells: Sequence[str]) -> tuple[str, ...]:
    """The classes in a column of labels, each in its commonest spelling: numbers rising, words in the order of the alphabet.

    Cells that say "no label" are no class: ``-``, ``n/a`` and the like; and ``none`` or −1 where few rows say so, or where
    the others are what entailment, or yes and no, are called.

    Raises:
        StudioError: there is no label, or so many that they cannot be classes.
    """
    spellings: dict[str, Counter[str]] = {}
    for cell, times in Counter(cells).items():
        if cell.strip():
            spellings.setdefault(label_key(cell), Counter())[cell.strip()] += times
    total = sum(sum(found.values()) for found in spellings.values())
    for key in list(spellings):
        if len(spellings) > 2 and _is_no_label(key, spellings, total):
            del spellings[key]
    if not spellings:
        raise StudioError("the label column is blank in every row", "choose another column")
    if len(spellings) > _MOST_CLASSES or (len(spellings) > 20 and len(spellings) > total / 3):
        raise StudioError(
            f"the label column holds {len(spellings):,} different values, too many to be classes", "choose another column or kind"
        )
    names = [found.most_common(1)[0][0] for found in spellings.values()]
    numbers = {name: parse_number(name) for name in names}
    if not any(math.isnan(number) for number in numbers.values()):
        return tuple(sorted(names, key=lambda name: numbers[name]))
    return tuple(sorted(names))


def _is_no_label(key: str, spellings: dict[str, Counter[str]], total: int) -> bool:
    if key in no_answer.NO_LABEL:
        return True
    if key not in _NO_LABEL_IF_RARE:
        return False
    others = [found.most_common(1)[0][0] for other, found in spellings.items() if other != key]
    numbers = {parse_number(name) for name in others}
    if key == "-1":
        if any(math.isnan(number) or number < 0 for number in numbers):
            return False
        return numbers >= {0.0, 1.0, 2.0} or sum(spellings[key].values()) < _RARE * total
    found = order_by_words(others)
    known = found is not None and found.sure == "certain" and found.family in ("nli", "yes/no")
    return known or sum(spellings[key].values()) < _RARE * total / 2


def describe_labels(order: Sequence[str], ordered: bool = True) -> str:
    """In words: ``labels no, yes``."""
    shown = ", ".join(label or BLANK for label in order[:6]) + ("…" if len(order) > 6 else "")
    return f"labels {shown}" if ordered else f"labels {shown}, without an order"


def same_class(cell: str, labels: Sequence[str]) -> int:
    """The place of a label among the classes, by its key, else by the entailment class that it alone names; −1: none."""
    keys = [label_key(label) for label in labels]
    if (key := label_key(cell)) in keys:
        return keys.index(key)
    meaning = nli_class(cell)
    places = [place for place, label in enumerate(labels) if meaning is not None and nli_class(label) == meaning]
    return places[0] if len(places) == 1 else -1
