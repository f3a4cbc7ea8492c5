"""Hits as the page shows them, alone or beside those of another model, and what the thumbs beside them say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....errors import StudioError
from ....explore.bm25 import highlight
from ...basket.handlers import VERDICTS, toggle_pair
from ...basket.pairs import LabelledPair
from ...page import Page
from ...views import Value, column, table

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....services.results import SearchResult

_FIELDS = 3
SCORES = {"semantic": "Cosine", "lexical": "BM25", "hybrid": "Fused", "reranked": "Ranked again"}
BY_WORDS = ("lexical", "hybrid")


@dataclass(frozen=True)
class Asked:
    """What the hits that are shown were asked for by: the key of their corpus, and a query or one of its texts."""

    corpus: str
    text: str


def hits_table(corpus: Corpus, result: SearchResult, mode: str, caption: str, asked: str = "", *, words: bool = False) -> Value:
    """Hits as a table; choosing one asks for its neighbours. Thumbs say whether they belong to the text that was ``asked`` for.

    Args:
        words: mark those of the text that was asked for.
    """
    names = list(corpus.fields)[:_FIELDS]
    best = max((hit.score for hit in result.hits), default=1.0)
    unbounded = mode == "semantic" and result.similarity_fn_name != "cosine"
    # A logit has no beginning, nor has a dot product.
    bar = "number" if unbounded or (mode == "reranked" and any(hit.score < 0 for hit in result.hits)) else "bar"
    name, high = "Score" if unbounded else SCORES[mode], 1 if mode == "semantic" else max(best, 1e-9)
    score = column(name, bar, low=0, high=high, digits=4 if mode == "hybrid" else 3)
    texts: list[Any] = [highlight(hit.text, asked) if words else hit.text for hit in result.hits]
    rows = [
        [hit.line, text, hit.score, *(hit.fields.get(name, "") for name in names)] for hit, text in zip(result.hits, texts, strict=True)
    ]
    return table(
        [
            column("Row", "row"),
            column("Text", "marked" if words else "text", main=True),
            score,
            *(column(name, theirs=True) for name in names),
        ],
        rows,
        ids=[hit.row for hit in result.hits],
        action="More like this",
        pairs=[(asked, hit.text) for hit in result.hits] if asked else (),
        caption=caption,
        note=" ".join(result.notes),
        empty="Nothing was found. Words must occur in the corpus to be found by words; try by meaning.",
    )


def side_table(result: SearchResult, others: SearchResult, mode: str, asked: str) -> Value:
    """The hits of one of two models, each with the place that it has with the other one."""
    places = {hit.row: place for place, hit in enumerate(others.hits, 1)}
    words = mode in BY_WORDS
    rows = [
        [place, highlight(hit.text, asked) if words else hit.text, hit.score, places.get(hit.row)]
        for place, hit in enumerate(result.hits, 1)
    ]
    by_cosine = result.similarity_fn_name == "cosine"
    score = column(SCORES[mode] if by_cosine or mode != "semantic" else "Score", "number", digits=4 if mode == "hybrid" else 3)
    shared = sum(hit.row in places for hit in result.hits)
    return table(
        [column("#", "row"), column("Text", "marked" if words else "text", main=True), score, column("There", "place")],
        rows,
        ids=[hit.row for hit in result.hits],
        pairs=[(asked, hit.text) for hit in result.hits],
        caption=f"{shared} of {len(result.hits)} found by both",
        note=" ".join(result.notes),
        empty="Nothing was found.",
    )


def judge(page: Page, asked: Asked | None, row: Any, said: str, owner: Any) -> int:
    """Put a hit into the basket beside what was asked for, as the thumbs say; ``row`` and ``said`` come from the browser.

    Raises:
        StudioError: there is no such row.
    """
    texts = page.corpora.get(asked.corpus).corpus.texts if asked is not None else ()
    if asked is None or not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(texts):
        raise StudioError("there is no such row", "search once more")
    return toggle_pair(page, owner, LabelledPair(asked.text, texts[row], VERDICTS[said], "Search"))
