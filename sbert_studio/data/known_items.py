"""Known-item sets: queries from the structure of documents without labels, each of which should find the text that it stood above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import StudioError
from ..i18n import _, join, ngettext
from .documents.document import Document, Documents
from .documents.passages import split_sentences
from .retrieval import RetrievalSet, build_set
from .split import normalize_text

QUERIES = 1_000
"""Maximum number of queries; of more, a sample is drawn."""
Origin = Literal["title", "heading", "first sentence"]
Item = tuple[list[tuple[str, Origin]], str]
"""Queries, each with where it comes from, and the text that they stood above."""
_SEED = 12
_HELD_OUT, _LEAST_HELD_OUT, _MOST_HELD_OUT = 0.1, 20, 300  # share and number of documents
_ENOUGH, _MOST_SHARE = 100, 0.2  # queries, for which up to this share of the documents is held out
LEAST_DOCUMENTS = 100
"""Number of documents below which none can be spared from training."""
_MIN_WORDS, _MIN_CHARACTERS = 3, 8  # of a first sentence, in scripts with and without spaces
_MOST_REPEATED = 3  # a heading of more sections, such as "Introduction", does not identify one


def hold_out_documents(documents: Documents) -> frozenset[str]:
    """Return the ids of the documents to make no training pairs from, so that their queries are new to the model; none of few documents.

    It is a tenth of the documents, and up to a fifth if they have few headings: a small gain takes about a hundred queries to prove.
    """
    count = len(documents)
    if count < LEAST_DOCUMENTS:
        return frozenset()
    held_out, queries = list[str](), 0
    number = min(_MOST_HELD_OUT, max(_LEAST_HELD_OUT, round(_HELD_OUT * count)))
    for row in np.random.default_rng(_SEED).permutation(count).tolist():
        if len(held_out) >= number and (queries >= _ENOUGH or len(held_out) >= _MOST_SHARE * count):
            break
        held_out.append(documents.documents[row].id)
        queries += sum(len(queries) for queries, _text in _items(documents.documents[row], sentences=True))
    return frozenset(held_out)


def build_known_items(documents: Documents, asked_of: Collection[str] = (), *, sentences: bool = False) -> RetrievalSet:
    """Return queries and texts made from documents: heading → section, else title → body, else first sentence → rest.

    The query itself is not part of the text. Equal queries have several relevant texts; those of more than three are left out.

    Args:
        asked_of: ids of the documents that queries are made from; all if empty. The texts are those of all documents.
        sentences: also ask for each section or body by its first sentence, which its text then lacks. Headings and titles alone are often
            names that every model finds.

    Raises:
        StudioError: no query can be made.
    """
    items = [(document.id, *item) for document in documents.documents for item in _items(document, sentences=sentences)]
    asked = [
        (normalize_text(query), query, origin, owner, row) for row, (owner, queries, _text) in enumerate(items) for query, origin in queries
    ]
    often = Counter(key for key, *_rest in asked)
    first = {one[0]: one for one in reversed(asked) if one[0] and often[one[0]] <= _MOST_REPEATED and (not asked_of or one[3] in asked_of)}
    chosen = sorted(first.values(), key=lambda one: one[4])
    if len(chosen) > QUERIES:
        drawn = np.random.default_rng(_SEED).choice(len(chosen), QUERIES, replace=False)
        chosen = [chosen[place] for place in sorted(drawn.tolist())]
    if not chosen:
        raise StudioError(
            _("no queries can be made from {name}", name=documents.name), "use documents with titles, headings or several sentences"
        )
    queries = {key: query for key, query, *_rest in chosen}
    judgments = [(key, str(row), 1.0) for key, *_rest, row in asked if key in queries]
    texts = {str(row): text for row, (*_rest, text) in enumerate(items)}
    counts = Counter(origin for _key, _query, origin, *_rest in chosen)
    found = build_set(documents.name, queries, texts, judgments, notes=documents.notes(), known_item=_describe(counts))
    return replace(found, owners=tuple(owner for owner, *_rest in items))


def build_table_items(documents: Documents, columns: Sequence[str]) -> RetrievalSet:
    """Return the known-item set of a table without columns of queries and documents.

    Raises:
        StudioError: no query can be made, which for a table of several columns means that they may have other names.
    """
    try:
        return build_known_items(documents)
    except StudioError:
        if len(columns) < 2:
            raise
        listed = ", ".join(map(repr, columns[:20]))
        raise StudioError(
            _("{name} has no columns of queries and documents: its columns are {columns}", name=documents.name, columns=listed),
            "rename the columns to query, document and grade; or use documents with titles, headings or several sentences",
        ) from None


def _items(document: Document, *, sentences: bool) -> Iterator[Item]:
    """Yield each section below a heading of its own, or else the document."""
    headed = [section for section in document.sections if section.heading_path and section.heading_path[-1] != document.title]
    if headed:
        yield from (_item(section.heading_path[-1], "heading", section.text, sentences) for section in headed)
    elif document.title and document.title not in (document.source, document.id) and not document.source.startswith(f"{document.title}."):
        yield _item(document.title, "title", document.text, sentences)
    else:
        first, rest = _first_sentence(document.text)
        yield [(first, "first sentence")] if first else [], rest


def _item(query: str, origin: Origin, text: str, sentences: bool) -> Item:
    first, rest = _first_sentence(text) if sentences else ("", text)
    queries = [(query, origin)]
    if first:
        queries.append((first, "first sentence"))
    return queries, rest


def _first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence, empty if there is none that can be a query, and the text without it."""
    spans = split_sentences(text)
    first = text[slice(*spans[0])] if len(spans) > 1 else ""
    is_long = len(first.split()) >= _MIN_WORDS or (not first.isascii() and len(first) >= _MIN_CHARACTERS)
    return (first, text[spans[1][0] :]) if is_long else ("", text)


def _describe(counts: Counter[Origin]) -> str:
    words: Iterable[tuple[Origin, str]] = (
        ("title", ngettext("{n} title", "{n} titles", counts["title"])),
        ("heading", ngettext("{n} heading", "{n} headings", counts["heading"])),
        ("first sentence", ngettext("{n} first sentence", "{n} first sentences", counts["first sentence"])),
    )
    return _(
        "Known-item check without labels: the queries are {origins} of the documents themselves, not questions of people. Compare models "
        "on these documents with it, but not with scores on labelled queries.",
        origins=join(", ", (word for origin, word in words if counts[origin])),
    )
