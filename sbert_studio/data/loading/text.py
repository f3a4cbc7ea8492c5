"""Plain text: one text a line, with fastText labels, labels behind an @ sign, or a table under a wrong name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import StudioError
from ...progress import Progress
from ..findings import Finding
from .content import ColumnBuilder, Content, RowLog
from .csv import read_csv
from .dialect import NAMED_HEADER, PLAIN_HEADER, DialectCandidate, ask_columns, find_candidates
from .source import InputFile, Lines

_FASTTEXT_LABELS = re.compile(r"(?:__label__\S+\s+)+")
_LABEL_AT_END = re.compile(r"(.*\S)@(\w[\w-]{0,30})", re.DOTALL)  # behind a blank, it is a mention
_MOST_LABELS = 20


def read_text(source: InputFile, progress: Progress | None = None) -> Content:
    """Read a text file as a column ``text``; rows have the numbers of their lines, and blank lines are left out and reported.

    A file in which every line has the same number of tabs is a table, and so is one whose first line names well-known columns. If every
    line begins with ``__label__…``, as in fastText files, or ends with ``@`` and one of a few words, the labels become a column.

    Raises:
        StudioError: the file is binary or holds no text.
    """
    start = source.first_lines()
    candidates = find_candidates(start, ".txt")
    if _has_consistent_tabs(start) or (candidates and _is_table(candidates[0])):
        return read_csv(source, progress)
    filled = [line for line in start if line.strip()]
    at_start, at_end = all(map(_FASTTEXT_LABELS.match, filled)), _have_labels_at_end(filled)
    log = RowLog()
    names = ("label", "text") if at_start else ("text", "label") if at_end else ("text",)
    columns = ColumnBuilder(len(names))
    unlabelled = []
    with Lines(source, progress) as lines:
        for number, line in lines.numbered(log):
            text = line.rstrip("\r\n")
            cells: tuple[str, ...] = (text,)
            if at_start:
                cells = _split_fasttext(text)
            elif at_end:
                found = _LABEL_AT_END.fullmatch(text.strip())
                cells = (found[1], found[2]) if found else (text, "")
                unlabelled += [] if found else [number]
            columns.append(number, cells)
    data, numbers = columns.finish(names)
    if not len(numbers):
        raise StudioError(f"{source.path.name} holds no text", "give a file with at least one sentence, one a line")
    notes = [*source.encoding_notes(), *log.findings()]
    if at_end and not at_start:
        notes.append(Finding("info", "each line ends with @ and a label; the labels became a column"))
    if unlabelled:
        notes.append(Finding("warning", "lines do not end with @ and a label; their label was left empty", tuple(unlabelled)))
    uncertain = candidates and candidates[0].share > 0.98 and len(numbers) > 2
    questions = (ask_columns(start, candidates[0]),) if uncertain else ()
    return Content(names, data, numbers, tuple(notes), (*source.ask_encoding(), *questions))


def _have_labels_at_end(lines: Sequence[str]) -> bool:
    """Return whether every line ends with ``@`` and a word that other lines end with too, as in the Financial PhraseBank."""
    found = [match[2] for line in lines if (match := _LABEL_AT_END.fullmatch(line.strip()))]
    labels = set(found)
    return len(found) == len(lines) and 1 < len(labels) <= min(_MOST_LABELS, len(lines) // 2)


def _split_fasttext(line: str) -> tuple[str, str]:
    # __label__a __label__b some words → a, b | some words
    found = _FASTTEXT_LABELS.match(line)
    if not found:
        return "", line
    return ", ".join(label.removeprefix("__label__") for label in found.group().split()), line[found.end() :]


def _has_consistent_tabs(lines: Sequence[str]) -> bool:
    counts = {line.count("\t") for line in lines if line.strip()}
    return len(counts) == 1 and counts != {0}


def _is_table(candidate: DialectCandidate) -> bool:
    """Return whether a .txt file is a table: names stand above the rows, or no text would contain its separators."""
    rare = candidate.dialect.delimiter in ("|||", "||", "::")
    consistent = candidate.share > 0.98 and (rare or (candidate.score >= PLAIN_HEADER and candidate.dialect.delimiter != ","))
    return consistent or candidate.score >= NAMED_HEADER
