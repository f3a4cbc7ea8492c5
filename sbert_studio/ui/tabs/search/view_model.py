"""View models of the Search tab: frozen dataclasses whose fields name components, and the tables of hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....explore.bm25 import highlight
from ...views import UNCHANGED, Unchanged, Update, Value, column, table

if TYPE_CHECKING:
    import gradio as gr

    from ....data.corpus import Corpus
    from ....services.results import SearchResult
    from ....services.search import Mode
    from ...handover import RowSelection
    from ...routing import Location

SCORES = {"semantic": "Cosine", "lexical": "BM25", "hybrid": "Fused", "reranked": "Re-ranked"}
"""Mode → name of its score."""
NO_FILTER = ("None", "")
NO_HITS = "Results appear here, best first."
_MAX_FIELDS = 3
_MAX_VALUES, _MAX_VALUE_CHARACTERS, _MAX_NAMED_VALUES = 1_000, 80, 3


@dataclass(frozen=True)
class SearchInputs:
    """Inputs of a search.

    Attributes:
        reranker, compare_model: names of models; empty for none.
        filter_column, filter_values: search only rows with one of these values in this column; empty for all rows.
        rows_to_search: rows that were selected on the map.
        query_prompt, document_prompt, truncate_dim: replace the settings of ``model``; empty or 0 for its own.
    """

    corpus: str | None
    query: str
    k: float = 10
    mode: Mode = "semantic"
    model: str | None = None
    reranker: str | None = ""
    filter_column: str | None = ""
    filter_values: Sequence[str] | None = ()
    compare_model: str | None = ""
    rows_to_search: RowSelection | None = None
    query_prompt: str | None = ""
    document_prompt: str | None = ""
    truncate_dim: float | None = 0


@dataclass(frozen=True)
class SearchedText:
    """A query, or a text of the corpus whose neighbours are listed, and the key of the corpus."""

    corpus: str
    text: str


@dataclass(frozen=True)
class HitsView:
    """Tables of hits; or a change of the basket after a click in one.

    Attributes:
        other_hits: of the model to compare with.
        searched: what the hits were found by.
        show_on_map: update of the button.
    """

    hits: Value | Unchanged = UNCHANGED
    other_hits: Value | Unchanged | None = UNCHANGED
    searched: SearchedText | Unchanged = UNCHANGED
    corpus: str | Unchanged = UNCHANGED
    show_on_map: Update | Unchanged = UNCHANGED
    rows_to_search: Unchanged | None = UNCHANGED
    basket_version: int | Unchanged = UNCHANGED


@dataclass(frozen=True)
class LinkedSearch:
    """A search that an address names, and its location to start the search."""

    query: str
    mode: str
    linked: Location


@dataclass(frozen=True)
class CorpusControls:
    """The filter's controls for a corpus, and the rows that stay selected."""

    filters: Update
    filter_column: Update
    filter_values: Update
    rows_to_search: RowSelection | Unchanged | None


@dataclass(frozen=True)
class SelectedRowsNote:
    """The note above the search button that only selected rows are searched, and the tab to open."""

    selected_rows: Update
    selected_rows_note: Value | None
    tabs: gr.Tabs | Unchanged = UNCHANGED


def value_choices(corpus: Corpus, name: str) -> list[tuple[str, str]]:
    """Return (label with its count, value) of the most frequent values of a column."""
    counts = Counter(corpus.fields.get(name, ()))
    return [(f"{(value or '(blank)')[:_MAX_VALUE_CHARACTERS]} · {n:,}", value) for value, n in counts.most_common(_MAX_VALUES)]


def filter_rows(corpus: Corpus, name: str | None, values: Sequence[str] | None) -> list[int] | None:
    """Return the rows with one of ``values`` in a column; ``None`` (all rows) if no column or no value is selected."""
    if not name or not values or name not in corpus.fields:
        return None
    wanted = set(values)
    return [row for row, cell in enumerate(corpus.fields[name]) if cell in wanted]


