"""How a delimited file separates and quotes its cells, and the survey of its first lines that finds it out."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....errors import StudioError
from ...schema.names import is_known_name
from ..headers import looks_like_names

NONE = "\x1f"
"""The delimiter of a file without one: a control character that no text holds."""

WORDS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", "  ": "blanks", "|||": "three bars", "||": "two bars", "::": "colons"}
_RUNS = {"  ": re.compile(r"[ \u00a0]{2,}"), "|||": re.compile(r" ?\|\|\| ?"), "||": re.compile(r" ?\|\| ?"), "::": re.compile("::")}
_NAMED = {
    "comma": ",", "tab": "\t", "\\t": "\t", "semicolon": ";", "bar": "|", "pipe": "|", "blanks": "  ", "spaces": "  ", "none": NONE,
    "decimal-comma": ",",
}  # fmt: skip
_RARE = "^~¦§#&"
_CURLY = {"“": "”", "„": "“", "«": "»", "”": "”"}
_EXPECTED = {".tsv": "\t", ".tab": "\t", ".csv": ",", ".txt": "\t"}
_CONSISTENT = 0.6
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")


@dataclass(frozen=True)
class Dialect:
    """The rules by which a line becomes cells.

    Attributes:
        delimiter: one character, or one of the runs ``"  "`` (two blanks or more), ``|||``, ``||`` and ``::``.
        quote: the quotation mark around cells that hold the delimiter.
        strip: blanks beside the delimiter do not belong to the cells.
        escaped: a backslash before a quotation mark inside a cell stands for a second one.
        curly: typographic quotation marks stand around the cells.
        framed: every line begins and ends with the delimiter, as in Markdown.
        decimals: commas between digits may be decimal commas: None – found out, else as the owner says.
    """

    delimiter: str
    quote: str = '"'
    strip: bool = False
    escaped: bool = False
    curly: bool = False
    framed: bool = False
    decimals: bool | None = None

    @property
    def plain(self) -> bool:
        """Lines need no preparation."""
        return not (self.escaped or self.curly or self.framed or self.delimiter in _RUNS)

    @property
    def character(self) -> str:
        """What separates the cells of a prepared line."""
        return NONE if self.delimiter in _RUNS else self.delimiter

    def prepare(self, line: str) -> str:
        """A line as the csv module takes it."""
        if self.escaped:
            line = line.replace("\\" + self.quote, self.quote * 2)
        if self.curly:
            mark = re.escape(self.delimiter)
            line = re.sub(rf"(^|{mark})[“„«”]", rf"\1{self.quote}", re.sub(rf"[”“»](?={mark}|\s*$)", self.quote, line))
        if self.framed:
            bare = line.strip()
            line = "" if _RULE.fullmatch(bare) else bare.removeprefix(self.delimiter).removesuffix(self.delimiter)
        if run := _RUNS.get(self.delimiter):
            line = run.sub(NONE, line.strip(" \u00a0") if self.delimiter == "  " else line)
        return line

    def reader(self, lines: Iterable[str], **more: Any) -> Iterator[list[str]]:
        """The cells of each record of ``lines``; raises ``csv.Error`` where one is longer than the limit."""
        source = lines if self.plain else map(self.prepare, lines)
        return csv.reader(source, delimiter=self.character, quotechar=self.quote, skipinitialspace=self.strip, **more)

    def cells(self, record: list[str]) -> list[str]:
        """A record's cells without what does not belong to them."""
        return [cell.strip(" ") for cell in record] if self.strip else record


def named_dialect(name: str) -> Dialect:
    """The dialect of the delimiter that a person names: a character, or a word such as ``tab``, ``blanks`` or ``none``.

    A delimiter that was named is taken at its word: only ``decimal-comma`` joins the two halves of a number.

    Raises:
        StudioError: it is neither.
    """
    word = name.strip().lower()
    delimiter = _NAMED.get(word, name if len(name) == 1 or name in _RUNS else word)
    if delimiter not in _RUNS and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise StudioError(f"{name!r} is no delimiter", "give one character, or comma, semicolon, tab, bar, blanks, decimal-comma or none")
    return Dialect(delimiter, strip=delimiter == "|", decimals=word == "decimal-comma")


