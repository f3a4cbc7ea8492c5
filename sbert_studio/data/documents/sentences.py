"""Borders of sentences in any script, by punctuation, case and abbreviations."""

from __future__ import annotations

import re

from ..schema.names import word_lists, word_set

_ABBREVIATIONS = word_set(word_lists("sentences")["abbreviations"])
_CLOSING = "\"'”’»›)\\]」』）》】〉］"
_BORDER = re.compile(
    rf"(?P<blank>\n[ \t]*\n\s*)"
    r"|(?P<item>\n(?=[ \t]*(?:[-*•‣▪–—·]|\d{1,3}[.)]|\(?[a-z]\))[ \t]))"
    rf"|(?P<wide>[。！？｡﹒︒]+[。！？｡…]*[{_CLOSING}]*)"
    rf"|(?P<other>[।॥؟۔።፧։។៕။༎]+[{_CLOSING}]*)"
    rf"|(?P<mark>[.!?…]+[{_CLOSING}]*(?=\s))"
    r"|(?P<thai>(?<=[\u0e00-\u0e7f])[ \t]+(?=[\u0e00-\u0e7f]))"
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'„“”«»‚‘—–/]*$")
_NEXT = re.compile(rf"[\s\"'“„«‹(\[¿¡{_CLOSING}]*(\w?)")
_LOOK_BACK = 40  # characters


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of each sentence, without the spaces around it; every other character is part of one.

    A period does not end a sentence after an abbreviation, an initial or a number of one or two digits (an ordinal number or an item of a
    list), or before a lower-case letter: joining two sentences does less harm than breaking one. Thai is split at its spaces.
    """
    spans, start = [], 0
    for found in _BORDER.finditer(text):
        if found.lastgroup == "mark" and not _ends_sentence(text, found):
            continue
        spans.append((start, found.end()))
        start = found.end()
    spans.append((start, len(text)))
    return [span for start, end in spans if (span := strip_span(text, start, end))]


def strip_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the range without the spaces at its ends; ``None`` if nothing is left."""
    part = text[start:end]
    left, right = len(part) - len(part.lstrip()), len(part.rstrip())
    return (start + left, start + right) if left < right else None


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    following = _NEXT.match(text, match.end())
    if following is not None and following[1].islower():
        return False
    if text[match.start()] != "." or match[0][:2] == "..":
        return True
    before = _WORD_BEFORE.search(text, max(0, match.start() - _LOOK_BACK), match.start())
    word = before[0] if before else ""
    if word.isdigit():
        return len(word) > 2
    parts = word.casefold().split(".")
    is_initials = all(len(part) <= 2 and part.isalpha() for part in parts) if len(parts) > 1 else len(word) == 1 and word.isalpha()
    return not is_initials and word.casefold() not in _ABBREVIATIONS
