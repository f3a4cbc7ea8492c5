"""How well bytes read under a code page: whole words of one script, or signs and letters of several thrown together."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_RUN = re.compile(r"[A-Za-z\u0080-\U0010ffff]*[\u0080-\U0010ffff][A-Za-z\u0080-\U0010ffff]*")
_EASTERN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
_CYRILLIC_VOWELS = frozenset("аеёиоуыэюяіїєў")
_GREEK_ACCENTED = frozenset("άέήίόύώΐΰ")
_HEBREW_FINAL = frozenset("ךםןףץ")
_CYRILLIC_RARE = frozenset("ѓђљњќћџѕј")
_SIGNS = frozenset("¶§†‡•‰·¡¿")
_MEASURE = re.compile(r"[A-Za-z]{0,3}[²³]")
_MONEY = frozenset("£€¥¢")
_WORDS_OF_ONE_LETTER = frozenset("àáèéìíòóôåäøöýœ")
_HEBREW_RARE = frozenset("װױײ")
# The lead bytes of the frequent ideographs, which each national set puts first; both bytes lie above 0xA0 but in Shift JIS and Big5.
_FREQUENT = {"cp932": (0x88, 0x97), "euc_jp": (0xB0, 0xCF), "gb18030": (0xB0, 0xD7), "big5hkscs": (0xA4, 0xC6)}
_MOST_WORDS = 2_000
_WRONG, _RARE, _OPEN, _LIKELY = 0.0, 0.3, 0.5, 0.9


def words_beyond_ascii(text: str) -> list[str]:
    """The different words with a letter or sign beyond ASCII, as they come; punctuation marks part them."""
    found: dict[str, None] = {}
    for run in _RUN.findall(text):
        for part in "".join(" " if _parts_words(sign) else sign for sign in run).split():
            word = part.strip("¡¿")
            if not word.isascii():
                found[word] = None
        if len(found) >= _MOST_WORDS:
            break
    return list(found)


def _parts_words(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "PZ" and sign not in _SIGNS


def plausibility(text: str, codec: str) -> float:
    """The mean over the different words beyond ASCII of how much each looks like one, in [0, 1]; 1 where there is none.

    Args:
        text: the bytes as read under ``codec``.
        codec: tells which ideographs are frequent there.
    """
    words = words_beyond_ascii(text)
    return sum(_of_word(word, codec) for word in words) / len(words) if words else 1.0


def script_of(text: str) -> str:
    """The script that most letters beyond ASCII belong to, ``EASTERN`` for those of China, Japan and Korea; empty: none."""
    counts: dict[str, int] = {}
    for word in words_beyond_ascii(text):
        for sign in word:
            if not sign.isascii() and (script := _script(sign)):
                name = "EASTERN" if script in _EASTERN else script
                counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else ""


@lru_cache(maxsize=20_000)
def _script(sign: str) -> str:
    """``LATIN``, ``CYRILLIC``, ``CJK``, …; empty: no letter."""
    if unicodedata.category(sign)[0] not in "LM":
        return ""
    return unicodedata.name(sign, "").partition(" ")[0]


def _of_word(word: str, codec: str) -> float:
    if any(unicodedata.category(sign) in ("Cc", "Co", "Cn") or sign == "\ufffd" or "\u2500" <= sign <= "\u259f" for sign in word):
        return _WRONG
    scripts = {_script(sign) for sign in word}
    if scripts & _EASTERN:
        return _of_eastern(word, codec)
    if scripts == {""}:
        return 1.0 if set(word) <= _MONEY else _LIKELY if codec in _FREQUENT or codec == "cp949" else _OPEN
    if len(scripts) > 1:
        return 1.0 if _MEASURE.fullmatch(word) else _WRONG
    return _OF_SCRIPT.get(scripts.pop(), _of_others)(word)


def _of_latin(word: str) -> float:
    if len(word) == 1 and word.lower() not in _WORDS_OF_ONE_LETTER:
        return _RARE  # what stands beside a figure is seldom a letter
    if any(sign in "ªº" for sign in word):
        return _OPEN
    accented = sum(not sign.isascii() for sign in word)
    ending = any(sign in "ìòù" for sign in word[:-1].lower())  # Italian, and French where, end with them
    return 1.0 if _cased(word) and accented <= max(1, len(word) / 2) and not ending else _RARE


def _of_cyrillic(word: str) -> float:
    letters = set(word.lower())
    if not _cased(word) or letters <= _CYRILLIC_RARE:
        return _RARE
    return 1.0 if len(word) < 3 or letters & _CYRILLIC_VOWELS else _RARE


def _of_greek(word: str) -> float:
    odd = not _cased(word) or "ς" in word[:-1] or sum(sign in _GREEK_ACCENTED for sign in word.lower()) > 1
    return _RARE if odd else 1.0


def _of_hebrew(word: str) -> float:
    odd = any(sign in _HEBREW_RARE or unicodedata.combining(sign) for sign in word) or any(sign in _HEBREW_FINAL for sign in word[:-1])
    return _RARE if odd else 1.0


def _of_thai(word: str) -> float:
    return _RARE if unicodedata.category(word[0]) == "Mn" else 1.0


def _of_others(word: str) -> float:
    return 1.0 if _script(word[0]) == "ARABIC" else _RARE


_OF_SCRIPT = {"LATIN": _of_latin, "CYRILLIC": _of_cyrillic, "GREEK": _of_greek, "HEBREW": _of_hebrew, "THAI": _of_thai}


def _cased(word: str) -> bool:
    """Whether the letters are small, capital, or small behind a capital."""
    return word.islower() or word.isupper() or (word[:1].isupper() and not any(sign.isupper() for sign in word[1:]))


def _of_eastern(word: str, codec: str) -> float:
    if re.search("[A-Za-z]{2}", word):
        return _WRONG  # a sentence's apostrophe taken for the first half of an ideograph
    signs = [sign for sign in word if not sign.isascii()]
    return sum(_of_ideograph(sign, codec) for sign in signs) / len(signs)


def _of_ideograph(sign: str, codec: str) -> float:
    script, name = _script(sign), unicodedata.name(sign, "")
    try:
        coded = sign.encode(codec)
    except UnicodeEncodeError:
        return _WRONG
    if script == "HANGUL":
        return 1.0 if codec == "cp949" and len(coded) == 2 and min(coded) > 0xA0 else _RARE
    if script in ("HIRAGANA", "KATAKANA"):
        return 1.0 if codec in ("cp932", "euc_jp", "iso2022_jp") else _OPEN
    if script == "CJK" and codec in _FREQUENT:
        low, high = _FREQUENT[codec]
        wide = codec in ("cp932", "big5hkscs") or min(coded) > 0xA0
        return 1.0 if len(coded) == 2 and low <= coded[0] <= high and wide else _RARE
    return 1.0 if name == "IDEOGRAPHIC ITERATION MARK" or "PROLONGED SOUND" in name else _RARE if script else _OPEN


def spoilt(text: str) -> int:
    """How many characters beyond ASCII a writer would not have put there: control characters, signs and capitals inside words."""
    places = (at for at, character in enumerate(text) if not character.isascii())
    return sum(_is_odd(text[at - 1 : at] or " ", text[at], text[at + 1 : at + 2] or " ") for at in places)


def _is_odd(before: str, character: str, after: str) -> bool:
    kind = unicodedata.category(character)
    if kind in ("Cc", "Co", "Cn"):
        return True
    if kind == "Ll":
        return before.isupper() and after.isupper()
    within = before.isalpha() and after.isalpha()
    return within and (kind[0] in "SN" or character in "¶§¡¿¹²³" or (kind == "Lu" and before.islower()))