@dataclass(frozen=True)
class Survey:
    """What the first lines of a file look like under a dialect.

    Attributes:
        dialect: the rules.
        width: the most frequent number of cells above one.
        share: the part of the records, from the first of that width on, that have it.
        score: how good that is; above 0.6 it may be a table.
    """

    dialect: Dialect
    width: int
    share: float
    score: float


def survey(start: Sequence[str], suffix: str = ".csv") -> list[Survey]:
    """The dialects under which the first lines of a file are a table, the best first; none: one text a line."""
    start = _first_block(start)
    found = [one for delimiter in (",", "\t", ";", "|") if (one := _look(start, Dialect(delimiter), suffix))]
    joined = "".join(start[:50])
    found += [one for run in ("|||", "||", "::") if run in joined and (one := _look(start, Dialect(run), suffix)) and one.share > 0.9]
    if not found and (one := _look(start, Dialect("  "), suffix)) and one.share > 0.9:
        found = [one]
    if not found:
        found = [one for mark in _RARE if mark in joined and (one := _look(start, Dialect(mark), suffix)) and one.score >= 1.28]
    if len(found) > 1:
        found = [one for one in found if not (one.dialect.delimiter == "," and _inside_numbers(start))] or found
    return sorted((_refined(start, one, suffix) for one in found), key=lambda one: (-one.score, -one.width))


def _first_block(start: Sequence[str]) -> Sequence[str]:
    """The lines up to the first blank one, if they are at least four: below it may stand another table."""
    filled, marks = 0, 0
    for place, line in enumerate(start):
        if not line.strip() and filled >= 4 and marks % 2 == 0:
            return start[:place]
        filled += bool(line.strip())
        marks += line.count('"')
    return start


def rivals(found: Sequence[Survey]) -> list[Survey]:
    """The best dialect and those that fit as well; tabs and bars, which texts do not hold, have no rival."""
    if not found or found[0].dialect.delimiter not in ",;":
        return list(found[:1])
    best = found[0]
    return [best, *(one for one in found[1:] if one.share >= 0.95 and one.score >= best.score - 0.15)]


def records(lines: Sequence[str], dialect: Dialect) -> list[list[str]]:
    """Records of a sample, blank ones left out, and the last one too if the sample seems to end within it."""
    found: list[list[str]] = []
    reader = dialect.reader(lines)
    read: Any = reader
    try:
        for record in reader:
            within = dialect.quote in lines[-1] or (bool(found) and sum(map(is_known_name, found[0])) > 1)
            cut = read.line_num == len(lines) and within and record and "\n" in record[-1]
            if any(cell.strip() for cell in record) and not cut:
                found.append(dialect.cells(record))
    except csv.Error:
        pass
    return found


def _look(start: Sequence[str], dialect: Dialect, suffix: str) -> Survey | None:
    """What the lines look like under a dialect: with its quotes or, if they do not pair up, with quotes as plain characters."""
    found = _measure(records(start, dialect), dialect, suffix)
    if (found is None or found.share < 0.9) and dialect.quote in "".join(start):
        literal = _measure(_literally(start, dialect), dialect, suffix)
        if literal and literal.share >= 0.9 and literal.share > (found.share if found else 0.0):
            return literal
    return found


def _literally(lines: Sequence[str], dialect: Dialect) -> list[list[str]]:
    """Every line as a record, its quotes as plain characters."""
    try:
        rows = [next(dialect.reader([line], quoting=csv.QUOTE_NONE), []) for line in lines]
    except csv.Error:
        return []
    return [row for row in rows if any(cell.strip() for cell in row)]


_SURE = 0.95  # of the lines have as many cells, of which no text of its own has three


