"""Column names: which content they suggest (texts, scores, labels, categories, or something else)."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from .words import BETWEEN_WORDS, CJK, normalize, split_words, word_lists, word_set

NameRating = Literal["certain", "likely", "unknown", "mixed", "never"]

_LISTS = word_lists("names")
_SETS = {key: word_set(words) for key, words in _LISTS.items() if isinstance(words, str)}
FIRST, SECOND, ANCHOR, POSITIVE, TEXT = (_SETS[key] for key in ("first", "second", "anchor", "positive", "text"))
SCORE, LABEL, GROUP, CATEGORY, IDENTIFIER, SPLIT = (_SETS[key] for key in ("score", "label", "group", "category", "identifier", "split"))
TITLE, KEYWORDS, FINAL_LABEL, COMBINED_RATING = (_SETS[key] for key in ("title", "keywords", "final_label", "combined_rating"))
NEGATIVE = re.compile(
    r"((hard)?neg(ative)?s?|dissimilar|irrelevant|distractor|contradiction|hardneg|negativ|négatif|negativo|rejected|wronganswer|"
    r"负例|负样本|反例|負例|難負例)\d*"
)
_KNOWN = FIRST | SECOND | ANCHOR | POSITIVE | TEXT | SCORE | LABEL | GROUP | CATEGORY | IDENTIFIER


def is_known_name(name: str) -> bool:
    """Return True if ``name`` is a usual column name."""
    key = normalize(name)
    return key in _KNOWN or bool(NEGATIVE.fullmatch(key))


# --- scores and labels


def rate_target_name(name: str) -> NameRating:
    """Rate how much a column's name speaks for scores or labels.

    ``certain``: the usual name of such a column. ``likely``: one word suggests it. ``mixed``: one does and another contradicts it,
    as in ``sim_std``. ``never``: its words name something else (an id, a date, a length, a person, a split).
    """
    key, words = normalize(name), set(split_words(name))
    if key in _SETS["certain_target"]:
        return "certain"
    is_target = key in SCORE | LABEL or _mentions(name, "target_parts", "target_signs") or _mentions(name, "distance", "distance_signs")
    is_computed = bool(words & _SETS["machine"])
    if is_computed or _names_something_else(key, words):
        return "mixed" if is_target or is_computed else "never"
    if words & GROUP and not is_target:
        return "never"
    return "likely" if is_target else "unknown"


def is_distance_name(name: str) -> bool:
    """Return True for the name of a distance or difference: its highest value means least similar."""
    return _mentions(strip_explanation(name), "distance", "distance_signs")


def is_similarity_name(name: str) -> bool:
    """Return True if a higher value must mean more similar (a similarity, a score, points), which is not so of a mark or a rank."""
    bare = strip_explanation(name)
    return not _is_rank_name(bare) and _mentions(bare, "similarity", "similarity_signs")


def has_open_direction(name: str) -> bool:
    """Return True for a mark, rank or grade, whose scale may begin at the best or at the worst."""
    bare = strip_explanation(name)
    return _is_rank_name(bare) or (not is_similarity_name(bare) and bool({normalize(bare), *split_words(bare)} & _SETS["either_direction"]))


def is_spread_name(name: str) -> bool:
    """Return True for a deviation or a confidence, as found beside a score."""
    return bool(set(split_words(name)) & _SETS["spread"])


def is_numbering_name(name: str) -> bool:
    """Return True if the only objection to a column is that it is called an id, a key or a number."""
    words = set(split_words(name))
    return bool(words & _SETS["numbering"]) and words & _SETS["not_a_target"] <= _SETS["numbering"]


# --- categories


def rate_category_name(name: str) -> NameRating:
    """Rate how much a column's name speaks for categories of texts."""
    key, words = normalize(name), set(split_words(name))
    is_category = (
        key in CATEGORY or bool(words & CATEGORY) or any(len(sign) > 1 and not sign.isascii() and sign in key for sign in CATEGORY)
    )
    signs = {sign for sign in _SETS["not_a_target_signs"] if sign in key}
    if not words & _SETS["not_a_target"] and not signs:
        return "certain" if is_category else "unknown"
    if is_category and words & _SETS["not_a_target"] <= _SETS["numbering"] and signs <= _SETS["numbering"]:
        return "likely"  # class_id, 类别编号
    if key in CATEGORY:
        return "certain"
    return "mixed" if is_category else "never"


