"""Does the first row name the columns, and what are they called?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from ..findings import Finding
from ..schema.content import MISSING_LABELS, have_code_form
from ..schema.names import is_known_name
from ..schema.numbers import parse_number

_LONGEST_NAME = 60
_LONGEST_IDENTIFIER = 30
_LONG = 12  # characters: usual texts of fewer are words
_ENOUGH_BELOW = 8  # rows: fewer could all be longer by chance
_CUT_SHORT = re.compile(
    r"(?:[^\W\d]{1,5}\. ?){1,3}(?:[^\W\d]{1,12})?|[^\W\d]{1,12} (?:[^\W\d]{1,5}\. ?){1,2}"
    r"|[^\W\d]{2,14}(?:nr|no|num|str|bez)\.",
    re.IGNORECASE,
)


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of some rows names the columns.

    A number in the first row says no. Well-known column names say yes, unless they come again below; a cell may then be
    empty. Else the first row is a header if it differs in kind from the rows below: text above numbers, a few short words
    above sentences, a word above dates or codes, or one above a few others that come again and again. Where a cell comes again
    below, as the name of a column that is called after one of its labels, the other columns decide. A row of long questions, as
    forms write them, is one above numbers, dates or codes only.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    named = [cell for cell in first if cell]
    if any(map(import_ids, rows[1:3])) or not named or any(not math.isnan(parse_number(cell)) for cell in named):
        return bool(named) and any(map(import_ids, rows[1:3]))
    if any(not _may_be_name(cell) for cell in named):
        return _asks_above_numbers(rows)
    below = [[row[index].strip() for row in rest if len(row) > index and row[index].strip()] for index in range(len(first))]
    repeated = any(cell and cell in texts for cell, texts in zip(first, below, strict=True))
    familiar = sum(familiar_name(cell) for cell in named)
    if familiar < len(named):
        familiar = sum(familiar_name(cell) for cell in named if len(cell) > 1)  # a lone "a" or "b" is a label as well
    if familiar == len(named) > 1 or (familiar and not repeated and not any(map(is_sentence, named))):
        return True
    if not rest or len(set(named)) < len(named) or len(named) < len(first) / 2:
        return False
    if repeated or _above_forms(first, below):
        return not repeated or _named_after_a_label(first, below)
    another = len(rest[0]) > 1 and all(familiar_name(cell.strip()) for cell in rest[0])  # a second header row
    above = any(cell and mostly_numbers(texts) for cell, texts in zip(first, below, strict=True))
    return another or above or _above_categories(first, below) or _short_above_long(named, rest)


def import_ids(row: Sequence[str]) -> bool:
    """Whether a row is the last of the header rows of Qualtrics, of which the first has the names."""
    return any(cell.strip().startswith('{"ImportId"') for cell in row)


def uncertain_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row could be names as well as data: a few short words that nothing tells from the rows below."""
    first = [cell.strip() for cell in rows[0]]
    if len(first) < 2 or len(rows) < 2 or not looks_like_names(first) or all(map(familiar_name, first)):
        return False
    columns = [[row[index].strip() for row in rows[1:] if len(row) > index and row[index].strip()] for index in range(len(first))]
    repeated = any(cell in texts for cell, texts in zip(first, columns, strict=True))
    if any(mostly_numbers(texts) for texts in columns) or (repeated and _named_after_a_label(first, columns)):
        return False
    if not repeated and (_above_categories(first, columns) or any(map(familiar_name, first))):
        return False
    others = [(cell, texts) for cell, texts in zip(first, columns, strict=True) if texts and cell not in texts]
    if repeated and others and all(_short_above(cell, texts) for cell, texts in others):
        return True
    longest = [_median(texts) for _, texts in others]
    return bool(longest) and max(longest) <= 3 * max(len(cell) for cell, _ in others)


def looks_like_names(cells: Sequence[str]) -> bool:
    """Whether a row could name columns: no number, no sentence, nothing twice, and something in most cells."""
    named = [cell.strip() for cell in cells if cell.strip()]
    return (
        len(named) > len(cells) / 2
        and len(set(named)) == len(named)
        and all(_may_be_name(cell) and not is_sentence(cell) for cell in named)
    )


def familiar_name(cell: str) -> bool:
    """Whether people, or this program for a column without a name, call a column so."""
    return is_known_name(cell) or (cell.startswith("column_") and cell[7:].isdecimal())


def is_sentence(cell: str) -> bool:
    """Whether a cell reads as a sentence rather than as a name; ``Lfd. Nr.`` and ``Obs.`` are names that are cut short."""
    if _CUT_SHORT.fullmatch(cell):
        return False
    return cell.endswith((".", "?", "!", "。", "？", "！", "…")) or len(cell.split()) > 6


def mostly_numbers(texts: Sequence[str]) -> bool:
    """Whether three in four of the cells, or more, are numbers."""
    return bool(texts) and sum(not math.isnan(parse_number(text)) for text in texts) >= 0.75 * len(texts)


