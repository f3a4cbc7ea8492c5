"""Handlers of the Search tab (see :mod:`..panel`) and its tables of hits; near-duplicates are in :mod:`.duplicates`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ....data.samples import sample_texts
from ....errors import StudioError
from ....explore import DEFAULT_RESULTS
from ....explore.bm25 import highlight
from ....i18n import ENGLISH, _, join, languages, verbatim
from ....models.prompts import SearchSettings
from ....services.search import SearchOptions
from ...basket import VERDICTS, LabelledPair, toggle_pair
from ...corpora import FILE
from ...handlers import progress_callback
from ...sessions.tasks import TASKS
from ...state import SEARCH, RowSelection, SelectedCorpus, show_on_map
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, shorten, table

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....services.results import SearchResult
    from ....services.results.search import TextHit
    from ....services.search import Mode
    from ...page import Page
    from ...panel import Selection
    from ...routing import Location

TITLE = SEARCH
BUTTON = "search-go"
NO_MODEL = ("None", "")
_MAX_TITLE = 90
SCORES = {"semantic": "Cosine", "lexical": "BM25", "hybrid": "Fused", "reranked": "Re-ranked"}
"""Mode → name of its score."""
NO_FILTER = ("None", "")
NO_HITS = "Results appear here, best first."
MAX_FIRST_TEXTS = 5_000  # texts that are searched without being asked
_MAX_FIELDS = 3
_MAX_VALUES, _MAX_VALUE_CHARACTERS, _MAX_NAMED_VALUES = 1_000, 80, 3


@dataclass(frozen=True)
class SearchInputs:
    """Inputs of a search.

    Attributes:
        filter_column, filter_values: search only rows with one of these values in this column; empty for all rows.
    """

    corpus: str | None
    query: str
    k: float = DEFAULT_RESULTS
    mode: Mode = "semantic"
    model: str | None = None
    reranker: str | None = ""  # reranker, compare_model: names of models; empty for none
    filter_column: str | None = ""
    filter_values: Sequence[str] | None = ()
    compare_model: str | None = ""
    rows_to_search: RowSelection | None = None  # rows that were selected on the map
    query_prompt: str | None = ""  # query_prompt, document_prompt, truncate_dim: override the settings of ``model``; empty or 0 for its own
    document_prompt: str | None = ""
    truncate_dim: float | None = 0


@dataclass(frozen=True)
class SearchedText:
    corpus: str
    text: str


@dataclass(frozen=True)
class HitsView:
    """Tables of hits, or a change of the basket after a click in one."""

    hits: Value | Unchanged = UNCHANGED
    other_hits: Value | Unchanged | None = UNCHANGED  # hits of the model to compare with
    searched: SearchedText | Unchanged | None = UNCHANGED  # the searched text
    corpus: str | Unchanged = UNCHANGED
    show_on_map: Update | Unchanged = UNCHANGED  # update of the button
    rows_to_search: Unchanged | None = UNCHANGED
    basket_version: int | Unchanged = UNCHANGED


@dataclass(frozen=True)
class CorpusControls:
    filters: Update
    filter_column: Update
    filter_values: Update
    rows_to_search: RowSelection | Unchanged | None


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
    named = [verbatim(value) if value else _("(blank)") for value in values[:_MAX_NAMED_VALUES]]
    named += [_("{more} more", more=more)] if more > 0 else []
    return _("where {name} is {named}", name=name, named=join(" or ", named))


def hits_table(corpus: Corpus, result: SearchResult, score: str, caption: str, searched: str, *, marks_words: bool = False) -> Value:
    """Return hits as a table. Clicking a hit lists its neighbors; thumbs label it as similar to the searched text, or not.

    Args:
        score: a key of :data:`SCORES`.
        marks_words: highlight the words of the searched text.
    """
    names = list(corpus.fields)[:_MAX_FIELDS]
    text_column, cells = _text_column(result, searched, marks_words)
    rows = [
        [hit.line, cell, hit.score, *(hit.fields.get(name, "") for name in names), *_characters(hit)]
        for hit, cell in zip(result.hits, cells, strict=True)
    ]
    columns = [column("Row", "row"), text_column, _score_column(result, score), *(column(name, theirs=True) for name in names)]
    return table(
        [*columns, column("Characters")] if corpus.places else columns,
        rows,
        ids=[hit.row for hit in result.hits],
        action="More like this",
        pairs=[(searched, hit.text) for hit in result.hits],
        caption=caption,
        note=join(" ", result.notes),
        empty="Nothing was found. Search by words finds only words that occur in the corpus; try searching by meaning.",
    )


def _characters(hit: TextHit) -> list[str]:
    """Return the range of characters of a passage in its document, in a list that is empty for other texts."""
    return [] if hit.place is None else [f"{hit.place.start:,}–{hit.place.end:,}"]


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
        caption=_("{shared} of {hits} found by both", shared=shared, hits=len(result.hits)),
        note=join(" ", result.notes),
        empty="Nothing was found.",
    )


def shards_table(result: SearchResult) -> Value:
    rows = [[hit.fields["id"], hit.text, hit.score] for hit in result.hits]
    columns = [column("Id", theirs=True), column("Text", "text", main=True), _score_column(result, "semantic")]
    caption = _(
        "{hits} of {read} texts · {milliseconds} ms",
        hits=len(result.hits),
        read=f"{result.account.read:,}",
        milliseconds=f"{result.milliseconds:.0f}",
    )
    return table(columns, rows, caption=caption, note=join(" ", result.notes), empty="Nothing was found.")


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


def search(page: Page, inputs: SearchInputs, progress: gr.Progress | None = None) -> HitsView:
    """Search the selected corpus, by default the sample, and also with a second model if one is selected."""
    TASKS.supersede_earlier()
    key, selected = page.corpora.current(inputs.corpus)
    corpus, query, mode = selected.corpus, inputs.query, inputs.mode
    rows = filter_rows(corpus, inputs.filter_column, inputs.filter_values)
    filter_text = "" if rows is None else describe_filter(inputs.filter_column, inputs.filter_values)
    rows = rows if inputs.rows_to_search is None else inputs.rows_to_search.restrict(corpus, rows)
    report = progress_callback(progress, "Indexing words" if mode == "lexical" else "Encoding the corpus")

    def search_with(model: str | None, settings: SearchSettings | None) -> SearchResult:
        return page.studio.search.search(
            corpus,
            query,
            int(inputs.k),
            mode,
            model=model,
            progress=report,
            options=SearchOptions(inputs.reranker or False, rows, settings),
        )

    settings = SearchSettings(inputs.query_prompt or "", inputs.document_prompt or "", int(inputs.truncate_dim or 0))
    result = search_with(inputs.model, settings)
    made = page.provenance(inputs.model, selected, BUTTON)
    score, marks_words = "reranked" if inputs.reranker else mode, mode != "semantic"
    other_hits = None
    if not inputs.compare_model or inputs.compare_model == (inputs.model or page.studio.settings.default_model):
        counts = {"hits": len(result.hits), "count": f"{len(corpus) if rows is None else len(rows):,}"}
        found = _("{hits} of {count} passages", **counts) if corpus.places else _("{hits} of {count} texts", **counts)
        caption = join(" · ", filter(None, (found, filter_text, _("{milliseconds} ms", milliseconds=f"{result.milliseconds:.0f}"))))
        hits = hits_table(corpus, result, score, caption, query, marks_words=marks_words)
    else:
        # The settings belong to the model in the header.
        other = search_with(inputs.compare_model, None)
        hits = comparison_table(result, other, score, query, marks_words=marks_words)
        other_hits = comparison_table(other, result, score, query, marks_words=marks_words)
        other_hits["made"] = page.provenance(inputs.compare_model, selected, BUTTON) | {"model": made["model"]}
    return HitsView(hits | {"made": made}, other_hits, SearchedText(key, query), key, props(visible=True))


def clear_hits() -> HitsView:
    """Clear the hits when other data is selected."""
    return HitsView(placeholder(NO_HITS), None, None, UNCHANGED, props(visible=False))


def show_first_hits(page: Page, inputs: SearchInputs, progress: gr.Progress | None = None) -> HitsView | None:
    """Return what the tab opens with: the hits of the query, or, if that is the example of another sample, the texts nearest to the first.

    A large corpus is only searched when asked for, because its texts may have to be encoded.
    """
    key, selected = page.corpora.current(inputs.corpus)
    corpus, query = selected.corpus, inputs.query.strip()
    if len(corpus) > MAX_FIRST_TEXTS:
        return None
    if query and not _is_other_example(page, selected, query):
        return replace(search(page, inputs, progress), corpus=UNCHANGED)
    result = page.studio.search.find_neighbors(corpus, 0, int(inputs.k), inputs.model)
    text = corpus.texts[0]
    hits = hits_table(corpus, result, "semantic", _("Nearest to: {shorten}", shorten=shorten(text, _MAX_TITLE)), text)
    made = page.provenance(inputs.model, selected, BUTTON)
    return HitsView(hits | {"made": made}, None, SearchedText(key, text), show_on_map=props(visible=True))


def clear_sample_example(page: Page, corpus: str | None, query: str) -> str | Unchanged:
    """Clear the example of a sample as soon as a file is selected: it is no query for the file, whose first hits may take a minute."""
    _, selected = page.corpora.current(corpus)
    return "" if selected.id.startswith(FILE) and _is_other_example(page, selected, query.strip()) else UNCHANGED


def clear_other_example(page: Page, corpus: str | None, query: str) -> str | Unchanged:
    """Clear the example of another sample once the first hits are shown. What was typed while they were computed stays."""
    _, selected = page.corpora.current(corpus)
    is_shown = len(selected.corpus) <= MAX_FIRST_TEXTS
    return "" if is_shown and _is_other_example(page, selected, query.strip()) else UNCHANGED


def _is_other_example(page: Page, selected: SelectedCorpus, query: str) -> bool:
    examples = {page.corpora.sample(language=code).id: sample_texts(code).query for code in (ENGLISH, *languages())}
    return query in examples.values() and examples.get(selected.id) != query


def search_all_rows(page: Page, inputs: SearchInputs, progress: gr.Progress | None = None) -> HitsView:
    return replace(search(page, replace(inputs, rows_to_search=None), progress), rows_to_search=None)


def select_hit(
    page: Page, corpus: str | None, k: float, model: str | None, searched: SearchedText | None, owner: object, selection: Selection
) -> HitsView:
    """Label a hit whose thumb was clicked, or list the neighbors of the text that was clicked."""
    if selection.action in VERDICTS:
        return HitsView(basket_version=_label_hit(page, searched, owner, selection))
    TASKS.supersede_earlier()
    chosen = page.corpora.get(corpus)
    row, text = _clicked_text(selection, chosen.corpus)
    result = page.studio.search.find_neighbors(chosen.corpus, row, int(k), model)
    hits = hits_table(chosen.corpus, result, "semantic", _("Nearest to: {shorten}", shorten=shorten(text, _MAX_TITLE)), text)
    return HitsView(hits | {"made": page.provenance(model, chosen, BUTTON)}, None, SearchedText(str(corpus), text))


def _label_hit(page: Page, searched: SearchedText | None, owner: object, selection: Selection) -> int:
    if searched is None:
        raise StudioError("there are no hits yet", "search first")
    _, text = _clicked_text(selection, page.corpora.get(searched.corpus).corpus)
    return toggle_pair(page, owner, LabelledPair(searched.text, text, VERDICTS[str(selection.action)], TITLE))


def _clicked_text(selection: Selection, corpus: Corpus) -> tuple[int, str]:
    row = selection.row(len(corpus.texts))
    if row is None:
        raise StudioError("this row is not in the corpus", "search again")
    return row, corpus.texts[row]


def show_hits_on_map(page: Page, searched: SearchedText | None, hits: Value | None) -> RowSelection:
    rows = hits.get("ids") if isinstance(hits, dict) else None
    title = _("Found for “{shorten}”", shorten=shorten(searched.text if searched else "", _MAX_TITLE))
    return show_on_map(page, searched.corpus if searched else None, rows, title)


def open_linked_search(location: Location | None) -> tuple[str, str, Location] | None:
    """Return query, mode and location of a URL that contains a search."""
    if location is None or not location.query:
        return None
    return location.query, location.mode if location.mode in ("lexical", "hybrid") else "semantic", location


def follow_corpus(page: Page, corpus: str | None, rows_to_search: RowSelection | None) -> CorpusControls:
    """Update the filter for a newly selected corpus, and discard rows that were selected in another one."""
    selected = page.corpora.current(corpus)[1].corpus
    is_other = rows_to_search is not None and rows_to_search.corpus != selected.digest
    names = [name for name, cells in selected.fields.items() if len(set(cells)) > 1]
    return CorpusControls(
        filters=props(visible=bool(names)),
        filter_column=props(choices=[NO_FILTER, *((name, name) for name in names)], value=""),
        filter_values=props(choices=[], value=[], visible=False),
        rows_to_search=None if is_other else UNCHANGED,
    )


def update_filter_values(page: Page, corpus: str | None, filter_column: str) -> Update:
    counts = Counter(page.corpora.current(corpus)[1].corpus.fields.get(filter_column, ()))
    choices = [
        (f"{value[:_MAX_VALUE_CHARACTERS]} · {n:,}" if value else _("(blank) · {n}", n=f"{n:,}"), value)
        for value, n in counts.most_common(_MAX_VALUES)
    ]
    return props(choices=choices, value=[], visible=bool(filter_column))


def describe_selected_rows(rows_to_search: RowSelection | None) -> tuple[Update, Value | None, gr.Tabs | Unchanged]:
    """Return the row with the note that only rows selected on the map are searched, the note, and the tab to open."""
    if rows_to_search is None:
        return props(visible=False), None, UNCHANGED
    return props(visible=True), {"text": _("Searching only {title}.", title=rows_to_search.title)}, gr.Tabs(selected=TITLE)


def search_shards(page: Page, folder: str, query: str, k: float, progress: gr.Progress | None = None) -> Value:
    TASKS.supersede_earlier()
    if not page.studio.catalog.allow_folders:
        raise StudioError("visitors cannot access folders on this machine", "search your own file")
    if not folder.strip():
        raise StudioError("no folder is specified", "enter a folder written by sbert-studio encode")
    report = progress_callback(progress, "Indexing the rows")
    return shards_table(page.studio.shards.search(Path(folder.strip()), query, int(k), progress=report))
