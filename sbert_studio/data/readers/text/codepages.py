"""The encodings of before UTF-8: which of them some bytes are in, and which others they could be in."""

from __future__ import annotations

from dataclasses import dataclass

from .detector import confidence, decoded
from .latin import LATIN, among_latin
from .plausible import plausibility, script_of, spoilt, words_beyond_ascii

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
    wrong code page does. Of Latin letters only the words that hold some beyond ASCII are looked at, each once: a few Hungarian,
    Czech or Turkish ones would drown in the English around them.
    """
    told = _by_lines(sample)
    if told.codec not in LATIN:
        return told
    codec, rivals = among_latin(sample, told.codec)
    return Told(codec, (*rivals, *(other for other in told.rivals if other not in LATIN))[:_MOST_RIVALS])


def _by_lines(sample: bytes) -> Told:
    scores = confidence(sample)
    texts = {codec: text for codec in dict.fromkeys((*scores, *_ALWAYS)) if (text := decoded(sample, codec)) is not None}
    if not texts:
        return Told("cp1252")
    reads = {codec: plausibility(text, codec) - _SELDOM * (codec in _FEW) for codec, text in texts.items()}
    top = max(reads.values())
    texts = {codec: text for codec, text in texts.items() if reads[codec] >= top - _AS_WELL}
    scores = {codec: scores.get(codec, 0.0) for codec in texts}
    odd = {codec: spoilt(text) for codec, text in texts.items()}
    ranked = sorted(texts, key=lambda codec: (-scores[codec], -reads[codec]))
    near = [codec for codec in ranked if scores[codec] >= _WITHIN * scores[ranked[0]]]
    best = min(near, key=lambda codec: (codec in _FEW, odd[codec] - odd[ranked[0]] > 0, near.index(codec)))
    if best in _FEW or (odd[best] and odd[best] > odd[ranked[0]]):
        best = ranked[0]
    rivals = [
        codec
        for codec in near
        if codec != best and texts[codec] != texts[best] and odd[codec] <= odd[best] and (codec not in _FEW or best in _FEW)
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
