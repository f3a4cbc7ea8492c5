"""What the statistics of letters say of the code page of some bytes."""

from __future__ import annotations

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
_SELDOM_WRITTEN, _OFTEN_MET = {"is": 0.4}, {"cp1252": 1.2}
"""What the detector's confidence is worth in a language of many accents and few files, and in the code page of most files."""


def confidence(sample: bytes) -> dict[str, float]:
    """The detector's confidence in each code page that it names, in [0, 1]."""
    import chardet

    scores: dict[str, float] = {}
    for guess in chardet.detect_all(sample, ignore_threshold=True):
        codec = _ASKED_FOR.get(str(guess["encoding"]).lower())
        worth = float(guess["confidence"]) * _SELDOM_WRITTEN.get(str(guess["language"]), 1.0) * _OFTEN_MET.get(codec or "", 1.0)
        if codec and worth > scores.get(codec, 0.0):
            scores[codec] = worth
    return scores


def decoded(sample: bytes, codec: str) -> str | None:
    """The text, if at most one character in two hundred beyond ASCII does not fit."""
    text = sample.decode(codec, "replace")
    beyond = sum(not character.isascii() for character in text)
    return text if text.count("\ufffd") * 200 <= beyond else None
