"""The encodings of before UTF-8: which of them some bytes are in, and which others they could be in."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from .plausible import plausibility, script_of, words_beyond_ascii

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
"""Python's codecs with the names that people know."""

# What the detector calls them; a narrower set is read by the wider one that holds it.
_ASKED_FOR = {
    "cp949": "cp949", "cp932": "cp932", "euc-jis-2004": "euc_jp", "euc-jp": "euc_jp", "iso-2022-jp": "iso2022_jp", "gb18030": "gb18030",
    "big5": "big5hkscs", "big5-hkscs": "big5hkscs", "windows-1251": "cp1251", "koi8-r": "koi8_r", "koi8-u": "koi8_u",
    "iso-8859-5": "iso8859_5",
    "cp866": "cp866", "windows-1250": "cp1250", "iso-8859-2": "iso8859_2", "cp852": "cp852", "windows-1252": "cp1252",
    "macroman": "mac_roman", "mac-roman": "mac_roman", "cp850": "cp850", "windows-1253": "cp1253", "iso-8859-7": "iso8859_7",
    "windows-1254": "cp1254", "windows-1255": "cp1255", "windows-1256": "cp1256", "windows-1257": "cp1257", "windows-1258": "cp1258",
    "cp874": "cp874", "tis-620": "cp874", "euc-kr": "cp949", "shift_jis": "cp932", "iso-8859-1": "cp1252", "iso8859-15": "cp1252",
}  # fmt: skip
_FEW = frozenset({"mac_roman", "cp850", "cp852", "cp866"})
_WITHIN = 0.94
_SURE_LETTERS = 400
_ALWAYS = ("cp932", "gb18030", "big5hkscs", "cp949", "euc_jp", "cp1251", "koi8_r", "cp1252", "cp1250")  # tried whatever the detector says
_SELDOM = 0.2  # what is taken from a code page of DOS or of the old Macintosh
_AS_WELL = 0.15  # as much less plausible as a code page may read
_NEARLY = 0.05
_FEW_WORDS = 30
_MOST_RIVALS = 3


@dataclass(frozen=True)
class Told:
    """What some bytes seem to be in.

    Attributes:
        codec: the likeliest of :data:`LABELS`.
        rivals: others under which the bytes read differently, and as plausibly; empty where the matter is clear.
    """

    codec: str
    rivals: tuple[str, ...] = ()


def tell(sample: bytes) -> Told:
    """The likeliest code page of ``sample``, lines that hold bytes beyond ASCII and are not UTF-8.

    The statistics are chardet's, among the code pages under which the bytes read as words of one script. A rival counts as
    one if its confidence comes near, its text differs, and it does not put signs or capitals into the middle of words, as a
    wrong code page does.
    """
    import chardet

    scores: dict[str, float] = {}
    for guess in chardet.detect_all(sample, ignore_threshold=True):
        codec = _ASKED_FOR.get(str(guess["encoding"]).lower())
        if codec and codec not in scores:
            scores[codec] = float(guess["confidence"])
    texts = {codec: text for codec in dict.fromkeys((*scores, *_ALWAYS)) if (text := _decoded(sample, codec)) is not None}
    if not texts:
        return Told("cp1252")
    reads = {codec: plausibility(text, codec) - _SELDOM * (codec in _FEW) for codec, text in texts.items()}
    top = max(reads.values())
    texts = {codec: text for codec, text in texts.items() if reads[codec] >= top - _AS_WELL}
    scores = {codec: scores.get(codec, 0.0) for codec in texts}
    spoilt = {codec: _spoilt(text) for codec, text in texts.items()}
    ranked = sorted(texts, key=lambda codec: (-scores[codec], -reads[codec]))
    near = [codec for codec in ranked if scores[codec] >= _WITHIN * scores[ranked[0]]]
    best = min(near, key=lambda codec: (codec in _FEW, spoilt[codec] - spoilt[ranked[0]] > 0, near.index(codec)))
    if best in _FEW or (spoilt[best] and spoilt[best] > spoilt[ranked[0]]):
        best = ranked[0]
    rivals = [
        codec
        for codec in near
        if codec != best and texts[codec] != texts[best] and spoilt[codec] <= spoilt[best] and (codec not in _FEW or best in _FEW)
    ]
    if best in _FEW and "cp1252" in texts and texts["cp1252"] != texts[best]:
        rivals = ["cp1252", *(codec for codec in rivals if codec != "cp1252")]
    if sum(not character.isascii() for character in texts[best]) >= _SURE_LETTERS and best not in _FEW:
        rivals = [codec for codec in rivals if scores[codec] >= 0.98 * scores[best]]
    if len(words_beyond_ascii(texts[best])) < _FEW_WORDS:
        rivals += [codec for codec in _of_other_scripts(best, texts, reads) if codec not in rivals]
    return Told(best, tuple(rivals[:_MOST_RIVALS]))


def _of_other_scripts(best: str, texts: dict[str, str], reads: dict[str, float]) -> list[str]:
    """Code pages under which a few words read as letters of another script, one a script: statistics say little of a few words."""
    found = {script_of(texts[best]): best}
    for codec in sorted((codec for codec in _ALWAYS if codec in texts), key=lambda codec: -reads[codec]):
        if reads[codec] >= reads[best] - _NEARLY:
            found.setdefault(script_of(texts[codec]), codec)
    return [codec for script, codec in found.items() if codec != best and script]


def _decoded(sample: bytes, codec: str) -> str | None:
    """The text, if at most one character in two hundred beyond ASCII does not fit."""
    text = sample.decode(codec, "replace")
    beyond = sum(not character.isascii() for character in text)
    return text if text.count("\ufffd") * 200 <= beyond else None


def _spoilt(text: str) -> int:
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
