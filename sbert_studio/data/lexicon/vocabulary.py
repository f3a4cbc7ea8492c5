"""What the name of a column says of what it holds."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from .explained import without_explanation
from .label_lexicon import BETWEEN_WORDS, plain_marks
from .label_words import squeeze
from .name_lexicon import (
    ANCHOR,
    ASIDE,
    CATEGORY,
    CERTAIN,
    EITHER,
    EITHER_WAY,
    FIRST,
    GROUP,
    IDENTIFIER,
    LABEL,
    LIKENESS,
    LIKENESS_SIGNS,
    MACHINE,
    NEGATIVE,
    NEVER_PARTS,
    NEVER_SIGNS,
    NUMBERED,
    POSITIVE,
    RANKS,
    REVERSED,
    REVERSED_SIGNS,
    SCORE,
    SECOND,
    SPREAD,
    TARGET_PARTS,
    TARGET_SIGNS,
    TEXT,
)

Standing = Literal["certain", "likely", "unknown", "mixed", "never"]


def parts(name: str) -> tuple[str, ...]:
    """The words of a column's name: ``humanScore_2`` → human, score, 2."""
    text = plain_marks(unicodedata.normalize("NFKC", name))
    text = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])", " ", text)
    text = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", text)
    return tuple(word.casefold() for word in BETWEEN_WORDS.split(text) if word)


def target_standing(name: str) -> Standing:
    """How much the name of a column speaks for scores or labels in it.

    ``certain``: it is what such a column is called. ``likely``: one of its words is. ``mixed``: one is, and another speaks against
    it, such as ``sim_std``. ``never``: its words say that it is something else (an id, a date, a length, a person, a split).
    """
    squeezed, words = squeeze(name), parts(name)
    if squeezed in CERTAIN:
        return "certain"
    wanted = squeezed in SCORE | LABEL or _has(words, squeezed, TARGET_PARTS | REVERSED, (*TARGET_SIGNS, *REVERSED_SIGNS))
    against = bool(set(words) & NEVER_PARTS) or squeezed in NEVER_PARTS or any(sign in squeezed for sign in NEVER_SIGNS)
    by_machine = bool(set(words) & MACHINE)
    if against or by_machine:
        return "mixed" if wanted or by_machine else "never"
    if set(words) & GROUP and not wanted:
        return "never"
    return "likely" if wanted else "unknown"


def is_reversed(name: str) -> bool:
    """Whether a column is called a distance or a difference, so that its highest value means least alike."""
    name = without_explanation(name)
    return _has(parts(name), squeeze(name), REVERSED, REVERSED_SIGNS)


def claims_likeness(name: str) -> bool:
    """Whether a column is called something of which more means more alike: a similarity, a score, points; a mark or a rank does not."""
    name = without_explanation(name)
    return not _is_rank(name) and _has(parts(name), squeeze(name), LIKENESS, LIKENESS_SIGNS)


def either_way(name: str) -> bool:
    """Whether a column is called a mark, a rank or a grade, which may begin at the best or at the worst."""
    bare = without_explanation(name)
    return _is_rank(bare) or (not claims_likeness(bare) and bool({squeeze(bare), *parts(bare)} & EITHER_WAY))


def _is_rank(name: str) -> bool:
    squeezed = squeeze(name)
    return bool({squeezed, *parts(name)} & RANKS) or any(not sign.isascii() and sign in squeezed for sign in RANKS)


def is_spread(name: str) -> bool:
    """Whether a column is a deviation or a confidence, such as stands beside a score."""
    return bool(set(parts(name)) & SPREAD)


def category_standing(name: str) -> Standing:
    """How much the name of a column speaks for categories of texts in it."""
    squeezed, words = squeeze(name), parts(name)
    against = bool(set(words) & NEVER_PARTS) or any(sign in squeezed for sign in NEVER_SIGNS)
    named = (
        squeezed in CATEGORY
        or bool(set(words) & CATEGORY)
        or any(len(sign) > 1 and not sign.isascii() and sign in squeezed for sign in CATEGORY)
    )
    if against and named and set(words) & NEVER_PARTS <= NUMBERED and not _other_signs(squeezed):
        return "likely"  # class_id, 类别编号
    if against:
        return "mixed" if named and squeezed not in CATEGORY else "never" if squeezed not in CATEGORY else "certain"
    return "certain" if named else "unknown"


def _other_signs(squeezed: str) -> bool:
    return any(sign in squeezed for sign in NEVER_SIGNS if sign not in NUMBERED)


def numbers_rows(name: str) -> bool:
    """Whether nothing speaks against a column but that it is called an id, a key or a number."""
    words = set(parts(name))
    return bool(words & NUMBERED) and words & NEVER_PARTS <= NUMBERED


def is_topic(name: str) -> bool:
    """Whether a column beside pairs is called what they are about, rather than a label of theirs."""
    return category_standing(name) == "certain" and not set(parts(name)) & EITHER and squeeze(name) not in EITHER


def is_aside(name: str) -> bool:
    """Whether a column of text stands beside the texts that are meant: a comment, a source, an explanation."""
    return bool(set(parts(name)) & ASIDE) or squeeze(name) in ASIDE or any(sign in squeeze(name) for sign in ("备注", "コメント", "비고"))


def is_negative(name: str) -> bool:
    """Whether a column of text is called a negative, as a whole or in one of its words: neg_passage, hardNegative2."""
    return bool(NEGATIVE.fullmatch(squeeze(name))) or any(NEGATIVE.fullmatch(part) for part in parts(name))


def is_positive(name: str) -> bool:
    """Whether a column of text is called a positive, as a whole or in one of its words."""
    return squeeze(name) in POSITIVE or bool(set(parts(name)) & POSITIVE)


def is_anchor(name: str) -> bool:
    """Whether a column of text is called what others are compared with, as a whole or in one of its words."""
    return squeeze(name) in ANCHOR or any(len(part) > 1 and part in ANCHOR for part in parts(name))


def known(name: str) -> bool:
    """Whether ``name`` is what people call a column."""
    squeezed = squeeze(name)
    return squeezed in KNOWN or bool(NEGATIVE.fullmatch(squeezed))


KNOWN = FIRST | SECOND | ANCHOR | POSITIVE | TEXT | SCORE | LABEL | GROUP | CATEGORY | IDENTIFIER


def _has(words: tuple[str, ...], squeezed: str, wanted: frozenset[str], signs: tuple[str, ...]) -> bool:
    if set(words) & wanted or any(sign in squeezed for sign in signs):
        return True
    return any(len(stem) >= 6 and stem in word for word in words for stem in wanted)
