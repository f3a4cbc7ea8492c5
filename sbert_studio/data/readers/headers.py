"""Does the first row name the columns, and what are they called?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..cells import parse_number
from ..findings import Finding
from ..vocabulary import known

_LONGEST_NAME = 60


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of some rows names the columns.

    A number or an empty cell in the first row says no (its first cell may be empty, as pandas writes its index, and its
    last). Well-known column names say yes, unless they come again below. Else the first row is a header if it differs
    in kind from the rows below: text above numbers, or a few short words above sentences.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    named = [cell for cell in first if cell]
    if not named or "" in first[1:-1] or any(not _may_be_name(cell) for cell in named):
        return False
    below = [[row[index].strip() for row in rest if len(row) > index and row[index].strip()] for index in range(len(first))]
    repeated = any(cell and cell in texts for cell, texts in zip(first, below, strict=True))
    familiar = sum(known(cell) for cell in named)
    if familiar == len(named) > 1 or (familiar and not repeated and not any(map(_is_sentence, named))):
        return True
    if repeated or not rest or len(set(named)) < len(named):
        return False
    if any(cell and _mostly_numbers(texts) for cell, texts in zip(first, below, strict=True)):
        return True
    return _short_above_long(named, rest)


def _may_be_name(cell: str) -> bool:
    return len(cell) <= _LONGEST_NAME and "\n" not in cell and math.isnan(parse_number(cell))


def _is_sentence(cell: str) -> bool:
    return cell.endswith((".", "?", "!", "。", "？", "！", "…")) or len(cell.split()) > 6


def _mostly_numbers(texts: Sequence[str]) -> bool:
    return bool(texts) and sum(not math.isnan(parse_number(text)) for text in texts) > 0.8 * len(texts)


def _short_above_long(named: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    texts = [cell.strip() for row in rest for cell in row if cell.strip()]
    if not texts or any(map(_is_sentence, named)):
        return False
    longest_name = max(len(cell) for cell in named)
    usual = sorted(len(text) for text in texts)[len(texts) // 2]
    return longest_name <= 30 and all(len(cell.split()) <= 3 for cell in named) and usual > 2 * longest_name


def name_columns(header: Sequence[str], width: int) -> tuple[list[str], list[Finding]]:
    """One name a column: the header's, made distinct, and ``column_3`` where it has none."""
    names: list[str] = []
    notes = []
    for index in range(width):
        name = " ".join(header[index].split()) if index < len(header) else ""
        name = name or f"column_{index + 1}"
        base, copy = name, 2
        while name in names:
            name = f"{base}_{copy}"
            copy += 1
        if name != base:
            notes.append(Finding("warning", f"two columns are called {base!r}; the later one is read as {name!r}", (1,)))
        names.append(name)
    if not header:
        notes.append(Finding("info", f"no header row was found; the columns are called {', '.join(names[:4])}{'…' if width > 4 else ''}"))
    return names, notes
