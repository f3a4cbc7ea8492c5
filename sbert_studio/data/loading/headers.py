"""Detection of header rows, and naming of columns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ...i18n import _, ngettext
from ..findings import Finding
from ..schema.content import MISSING_LABELS, have_code_form
from ..schema.names import is_known_name
from ..schema.numbers import parse_number

_LONGEST_NAME = 60
_LONGEST_SHORT_NAME = 30
_SHORT_TEXT = 12  # median length in characters below which cells are words
_ENOUGH_TEXTS = 8  # with fewer texts, all could be longer than their name by chance
_ABBREVIATION = re.compile(
    r"(?:[^\W\d]{1,5}\. ?){1,3}(?:[^\W\d]{1,12})?|[^\W\d]{1,12} (?:[^\W\d]{1,5}\. ?){1,2}"
    r"|[^\W\d]{2,14}(?:nr|no|num|str|bez)\.",
    re.IGNORECASE,
)
_INDEX_NAME = re.compile("(Unnamed: 0|index)?")  # above the row numbers that pandas writes
_QUALTRICS_ID = '{"ImportId"'

Pairs = Sequence[tuple[str, Sequence[str]]]
"""For each column, (cell of the first row, cells below it)."""


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row contains the column names.

    Numbers are not names, except 0, 1, 2, … above texts, as written by pandas. Well-known column names make the row a header, even with
    empty cells, unless they occur again below. Otherwise, the first row is a header if it differs in kind from the rows below: a word above
    numbers, dates or codes, a few short words above sentences, or a word above a few recurring values. If one of its cells occurs again
    below, such as the name of a column that is also one of its labels, the other columns decide. A row of long questions, as in exports of
    forms, is a header only above numbers, dates or codes.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    named = [cell for cell in first if cell]
    certain = has_import_ids(rest[:2]) or counts_columns(rows)
    if certain or not named or any(map(_is_number, named)):
        return certain and bool(named)
    below = filled_cells(rest, len(first))
    pairs = list(zip(first, below, strict=True))
    if not all(map(_may_be_name, named)):
        return _is_form_header(first, below, len(rest))
    repeated = any(cell and cell in texts for cell, texts in pairs)
    familiar = sum(map(is_familiar, named))
    if familiar < len(named):
        familiar = sum(is_familiar(cell) for cell in named if len(cell) > 1)  # a single "a" or "b" is a label as well
    if familiar == len(named) > 1 or (familiar and not repeated and not any(map(is_sentence, named))):
        return True
    if not rest or len(set(named)) < len(named) or len(named) < len(first) / 2:
        return False
    if repeated:
        return _is_named_after_label(pairs)
    second_header = len(rest[0]) > 1 and all(is_familiar(cell.strip()) for cell in rest[0])
    above_numbers = any(cell and mostly_numbers(texts) for cell, texts in pairs)
    return second_header or above_numbers or _is_above_forms(pairs) or _is_above_categories(pairs) or _is_short_above_long(named, rest)


def is_uncertain_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row could be either a header or data: a few short words like those of the rows below."""
    first = [cell.strip() for cell in rows[0]]
    if len(first) < 2 or len(rows) < 2 or not looks_like_names(first) or all(map(is_familiar, first)):
        return False
    pairs = list(zip(first, filled_cells(rows[1:], len(first)), strict=True))
    repeated = any(cell in texts for cell, texts in pairs)
    if any(mostly_numbers(texts) for _, texts in pairs) or (repeated and _is_named_after_label(pairs)):
        return False
    if not repeated and (_is_above_categories(pairs) or any(map(is_familiar, first))):
        return False
    others = [(cell, texts) for cell, texts in pairs if texts and cell not in texts]
    if repeated and others and all(_is_short_above(cell, texts) for cell, texts in others):
        return True
    return bool(others) and max(_median_length(texts) for _, texts in others) <= 3 * max(len(cell) for cell, _ in others)


def counts_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is 0, 1, 2, … (after a blank cell above row numbers, if any) above texts."""
    first = [cell.strip() for cell in rows[0]]
    counted = first[1:] if len(first) > 1 and _INDEX_NAME.fullmatch(first[0]) else first
    texts = filled_cells(rows[1:], len(first))[len(first) - len(counted) :]
    return counted == [str(place) for place in range(len(counted))] and any(cells and not mostly_numbers(cells) for cells in texts)


def names_one_column(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names a single column next to a pandas index, whose own name is blank."""
    return len(rows) > 2 and len(rows[0]) == 2 and [row[:1] for row in rows] == [[""], *([str(number)] for number in range(len(rows) - 1))]


def is_comment(row: Sequence[str]) -> bool:
    """Return whether a row is a comment that starts with ``#``, ``%`` or ``//``."""
    return bool(row) and row[0].lstrip().startswith(("#", "%", "//"))


def has_import_ids(rows: Iterable[Sequence[str]]) -> bool:
    """Return whether a row is the last of Qualtrics' header rows, of which the first contains the names."""
    return any(cell.strip().startswith(_QUALTRICS_ID) for row in rows for cell in row)


def looks_like_names(cells: Sequence[str]) -> bool:
    """Return whether a row could contain column names: no numbers, sentences or duplicates, and most cells filled."""
    named = [cell.strip() for cell in cells if cell.strip()]
    if len(named) <= len(cells) / 2 or len(set(named)) < len(named):
        return False
    return all(_may_be_name(cell) and not is_sentence(cell) for cell in named)


