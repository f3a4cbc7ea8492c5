"""The scale of scores, and the order of labels."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..errors import StudioError
from .cells import parse_number
from .vocabulary import NO_LABEL, label_order, nli_class

_KNOWN_SCALES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 5.0), (0.0, 10.0), (0.0, 100.0))
_INSIDE = 0.98
_MOST_CLASSES = 200


def detect_scale(scores: np.ndarray) -> tuple[float, float]:
    """The lowest and highest score that the scale allows.

    The first of 0–1, −1–1, 0–5, 0–10 and 0–100 that holds 98% of the scores, so that a typing error does not stretch it;
    1–5 (or 1–4, 1–7, …) where no score is below 1 and one is exactly 1; else the lowest and highest score there are.

    Args:
        scores: (n,) finite numbers, n ≥ 1.
    """
    for low, high in _KNOWN_SCALES:
        inside = scores[(scores >= low) & (scores <= high)]
        if len(inside) >= _INSIDE * len(scores):
            return _narrowed(inside, low, high)
    return float(scores.min()), float(scores.max())


def _narrowed(inside: np.ndarray, low: float, high: float) -> tuple[float, float]:
    top, bottom = float(inside.max()), float(inside.min())
    whole = bool((inside % 1 == 0).all())
    if high in (5.0, 10.0) and whole and top < high and top >= 2 and top != 6:
        high = top  # 0–2, 0–3, 0–4, 1–7: a scale of whole steps ends where its answers do
    if high in (5.0, 10.0, top) and low == 0.0 and bottom == 1.0 and high > 1:
        low = 1.0
    return low, high


def describe_scale(low: float, high: float) -> str:
    """In words, as the page shows it: ``scores 0–5, divided by 5``."""
    span = f"scores {low:g}–{high:g}"
    if (low, high) == (0.0, 1.0):
        return f"{span}, taken as they are"
    if low == 0.0:
        return f"{span}, divided by {high:g}"
    return f"{span}, rescaled so that {low:g} becomes 0 and {high:g} becomes 1"


def label_key(cell: str) -> str:
    """What makes two label cells the same class: their number, their entailment class, or their letters without case."""
    text = unicodedata.normalize("NFKC", cell).strip()
    number = parse_number(text)
    if not math.isnan(number):
        return f"{number:g}"
    return nli_class(text) or text.casefold()


def detect_labels(cells: Sequence[str], numbered_nli: bool = False) -> tuple[tuple[str, ...], str]:
    """The class names in id order, and a note in words.

    NLI words (English or Chinese) come as contradiction, neutral, entailment; two answers as no, yes; numbers rise;
    anything else is alphabetical. Cells that say "no label" (``-``, or −1 beside other numbers) are no class.

    Args:
        cells: the label of every row.
        numbered_nli: 0, 1 and 2 mean entailment, neutral and contradiction, as in SNLI's own numbering.

    Raises:
        StudioError: there is no label, or so many that they cannot be classes.
    """
    spellings: dict[str, Counter[str]] = {}
    for cell, times in Counter(cells).items():
        if cell.strip():
            spellings.setdefault(label_key(cell), Counter())[cell.strip()] += times
    numbers = [key for key in spellings if not math.isnan(parse_number(key))]
    for key in list(spellings):
        if key in NO_LABEL and (key != "-1" or len(numbers) > 2) and len(spellings) > 2:
            del spellings[key]
    if not spellings:
        raise StudioError("the label column is blank in every row", "choose another column")
    total = sum(sum(found.values()) for found in spellings.values())
    if len(spellings) > _MOST_CLASSES or (len(spellings) > 20 and len(spellings) > total / 3):
        raise StudioError(
            f"the label column holds {len(spellings):,} different values, too many to be classes", "choose another column or kind"
        )
    names = {key: found.most_common(1)[0][0] for key, found in spellings.items()}
    if numbered_nli and set(names) <= {"0", "1", "2"}:
        order = tuple(names[key] for key in ("2", "1", "0") if key in names)
        return order, "labels 0, 1, 2 read as entailment, neutral, contradiction"
    order = label_order(set(names.values())) or tuple(
        sorted(names.values(), key=lambda name: (0, parse_number(name), "") if len(numbers) == len(names) else (1, 0.0, name))
    )
    shown = ", ".join(order[:6]) + ("…" if len(order) > 6 else "")
    return order, f"labels {shown}"
