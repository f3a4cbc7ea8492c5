"""Passages: parts of documents that fit the token limit of a model, cut between sentences, with their headings as context."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from ...progress import Progress, checkpoint
from .document import Document
from .sentences import split_sentences, strip_span

PASSAGE_TOKENS = 256
"""Maximum number of tokens of a passage, for models that can read more."""

OVERLAP = 0.1
"""Share of a passage that the next one may repeat, in whole sentences."""

_CONTEXT_SHARE = 4  # the headings take at most a fourth of the tokens
_BETWEEN_HEADINGS = " › "
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
        if sum(costs[start:end]) + _TOKENS_PER_SPACE * gaps <= room:
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
