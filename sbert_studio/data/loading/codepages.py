"""Detection of legacy encodings: the code page that best explains the bytes, and others that fit equally well.

Letter statistics come from chardet. Candidates are limited to code pages under which the bytes decode to words of a single script,
because statistics alone confuse related code pages on short files.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from .content import WORDS

LABELS = {
    "cp949": "CP949 (Korean)",
    "cp932": "Shift JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "iso2022_jp": "ISO-2022-JP (Japanese)",
    "gb18030": "GB18030 (Chinese)",
    "big5hkscs": "Big5 (Chinese)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "koi8_r": "KOI8-R (Cyrillic)",
    "koi8_u": "KOI8-U (Cyrillic)",
    "iso8859_5": "ISO 8859-5 (Cyrillic)",
    "cp866": "CP866 (Cyrillic, DOS)",
    "cp1250": "Windows-1250 (Central European)",
    "iso8859_2": "ISO 8859-2 (Central European)",
    "cp852": "CP852 (Central European, DOS)",
    "cp1252": "Windows-1252",
    "mac_roman": "Mac Roman",
    "cp850": "CP850 (DOS)",
    "cp1253": "Windows-1253 (Greek)",
    "iso8859_7": "ISO 8859-7 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp1257": "Windows-1257 (Baltic)",
    "cp1258": "Windows-1258 (Vietnamese)",
    "cp874": "Windows-874 (Thai)",
}
"""Python codecs and their common names."""

# chardet's names where they differ from Python's; a character set is read with a superset that contains it.
_ALIASES = {
    "euc_jis_2004": "euc_jp", "big5": "big5hkscs", "big5_hkscs": "big5hkscs", "iso_2022_jp": "iso2022_jp", "macroman": "mac_roman",
    "iso_8859_5": "iso8859_5", "iso_8859_2": "iso8859_2", "iso_8859_7": "iso8859_7", "tis_620": "cp874", "euc_kr": "cp949",
    "shift_jis": "cp932", "iso_8859_1": "cp1252", "iso8859_15": "cp1252",
}  # fmt: skip
_LANGUAGE_WEIGHT, _CODEC_WEIGHT = {"is": 0.4}, {"cp1252": 1.2}  # chardet overrates Icelandic; most files are in Windows-1252
_ALWAYS_TRIED = ("cp932", "gb18030", "big5hkscs", "cp949", "euc_jp", "cp1251", "koi8_r", "cp1252", "cp1250")
_LATIN = frozenset({"cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257", "cp1258"})
_RARE_CODECS = frozenset({"mac_roman", "cp850", "cp852", "cp866"})  # code pages of DOS and classic Mac OS
_RARE_CODEC_PENALTY = 0.2
_PLAUSIBLE_MARGIN, _SCRIPT_MARGIN = 0.15, 0.05  # maximum plausibility deficit relative to the best code page
_NEAR, _NEAR_LATIN, _NEAR_LATIN_OF_FEW = 0.94, 0.85, 0.7  # share of the best confidence from which a code page counts as an alternative
_FEW_WORDS, _MOST_WORDS = 30, 2_000
_MOST_RIVALS = 3

_RUN = re.compile(r"[A-Za-z\u0080-\U0010ffff]*[\u0080-\U0010ffff][A-Za-z\u0080-\U0010ffff]*")
# Letters of Latin code pages, without the dashes, dots and quotation marks that have the same codes in all of them.
_LATIN_WORD = re.compile(rb"[A-Za-z]*(?![A-Za-z])[A-Za-z\x80\x83\x88\x8a\x8c-\x90\x98\x9a\x9c-\x9f\xa1-\xff]+")
_SIGNS_IN_WORDS = frozenset("¶§†‡•‰·¡¿")
_MONEY = frozenset("£€¥¢")
_MEASURE = re.compile(r"[A-Za-z]{0,3}[²³]")
_ONE_LETTER_WORDS = frozenset("àáèéìíòóôåäøöýœ")
_CYRILLIC_VOWELS, _CYRILLIC_RARE = frozenset("аеёиоуыэюяіїєў"), frozenset("ѓђљњќћџѕј")
_EASTERN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
# Lead bytes of the frequent ideographs, which come first in each national standard.
_FREQUENT_LEADS = {"cp932": (0x88, 0x97), "euc_jp": (0xB0, 0xCF), "gb18030": (0xB0, 0xD7), "big5hkscs": (0xA4, 0xC6)}
_WRONG, _UNLIKELY, _NEUTRAL, _LIKELY, _RIGHT = 0.0, 0.3, 0.5, 0.9, 1.0


def detect_codepage(sample: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the most likely codec of :data:`LABELS`, and up to three alternatives that decode the bytes differently but as plausibly.

    Args:
        sample: lines with non-ASCII bytes that are not UTF-8.
    """
    codec, rivals = _choose_codec(sample)
    if codec in _LATIN:
        # Count only distinct non-ASCII words: a few Hungarian, Czech or Turkish words would be outnumbered by the English around them.
        codec, latin = _choose_latin(sample, codec)
        rivals = [*latin, *(rival for rival in rivals if rival not in _LATIN)]
    return codec, tuple(rivals[:_MOST_RIVALS])