def describe_filter(name: str | None, values: Sequence[str] | None) -> str:
    """Return a description such as ``where topic is refund or card``; empty without a filter."""
    if not name or not values:
        return ""
    more = len(values) - _MAX_NAMED_VALUES
    named = [value or "(blank)" for value in values[:_MAX_NAMED_VALUES]] + ([f"{more} more"] if more > 0 else [])
    return f"where {name} is {' or '.join(named)}"


def hits_table(corpus: Corpus, result: SearchResult, score: str, caption: str, searched: str, *, marks_words: bool = False) -> Value:
    """Return hits as a table. Choosing one lists its neighbours; thumbs label it as similar to the searched text, or not.

    Args:
        score: a key of :data:`SCORES`.
        marks_words: highlight the words of the searched text.
    """
    names = list(corpus.fields)[:_MAX_FIELDS]
    text_column, cells = _text_column(result, searched, marks_words)
    rows = [
        [hit.line, cell, hit.score, *(hit.fields.get(name, "") for name in names)] for hit, cell in zip(result.hits, cells, strict=True)
    ]
    return table(
        [column("Row", "row"), text_column, _score_column(result, score), *(column(name, theirs=True) for name in names)],
        rows,
        ids=[hit.row for hit in result.hits],
        action="More like this",
        pairs=[(searched, hit.text) for hit in result.hits],
        caption=caption,
        note=" ".join(result.notes),
        empty="Nothing was found. A search by words finds only words that occur in the corpus; try a search by meaning.",
    )


def comparison_table(result: SearchResult, other: SearchResult, score: str, searched: str, *, marks_words: bool = False) -> Value:
    """Return the hits of one of two models, each with its rank among the other model's hits."""
    ranks = {hit.row: rank for rank, hit in enumerate(other.hits, 1)}
    text_column, cells = _text_column(result, searched, marks_words)
    rows = [[rank, cell, hit.score, ranks.get(hit.row)] for rank, (hit, cell) in enumerate(zip(result.hits, cells, strict=True), 1)]
    shared = sum(hit.row in ranks for hit in result.hits)
    return table(
        [column("#", "row"), text_column, _score_column(result, score, is_bar=False), column("Other rank", "place")],
        rows,
        ids=[hit.row for hit in result.hits],
        pairs=[(searched, hit.text) for hit in result.hits],
        caption=f"{shared} of {len(result.hits)} found by both",
        note=" ".join(result.notes),
        empty="Nothing was found.",
    )


def shards_table(result: SearchResult) -> Value:
    """Return the hits in a folder of shards with their ids."""
    rows = [[hit.fields["id"], hit.text, hit.score] for hit in result.hits]
    columns = [column("Id", theirs=True), column("Text", "text", main=True), _score_column(result, "semantic")]
    caption = f"{len(result.hits)} of {result.account.read:,} texts · {result.milliseconds:.0f} ms"
    return table(columns, rows, caption=caption, note=" ".join(result.notes), empty="Nothing was found.")


def _text_column(result: SearchResult, searched: str, marks_words: bool) -> tuple[Value, list[object]]:
    cells: list[object] = [highlight(hit.text, searched) if marks_words else hit.text for hit in result.hits]
    return column("Text", "marked" if marks_words else "text", main=True), cells


def _score_column(result: SearchResult, score: str, *, is_bar: bool = True) -> Value:
    digits = 4 if score == "hybrid" else 3
    # Dot products, distances and logits have no fixed range, so a bar would mislead.
    if score == "semantic" and result.similarity_fn_name != "cosine":
        return column("Score", "number", digits=digits)
    is_bar = is_bar and not (score == "reranked" and any(hit.score < 0 for hit in result.hits))
    high = 1 if score == "semantic" else max((hit.score for hit in result.hits if hit.score > 0), default=1.0)
    return column(SCORES[score], "bar" if is_bar else "number", low=0, high=high, digits=digits)