def _above_categories(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a few short words stand above a column of a few values, each there several times, that is none of them."""
    if any((cell.endswith((".", "。", "!")) and not _CUT_SHORT.fullmatch(cell)) or len(cell.split()) > 4 for cell in first):
        return False
    for cell, texts in zip(first, below, strict=True):
        times = Counter(texts)
        if cell and len(texts) >= 5 and 4 * len(times) <= 2 * len(texts) and len(times) <= 20 and min(times.values()) > 1:
            return True
    return False


def _named_after_a_label(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a first row of which a cell comes again below names the columns all the same, by the columns where none does.

    These hold a word above numbers or codes and no text among texts, a well-known name above longer texts, or, where they are two or
    more, names shorter than every text below them.
    """
    others = [(cell, texts) for cell, texts in zip(first, below, strict=True) if cell and texts and cell not in texts]
    if any(map(is_sentence, first)):
        return False
    numbers = [
        (cell, texts) for cell, texts in others if len(texts) >= 3 and mostly_numbers(texts) and cell.casefold() not in MISSING_LABELS
    ]
    unlike = [(cell, texts) for cell, texts in others if _short_above(cell, texts) or _median(texts) < _LONG or mostly_numbers(texts)]
    if len(unlike) == len(others) and (numbers or _above_forms([cell for cell, _ in others], [texts for _, texts in others])):
        return True
    if any(len(cell) > 1 and familiar_name(cell) and _short_above(cell, texts) for cell, texts in others):
        return True
    texts_of = [texts for _, texts in others]
    return (
        len(others) > 1
        and len(texts_of[0]) >= _ENOUGH_BELOW
        and all(_short_above(cell, texts) and len(cell) < min(map(len, texts)) for cell, texts in others)
    )


def _short_above(cell: str, texts: Sequence[str]) -> bool:
    """Whether a name of a few words stands above texts of which nine in ten are longer, and half of them twice as long."""
    few = len(cell) <= _LONGEST_IDENTIFIER and len(cell.split()) <= 3 and not is_sentence(cell)
    return few and sorted(map(len, texts))[len(texts) // 10] > len(cell) and _median(texts) > 2 * len(cell)


def _median(texts: Sequence[str]) -> int:
    """The usual number of characters."""
    return sorted(map(len, texts))[len(texts) // 2]


def _above_forms(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether words stand above a column of dates, codes, addresses and the like."""
    return any(
        cell and len(texts) >= 3 and have_code_form(texts) and not have_code_form([cell]) for cell, texts in zip(first, below, strict=True)
    )


def _asks_above_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a first row of long cells, all different, stands above a column of nothing but numbers, or dates, codes and the like."""
    first = [cell.strip() for cell in rows[0]]
    if len(rows) < 4 or not all(first) or len(set(first)) < len(first):
        return False
    columns = [[row[index].strip() for row in rows[1:] if len(row) > index and row[index].strip()] for index in range(len(first))]
    numbers = any(texts and all(not math.isnan(parse_number(text)) for text in texts) for texts in columns)
    return numbers or _above_forms(first, columns)


def _may_be_name(cell: str) -> bool:
    return len(cell) <= _LONGEST_NAME and "\n" not in cell and math.isnan(parse_number(cell))


def _short_above_long(named: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    texts = [cell.strip() for row in rest for cell in row if cell.strip()]
    if not texts or any(map(is_sentence, named)):
        return False
    longest_name = max(len(cell) for cell in named)
    usual = sorted(len(text) for text in texts)[len(texts) // 2]
    return longest_name <= _LONGEST_IDENTIFIER and all(len(cell.split()) <= 3 for cell in named) and usual > 2 * longest_name


def name_columns(header: Sequence[str], width: int, row: int = 1) -> tuple[list[str], list[Finding]]:
    """One name a column: the header's, made distinct, and ``column_3`` where it has none, which is noted.

    Args:
        header: the cells of the header; empty where there is none.
        width: how many columns there are.
        row: the header's row number.
    """
    names: dict[str, None] = {}
    copies: dict[str, int] = {}
    notes = []
    gaps: list[str] = []
    for index in range(width):
        name = " ".join(header[index].split()) if index < len(header) else ""
        if not name:
            name = f"column_{index + 1}"
            gaps.append(name)
        base = name
        while name in names:
            copies[base] = copies.get(base, 1) + 1
            name = f"{base}_{copies[base]}"
        if name != base:
            notes.append(Finding("warning", f"two columns are called {base!r}; the later one is read as {name!r}", (row,)))
        names[name] = None
    if not header:
        notes.append(
            Finding("info", f"no header row was found; the columns are called {', '.join(list(names)[:4])}{'…' if width > 4 else ''}")
        )
    elif gaps:
        called = "a column without a name is" if len(gaps) == 1 else "columns without a name are"
        notes.append(Finding("info", f"{called} called {', '.join(gaps[:4])}{'…' if len(gaps) > 4 else ''}", (row,)))
    return list(names), notes