def _choose_codec(sample: bytes) -> tuple[str, list[str]]:
    confidence = _confidence(sample)
    texts = {codec: text for codec in dict.fromkeys((*confidence, *_ALWAYS_TRIED)) if (text := _decode(sample, codec)) is not None}
    if not texts:
        return "cp1252", []
    fit = {codec: _plausibility(text, codec) - _RARE_CODEC_PENALTY * (codec in _RARE_CODECS) for codec, text in texts.items()}
    texts = {codec: text for codec, text in texts.items() if fit[codec] >= max(fit.values()) - _PLAUSIBLE_MARGIN}
    ranked = sorted(texts, key=lambda codec: (-confidence.get(codec, 0.0), -fit[codec]))
    near = [codec for codec in ranked if confidence.get(codec, 0.0) >= _NEAR * confidence.get(ranked[0], 0.0)]
    best = min(near, key=lambda codec: codec in _RARE_CODECS)
    rare = best in _RARE_CODECS
    rivals = [codec for codec in near if texts[codec] != texts[best] and (rare or codec not in _RARE_CODECS)]
    if rare and "cp1252" in texts and texts["cp1252"] != texts[best]:
        rivals = ["cp1252", *(codec for codec in rivals if codec != "cp1252")]
    if len(_words_beyond_ascii(texts[best])) < _FEW_WORDS:
        # Statistics are unreliable for a few words: for each other script, also offer the most plausible code page.
        scripts = {_main_script(texts[best]): best}
        for codec in sorted((codec for codec in _ALWAYS_TRIED if codec in texts), key=lambda codec: -fit[codec]):
            if fit[codec] >= fit[best] - _SCRIPT_MARGIN:
                scripts.setdefault(_main_script(texts[codec]), codec)
        rivals += [codec for script, codec in scripts.items() if script and codec != best and codec not in rivals]
    return best, rivals[:_MOST_RIVALS]