def is_topic_name(name: str) -> bool:
    """Return True if a column beside pairs is called what they are about, rather than a label of theirs."""
    ambiguous = _SETS["ambiguous_label"]
    return rate_category_name(name) == "certain" and not set(split_words(name)) & ambiguous and normalize(name) not in ambiguous


# --- texts


def is_comment_name(name: str) -> bool:
    """Return True for a text beside those that are meant: a comment, a source, an explanation."""
    key, comments = normalize(name), _SETS["comment"]
    return bool({key, *split_words(name)} & comments) or any(sign in key for sign in ("备注", "コメント", "비고"))


def is_negative_name(name: str) -> bool:
    """Return True if a column is called a negative, as a whole or in one word: ``neg_passage``, ``hardNegative2``."""
    return any(NEGATIVE.fullmatch(part) for part in (normalize(name), *split_words(name)))


def is_positive_name(name: str) -> bool:
    """Return True if a column is called a positive, as a whole or in one word."""
    return bool({normalize(name), *split_words(name)} & POSITIVE)


def is_anchor_name(name: str) -> bool:
    """Return True if a column is called an anchor or a query, as a whole or in one word."""
    return normalize(name) in ANCHOR or any(len(part) > 1 and part in ANCHOR for part in split_words(name))


def is_bad_name(name: str) -> bool:
    """Return True for a text that the anchor does not resemble: negative, ``bad_2``, ``falsch``, ``干扰句``."""
    return is_negative_name(name) or _mentions(name, "bad", "bad_signs", within_words=False)


def is_good_name(name: str) -> bool:
    """Return True for a text that the anchor resembles: positive, good, ``richtig``, ``同义改写``."""
    return not is_bad_name(name) and (is_positive_name(name) or _mentions(name, "good", "good_signs", within_words=False))


def are_sides(first: str, second: str) -> bool:
    """Return True for one name with the marks of two sides, in order: sentence1 and sentence2, ``text_a`` and ``text_b``."""
    return any(
        stem and stem == other and _precedes(mark, against) for stem, mark in _side_marks(first) for other, against in _side_marks(second)
    )


_SIDES = [side.split() for side in _LISTS["sides"]]
_SIDE_MARKS = {mark for side in _SIDES for mark in side} | _SETS["language"]


def _side_marks(name: str) -> list[tuple[str, str]]:
    """List every way to split a name into a stem and the mark of a side."""
    words = list(split_words(name))
    found = [(" ".join(words[:at] + words[at + 1 :]) or "*", word) for at, word in enumerate(words) if word in _SIDE_MARKS]
    text = unicodedata.normalize("NFKC", name).casefold()
    if CJK.search(text):
        bare = re.sub(r"[\W_]+", "", text)
        found += [(bare[:at] + bare[at + 1 :] or "*", sign) for at, sign in enumerate(bare) if sign in _SIDE_MARKS]
    elif words and len(words[-1]) > 3 and words[-1][-1] in "ab":
        found.append((" ".join([*words[:-1], words[-1][:-1]]), words[-1][-1]))  # sentenceA once its case is gone
    return found


def _precedes(mark: str, other: str) -> bool:
    if mark in _SETS["language"] and other in _SETS["language"]:
        return mark != other
    return any(mark in side and other in side and side.index(mark) < side.index(other) for side in _SIDES)


# --- explanations within a name: "How similar? (1 = completely different, 5 = the same)"

