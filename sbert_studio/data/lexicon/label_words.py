"""What words say of the order of labels: entailment, yes and no, degrees, and negation, in the languages that tables come in."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from ..values.cells import parse_number
from .degrees import degree_of, rising, steps_of
from .label_lexicon import NEGATIONS, NEGATIVE_ENDINGS, NLI_BEGINNINGS, NLI_LETTERS, NLI_LOOSELY, NLI_ORDER, NO, RELATIONS, YES, squeeze

__all__ = ["NamedOrder", "is_no", "is_yes", "neutral_of_three", "nli_class", "order_by_words", "rising", "squeeze"]


@dataclass(frozen=True)
class NamedOrder:
    """What the words of labels tell of their order.

    Attributes:
        order: the labels from least to most alike.
        sure: ``certain`` where the words mean it, ``guess`` where they only suggest it.
        family: ``nli``, ``yes/no``, ``degrees``, ``numbers``, ``negation`` or ``relations``, for words.
    """

    order: tuple[str, ...]
    sure: Literal["certain", "guess"]
    family: str


def nli_class(label: str) -> str | None:
    """``contradiction``, ``neutral`` or ``entailment`` for a label in any of two dozen languages; else None."""
    word = squeeze(label)
    if word in NLI_LETTERS:
        return NLI_LETTERS[word]
    if word == "unrelated":
        return "neutral"
    for name, beginnings in NLI_BEGINNINGS.items():
        if word.startswith(tuple(squeeze(beginning) for beginning in beginnings)):
            return name
    return None


def is_yes(label: str) -> bool:
    """Whether a label says that two texts belong together: 1, yes, true, duplicate, entailment and the like."""
    return squeeze(label) in YES or nli_class(label) == "entailment"


def is_no(label: str) -> bool:
    """Whether a label says that two texts do not belong together: 0, no, false, different and the like."""
    return squeeze(label) in NO or label.strip() in ("-1", "−1")


def order_by_words(labels: Sequence[str]) -> NamedOrder | None:
    """The order of labels by what their words mean, least alike first; None where the words are silent."""
    for way in (_nli, _nli_loosely, _yes_and_no, _numbered, _negated, _beginning_with_numbers, _stepped, _degrees, _relations):
        if len(set(labels)) > 1 and (found := way(list(dict.fromkeys(labels)))):
            return found
    return None


def neutral_of_three(labels: Sequence[str]) -> str | None:
    """The label in the middle of three by its name (neutral, нейтрально, 中立), whatever the other two are called."""
    middle = [label for label in labels if _loosely(label, "neutral") and len(squeeze(label)) > 1]
    return middle[0] if len(labels) == 3 and len(middle) == 1 else None


def _nli(labels: list[str]) -> NamedOrder | None:
    classes = [nli_class(label) for label in labels]
    if not all(classes) or len(set(classes)) < len(labels) or all(squeeze(label) in "ne" for label in labels):
        return None
    return NamedOrder(tuple(sorted(labels, key=lambda label: NLI_ORDER.index(str(nli_class(label))))), "certain", "nli")


def _nli_loosely(labels: list[str]) -> NamedOrder | None:
    """Three labels of which each can be one of contradiction, neutral and entailment: refutes, not enough info, supports."""
    if len(labels) != 3:
        return None
    orders = [order for order in permutations(labels) if all(map(_loosely, order, NLI_ORDER))]
    return NamedOrder(orders[0], "guess", "nli") if len(orders) == 1 else None


def _loosely(label: str, meaning: str) -> bool:
    word = squeeze(label)
    return nli_class(label) == meaning or (
        (len(word) > 2 or not word.isascii()) and word.startswith(tuple(squeeze(one) for one in NLI_LOOSELY[meaning]))
    )


def _yes_and_no(labels: list[str]) -> NamedOrder | None:
    if len(labels) != 2:
        return None
    no = [label for label in labels if is_no(label)]
    yes = [label for label in labels if is_yes(label) and label not in no]
    return NamedOrder((no[0], yes[0]), "certain", "yes/no") if len(no) == len(yes) == 1 else None


def _numbered(labels: list[str]) -> NamedOrder | None:
    numbers = {label: parse_number(label) for label in labels}
    if any(math.isnan(number) for number in numbers.values()):
        return None
    order = tuple(sorted(labels, key=lambda label: numbers[label]))
    known = set(numbers.values()) in ({0.0, 1.0}, {-1.0, 1.0}) or len(order) > 3
    return NamedOrder(order, "certain" if known else "guess", "numbers")


def _beginning_with_numbers(labels: list[str]) -> NamedOrder | None:
    """``0 - nothing in common``, ``1 (related)``, ``2: the same``."""
    found = {label: re.match(r"\W*(\d+)\W+\w", label) for label in labels}
    if not all(found.values()):
        return None
    numbers = {label: int(match[1]) for label, match in found.items() if match}
    if len(set(numbers.values())) < len(labels):
        return None
    return NamedOrder(tuple(sorted(labels, key=lambda label: numbers[label])), "guess", "numbers")


def _negated(labels: list[str]) -> NamedOrder | None:
    if len(labels) != 2:
        return None
    for denied, plain in (labels, labels[::-1]):
        if not _denies(denied, plain):
            continue
        if is_no(plain):
            return NamedOrder((plain, denied), "certain", "negation")
        return NamedOrder((denied, plain), "certain" if is_yes(plain) else "guess", "negation")
    return None


def _denies(denied: str, plain: str) -> bool:
    """Whether the one label is the other with a negation before or behind it: not_equivalent, mismatch, kein Treffer, 不同义."""
    long, short = squeeze(denied), squeeze(plain)
    if len(short) < 2 and not re.match(r"[\u3040-\u9fff\uac00-\ud7a3]", short):
        return False
    rest = long.removesuffix(short) if long.endswith(short) else None
    if rest and rest in NEGATIONS:
        return True
    behind = long.removeprefix(short) if long.startswith(short) else None
    return bool(behind) and (behind in NEGATIONS or behind in NEGATIVE_ENDINGS)


def _stepped(labels: list[str]) -> NamedOrder | None:
    """Stars, Roman numerals, or one sign repeated; letters of marks are left to what the model says of their direction."""
    steps = steps_of(labels)
    if not steps:
        return None
    return NamedOrder(tuple(sorted(labels, key=lambda label: steps[label])), "guess", "steps")


def _degrees(labels: list[str]) -> NamedOrder | None:
    ranks = [degree_of(label) for label in labels]
    if any(rank is None for rank in ranks) or len(set(ranks)) < len(labels):
        return None
    order = tuple(label for _, label in sorted(zip(ranks, labels, strict=True), key=lambda item: float(item[0] or 0)))
    return NamedOrder(order, "guess", "degrees")


def _relations(labels: list[str]) -> NamedOrder | None:
    """Kinds of relations, such as cause and part-of, are no degrees of one thing."""
    named = sum(squeeze(label) in RELATIONS for label in labels)
    return NamedOrder(tuple(sorted(labels)), "certain", "relations") if len(labels) > 2 and named >= 2 / 3 * len(labels) else None
