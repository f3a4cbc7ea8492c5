"""Detection of the dialect of a delimited file: how cells are separated and quoted."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import StudioError
from ...i18n import _
from ..findings import ExampleRow, Option, Question
from ..schema.names import is_known_name
from ..schema.roles import option
from .headers import is_comment, looks_like_names, names_one_column

NO_DELIMITER = "\x1f"
"""Delimiter of a file with one column: a control character that no text contains."""

DELIMITER_NAMES = {
    ",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", "  ": "blanks", "|||": "three bars", "||": "two bars", "::": "colons",
}  # fmt: skip
_LONG_DELIMITERS = {
    "  ": re.compile(r"[ \u00a0]{2,}"), "|||": re.compile(r" ?\|\|\| ?"), "||": re.compile(r" ?\|\| ?"), "::": re.compile("::"),
}  # fmt: skip
_RARE_DELIMITERS = "^~¦§#&"
_OPTION_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", "  ": "blanks", NO_DELIMITER: "none"}
_BY_OPTION_NAME = {
    **{name: delimiter for delimiter, name in _OPTION_NAMES.items()},
    "\\t": "\t", "pipe": "|", "space": " ", "spaces": "  ", "decimal-comma": ",",
}  # fmt: skip
DELIMITER_BY_SUFFIX = {".tsv": "\t", ".tab": "\t", ".csv": ",", ".txt": "\t"}
_CURLY_QUOTES = {"“": "”", "„": "“", "«": "»", "”": "”"}
_MARKDOWN_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")

_CONSISTENT = 0.6  # minimum share of records with the same width
_CERTAIN = 0.95  # share from which records with three or more cells are a table even without a header
_FAMILIAR_SCORE, _NAMED_SCORE, _PREAMBLE_SCORE = 1.0, 0.3, -0.3
_DELIMITER_SCORE = {"\t": 0.2, "|||": 0.4, "|": 0.1, "||": 0.3}
NAMED_HEADER = 1.6
"""Minimum score with a header of familiar names above most records."""
PLAIN_HEADER = 1.28
"""Minimum score with a header above all records."""
_SHOWN_ROWS = 2
_LONGEST_SHOWN = 120


@dataclass(frozen=True)
class Dialect:
    """Rules for splitting a line into cells.

    Attributes:
        delimiter: one character, or ``"  "`` (two or more spaces), ``|||``, ``||`` or ``::``.
        quote: the quotation mark around cells that contain the delimiter.
        strip: whether spaces around the delimiter are removed.
        escaped: whether quotation marks inside a cell are escaped with a backslash instead of doubled.
        curly: whether cells are enclosed in typographic quotation marks.
        framed: whether every line starts and ends with the delimiter, as in Markdown.
        decimals: whether commas between digits may be decimal commas; None: detect.
    """

    delimiter: str
    quote: str = '"'
    strip: bool = False
    escaped: bool = False
    curly: bool = False
    framed: bool = False
    decimals: bool | None = None

    @property
    def character(self) -> str:
        """Character that separates the cells of a prepared line."""
        return NO_DELIMITER if self.delimiter in _LONG_DELIMITERS else self.delimiter

    def reader(self, lines: Iterable[str], **options: Any) -> Iterator[list[str]]:
        """Return a csv reader of ``lines``; it raises ``csv.Error`` for cells beyond the csv module's limit."""
        if self.escaped or self.curly or self.framed or self.delimiter in _LONG_DELIMITERS:
            lines = map(self._prepare, lines)
        return csv.reader(lines, delimiter=self.character, quotechar=self.quote, skipinitialspace=self.strip, **options)

    def cells(self, record: list[str]) -> list[str]:
        """Return the cells of a csv record, stripped if the dialect says so."""
        return [cell.strip(" ") for cell in record] if self.strip else record

    def split(self, line: str, **options: Any) -> list[str]:
        """Return the cells of a single line with literal quotes; empty if one is too long."""
        try:
            return next(self.reader([line], **(options or {"quoting": csv.QUOTE_NONE})), [])
        except csv.Error:
            return []

    def _prepare(self, line: str) -> str:
        if self.escaped:
            line = line.replace("\\" + self.quote, self.quote * 2)
        if self.curly:
            mark = re.escape(self.delimiter)
            line = re.sub(rf"(^|{mark})[“„«”]", rf"\1{self.quote}", re.sub(rf"[”“»](?={mark}|\s*$)", self.quote, line))
        if self.framed:
            bare = line.strip()
            line = "" if _MARKDOWN_RULE.fullmatch(bare) else bare.removeprefix(self.delimiter).removesuffix(self.delimiter)
        if pattern := _LONG_DELIMITERS.get(self.delimiter):
            line = pattern.sub(NO_DELIMITER, line.strip(" \u00a0") if self.delimiter == "  " else line)
        return line


