"""Word lists (TOML files in ``words/``), and the content suggested by column names."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Container
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

NameRating = Literal["certain", "likely", "unknown", "mixed", "never"]

# Combining vowels and tones (in Devanagari to Khmer) are parts of words, although they are not letters.
_COMBINING = (
    "\u0300-\u036f\u0900-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0fbc\u102b-\u103e\u1056-\u109d\u17b4-\u17d3"
)
_VOWEL_POINTS = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u0640\u064b-\u065f\u0670]")
BETWEEN_WORDS = re.compile(rf"(?:(?![{_COMBINING}])[\W_])+")
CJK = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]")
"""Matches a Chinese, Japanese or Korean character."""


@cache
def word_lists(file: str) -> dict[str, Any]:
    """Return the content of ``words/FILE.toml``."""
    return tomllib.loads((Path(__file__).parent / "words" / f"{file}.toml").read_text(encoding="utf-8"))


def word_set(text: str) -> frozenset[str]:
    """Return the words of one entry of a word list."""
    return frozenset(text.split())


_LISTS = word_lists("names")
_WORDS = {key: word_set(words) for key, words in _LISTS.items() if isinstance(words, str)}
FIRST, SECOND, ANCHOR, POSITIVE, TEXT = (_WORDS[key] for key in ("first", "second", "anchor", "positive", "text"))
SCORE, LABEL, GROUP, CATEGORY, IDENTIFIER = (_WORDS[key] for key in ("score", "label", "group", "category", "identifier"))
SPLIT_NAME, SPLIT_PARTS = _WORDS["split_name"], {word: part for part in ("train", "dev", "test") for word in _WORDS[f"split_{part}"]}
TITLE, KEYWORDS, FINAL_LABEL, COMBINED_RATING = (_WORDS[key] for key in ("title", "keywords", "final_label", "combined_rating"))
NEGATIVE = re.compile(
    r"((hard)?neg(ative)?s?|dissimilar|irrelevant|distractor|contradiction|hardneg|negativ|négatif|negativo|rejected|wronganswer|"
    r"负例|负样本|反例|負例|難負例)\d*"
)
_KNOWN = FIRST | SECOND | ANCHOR | POSITIVE | TEXT | SCORE | LABEL | GROUP | CATEGORY | IDENTIFIER
_SIDES = [side.split() for side in _LISTS["sides"]]
_NAMES = 4_096  # names remembered; a table of 300 columns has 45,000 pairs of them
_SIDE_MARKS = {mark for side in _SIDES for mark in side} | _WORDS["language"]


def unique_name(name: str, used: Container[str]) -> str:
    """Append underscores to the name of a column until it is not in ``used``."""
    while name in used:
        name += "_"
    return name


@lru_cache(maxsize=_NAMES)
def normalize(name: str) -> str:
    """Return a column name or label without case, spaces and punctuation, so that ``Sentence_1`` equals ``sentence 1``."""
    return BETWEEN_WORDS.sub("", _fold(name)).casefold()


@lru_cache(maxsize=_NAMES)
def split_words(name: str) -> tuple[str, ...]:
    """Split a column name into words: ``humanScore_2`` becomes ``human, score, 2``."""
    text = re.sub(r"(?<=[a-zà-ÿ0-9])(?=[A-ZÀ-Þ])", " ", _fold(name))
    text = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", text)
    words = [word.casefold() for word in BETWEEN_WORDS.split(text) if word]
    return tuple(
        part for word in words for part in ((word[:-2], "id") if word[:-2] in _WORDS["with_id"] and word.endswith("id") else (word,))
    )


def _fold(name: str) -> str:
    text = unicodedata.normalize("NFKC", name)
    return text if text.isascii() else _VOWEL_POINTS.sub("", text)  # Hebrew and Arabic may be written without them


def _mentions(name: str, entry: str, *, within_words: bool = True) -> bool:
    # Words of six or more letters also match inside a word, and characters of scripts without spaces match anywhere.
    key, parts, wanted = normalize(name), split_words(name), _WORDS[entry]
    if set(parts) & wanted or any(sign in key for sign in _WORDS[f"{entry}_signs"]):
        return True
    return within_words and any(len(stem) >= 6 and stem in part for part in parts for stem in wanted)


def is_known_name(name: str) -> bool:
    """Return True if ``name`` is a common column name."""
    key = normalize(name)
    return key in _KNOWN or bool(NEGATIVE.fullmatch(key))


@lru_cache(maxsize=_NAMES)
def rate_target_name(name: str) -> NameRating:
    """Rate how strongly the name of a column suggests scores or labels.

    ``certain``: a common name of such a column. ``likely``: one word suggests it. ``mixed``: one word does and another contradicts it, as
    in ``sim_std``. ``never``: its words mean something else (an id, a date, a length, a person, a split).
    """
    key, words = normalize(name), set(split_words(name))
    if key in _WORDS["certain_target"]:
        return "certain"
    is_target = key in SCORE | LABEL or _mentions(name, "target") or _mentions(name, "distance")
    is_computed = bool(words & _WORDS["machine"])
    if is_computed or {key, *words} & _WORDS["not_a_target"] or any(sign in key for sign in _WORDS["not_a_target_signs"]):
        return "mixed" if is_target or is_computed else "never"
    if words & GROUP and not is_target:
        return "never"
    return "likely" if is_target else "unknown"


def is_distance_name(name: str) -> bool:
    """Return True for the name of a distance or difference, whose highest value means least similar."""
    return _mentions(strip_explanation(name), "distance")


def is_similarity_name(name: str) -> bool:
    """Return True if higher must mean more similar (a similarity, a score, points), unlike marks and ranks."""
    bare = strip_explanation(name)
    return not _is_rank_name(bare) and _mentions(bare, "similarity")


def has_open_direction(name: str) -> bool:
    """Return True for a mark, rank or grade, whose scale may start at the best or at the worst value."""
    bare = strip_explanation(name)
    return _is_rank_name(bare) or (
        not is_similarity_name(bare) and bool({normalize(bare), *split_words(bare)} & _WORDS["either_direction"])
    )


def _is_rank_name(name: str) -> bool:
    key, ranks = normalize(name), _WORDS["rank"]
    return bool({key, *split_words(name)} & ranks) or any(not sign.isascii() and sign in key for sign in ranks)


def is_spread_name(name: str) -> bool:
    """Return True for a deviation or a confidence, which often accompanies a score."""
    return bool(set(split_words(name)) & _WORDS["spread"])


def is_numbering_name(name: str) -> bool:
    """Return True if the only evidence against a column is a name such as id, key or number."""
    words = set(split_words(name))
    return bool(words & _WORDS["numbering"]) and words & _WORDS["not_a_target"] <= _WORDS["numbering"]


def rate_category_name(name: str) -> NameRating:
    """Rate how strongly the name of a column suggests categories of texts."""
    key, words = normalize(name), set(split_words(name))
    is_category = bool({key, *words} & CATEGORY) or any(len(sign) > 1 and not sign.isascii() and sign in key for sign in CATEGORY)
    objections = words & _WORDS["not_a_target"] | {sign for sign in _WORDS["not_a_target_signs"] if sign in key}
    if not objections:
        return "certain" if is_category else "unknown"
    if is_category and objections <= _WORDS["numbering"]:
        return "likely"  # class_id, 类别编号
    if key in CATEGORY:
        return "certain"
    return "mixed" if is_category else "never"


def is_topic_name(name: str) -> bool:
    """Return True if the name of a column next to pairs suggests their topic rather than a label."""
    return rate_category_name(name) == "certain" and not {normalize(name), *split_words(name)} & _WORDS["ambiguous_label"]


def is_comment_name(name: str) -> bool:
    """Return True for texts that accompany the training texts: a comment, a source, an explanation."""
    key = normalize(name)
    return bool({key, *split_words(name)} & _WORDS["comment"]) or any(sign in key for sign in ("备注", "コメント", "비고"))


def is_negative_name(name: str) -> bool:
    """Return True if a column name, or one word of it, means negative: ``neg_passage``, ``hardNegative2``."""
    return any(NEGATIVE.fullmatch(part) for part in (normalize(name), *split_words(name)))


def is_anchor_name(name: str) -> bool:
    """Return True if a column name, or one word of it, means anchor or query."""
    return normalize(name) in ANCHOR or any(len(part) > 1 and part in ANCHOR for part in split_words(name))


def is_bad_name(name: str) -> bool:
    """Return True for texts dissimilar to the anchor: negative, ``bad_2``, ``falsch``, ``干扰句``."""
    return is_negative_name(name) or _mentions(name, "bad", within_words=False)


def is_good_name(name: str) -> bool:
    """Return True for texts similar to the anchor: positive, good, ``richtig``, ``同义改写``."""
    is_positive = bool({normalize(name), *split_words(name)} & POSITIVE)
    return not is_bad_name(name) and (is_positive or _mentions(name, "good", within_words=False))


def are_sides(first: str, second: str) -> bool:
    """Return True for names that differ only in the marker of the side, in order: sentence1 and sentence2, ``text_a`` and ``text_b``."""
    marks = ((mark, other) for stem, mark in _split_side(first) for rest, other in _split_side(second) if stem and stem == rest)
    return any(
        mark != other
        if {mark, other} <= _WORDS["language"]
        else any(mark in side and other in side and side.index(mark) < side.index(other) for side in _SIDES)
        for mark, other in marks
    )


@lru_cache(maxsize=_NAMES)
def _split_side(name: str) -> tuple[tuple[str, str], ...]:
    # All ways to split a name into a stem and a side marker.
    words = list(split_words(name))
    found = [(" ".join(words[:at] + words[at + 1 :]) or "*", word) for at, word in enumerate(words) if word in _SIDE_MARKS]
    text = unicodedata.normalize("NFKC", name).casefold()
    if CJK.search(text):
        bare = re.sub(r"[\W_]+", "", text)
        found += [(bare[:at] + bare[at + 1 :] or "*", sign) for at, sign in enumerate(bare) if sign in _SIDE_MARKS]
    elif words and len(words[-1]) > 3 and words[-1][-1] in "ab":
        found.append((" ".join([*words[:-1], words[-1][:-1]]), words[-1][-1]))  # sentenceA in lower case
    return tuple(found)


# --- explanations within a name: "How similar? (1 = completely different, 5 = the same)"

_LINK = r"(?:=|:|→|->|-|–|—|is|means|meaning|ist|heißt|bedeutet|это|est|es|é|è|为|為|是|表示|は|が)?"
_WORDS_BETWEEN = r"[^\d=;,，；、|/()\[\]（）–…→]"
_AFTER = re.compile(rf"(?<![\w.])(?<!\d,)(-?\d+(?:[.,]\d+)?)[\s(]*{_LINK}[\s(\"']*({_WORDS_BETWEEN}{{1,60}})")
_BEFORE = re.compile(rf"({_WORDS_BETWEEN}{{2,60}}?)\s*(?:[=:]\s*|\((?=\s*-?[\d.,]+\s*\))\s*)(-?\d+(?:[.,]\d+)?)")
_ASIDE = re.compile(r"\s*[(\[（【][^)\]）】]*\d[^)\]）】]*[)\]）】]?|[\s,;:]*-?\d+\s*[=:].*$|[\s,;:-]*\bvon \d.*$|[\s,;:-]*\bfrom \d.*$")


def strip_explanation(name: str) -> str:
    """Return a column name without its explanation of the scale."""
    return _ASIDE.sub("", name).strip() or name


def explained_ends(name: str) -> tuple[float | None, float | None]:
    """Return the numbers that a name assigns to "least similar" and "most similar"; None where it assigns none."""
    text = unicodedata.normalize("NFKC", name).casefold()
    if not re.search(r"[(=:\[…]", text):
        return None, None
    pairs = [(match[1], match[2]) for match in _AFTER.finditer(text)]
    if all(_means_same(words) is None for _, words in pairs):
        pairs = [(match[2], match[1]) for match in _BEFORE.finditer(text)]
    different, same = ([float(number.replace(",", ".")) for number, words in pairs if _means_same(words) is way] for way in (False, True))
    least = None if not different else different[0] if not same or different[0] < same[-1] else max(different)
    most = None if not same else same[-1] if least is None or same[-1] > least else min(same)
    return (None, None) if least is not None and least == most else (least, most)


def explained_reversal(name: str, low: float, high: float) -> bool | None:
    """Return True if the name says that the highest number is least similar, False if most similar, None if neither."""
    least, most = explained_ends(name)
    if least is not None and most is not None:
        return least > most
    if most is not None:
        return abs(most - low) < abs(most - high)
    return abs(least - high) < abs(least - low) if least is not None else None


def explained_scale(name: str, lowest: float, highest: float) -> tuple[float, float] | None:
    """Return the scale given in a name, lower number first, if the column's numbers are within it."""
    least, most = explained_ends(name)
    if least is None or most is None:
        return None
    low, high = sorted((least, most))
    return (low, high) if low <= lowest and highest <= high and highest - lowest >= 0.4 * (high - low) else None


def _means_same(words: str) -> bool | None:
    for meaning in (False, True):
        entry = "means_same" if meaning else "means_different"
        if set(BETWEEN_WORDS.split(words)) & _WORDS[entry] or any(sign in words for sign in _WORDS[f"{entry}_signs"]):
            return meaning
    return None
