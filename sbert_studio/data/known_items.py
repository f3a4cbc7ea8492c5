"""Known-item sets: queries from the structure of documents without labels, each of which should find the text that it stood above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

import numpy as np

from ..errors import StudioError
from ..i18n import _, join, ngettext
from .documents.document import Document, Documents
from .documents.sentences import split_sentences
from .retrieval import RetrievalSet, build_set
from .split import normalize_text

QUERIES = 1_000
"""Maximum number of queries; of more, a sample is drawn."""
Origin = Literal["title", "heading", "first sentence"]
Item = tuple[str, Origin, str]
"""A query, where it comes from (empty if there is none), and the text that it stood above."""
_SEED = 12
_HELD_OUT, _LEAST_HELD_OUT, _MOST_HELD_OUT = 0.1, 20, 300  # share and number of documents
_LEAST_DOCUMENTS = 100  # of fewer, none can be spared from training
_MIN_WORDS, _MIN_CHARACTERS = 3, 8  # of a first sentence, in scripts with and without spaces
_MOST_REPEATED = 3  # a heading of more sections, such as "Introduction", does not identify one


def hold_out_documents(documents: Documents) -> frozenset[str]:
    """Return the ids of the documents to make no training pairs from, so that their queries are new to the model; none of few documents."""
    count = len(documents)
    if count < _LEAST_DOCUMENTS:
        return frozenset()
    number = min(_MOST_HELD_OUT, max(_LEAST_HELD_OUT, round(_HELD_OUT * count)))
    rows = np.random.default_rng(_SEED).choice(count, number, replace=False)
    return frozenset(documents.documents[row].id for row in rows.tolist())


def build_known_items(documents: Documents, asked_of: Collection[str] = ()) -> RetrievalSet:
    """Return queries and texts made from documents: heading → section, else title → body, else first sentence → rest.

    The query itself is not part of the text. Equal queries have several relevant texts; those of more than three are left out.

    Args:
        asked_of: ids of the documents that queries are made from; all if empty. The texts are those of all documents.

    Raises:
        StudioError: no query can be made.
    """
    owned = [(document.id, item) for document in documents.documents for item in _items(document)]
    items = [item for _owner, item in owned]
    queries = [normalize_text(query) for query, *_rest in items]
    often = Counter(queries)
    usable = {
        query: row
        for row, query in reversed(list(enumerate(queries)))
        if query and often[query] <= _MOST_REPEATED and (not asked_of or owned[row][0] in asked_of)
    }
    chosen = sorted(usable.values())
    if len(chosen) > QUERIES:
        chosen = sorted(np.random.default_rng(_SEED).choice(chosen, QUERIES, replace=False).tolist())
    if not chosen:
        raise StudioError(
            _("no queries can be made from {name}", name=documents.name), "use documents with titles, headings or several sentences"
        )
    wanted = {queries[row] for row in chosen}
    judgments = [(query, str(row), 1.0) for row, query in enumerate(queries) if query in wanted]
    asked = {queries[row]: items[row][0] for row in chosen}
    texts = {str(row): text for row, (*_rest, text) in enumerate(items)}
    counts = Counter(items[row][1] for row in chosen)
    return build_set(documents.name, asked, texts, judgments, notes=documents.notes(), known_item=_describe(counts))


def _items(document: Document) -> Iterator[Item]:
    """Yield each section below a heading of its own, or else the document."""
    headed = [section for section in document.sections if section.heading_path and section.heading_path[-1] != document.title]
    if headed:
        yield from ((section.heading_path[-1], "heading", section.text) for section in headed)
    elif document.title and document.title not in (document.source, document.id) and not document.source.startswith(f"{document.title}."):
        yield document.title, "title", document.text
    else:
        yield _first_sentence(document.text)


def _first_sentence(text: str) -> Item:
    spans = split_sentences(text)
    first = text[slice(*spans[0])] if len(spans) > 1 else ""
    is_long = len(first.split()) >= _MIN_WORDS or (not first.isascii() and len(first) >= _MIN_CHARACTERS)
    return (first, "first sentence", text[spans[1][0] :]) if is_long else ("", "first sentence", text)


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