def _choose_latin(sample: bytes, supposed: str) -> tuple[str, list[str]]:
    """Choose among the Latin code pages; return ``supposed`` if the words provide no evidence."""
    words = b" ".join(dict.fromkeys(word for word in _LATIN_WORD.findall(sample) if _is_latin_word(word, supposed)))
    texts = {codec: text for codec in sorted(_LATIN) if (text := _decode(words, codec)) is not None}
    fit = {codec: _plausibility(text, codec) for codec, text in texts.items()}
    confidence = {codec: score for codec, score in _confidence(words).items() if codec in fit}
    scores = {codec: score for codec, score in confidence.items() if fit[codec] >= max(fit.values()) - _PLAUSIBLE_MARGIN}
    if not scores:
        return supposed, []
    odd = {codec: _count_odd(texts[codec]) for codec in scores}
    best = min(scores, key=lambda codec: (odd[codec], -scores[codec], codec != supposed))
    western = texts.get("cp1252", texts[best])
    differing = [word for word, other in zip(western.split(), texts[best].split(), strict=False) if word != other]
    # English loanwords such as "café" say nothing about the language of a file.
    if "cp1252" in scores and differing and all(word.lower() in WORDS["borrowed"] for word in differing):
        best = "cp1252"
    least = scores.get(best, 0.0) * (_NEAR_LATIN_OF_FEW if len(differing) == 1 else _NEAR_LATIN)
    rivals = [codec for codec in scores if scores[codec] >= least and odd[codec] <= odd[best] and texts[codec] != texts[best]]
    return best, sorted(rivals, key=lambda codec: -scores[codec])


def _is_latin_word(word: bytes, codec: str) -> bool:
    # After two letters, count a byte that is a letter in any Latin code page.
    pages = _LATIN if len(word) > 2 and word[:2].isalpha() else (codec,)
    return any(sign.isalpha() for page in pages for sign in word.decode(page, "ignore") if not sign.isascii())


def _confidence(sample: bytes) -> dict[str, float]:
    """Return chardet's confidence in each codec, in [0, 1] before weighting."""
    import chardet

    scores: dict[str, float] = {}
    for guess in chardet.detect_all(sample, ignore_threshold=True):
        name = str(guess["encoding"]).lower().replace("windows-", "cp").replace("-", "_")
        codec = _ALIASES.get(name, name)
        score = float(guess["confidence"]) * _LANGUAGE_WEIGHT.get(str(guess["language"]), 1.0) * _CODEC_WEIGHT.get(codec, 1.0)
        if codec in LABELS and score > scores.get(codec, 0.0):
            scores[codec] = score
    return scores


def _decode(sample: bytes, codec: str) -> str | None:
    """Return the decoded text, or None if more than one in two hundred non-ASCII characters does not fit."""
    text = sample.decode(codec, "replace")
    beyond = sum(not character.isascii() for character in text)
    return text if text.count("\ufffd") * 200 <= beyond else None


def _plausibility(text: str, codec: str) -> float:
    """Return how word-like the non-ASCII words are, as a mean in [0, 1]; 1 if there are none."""
    words = _words_beyond_ascii(text)
    return sum(_word_plausibility(word, codec) for word in words) / len(words) if words else _RIGHT


def _words_beyond_ascii(text: str) -> list[str]:
    """Return the distinct words with non-ASCII letters or symbols, split at punctuation."""
    words: dict[str, None] = {}
    for run in _RUN.findall(text):
        parts = "".join(" " if unicodedata.category(sign)[0] in "PZ" and sign not in _SIGNS_IN_WORDS else sign for sign in run).split()
        words.update((word, None) for part in parts if not (word := part.strip("¡¿")).isascii())
        if len(words) >= _MOST_WORDS:
            break
    return list(words)


def _main_script(text: str) -> str:
    """Return the script of most non-ASCII letters, ``EASTERN`` for Chinese, Japanese and Korean scripts, ``""`` if there are none."""
    scripts = (_script(sign) for word in _words_beyond_ascii(text) for sign in word if not sign.isascii())
    counts = Counter("EASTERN" if script in _EASTERN else script for script in scripts if script)
    return counts.most_common(1)[0][0] if counts else ""


@lru_cache(maxsize=20_000)
def _script(sign: str) -> str:
    """Return ``LATIN``, ``CYRILLIC``, ``CJK``, …; ``""`` if the character is not a letter."""
    return unicodedata.name(sign, "").partition(" ")[0] if unicodedata.category(sign)[0] in "LM" else ""