def is_familiar(cell: str) -> bool:
    """Return whether a cell is a common column name, or one that this program gives to unnamed columns."""
    return is_known_name(cell) or (cell.startswith("column_") and cell[7:].isdecimal())


def is_sentence(cell: str) -> bool:
    """Return whether a cell reads as a sentence; ``Lfd. Nr.`` and ``Obs.`` are abbreviated names."""
    if _ABBREVIATION.fullmatch(cell):
        return False
    return cell.endswith((".", "?", "!", "。", "？", "！", "…")) or len(cell.split()) > 6


def mostly_numbers(texts: Sequence[str]) -> bool:
    """Return whether at least three in four cells are numbers."""
    return bool(texts) and sum(map(_is_number, texts)) >= 0.75 * len(texts)


def filled_cells(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Return the stripped non-blank cells of each of ``width`` columns."""
    return [[cell for row in rows if len(row) > at and (cell := row[at].strip())] for at in range(width)]


def name_columns(header: Sequence[str], width: int, row: int = 1) -> tuple[list[str], list[Finding]]:
    """Return ``width`` distinct names, with ``column_3`` for a blank one, and notes; ``row`` is the number of the header row."""
    names: dict[str, None] = {}
    copies: Counter[str] = Counter()
    notes: list[Finding] = []
    unnamed: list[str] = []
    for at in range(width):
        name = " ".join(header[at].split()) if at < len(header) else ""
        if not name:
            name = f"column_{at + 1}"
            unnamed.append(name)
        base = name
        while name in names:
            copies[base] += 1
            name = f"{base}_{copies[base] + 1}"
        if name != base:
            notes.append(
                Finding(
                    "warning", _("two columns are called {base}; the later one is read as {name}", base=repr(base), name=repr(name)), (row,)
                )
            )
        names[name] = None
    listed = ", ".join(unnamed[:4]) + ("…" if len(unnamed) > 4 else "")
    if not header:
        listed = ", ".join(list(names)[:4]) + ("…" if width > 4 else "")
        notes.append(Finding("info", _("no header row was found; the columns are called {listed}", listed=listed)))
    elif unnamed:
        message = ngettext(
            "a column without a name is called {listed}", "columns without a name are called {listed}", len(unnamed), listed=listed
        )
        notes.append(Finding("info", message, (row,)))
    return list(names), notes


def _is_above_categories(pairs: Pairs) -> bool:
    cells = [cell for cell, _ in pairs]
    if any((cell.endswith((".", "。", "!")) and not _ABBREVIATION.fullmatch(cell)) or len(cell.split()) > 4 for cell in cells):
        return False
    counts = [Counter(texts) for cell, texts in pairs if cell and len(texts) >= 5]
    return any(2 * len(times) <= times.total() and len(times) <= 20 and min(times.values()) > 1 for times in counts)


def _is_named_after_label(pairs: Pairs) -> bool:
    """Return whether a first row is a header even though one of its cells occurs again below.

    The other columns decide: a word above numbers or codes and no text above texts, a well-known name above longer texts, or at least
    two names that are shorter than every text below them.
    """
    if any(is_sentence(cell) for cell, _ in pairs):
        return False
    others = [(cell, texts) for cell, texts in pairs if cell and texts and cell not in texts]
    above_numbers = any(len(texts) >= 3 and mostly_numbers(texts) and cell.casefold() not in MISSING_LABELS for cell, texts in others)
    unlike = all(_is_short_above(cell, texts) or _median_length(texts) < _SHORT_TEXT or mostly_numbers(texts) for cell, texts in others)
    if unlike and (above_numbers or _is_above_forms(others)):
        return True
    if any(len(cell) > 1 and is_familiar(cell) and _is_short_above(cell, texts) for cell, texts in others):
        return True
    enough = len(others) > 1 and len(others[0][1]) >= _ENOUGH_TEXTS
    return enough and all(_is_short_above(cell, texts) and len(cell) < min(map(len, texts)) for cell, texts in others)


def _is_short_above(cell: str, texts: Sequence[str]) -> bool:
    # 90 % of the texts below are longer, and half are at least twice as long.
    return _is_short(cell) and sorted(map(len, texts))[len(texts) // 10] > len(cell) and _median_length(texts) > 2 * len(cell)


def _is_short(cell: str) -> bool:
    return len(cell) <= _LONGEST_SHORT_NAME and len(cell.split()) <= 3 and not is_sentence(cell)


def _is_short_above_long(named: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    texts = [text for row in rows for cell in row if (text := cell.strip())]
    return bool(texts) and all(map(_is_short, named)) and _median_length(texts) > 2 * max(map(len, named))


def _is_above_forms(pairs: Pairs) -> bool:
    return any(cell and len(texts) >= 3 and have_code_form(texts) and not have_code_form([cell]) for cell, texts in pairs)


def _is_form_header(first: Sequence[str], below: Sequence[Sequence[str]], rows: int) -> bool:
    # Long cells, all distinct, above a column of only numbers, dates, codes and the like.
    if rows < 3 or not all(first) or len(set(first)) < len(first):
        return False
    above_numbers = any(texts and all(map(_is_number, texts)) for texts in below)
    return above_numbers or _is_above_forms(list(zip(first, below, strict=True)))


def _is_number(cell: str) -> bool:
    return not math.isnan(parse_number(cell))


def _may_be_name(cell: str) -> bool:
    return len(cell) <= _LONGEST_NAME and "\n" not in cell and not _is_number(cell)


def _median_length(texts: Sequence[str]) -> int:
    return sorted(map(len, texts))[len(texts) // 2]
