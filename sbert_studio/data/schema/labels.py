"""The classes in a label column, and the order suggested by their wording: entailment, yes and no, degrees, negation."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from ...errors import StudioError
from ...i18n import _
from .names import CJK, normalize, word_lists, word_set
from .numbers import parse_number

BLANK = "(blank)"
"""How the class without a label is displayed."""
INFERENCE_ORDER = ("contradiction", "neutral", "entailment")
_MOST_CLASSES = 200
_RARE = 0.1

_LISTS = word_lists("labels")
_CERTAINLY_MISSING, _MISSING_IF_RARE = (word_set(word_lists("cells")[key]) for key in ("missing_label", "rare_missing_label"))
_ANSWERS = {key: word_set(words) for key, words in _LISTS["answers"].items()}
_INFERENCE = {name: tuple(map(normalize, words.split())) for name, words in _LISTS["inference"].items()}
_FACT_CHECKING = {name: tuple(map(normalize, words.split())) for name, words in _LISTS["fact_checking"].items()}
_LETTERS = {"c": "contradiction", "n": "neutral", "e": "entailment", "unrelated": "neutral"}
_DEGREES = {word: float(degree) for degree, words in _LISTS["degrees"].items() for word in words.split()}
_DEGREE_SIGNS = [(row["degree"], row["signs"].split()) for row in _LISTS["degree_signs"]]
_STRONGER, _DENIALS = (word_set(_LISTS["degree_modifiers"][key]) for key in ("stronger", "negation"))
_RELATIONS = word_set(_LISTS["relations"]["words"])
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_STARS = re.compile(r"[★⭐*✮✯☆✩✰•●○+]+\ufe0f?")

Family = Literal["nli", "yes/no", "numbers", "negation", "steps", "degrees", "relations"]


# --- classes


def find_classes(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the classes in a label column, each in its most frequent spelling: numbers ascending, words in alphabetical order.

    Blanks form a class of their own where that is plausible (see :func:`is_blank_class`). Missing labels are not classes: ``-``, ``n/a``
    and the like; nor are ``none`` or −1 if they are rare, or if the others are inference labels or yes and no.

    Raises:
        StudioError: there are no labels, or too many to be classes.
    """
    spellings: dict[str, Counter[str]] = {}
    for cell, times in Counter(cells).items():
        if cell.strip():
            spellings.setdefault(label_key(cell), Counter())[cell.strip()] += times
    total = sum(found.total() for found in spellings.values())
    for key in list(spellings):
        if len(spellings) > 2 and _is_missing_label(key, spellings, total):
            del spellings[key]
    if not spellings:
        raise StudioError("the label column is blank in every row", "choose another column")
    if len(spellings) > _MOST_CLASSES or (len(spellings) > 20 and len(spellings) > total / 3):
        raise StudioError(
            _("the label column has {spellings} different values, too many to be classes", spellings=f"{len(spellings):,}"),
            "choose another column or kind",
        )
    names = sorted(found.most_common(1)[0][0] for found in spellings.values())
    if not any(math.isnan(parse_number(name)) for name in names):
        names.sort(key=parse_number)
    return ("", *names) if is_blank_class(cells) else tuple(names)


def label_key(cell: str) -> str:
    """Return a key that is equal for label cells of the same class: their number, or their case-folded letters."""
    text = unicodedata.normalize("NFKC", cell).strip()
    number = parse_number(text)
    return text.casefold() if math.isnan(number) else f"{number:g}"


def is_blank_class(cells: Sequence[str]) -> bool:
    """Return True for a column whose cells are either a single marker, such as ``x``, or blank, each in at least 5 % of the rows."""
    marks = {label_key(cell) for cell in set(cells) if cell.strip()}
    blank = sum(not cell.strip() for cell in cells)
    return len(marks) == 1 and min(blank, len(cells) - blank) >= max(4, len(cells) / 20)


def class_index(cell: str, labels: Sequence[str]) -> int:
    """Return the class index of a cell by its key, else by the only inference class that it can mean; −1 if there is none."""
    keys = [label_key(label) for label in labels]
    if (key := label_key(cell)) in keys:
        return keys.index(key)
    meaning = inference_class(cell)
    places = [place for place, label in enumerate(labels) if meaning is not None and inference_class(label) == meaning]
    return places[0] if len(places) == 1 else -1