@dataclass(frozen=True)
class DialectCandidate:
    """A dialect and how well it fits the first lines of a file.

    Attributes:
        width: the most frequent number of cells above one.
        share: the share of records with that width, from the first record with several cells on.
        score: the share, with a bonus for a header and a typical delimiter.
    """

    dialect: Dialect
    width: int
    share: float
    score: float

    @property
    def plural(self) -> str:
        return DELIMITER_NAMES.get(self.dialect.delimiter, self.dialect.delimiter)

    def option(self, answer: str) -> Option:
        name = _OPTION_NAMES.get(self.dialect.delimiter, self.dialect.delimiter)
        return option(answer, delimiter=name)

    def records(self, start: Sequence[str], most: int) -> list[list[str]]:
        return _records(start[:50], self.dialect)[:most]


def detect_dialect(start: Sequence[str], suffix: str, delimiter: str | None = None) -> tuple[Dialect, tuple[Question, ...]]:
    """Return the dialect of the first lines of a file, and a question for the user if several fit.

    ``delimiter``, one character or a name such as ``semicolon`` or ``none``, overrides the detection.
    """
    if delimiter is not None:
        named = named_dialect(delimiter)
        if len(delimiter) == 1 and delimiter != "|":
            return named, ()
        fitting = [one.dialect for one in find_candidates(start, suffix) if one.dialect.delimiter == named.delimiter]
        return (replace(fitting[0], decimals=named.decimals) if fitting else named), ()
    candidates = find_candidates(start, suffix)
    if not candidates:
        return Dialect(NO_DELIMITER), ()
    best = candidates[0]
    if best.dialect.strip and best.dialect.delimiter == "," and best.width == 2 and best.score < NAMED_HEADER:
        return Dialect(NO_DELIMITER), (ask_columns(start, best),)
    if best.dialect.delimiter in ",;":  # tabs and bars are unambiguous, because texts do not contain them
        rivals = [one for one in candidates[1:] if one.share >= 0.95 and one.score >= best.score - 0.15]
        return best.dialect, (_ask_delimiter(start, [best, *rivals]),) if rivals else ()
    return best.dialect, ()


def named_dialect(name: str) -> Dialect:
    """Return the dialect of a delimiter: a character, or a word such as ``tab`` or ``none``; raise a StudioError for anything else."""
    word = name.strip().lower()
    delimiter = _BY_OPTION_NAME.get(word, name if len(name) == 1 or name in _LONG_DELIMITERS else word)
    if delimiter not in _LONG_DELIMITERS and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise StudioError(
            _("{name} is not a delimiter", name=repr(name)),
            "use a single character, or one of comma, semicolon, tab, bar, blanks, decimal-comma and none",
        )
    return Dialect(delimiter, strip=delimiter == "|", decimals=word == "decimal-comma")


def find_candidates(start: Sequence[str], suffix: str = ".csv") -> list[DialectCandidate]:
    """Return the dialects under which the first lines of a file form a table, best first; empty for one text per line."""
    start = _first_block(start)
    joined = "".join(start[:50])
    found = [one for delimiter in ",\t;|" if (one := _try(start, Dialect(delimiter), suffix))]
    found += [one for mark in ("|||", "||", "::") if mark in joined and (one := _try(start, Dialect(mark), suffix)) and one.share > 0.9]
    if not found and (one := _try(start, Dialect("  "), suffix)) and one.share > 0.9:
        found = [one]
    if not found:
        rare = (one for mark in _RARE_DELIMITERS if mark in joined and (one := _try(start, Dialect(mark), suffix)))
        found = [one for one in rare if one.score >= PLAIN_HEADER]
    if len(found) > 1:
        found = [one for one in found if one.dialect.delimiter != "," or not _are_decimal_commas(start)] or found
    return sorted((_refine(start, one, suffix) for one in found), key=lambda one: (-one.score, -one.width))


def ask_columns(start: Sequence[str], candidate: DialectCandidate) -> Question:
    """Ask whether a character in every line separates two columns or is part of the texts."""
    options = (
        option("one text per line", delimiter="none"),
        candidate.option(_("{width} columns", width=candidate.width)),
    )
    shown = tuple(ExampleRow(number, tuple(row)) for number, row in enumerate(candidate.records(start, _SHOWN_ROWS), start=1))
    why = _("every line has the same number of {plural}, but sentences contain them too", plural=candidate.plural)
    return Question("delimiter", _("Do the {plural} separate columns?", plural=candidate.plural), options, why, shown)


def _ask_delimiter(start: Sequence[str], candidates: Sequence[DialectCandidate]) -> Question:
    options = tuple(one.option(_("by {plural}", plural=one.plural)) for one in candidates)
    shown = tuple(
        ExampleRow(number, tuple(cell[:_LONGEST_SHOWN] for cell in row), read_as=_("by {plural}", plural=one.plural))
        for one in candidates
        for number, row in enumerate(one.records(start, _SHOWN_ROWS), start=1)
    )
    why = "several characters split every line into the same number of cells"
    return Question("delimiter", "Which character separates the columns?", options, why, shown)


def _first_block(start: Sequence[str]) -> Sequence[str]:
    # Another table may follow after the first blank line.
    filled = marks = 0
    for place, line in enumerate(start):
        if not line.strip() and filled >= 4 and marks % 2 == 0:
            return start[:place]
        filled += bool(line.strip())
        marks += line.count('"')
    return start