def _word_plausibility(word: str, codec: str) -> float:
    if any(unicodedata.category(sign) in ("Cc", "Co", "Cn") or sign == "\ufffd" or "\u2500" <= sign <= "\u259f" for sign in word):
        return _WRONG
    scripts = {_script(sign) for sign in word}
    if scripts & _EASTERN:
        ideographs = [_ideograph_plausibility(sign, codec) for sign in word if not sign.isascii()]
        # Two ASCII letters in a row: an apostrophe was read as the lead byte of an ideograph.
        return _WRONG if re.search("[A-Za-z]{2}", word) else sum(ideographs) / len(ideographs)
    if scripts == {""}:
        return _RIGHT if set(word) <= _MONEY else _LIKELY if codec in _FREQUENT_LEADS or codec == "cp949" else _NEUTRAL
    if len(scripts) > 1:
        return _RIGHT if _MEASURE.fullmatch(word) else _WRONG
    if scripts == {"LATIN"} and any(sign in "ªº" for sign in word) and (len(word) > 1 or word.lower() in _ONE_LETTER_WORDS):
        return _NEUTRAL
    return _RIGHT if _is_word(word, scripts.pop()) else _UNLIKELY


def _is_word(word: str, script: str) -> bool:
    has_word_case = word.islower() or word.isupper() or (word[:1].isupper() and not any(sign.isupper() for sign in word[1:]))
    if script == "LATIN":
        accented = sum(not sign.isascii() for sign in word)
        ending_inside = any(sign in "ìòù" for sign in word[:-1].lower())  # these end Italian words, and the French "où"
        short = len(word) == 1 and word.lower() not in _ONE_LETTER_WORDS  # a character next to a digit is rarely a letter
        return not short and has_word_case and accented <= max(1, len(word) / 2) and not ending_inside
    if script == "CYRILLIC":
        letters = set(word.lower())
        return has_word_case and not letters <= _CYRILLIC_RARE and (len(word) < 3 or bool(letters & _CYRILLIC_VOWELS))
    if script == "GREEK":
        return has_word_case and "ς" not in word[:-1]
    if script == "HEBREW":
        return not any(sign in "װױײ" or unicodedata.combining(sign) for sign in word) and not set(word[:-1]) & set("ךםןףץ")
    return script == "ARABIC" or (script == "THAI" and unicodedata.category(word[0]) != "Mn")


def _ideograph_plausibility(sign: str, codec: str) -> float:
    script = _script(sign)
    try:
        coded = sign.encode(codec)
    except UnicodeEncodeError:
        return _WRONG
    if script == "HANGUL":
        return _RIGHT if codec == "cp949" and len(coded) == 2 and min(coded) > 0xA0 else _UNLIKELY
    if script in ("HIRAGANA", "KATAKANA"):
        return _RIGHT if codec in ("cp932", "euc_jp", "iso2022_jp") else _NEUTRAL
    if script == "CJK" and codec in _FREQUENT_LEADS:
        low, high = _FREQUENT_LEADS[codec]
        # Only Shift JIS and Big5 have second bytes below 0xA1.
        two_high = codec in ("cp932", "big5hkscs") or min(coded) > 0xA0
        return _RIGHT if len(coded) == 2 and low <= coded[0] <= high and two_high else _UNLIKELY
    return _RIGHT if sign in "々ー" else _UNLIKELY if script else _NEUTRAL


def _count_odd(text: str) -> int:
    """Count non-ASCII characters in implausible positions: control characters, and symbols and capitals inside words."""
    odd = 0
    for before, sign, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if not sign.isascii():
            category = unicodedata.category(sign)
            inside = before.isalpha() and after.isalpha()
            unusual = category[0] in "SN" or sign in "¶§¡¿¹²³" or (category == "Lu" and before.islower())
            odd += category in ("Cc", "Co", "Cn") or (inside and unusual)
    return odd