def describe_labels(labels: Sequence[str], ordered: bool = True) -> str:
    """Describe classes in words: ``labels no, yes``."""
    text = ", ".join(label or BLANK for label in labels[:6]) + ("…" if len(labels) > 6 else "")
    return _("labels {text}", text=text) if ordered else _("unordered labels {text}", text=text)


def _is_missing_label(key: str, spellings: Mapping[str, Counter[str]], total: int) -> bool:
    if key in _CERTAINLY_MISSING:
        return True
    if key not in _MISSING_IF_RARE:
        return False
    others = [found.most_common(1)[0][0] for other, found in spellings.items() if other != key]
    rows = spellings[key].total()
    if key == "-1":
        numbers = {parse_number(name) for name in others}
        if any(math.isnan(number) or number < 0 for number in numbers):
            return False
        return numbers >= {0.0, 1.0, 2.0} or rows < _RARE * total
    order = order_by_words(others)
    return (order is not None and order.is_certain and order.family in ("nli", "yes/no")) or rows < _RARE * total / 2


# --- meaning of the words


def inference_class(label: str) -> str | None:
    """Return ``contradiction``, ``neutral`` or ``entailment`` for a label in any of two dozen languages, else None."""
    word = normalize(label)
    if word in _LETTERS:
        return _LETTERS[word]
    return next((name for name, beginnings in _INFERENCE.items() if word.startswith(beginnings)), None)


def is_yes(label: str) -> bool:
    """Return True for labels such as 1, yes, true, duplicate and entailment."""
    return normalize(label) in _ANSWERS["yes"] or inference_class(label) == "entailment"


def is_no(label: str) -> bool:
    """Return True for labels such as 0, no, false and different."""
    return normalize(label) in _ANSWERS["no"] or label.strip() in ("-1", "−1")


def neutral_of_three(labels: Sequence[str]) -> str | None:
    """Return the one of three labels that is called neutral, whatever the other two are called."""
    middle = [label for label in labels if _may_be_inference(label, "neutral") and len(normalize(label)) > 1]
    return middle[0] if len(labels) == 3 and len(middle) == 1 else None


def degree_of(label: str) -> float | None:
    """Return the degree expressed by a label, in [0, 1]; None if it does not express one."""
    words = [word for word in re.split(r"[\W_]+", unicodedata.normalize("NFKC", label).casefold()) if word]
    key = normalize(label)
    if key in _DEGREES:
        return _DEGREES[key]
    degrees = {_DEGREES[word] for word in words if word in _DEGREES}
    is_denied = not _DENIALS.isdisjoint(words)
    if not degrees and re.search(r"[\u3040-\u30ff\u3400-\u9fff]", label):
        return next((degree for degree, signs in _DEGREE_SIGNS if any(sign in key for sign in signs)), None)
    if len(degrees) != 1:
        return 0.0 if is_denied and not degrees else None
    if is_denied:
        return 0.05
    degree = degrees.pop()
    return degree if _STRONGER.isdisjoint(words) else degree + (0.1 if degree > 0.5 else -0.1)


def are_rising(labels: Sequence[str]) -> bool:
    """Return True if at least two labels express degrees, and all that do are in ascending order."""
    degrees = [degree for label in labels if (degree := degree_of(label)) is not None]
    return len(degrees) > 1 and degrees == sorted(set(degrees))


# --- the order of labels


@dataclass(frozen=True)
class WordOrder:
    """Order of labels by their wording.

    Attributes:
        labels: from least to most similar.
        is_certain: whether the wording implies this order, rather than only suggesting it.
        family: the kind of words.
    """

    labels: tuple[str, ...]
    is_certain: bool
    family: Family


def order_by_words(labels: Sequence[str]) -> WordOrder | None:
    """Order labels by the meaning of their words, least similar first; None if the words are unknown."""
    distinct = tuple(dict.fromkeys(labels))
    if len(distinct) < 2:
        return None
    ways = [_order_inference, _order_fact_checking, _order_answers, _order_numbers, _order_negation]
    ways += [_order_leading_numbers, _order_steps, _order_degrees, _order_relations]
    return next((found for way in ways if (found := way(distinct))), None)


