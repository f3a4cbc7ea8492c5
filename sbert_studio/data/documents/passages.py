"""Passages: parts of documents that fit the token limit of a model, cut between sentences, with their headings as context.

As a table, they are searched, mapped and encoded like the rows of any other file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Annotated

from ...i18n import _, ngettext
from ...progress import Progress, checkpoint
from ...serialization import Internal, JsonResult, doc
from ...workspace import atomic_file
from ..findings import Finding
from ..loading.table import Table, table_from_columns
from ..schema.names import unique_name, word_lists, word_set
from .document import Document, Documents

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


PASSAGE_TOKENS = 256
"""Maximum number of tokens of a passage, for models that can read more."""

OVERLAP = 0.1
"""Share of a passage that the next one may repeat, in whole sentences."""

_CONTEXT_SHARE = 4  # the headings take at most a fourth of the tokens
_BETWEEN_HEADINGS = " › "
_MAX_COLUMNS = 100  # of tables that were read as documents
_SLACK, _TOKENS_PER_SPACE = 2, 3
_CHARACTERS_PER_TOKEN = 8  # longer pieces are cut before their tokens are counted
_CLAUSE_END = re.compile(r"[,;:，；：、،؛](?=\s|[\u3000-\u9fff])|[，；：、]")


@dataclass(frozen=True)
class TokenBudget:
    """Number of tokens that a passage may have.

    Attributes:
        count: returns the number of tokens of each text, with the prompt and special tokens (see
            :meth:`sbert_studio.models.base.TextTokens.count_tokens`).
        limit: the maximum, with the prompt and special tokens.
    """

    count: Callable[[Sequence[str]], list[int]]
    limit: int

    @cached_property
    def empty(self) -> int:
        """The number of tokens of an empty text."""
        return self.count([""])[0]

    @staticmethod
    def surely_fits(text: str, tokens: int) -> bool:
        """Return True if a text is so short that its tokens need not be counted: of an ASCII text, none is shorter than a character."""
        text = text.replace(_BETWEEN_HEADINGS, " " * 5)
        return len(text) + _SLACK <= tokens and text.isascii()


@dataclass(frozen=True)
class Passage:
    """A part of a document.

    Attributes:
        document: index of the document among those that were cut.
        context: title and headings above the passage, which are encoded with it; may be shortened or empty.
        text: the passage, ``document.text[start:end]``.
        heading_path: the headings above the passage.
        page: the page that it begins on.
        start, end: its range of characters in the document's text.
    """

    document: int
    context: str
    text: str
    heading_path: tuple[str, ...]
    page: int | None
    start: int
    end: int

    @property
    def encoded_text(self) -> str:
        """The text to encode: the context on a line of its own, then the passage."""
        return f"{self.context}\n{self.text}" if self.context else self.text


def make_passages(
    documents: Iterable[Document], budget: TokenBudget, overlap: float = OVERLAP, progress: Progress | None = None
) -> Iterator[Passage]:
    """Yield the passages of each document in order; a document that fits is one passage for each of its headings.

    No passage, with its context, exceeds the budget. Passages end between sentences; only a sentence that exceeds the budget by itself is
    cut, at a clause or space if possible. Passages of one section are of similar length.

    Args:
        overlap: share of a passage that the next one may repeat, in whole sentences.
        progress: called with (documents done, documents), or a total of 0 if it is unknown.
    """
    total = len(documents) if isinstance(documents, Sequence) else 0
    for number, document in enumerate(documents):
        checkpoint()
        if progress:
            progress(number, total)
        yield from _cut_document(number, document, budget, overlap)
    if progress and total:
        progress(total, total)


def _cut_document(number: int, document: Document, budget: TokenBudget, overlap: float) -> Iterator[Passage]:
    places = zip(document.sections, document.starts, strict=True)
    for path, found in groupby(places, key=lambda place: place[0].heading_path):
        run = list(found)
        pages = [(start, section.page) for section, start in run]
        first, last = run[0][1], run[-1][1] + len(run[-1][0].text)
        context = _make_context(document.title, path, budget)
        for start, end in _cut(document.text, first, last, context, budget, overlap):
            page = next(page for begin, page in reversed(pages) if begin <= start)
            yield Passage(number, context, document.text[start:end], path, page, start, end)


def _make_context(title: str, path: tuple[str, ...], budget: TokenBudget) -> str:
    """Return title and headings, without repetitions; inner ones are dropped, then the rest is cut, until they fit their share."""
    parts = [part for part, _ in groupby(part for part in (title, *path) if part)]
    limit = budget.limit // _CONTEXT_SHARE
    while parts and not budget.surely_fits((context := _BETWEEN_HEADINGS.join(parts)), limit):
        if budget.count([context])[0] - budget.empty <= limit:
            break
        if len(parts) > 1:
            del parts[len(parts) // 2 if len(parts) > 2 else 0]
        elif len(words := context.split()) > 1:
            parts = [" ".join(words[: len(words) * 2 // 3])]
        else:
            parts = [context[: len(context) // 2]] if len(context) > 1 else []
    return _BETWEEN_HEADINGS.join(parts)


def _cut(text: str, first: int, last: int, context: str, budget: TokenBudget, overlap: float) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the passages between two positions."""
    whole = strip_span(text, first, last)
    if whole is None:
        return
    head = f"{context}\n" if context else ""
    if budget.surely_fits(head + text[whole[0] : whole[1]], budget.limit - budget.empty):
        yield whole
        return
    room = max(1, budget.limit - (budget.count([head])[0] if head else budget.empty))
    spans, costs = [], []
    sentences = [(first + start, first + end) for start, end in split_sentences(text[first:last])]
    for span, cost in _with_costs(text, sentences, budget, room):
        spans.append(span)
        costs.append(cost)
    for start, end in _pack(costs, room, overlap):
        gaps = sum(right[0] - left[1] for left, right in pairwise(spans[start:end]))
        # The pieces of a long word, joined again, may have more tokens than the sum.
        is_whole = all(right[0] > left[1] or not text[left[1] - 1 : right[0] + 1].isalnum() for left, right in pairwise(spans[start:end]))
        if is_whole and sum(costs[start:end]) + _TOKENS_PER_SPACE * gaps <= room:
            yield spans[start][0], spans[end - 1][1]
        else:
            yield from _fit(text, spans[start:end], head, budget)


