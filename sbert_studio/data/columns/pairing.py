"""Which columns of text belong together: by their names, by how alike their rows are, and only then by their places."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from ..evidence.similarity import Evidence
from ..lexicon.name_lexicon import ANCHOR, FIRST, POSITIVE, SECOND
from ..lexicon.triplet_words import called_bad, called_good
from ..lexicon.vocabulary import is_anchor, is_aside, is_negative, parts
from ..values.profile import ColumnProfile

_MARKS: tuple[tuple[str, ...], ...] = (
    ("0", "1", "2", "3"),
    ("a", "b", "c"),
    ("i", "ii", "iii"),
    ("x", "y"),
    ("p", "q"),
    ("q", "a"),
    ("one", "two", "three"),
    ("first", "second", "third"),
    ("left", "right"),
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("original", "translation"),
    ("original", "paraphrase"),
    ("original", "rewrite"),
    ("this", "other"),
    ("before", "after"),
    ("old", "new"),
    ("erste", "zweite"),
    ("erster", "zweiter"),
    ("links", "rechts"),
    ("premier", "second"),
    ("premiere", "deuxieme"),
    ("première", "deuxième"),
    ("gauche", "droite"),
    ("primero", "segundo"),
    ("primera", "segunda"),
    ("prima", "seconda"),
    ("primo", "secondo"),
    ("primeira", "segunda"),
    ("первый", "второй"),
    ("первое", "второе"),
    ("первая", "вторая"),
    ("一", "二", "三"),
    ("甲", "乙"),
    ("左", "右"),
    ("上", "下"),
    ("前", "后"),
    ("前", "後"),
    ("①", "②"),
    ("1st", "2nd"),
)
_CODES = frozenset(
    [
        "en",
        "de",
        "fr",
        "es",
        "it",
        "pt",
        "nl",
        "pl",
        "ru",
        "zh",
        "ja",
        "ko",
        "ar",
        "tr",
        "cs",
        "sv",
        "da",
        "fi",
        "hi",
        "eng",
        "deu",
        "fra",
        "spa",
        "english",
        "german",
        "french",
        "spanish",
        "chinese",
        "deutsch",
    ]
)
_HAN = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]")
SURE = 2.0


@dataclass(frozen=True)
class Pairing:
    """Two columns of text.

    Attributes:
        texts: their names, in the order of their parts.
        names: how much their names speak for it; from 2 on they mean it.
        aligned: how much more alike they are row by row than shuffled (AUC); None where that was not looked at.
    """

    texts: tuple[str, str]
    names: float
    aligned: float | None = None


def pairings(texts: Sequence[ColumnProfile]) -> list[Pairing]:
    """All pairs of text columns, each in the better order of its two, the one that their names and then their places speak for first."""
    places = {profile.name: place for place, profile in enumerate(texts)}
    found: dict[frozenset[str], Pairing] = {}
    for first, second in permutations(texts, 2):
        pairing = Pairing((first.name, second.name), _by_name(first, second))
        known = found.get(frozenset(pairing.texts))
        if known is None or pairing.names > known.names:
            found[frozenset(pairing.texts)] = pairing
    return sorted(found.values(), key=lambda pairing: (-pairing.names, *sorted(places[name] for name in pairing.texts)))


def judged(candidates: Sequence[Pairing], evidence: Evidence, follows: Callable[[tuple[str, str]], float], most: int = 6) -> list[Pairing]:
    """The best by their names, and, where these leave it open, set in the order in which the model finds them belonging together.

    Args:
        candidates: as :func:`pairings` gives them.
        follows: how much the table's scores or labels follow a pair's similarity, in [0, 1].
        most: how many are looked at.
    """
    best = candidates[0].names
    rivals = [one for one in candidates if one.names > best - 1.0][:most]
    if len(rivals) < 2 or evidence.similar is None or (best >= SURE and rivals[1].names < best):
        return list(candidates)
    weighed = []
    for one in rivals:
        aligned = evidence.aligned(*one.texts) or 0.5
        weighed.append((one.names + 3 * follows(one.texts) + 2 * (aligned - 0.5), Pairing(one.texts, one.names, aligned)))
    weighed.sort(key=lambda item: -item[0])
    return [one for _, one in weighed]


def triplet_by_names(texts: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Anchor, positive and negatives, where a column is called negative, or bad beside a good one; else nothing."""
    negatives = [text for text in texts if is_negative(text.name)]
    if not negatives and any(called_good(text.name) for text in texts):
        negatives = [text for text in texts if called_bad(text.name)]
    rest = [text for text in texts if text not in negatives]
    if not negatives or len(rest) < 2:
        return ()
    named = [text for text in rest if is_anchor(text.name) or called_good(text.name)]
    rest = named if len(named) >= 2 else rest
    anchor = next((text for text in rest if text.key in ANCHOR), None)
    anchor = anchor or next((text for text in rest if is_anchor(text.name) and not called_good(text.name)), None)
    anchor = anchor or next((text for text in rest if not called_good(text.name)), rest[0])
    others = [text for text in rest if text is not anchor]
    positive = next((text for text in others if called_good(text.name)), others[0])
    return (anchor.name, positive.name, *(text.name for text in negatives))


def alike_named(texts: Sequence[ColumnProfile]) -> bool:
    """Whether three columns of text are called the same but for a number, or have no names of their own."""
    return len(texts) == 3 and len({text.key.rstrip("0123456789") for text in texts}) == 1


def sides(first: str, second: str) -> bool:
    """Whether two names are one name with the marks of two sides: sentence1 and sentence2, text_a and text_b, satz_de and satz_en."""
    a, b = _marked(first), _marked(second)
    return any(stem and stem == other and _follow(mark, against) for stem, mark in a for other, against in b)


def _by_name(first: ColumnProfile, second: ColumnProfile) -> float:
    total = 0.0
    leads, follows = first.key in FIRST, second.key in SECOND or _bare(second) in POSITIVE
    if sides(first.name, second.name):
        total += 3.0 + 0.5 * (leads and follows) - 1.0 * (_bare(first) in POSITIVE)
    elif leads and follows:
        total += 2.5
    else:
        total += 0.75 * leads + 0.75 * follows
        total += 0.25 * (first.named_text + second.named_text)
    for one in (first, second):
        if is_aside(one.name) and not (one.key in FIRST | SECOND and total >= SURE):
            total -= 1.5
    return total - 1.0 * (is_negative(first.name) or is_negative(second.name))


def _bare(profile: ColumnProfile) -> str:
    return profile.key.rstrip("0123456789")


def _marked(name: str) -> list[tuple[str, str]]:
    """A name taken apart into what is left of it and the mark of a side, in every way that there is."""
    words = list(parts(name))
    found = [(" ".join(words[:place] + words[place + 1 :]) or "*", word) for place, word in enumerate(words) if _is_mark(word)]
    text = unicodedata.normalize("NFKC", name).casefold()
    if _HAN.search(text):
        bare = re.sub(r"[\W_]+", "", text)
        found += [(bare[:place] + bare[place + 1 :] or "*", sign) for place, sign in enumerate(bare) if _is_mark(sign)]
    elif words and len(words[-1]) > 3 and words[-1][-1] in "ab":
        found.append((" ".join([*words[:-1], words[-1][:-1]]), words[-1][-1]))  # sentenceA once its case is gone
    return found


def _is_mark(word: str) -> bool:
    return word in _CODES or any(word in family for family in _MARKS)


def _follow(mark: str, against: str) -> bool:
    if mark in _CODES and against in _CODES:
        return mark != against
    return any(mark in family and against in family and family.index(mark) < family.index(against) for family in _MARKS)
