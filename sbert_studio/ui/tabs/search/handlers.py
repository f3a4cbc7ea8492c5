"""Handlers of the Search tab (see :mod:`..panel`); those of its near-duplicates are in :mod:`.duplicates`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr

from ....errors import StudioError
from ....models.prompts import SearchSettings
from ...basket.handlers import VERDICTS, toggle_pair
from ...basket.pairs import LabelledPair
from ...handlers import progress_callback
from ...handover import RowSelection, show_on_map
from ...page import is_own_model
from ...sessions.tasks import TASKS
from ...views import UNCHANGED, Update, Value, props
from .view_model import (
    NO_FILTER,
    CorpusControls,
    HitsView,
    LinkedSearch,
    SearchedText,
    SearchInputs,
    SelectedRowsNote,
    comparison_table,
    describe_filter,
    filter_rows,
    hits_table,
    shards_table,
    value_choices,
)

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....services.results import SearchResult
    from ...page import Page
    from ...panel import Selection
    from ...routing import Location

TITLE = "Search"
BUTTON = "search-go"
NO_RERANKER = ("Off", "")
NO_MODEL = ("None", "")
_MAX_TITLE = 90


def search(page: Page, inputs: SearchInputs, progress: gr.Progress | None = None) -> HitsView:
    """Search the selected corpus, by default the sample, also with a second model if one is selected.

    Raises:
        StudioError: no query, or a model that cannot be loaded or cannot rank.
    """
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
            reranker=inputs.reranker or False,
            model=model,
            progress=report,
            row_ids=rows,
            settings=settings,
        )

    settings = SearchSettings(inputs.query_prompt or "", inputs.document_prompt or "", int(inputs.truncate_dim or 0))
    result = search_with(inputs.model, settings)
    made = page.provenance(inputs.model, selected, BUTTON)
    score, marks_words = "reranked" if inputs.reranker else mode, mode != "semantic"
    other_hits = None
    if not inputs.compare_model or inputs.compare_model == (inputs.model or page.studio.settings.default_model):
        count = len(corpus) if rows is None else len(rows)
        caption = " · ".join(filter(None, (f"{len(result.hits)} of {count:,} texts", filter_text, f"{result.milliseconds:.0f} ms")))
        hits = hits_table(corpus, result, score, caption, query, marks_words=marks_words)
    else:
        # The settings belong to the model in the header.
        other = search_with(inputs.compare_model, None)
        hits = comparison_table(result, other, score, query, marks_words=marks_words)
        other_hits = comparison_table(other, result, score, query, marks_words=marks_words)
        other_hits["made"] = page.provenance(inputs.compare_model, selected, BUTTON) | {"model": made["model"]}
    return HitsView(hits | {"made": made}, other_hits, SearchedText(key, query), key, props(visible=True))


def search_all_rows(page: Page, inputs: SearchInputs, progress: gr.Progress | None = None) -> HitsView:
    """Search without the restriction to rows that were selected on the map, and drop it."""
    return replace(search(page, replace(inputs, rows_to_search=None), progress), rows_to_search=None)


def select_hit(
    page: Page, corpus: str | None, k: float, model: str | None, searched: SearchedText | None, owner: object, selection: Selection
) -> HitsView:
    """Label a hit by the thumb that was clicked, or list the neighbours of the text that was clicked.

    Raises:
        StudioError: the browser sent a row that does not exist.
    """
    if selection.action in VERDICTS:
        return HitsView(basket_version=_label_hit(page, searched, owner, selection))
    TASKS.supersede_earlier()
    chosen = page.corpora.get(corpus)
    row, text = _clicked_text(selection, chosen.corpus)
    result = page.studio.search.find_neighbors(chosen.corpus, row, int(k), model)
    hits = hits_table(chosen.corpus, result, "semantic", f"Nearest to: {_shorten(text)}", text)
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
    """Hand the rows of the hits to the map."""
    rows = hits.get("ids") if isinstance(hits, dict) else None
    title = f"Found for “{_shorten(searched.text if searched else '')}”"
    return show_on_map(page, searched.corpus if searched else None, rows, title)


def open_linked_search(location: Location | None) -> LinkedSearch | None:
    """Fill in the query and mode that an address names."""
    if location is None or not location.query:
        return None
    return LinkedSearch(location.query, location.mode if location.mode in ("lexical", "hybrid") else "semantic", location)


def follow_corpus(page: Page, corpus: str | None, rows_to_search: RowSelection | None) -> CorpusControls:
    """Update the filter for a newly selected corpus, and drop rows that were selected in another one."""
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
    """Offer the values of the filter's column."""
    choices = value_choices(page.corpora.current(corpus)[1].corpus, filter_column)
    return props(choices=choices, value=[], visible=bool(filter_column))


def describe_selected_rows(rows_to_search: RowSelection | None) -> SelectedRowsNote:
    """Say that only rows selected on the map are searched, and open the tab."""
    if rows_to_search is None:
        return SelectedRowsNote(props(visible=False), None)
    return SelectedRowsNote(props(visible=True), {"text": f"Only among {rows_to_search.title}."}, gr.Tabs(selected=TITLE))


def update_rerankers(page: Page, owner: object, selected: object) -> Update:
    """Update the choices of models that re-rank; a deleted one is no longer selected. Names from the Hub may be typed."""
    choices = [NO_RERANKER, *page.model_choices(owner, "pairs")]
    is_deleted = is_own_model(selected) and selected not in {name for _, name in choices}
    return props(choices=choices, value="" if is_deleted else selected or "")


def update_compare_models(page: Page, owner: object, selected: object) -> Update:
    """Update the choices of the model to compare with; a deleted one is no longer selected."""
    choices = [NO_MODEL, *page.model_choices(owner)]
    return props(choices=choices, value=selected if selected in {name for _, name in choices} else "")


def search_shards(page: Page, folder: str, query: str, k: float, progress: gr.Progress | None = None) -> Value:
    """Search a folder of shards of this machine.

    Raises:
        StudioError: strangers can reach the page, or the folder holds no vectors.
    """
    TASKS.supersede_earlier()
    if not page.studio.catalog.allow_folders:
        raise StudioError("folders of this machine are not open to visitors", "search a file of your own")
    if not folder.strip():
        raise StudioError("no folder is given", "enter a folder that sbert-studio encode wrote")
    report = progress_callback(progress, "Indexing the rows")
    return shards_table(page.studio.shards.search(Path(folder.strip()), query, int(k), progress=report))


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_TITLE else text[: _MAX_TITLE - 1] + "…"