_LINK = r"(?:=|:|→|->|-|–|—|is|means|meaning|ist|heißt|bedeutet|это|est|es|é|è|为|為|是|表示|は|が)?"
_AFTER = re.compile(rf"(?<![\w.])(?<!\d,)(-?\d+(?:[.,]\d+)?)[\s(]*{_LINK}[\s(\"']*([^\d=;,，；、|/()\[\]（）–…→]{{1,60}})")
_BEFORE = re.compile(r"([^\d=;,，；、|/()\[\]（）–…→]{2,60}?)\s*(?:[=:]\s*|\((?=\s*-?[\d.,]+\s*\))\s*)(-?\d+(?:[.,]\d+)?)")
_ASIDE = re.compile(r"\s*[(\[（【][^)\]）】]*\d[^)\]）】]*[)\]）】]?|[\s,;:]*-?\d+\s*[=:].*$|[\s,;:-]*\bvon \d.*$|[\s,;:-]*\bfrom \d.*$")


def strip_explanation(name: str) -> str:
    """Return a column's name without what it explains of its numbers."""
    return _ASIDE.sub("", name).strip() or name


def explained_ends(name: str) -> tuple[float | None, float | None]:
    """Return the numbers that a name gives to "least similar" and "most similar"; None where it gives none."""
    text = unicodedata.normalize("NFKC", name).casefold()
    if not re.search(r"[(=:\[…]", text):
        return None, None
    pairs = [(match[1], match[2]) for match in _AFTER.finditer(text)]
    if not any(_means_same(words) is not None for _, words in pairs):
        pairs = [(match[2], match[1]) for match in _BEFORE.finditer(text)]
    different, same = ([float(number.replace(",", ".")) for number, words in pairs if _means_same(words) is way] for way in (False, True))
    least = None if not different else different[0] if not same or different[0] < same[-1] else max(different)
    most = None if not same else same[-1] if least is None or same[-1] > least else min(same)
    return (None, None) if least is not None and least == most else (least, most)


def explained_reversal(name: str, low: float, high: float) -> bool | None:
    """Return True if a name explains the highest number as least similar, False if as most similar, None if it does neither."""
    least, most = explained_ends(name)
    if least is not None and most is not None:
        return least > most
    if most is not None:
        return abs(most - low) < abs(most - high)
    return abs(least - high) < abs(least - low) if least is not None else None


def explained_scale(name: str, lowest: float, highest: float) -> tuple[float, float] | None:
    """Return the scale that a name gives, the lower number first, if the column's numbers lie on it."""
    least, most = explained_ends(name)
    if least is None or most is None:
        return None
    low, high = sorted((least, most))
    return (low, high) if low <= lowest and highest <= high and highest - lowest >= 0.4 * (high - low) else None


def _means_same(words: str) -> bool | None:
    found = set(BETWEEN_WORDS.split(words))
    if found & _SETS["means_different"] or any(sign in words for sign in _SETS["means_different_signs"]):
        return False
    return True if found & _SETS["means_same"] or any(sign in words for sign in _SETS["means_same_signs"]) else None


def _mentions(name: str, words: str, signs: str, *, within_words: bool = True) -> bool:
    """Return True if a name holds one of the words, or one of the signs of scripts that do not separate words."""
    key, parts, wanted = normalize(name), split_words(name), _SETS[words]
    if set(parts) & wanted or any(sign in key for sign in _SETS[signs]):
        return True
    return within_words and any(len(stem) >= 6 and stem in part for part in parts for stem in wanted)


def _names_something_else(key: str, words: set[str]) -> bool:
    return bool({key, *words} & _SETS["not_a_target"]) or any(sign in key for sign in _SETS["not_a_target_signs"])


def _is_rank_name(name: str) -> bool:
    key, ranks = normalize(name), _SETS["rank"]
    return bool({key, *split_words(name)} & ranks) or any(not sign.isascii() and sign in key for sign in ranks)