def _with_costs(text: str, spans: list[tuple[int, int]], budget: TokenBudget, limit: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield ranges with their numbers of tokens, each at most ``limit``: longer ones are cut."""
    spans = [piece for span in spans for piece in _chop(text, *span, limit * _CHARACTERS_PER_TOKEN)]
    counts = budget.count([text[start:end] for start, end in spans]) if spans else []
    for (start, end), count in zip(spans, counts, strict=True):
        cost = count - budget.empty
        if cost <= limit or end - start <= 1:
            yield (start, end), max(1, cost)
        else:
            middle = _soft_border(text, start + (end - start) // 4, end - (end - start) // 4)
            halves = [span for span in (strip_span(text, start, middle), strip_span(text, middle, end)) if span]
            yield from _with_costs(text, halves, budget, limit)


def _chop(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut a range into pieces of at most ``most`` characters."""
    while end - start > most:
        middle = _soft_border(text, start + most // 2, start + most)
        if span := strip_span(text, start, middle):
            yield span
        start = middle
    if span := strip_span(text, start, end):
        yield span


def _soft_border(text: str, low: int, high: int) -> int:
    """Return the best position to cut a sentence in a range: after a clause, else at a space, nearest to the middle of the range."""
    center, high = (low + high) // 2, max(high, low + 1)
    clauses = [found.end() for found in _CLAUSE_END.finditer(text, low, high)]
    borders = clauses or [found.end() for found in re.compile(r"\s").finditer(text, low, high)]
    return min(borders, key=lambda place: abs(place - center)) if borders else max(center, low + 1)


def _pack(costs: Sequence[int], limit: int, overlap: float) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of consecutive sentences of at most ``limit`` tokens, of similar length, with an overlap."""
    repeated = int(limit * overlap)
    total = sum(costs)
    target = total / math.ceil(total / max(1, limit - repeated)) + repeated if costs else 0
    start = 0
    while start < len(costs):
        end, size = start, 0
        while end < len(costs) and (end == start or size + costs[end] <= min(limit, target + costs[end] / 2)):
            size += costs[end]
            end += 1
        yield start, end
        if end == len(costs):
            return
        again, size = end, 0
        while again - 1 > start and size + costs[again - 1] <= repeated:
            again -= 1
            size += costs[again]
        start = again


def _fit(text: str, spans: Sequence[tuple[int, int]], head: str, budget: TokenBudget) -> Iterator[tuple[int, int]]:
    """Yield the range of the sentences, or of halves of them: joined sentences may have a few tokens more than the sum of their parts."""
    start, end = spans[0][0], spans[-1][1]
    if end - start <= 1 or budget.count([head + text[start:end]])[0] <= budget.limit:
        yield start, end
        return
    if len(spans) == 1:
        middle = _soft_border(text, start + (end - start) // 4, end - (end - start) // 4)
        parts = [[span] for span in (strip_span(text, start, middle), strip_span(text, middle, end)) if span]
    else:
        parts = [list(spans[: len(spans) // 2]), list(spans[len(spans) // 2 :])]
    for part in parts:
        yield from _fit(text, part, head, budget)


TEXT = "text"
"""Column of the passages, each below its headings."""


@dataclass(frozen=True)
class PassagePlace(JsonResult):
    """Place of a passage in its document.

    Attributes:
        number: index of the document among those that were read.
        context: number of characters of the text that are its headings, with the line break after them.
    """

    number: Internal[int]
    context: Internal[int]
    document: Annotated[str, doc("id of the document: the path of its file, or its id in a table")]
    title: Annotated[str, doc("title of the document")]
    file: Annotated[str, doc("path of its file, relative to the folder or archive")]
    heading: Annotated[tuple[str, ...], doc("headings above the passage, outermost first")]
    page: Annotated[int | None, doc("page that it begins on; null if the format has no pages")]
    start: Annotated[int, doc("first character of the passage in the text of the document, from 0")]
    end: Annotated[int, doc("the character after its last one")]

    def describe(self) -> str:
        """Return the place in one line: document, heading, page and characters."""
        headings = [heading for heading in self.heading if heading != self.title]
        words = _BETWEEN_HEADINGS.join([self.title or self.document, *headings])
        characters = f"{self.start:,}–{self.end:,}"
        if self.page is None:
            return _("{file}: {headings}, characters {range}", file=self.file, headings=words, range=characters)
        return _("{file}: {headings}, page {page}, characters {range}", file=self.file, headings=words, page=self.page, range=characters)


def passage_table(documents: Documents, budget: TokenBudget, overlap: float = OVERLAP, progress: Progress | None = None) -> Table:
    """Return a table with a row for each passage: its text below its headings, and columns for title, heading, page and file.

    Rows of a table keep its other columns; one of the same name gets an underscore. Columns without any value, and a file that is the same
    for all, are left out. Notes list the files that were skipped.
    """
    texts, places, cells = [], list[PassagePlace](), list[Mapping[str, str]]()
    for passage in make_passages(documents.documents, budget, overlap, progress):
        document = documents.documents[passage.document]
        texts.append(passage.encoded_text)
        context = len(passage.encoded_text) - len(passage.text)
        where = document.id, document.title, document.source, passage.heading_path, passage.page, passage.start, passage.end
        places.append(PassagePlace(passage.document, context, *where))
        cells.append(document.cells)
    columns = {
        TEXT: texts,
        "title": [place.title for place in places],
        "heading": [_BETWEEN_HEADINGS.join(heading for heading in place.heading if heading != place.title) for place in places],
        "page": ["" if place.page is None else str(place.page) for place in places],
        "file": [place.file for place in places],
    }
    kept = {name: column for name, column in columns.items() if any(column) and (name != "file" or len(set(column)) > 1)}
    names = list(dict.fromkeys(name for document in documents.documents for name in document.cells))
    for name in names[:_MAX_COLUMNS]:
        if any(column := [row.get(name, "") for row in cells]):
            kept[unique_name(name, kept)] = column
    count = ngettext("{n} passage", "{n} passages", len(places))
    of = ngettext("{n} document", "{n} documents", len(documents))
    notes = [
        Finding("info", _("{passages} of {documents}, each with at most {limit} tokens", passages=count, documents=of, limit=budget.limit))
    ]
    if (extra := len(names) - _MAX_COLUMNS) > 0:
        notes.append(Finding("warning", ngettext("{n} further column is left out", "{n} further columns are left out", extra)))
    notes += [Finding("warning", note.rstrip(".")) for note in documents.notes()]
    return replace(table_from_columns(documents.name, kept), notes=tuple(notes), places=tuple(places))


def write_passages(table: Table, path: Path) -> Path:
    """Write the passages of a table as JSON Lines, in the order of its rows: the text, and its place in the document."""
    with atomic_file(path) as part, part.open("w", encoding="utf-8") as target:
        for text, place in zip(table.texts(TEXT), table.places, strict=True):
            target.write(json.dumps({"text": text, **place.to_json()}, ensure_ascii=False) + "\n")
    return path