def _records(lines: Sequence[str], dialect: Dialect) -> list[list[str]]:
    # Skip blank lines, and the last line if the sample seems to end inside it.
    found: list[list[str]] = []
    reader: Any = dialect.reader(lines)
    try:
        for record in reader:
            may_go_on = dialect.quote in lines[-1] or (bool(found) and sum(map(is_known_name, found[0])) > 1)
            is_cut = reader.line_num == len(lines) and may_go_on and record and "\n" in record[-1]
            if any(cell.strip() for cell in record) and not is_cut:
                found.append(dialect.cells(record))
    except csv.Error:
        pass
    return found


def _try(start: Sequence[str], dialect: Dialect, suffix: str) -> DialectCandidate | None:
    # Try quoted cells first; if quotes are unbalanced, treat them as plain characters.
    found = _measure(_records(start, dialect), dialect, suffix)
    if (found is None or found.share < 0.9) and dialect.quote in "".join(start):
        rows = [row for row in map(dialect.split, start) if any(cell.strip() for cell in row)]
        literal = _measure(rows, dialect, suffix)
        if literal and literal.share >= 0.9 and literal.share > (found.share if found else 0.0):
            return literal
    return found


def _measure(rows: Sequence[list[str]], dialect: Dialect, suffix: str) -> DialectCandidate | None:
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    lead = next((at for at, row in enumerate(rows) if len(row) > 1 and filled[at] > 1), None)
    if lead is None:
        return None
    lead = 0 if names_one_column(rows) else lead
    widths = Counter(len(row) for row in rows if len(row) > 1)
    width, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    remark = is_comment(rows[0])
    if not looks_like_names(rows[lead]):  # a title, a date or remarks above the header
        headers = (at for at in range(lead, min(len(rows), 30)) if filled[at] >= width and looks_like_names(rows[at]))
        lead = next((at for at in headers if filled[lead] < width or remark), lead)
    first, body = rows[lead], rows[lead:]
    share = min(1.0, times / len(body))
    named = looks_like_names(first)
    familiar = sum(map(is_known_name, first)) if named else 0
    if share < _CONSISTENT and not (familiar > 1 and sum(len(row) >= len(first) for row in body) >= _CONSISTENT * len(body)):
        return None
    # Below a header of one cell, commas are mostly part of the texts of a single column, unless the rows suggest otherwise.
    single = len(rows[0]) == 1
    remarks_above = lead < len(rows) / 2 and single and remark
    is_table = named or (share >= _CERTAIN and width > 2) or remarks_above
    if lead and (not is_table or (lead == 1 and single and is_known_name(rows[0][0]))):
        return None
    score = share + (_FAMILIAR_SCORE if familiar else _NAMED_SCORE if named and len(first) == width else 0.0)
    score += (_PREAMBLE_SCORE if lead else 0.0) + _DELIMITER_SCORE.get(dialect.delimiter, 0.0)
    return DialectCandidate(dialect, width, share, score + 0.05 * (dialect.delimiter == DELIMITER_BY_SUFFIX.get(suffix)))


def _refine(start: Sequence[str], candidate: DialectCandidate, suffix: str) -> DialectCandidate:
    dialect, mark = candidate.dialect, re.escape(candidate.dialect.delimiter)
    lines = [line.strip() for line in start if line.strip()]
    if dialect.delimiter == "|":
        framed = all(line.startswith("|") and line.endswith("|") for line in lines)
        return _try(start, replace(dialect, strip=True, framed=framed), suffix) or candidate
    if "'" in "".join(lines[:5]):
        opened = re.compile(rf"(?:^|{mark} ?)'(?!')|(?:^|{mark} ?)''(?={mark}|$)")
        closed = re.compile(rf"'(?= ?{mark}|$)")
        quoted = sum(bool(opened.search(line)) and len(opened.findall(line)) == len(closed.findall(line)) for line in lines)
        if quoted >= 0.8 * (len(lines) - 1) and (single := _try(start, replace(dialect, quote="'"), suffix)):
            dialect = single.dialect
    if any("\\" + dialect.quote in line for line in lines):
        escaped = _try(start, replace(dialect, escaped=True), suffix)
        ends_cell = f"\\{dialect.quote}{dialect.delimiter}{dialect.quote}"  # a backslash as the last character of a cell
        if escaped and escaped.share >= candidate.share and not any(ends_cell in line for line in lines):
            dialect = escaped.dialect
    if sum(line[:1] in _CURLY_QUOTES and line[-1:] in _CURLY_QUOTES.values() for line in lines) >= 0.8 * len(lines):
        dialect = replace(dialect, curly=True)
    if len(dialect.delimiter) == 1:
        cells = [cell for row in _records(start, dialect) for cell in row[1:] if cell]
        if cells and sum(cell.startswith(" ") for cell in cells) >= 0.95 * len(cells):
            dialect = replace(dialect, strip=True)
    return (_try(start, dialect, suffix) or candidate) if dialect != candidate.dialect else candidate


def _are_decimal_commas(start: Sequence[str]) -> bool:
    body = "".join(start[1:])
    return "," in body and len(re.findall(r"(?<=\d),(?=\d)", body)) >= 0.8 * body.count(",")