def _measure(rows: Sequence[list[str]], dialect: Dialect, suffix: str) -> Survey | None:
    widths = Counter(len(row) for row in rows if len(row) > 1)
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    lead = next((index for index, row in enumerate(rows) if len(row) > 1 and filled[index] > 1), None)
    if lead is None:
        return None
    width, times = max(widths.items(), key=lambda item: (item[1], item[0]))
    if not looks_like_names(rows[lead]):  # a title, a date, remarks
        full = (index for index in range(lead, min(len(rows), 30)) if filled[index] >= width and looks_like_names(rows[index]))
        lead = next((index for index in full if filled[lead] < width or rows[0][0].startswith(("#", "%", "//"))), lead)
    if lead == 1 and len(rows[0]) == 1 and is_known_name(rows[0][0]):
        return None  # one text a line, below its name
    first, body = rows[lead], rows[lead:]
    share = min(1.0, times / len(body))
    named = looks_like_names(first)
    familiar = sum(map(is_known_name, first)) if named else 0
    if share < _CONSISTENT and not (familiar > 1 and sum(len(row) >= len(first) for row in body) >= 0.6 * len(body)):
        return None
    sure = share >= _SURE and width > 2
    if (
        lead
        and not named
        and not sure
        and not (lead < len(rows) / 2 and len(rows[0]) == 1 and rows[0][0].lstrip().startswith(("#", "%", "//")))
    ):
        return None  # one text a line, below its name: its commas are the texts' own
    score = share + (1.0 if familiar else 0.3 if named and len(first) == width else 0.0) - (0.3 if lead else 0.0)
    score += 0.05 * (dialect.delimiter == _EXPECTED.get(suffix)) + {"\t": 0.2, "|||": 0.4, "|": 0.1, "||": 0.3}.get(dialect.delimiter, 0.0)
    return Survey(dialect, width, share, score)


def _refined(start: Sequence[str], one: Survey, suffix: str) -> Survey:
    """The survey with the quotes, blanks and frames that its lines show."""
    dialect, mark = one.dialect, re.escape(one.dialect.delimiter)
    lines = [line.strip() for line in start if line.strip()]
    if dialect.delimiter == "|":
        dialect = replace(dialect, strip=True, framed=all(line.startswith("|") and line.endswith("|") for line in lines))
        return _look(start, dialect, suffix) or one
    opened = re.compile(rf"(?:^|{mark} ?)'(?!')|(?:^|{mark} ?)''(?={mark}|$)")
    closed = re.compile(rf"'(?= ?{mark}|$)")
    if "'" in "".join(lines[:5]):
        quoted = [bool(opened.search(line)) and len(opened.findall(line)) == len(closed.findall(line)) for line in lines]
        if sum(quoted) >= 0.8 * (len(lines) - 1) and (single := _look(start, replace(dialect, quote="'"), suffix)):
            dialect = single.dialect
    if any("\\" + dialect.quote in line for line in lines):
        escaped = _look(start, replace(dialect, escaped=True), suffix)
        if (
            escaped
            and escaped.share >= one.share
            and not any(f"\\{dialect.quote}{dialect.delimiter}{dialect.quote}" in line for line in lines)
        ):
            dialect = escaped.dialect
    if sum(line[:1] in _CURLY and line[-1:] in _CURLY.values() for line in lines) >= 0.8 * len(lines):
        dialect = replace(dialect, curly=True)
    if len(dialect.delimiter) == 1 and (spaced := _spaced(start, dialect)):
        dialect = spaced
    return (_look(start, dialect, suffix) or one) if dialect != one.dialect else one


def _spaced(start: Sequence[str], dialect: Dialect) -> Dialect | None:
    """The dialect with blanks after its delimiter, if nearly every delimiter has one."""
    cells = [cell for row in records(start, dialect) for cell in row[1:] if cell]
    spaced = replace(dialect, strip=True)
    return spaced if cells and sum(cell.startswith(" ") for cell in cells) >= 0.95 * len(cells) else None


def _inside_numbers(start: Sequence[str]) -> bool:
    """Whether nearly all commas below the first line stand between two digits."""
    commas = [(line[at - 1 : at], line[at + 1 : at + 2]) for line in start[1:] for at, mark in enumerate(line) if mark == ","]
    return bool(commas) and sum(left.isdigit() and right.isdigit() for left, right in commas) >= 0.8 * len(commas)
