"""Which of the code pages of Latin letters some bytes are in: Western, Central European, Turkish, Baltic, Vietnamese."""

from __future__ import annotations

import re

from .detector import confidence, decoded
from .plausible import plausibility, spoilt

LATIN = frozenset({"cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257", "cp1258"})
_NEAR, _NEAR_OF_FEW, _SEVERAL_WORDS = 0.85, 0.7, 4
_WORDS = """
naïve naïf naïveté maïs à là voilà déjà crème brûlée fête tête crêpe crêpes château vis-à-vis père mère première suède
señor señora niño niña el-niño piñata jalapeño mañana españa são joão noël zoë chloë brontë citroën israël haïti ångström malmö
skåne århus øre smørrebrød tromsø æsop mètre élève cañon
"""
_BORROWED = frozenset(_WORDS.split())
"""What English writes with letters that the code pages differ in: it tells nothing of a file's own language."""
# Between punctuation of ASCII, and the dashes, dots and quotation marks that all of these code pages have in the same places.
_LETTER = rb"[A-Za-z\x80\x83\x88\x8a\x8c-\x90\x98\x9a\x9c-\x9f\xa1-\xff]"
_WORD = re.compile(rb"[A-Za-z]*(?![A-Za-z])" + _LETTER + rb"+")
_AS_WELL = 0.15  # as much less plausible as a code page may read


def among_latin(sample: bytes, supposed: str) -> tuple[str, tuple[str, ...]]:
    """The likeliest of :data:`LATIN` by the words that hold a letter beyond ASCII, each counted once, and others that come near.

    Args:
        sample: lines that are not UTF-8.
        supposed: the code page in which they were supposed to be; it stays where nothing is said.
    """
    found = dict.fromkeys(word for word in _WORD.findall(sample) if _is_word(word, supposed))
    words = b" ".join(_unquoted(list(found)))
    texts = {codec: text for codec in sorted(LATIN) if (text := decoded(words, codec)) is not None}
    reads = {codec: plausibility(text, codec) for codec, text in texts.items()}
    scores = {codec: score for codec, score in confidence(words).items() if reads.get(codec, 0.0) >= max(reads.values()) - _AS_WELL}
    if not scores:
        return supposed, ()
    odd = {codec: spoilt(texts[codec]) for codec in scores}
    best = min(scores, key=lambda codec: (odd[codec], -scores[codec], codec != supposed))
    telling = _differing(texts["cp1252"], texts[best]) if "cp1252" in texts else []
    if "cp1252" in scores and telling and all(word.lower() in _BORROWED for word in telling):
        best = "cp1252"
    few = len(found) < _SEVERAL_WORDS or len(telling) == 1
    least = scores.get(best, 0.0) * (_NEAR_OF_FEW if few else _NEAR)
    rivals = sorted(
        (codec for codec in scores if scores[codec] >= least and odd[codec] <= odd[best] and texts[codec] != texts[best]),
        key=lambda codec: -scores[codec],
    )
    return best, tuple(rivals)


def _differing(text: str, other: str) -> list[str]:
    """The words of the one text that read otherwise in the other."""
    return [word for word, against in zip(text.split(), other.split(), strict=False) if word != against]


def _is_word(word: bytes, codec: str) -> bool:
    """Whether there is a letter beyond ASCII in it, or, behind two letters or more, what is one in another Latin code page."""
    pages = LATIN if len(word) > 2 and word[:2].isalpha() else (codec,)
    return any(sign.isalpha() for page in pages for sign in word.decode(page, "ignore") if not sign.isascii())


def _unquoted(words: list[bytes]) -> list[bytes]:
    """Words without the angled quotation marks around them, whose bytes are letters elsewhere: where some words begin and some end so."""
    if any(word.startswith(b"\xab") for word in words) and any(word.endswith(b"\xbb") for word in words):
        return [word.strip(b"\xab\xbb") for word in words]
    return words
