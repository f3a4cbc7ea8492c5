"""Texts that are too long, in the wrong language, or spoilt by a wrong encoding."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...findings import Finding, Mend, count, drop_rows
from ...language import NAMES, guess_language, main_language, multilingual_advice
from ..mends import repaired
from .context import CheckContext

# The first bytes of two- and three-byte UTF-8 sequences, as Windows-1252 and Latin-1 show them, and a following byte.
_MOJIBAKE = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
)
_FOREIGN = 0.2


def truncated(patient: CheckContext) -> list[Finding]:
    """Texts of more tokens than the model reads, and how many tokens would be cut off."""
    if patient.tokenize is None or patient.max_tokens is None:
        return []
    limit = patient.max_tokens
    # A token is at least one byte, so short texts need no tokenizer; 8 leaves room for special tokens.
    long = sorted({text for column in patient.examples.texts for text in column if len(text.encode("utf-8", "replace")) + 8 > limit})
    if not long:
        return []
    excess = {text: tokens - limit for text, tokens in zip(long, patient.tokenize(long), strict=True) if tokens > limit}
    if not excess:
        return []
    lost = np.array([sum(excess.get(text, 0) for text in row) for row in zip(*patient.examples.texts, strict=True)])
    rows = patient.rows(np.flatnonzero(lost))
    message = (
        f"{count(len(rows), 'row')} with texts longer than {limit} tokens; {count(int(lost.sum()), 'token')} at their ends would be cut off"
    )
    return [Finding("warning" if len(rows) > 0.05 * len(patient.examples) else "info", message, rows)]


def wrong_language(patient: CheckContext) -> list[Finding]:
    """Texts in a language that the model was not trained on."""
    if not patient.languages:
        return []
    texts = [text for column in patient.examples.texts for text in column]
    language = main_language(texts)
    if not language.code or (language.code in patient.languages and language.share > 1 - _FOREIGN):
        return []
    foreign = _foreign(patient.examples.texts, patient.languages)
    if foreign.mean() < _FOREIGN:
        return []
    known = " and ".join(NAMES.get(code, code) for code in patient.languages)
    advice = f"{multilingual_advice(patient.multilingual)}, or train anyway"
    message = f"the texts look like {language.name}, but the model was trained on {known}: {advice}"
    rows = patient.rows(np.flatnonzero(foreign))
    if foreign.mean() > 0.5:
        return [Finding("warning", message, rows)]
    message = f"{count(len(rows), 'row')} in another language than {known}, on which the model was trained: {advice}"
    return [Finding("warning", message, rows, drop_rows(rows))]


def _foreign(texts: Sequence[Sequence[str]], languages: Sequence[str]) -> np.ndarray:
    found = np.zeros(len(texts[0]), dtype=bool)
    for column in texts:
        found |= np.fromiter(
            ((code := guess_language(text)) != "" and code not in languages for text in column), dtype=bool, count=len(column)
        )
    return found


def mojibake(patient: CheckContext) -> list[Finding]:
    """UTF-8 that was once read as Windows-1252 (``cafÃ©``), and characters lost for good (U+FFFD)."""
    wrong, lost, columns = [], [], []
    for name, column in zip(patient.roles.texts, patient.examples.texts, strict=True):
        here = [place for place, text in enumerate(column) if not text.isascii() and _MOJIBAKE.search(text) and repaired(text) != text]
        lost += [place for place, text in enumerate(column) if "\ufffd" in text]
        if here:
            columns.append(name)
            wrong += here
    found = []
    if wrong:
        rows = patient.rows(sorted(set(wrong)))
        change = Mend("repair_text", "Repair these characters", {"columns": columns, "rows": list(rows)})
        found.append(
            Finding("warning", f"{count(len(rows), 'row')} with letters garbled by a wrong encoding, such as Ã© for é", rows, change)
        )
    if lost:
        rows = patient.rows(sorted(set(lost)))
        leave = drop_rows(rows) if len(rows) < len(patient.examples) else None
        found.append(Finding("warning", f"{count(len(rows), 'row')} with characters lost to a wrong encoding (\ufffd)", rows, leave))
    return found