def _sort(values: Mapping[str, float | None], family: Family, is_certain: bool = False) -> WordOrder | None:
    """Sort labels by value; None if a value is missing or not unique."""
    known = {label: value for label, value in values.items() if value is not None and not math.isnan(value)}
    if len(known) < len(values) or len(set(known.values())) < len(values):
        return None
    return WordOrder(tuple(sorted(known, key=known.__getitem__)), is_certain, family)


def _order_inference(labels: tuple[str, ...]) -> WordOrder | None:
    if all(normalize(label) in "ne" for label in labels):
        return None
    classes = {label: inference_class(label) for label in labels}
    return _sort({label: None if name is None else INFERENCE_ORDER.index(name) for label, name in classes.items()}, "nli", True)


def _order_fact_checking(labels: tuple[str, ...]) -> WordOrder | None:
    # Three labels that can be read as the inference classes: refutes, not enough info, supports.
    orders = [order for order in permutations(labels) if all(map(_may_be_inference, order, INFERENCE_ORDER))] if len(labels) == 3 else []
    return WordOrder(orders[0], False, "nli") if len(orders) == 1 else None


def _may_be_inference(label: str, name: str) -> bool:
    word = normalize(label)
    return inference_class(label) == name or ((len(word) > 2 or not word.isascii()) and word.startswith(_FACT_CHECKING[name]))


def _order_answers(labels: tuple[str, ...]) -> WordOrder | None:
    values = {label: 0 if is_no(label) else 1 if is_yes(label) else None for label in labels}
    return _sort(values, "yes/no", True)


def _order_numbers(labels: tuple[str, ...]) -> WordOrder | None:
    numbers = {label: parse_number(label) for label in labels}
    return _sort(numbers, "numbers", set(numbers.values()) in ({0.0, 1.0}, {-1.0, 1.0}) or len(labels) > 3)


def _order_negation(labels: tuple[str, ...]) -> WordOrder | None:
    for denied, plain in (labels, labels[::-1]) if len(labels) == 2 else ():
        if _negates(denied, plain):
            return WordOrder((plain, denied), True, "negation") if is_no(plain) else WordOrder((denied, plain), is_yes(plain), "negation")
    return None


def _negates(denied: str, plain: str) -> bool:
    # One label is the negation of the other: not_equivalent, mismatch, kein Treffer, 不同义.
    long, short = normalize(denied), normalize(plain)
    if len(short) < 2 and not CJK.match(short):
        return False
    before, after = long.removesuffix(short), long.removeprefix(short)
    return (long.endswith(short) and before in _ANSWERS["negation"]) or (
        long.startswith(short) and after in _ANSWERS["negation"] | _ANSWERS["negative_ending"]
    )


def _order_leading_numbers(labels: tuple[str, ...]) -> WordOrder | None:
    # 0 - nothing in common, 1 (related), 2: the same
    matches = {label: re.match(r"\W*(\d+)\W+\w", label) for label in labels}
    return _sort({label: int(match[1]) if match else None for label, match in matches.items()}, "numbers")


def _order_steps(labels: tuple[str, ...]) -> WordOrder | None:
    # Stars, Roman numerals, or one repeated character.
    plain = {label: "".join(label.split()).casefold() for label in labels}
    if len(labels) < 3:
        return None
    if all(map(_STARS.fullmatch, plain.values())):
        return _sort({label: sum(map(text.count, "★⭐*✮✯•●+")) for label, text in plain.items()}, "steps")
    if all(text in _ROMAN for text in plain.values()):
        return _sort({label: _ROMAN.index(text) for label, text in plain.items()}, "steps")
    is_sign = len(set("".join(plain.values()))) == 1 and all(text and not text.isalnum() for text in plain.values())
    return _sort({label: len(text) for label, text in plain.items()}, "steps") if is_sign else None


def _order_degrees(labels: tuple[str, ...]) -> WordOrder | None:
    return _sort({label: degree_of(label) for label in labels}, "degrees")


def _order_relations(labels: tuple[str, ...]) -> WordOrder | None:
    # Kinds of relations, such as cause and part-of, are not degrees.
    known = sum(normalize(label) in _RELATIONS for label in labels)
    return WordOrder(tuple(sorted(labels)), True, "relations") if len(labels) > 2 and known >= 2 / 3 * len(labels) else None
