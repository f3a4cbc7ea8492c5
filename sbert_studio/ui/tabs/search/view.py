"""Layout of the Search tab and its events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import gradio as gr

from ....explore import DEFAULT_RESULTS
from ... import routing
from ...components import NO_RERANKER, cancel_button, download_button, first_sight, refresh_model_choices, reranker_chooser
from ...language_switch import example_textbox
from ...panel import Panel
from ...views import placeholder, view
from . import duplicates, handlers
from .handlers import NO_FILTER, NO_HITS, NO_MODEL, TITLE

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page

ORDER = 2
_MODES = [("By meaning", "semantic"), ("By words", "lexical"), ("Both", "hybrid")]
_KEEP = [("First text", "first"), ("Longest text", "longest")]
_SAVE_SEARCH = """(q, mode) => {
  if (SB.isStopped('search-cancel')) return;
  SB.place({ tab: 'search', q, mode: mode === 'semantic' ? '' : mode });
  SB.reveal('search-hits', 'search-query');
}"""
_SAVE_DUPLICATES = f"() => SB.place({{ tab: 'search', view: '{duplicates.SUBTAB}', alike: '{duplicates.DEFAULT_THRESHOLD:.3f}' }})"


def build(studio: Studio, page: Page) -> None:
    view("intro", {"title": "Search by meaning", "text": "Find texts by meaning or by words, and remove near-duplicates."})
    with gr.Tabs(elem_classes=["sb-subtabs"], overflow_behavior="wrap") as subtabs:
        with gr.Tab("Search", id="hits", elem_id="view-first-hits") as hits:
            _build_search(page)
        with gr.Tab("Near-duplicates", id=duplicates.SUBTAB, elem_id=f"view-{duplicates.SUBTAB}") as groups:
            _build_duplicates(page)
        views = {"hits": hits, duplicates.SUBTAB: groups}
        if studio.catalog.allow_folders:
            with gr.Tab("Large corpus", id="shards", elem_id="view-shards") as views["shards"]:
                _build_shards(page)
    routing.link_subtabs(page, TITLE.lower(), subtabs, views)


def _build_search(page: Page) -> None:
    with gr.Column(elem_classes=["sb-panel"]):
        with gr.Row(elem_classes=["sb-query"]):
            query = example_textbox(
                page, "query", label="What are you looking for?", elem_id="search-query", lines=1, scale=5, min_width=260
            )
            button = gr.Button("Search", variant="primary", elem_id=handlers.BUTTON, scale=0, min_width=130)
            cancel_button("search")
        mode = gr.Radio(_MODES, value="semantic", label="Search", elem_id="search-mode", min_width=240)
        with gr.Accordion("Advanced", open=False, elem_id="search-advanced", elem_classes=["sb-remember"]):
            k = gr.Slider(1, 100, DEFAULT_RESULTS, step=1, label="Results", elem_id="search-k", min_width=160)
            options = _filter_controls() | _model_controls() | _prompt_controls()
        with gr.Row(visible=False, elem_id="search-within") as selected_rows:
            selected_rows_note = view("note", elem_id="search-within-words")
            all_rows = gr.Button("Search all texts", size="sm", elem_id="search-everywhere", scale=0, min_width=150)
    with gr.Row(elem_classes=["sb-beside"]):
        hits = view("table", placeholder(NO_HITS), elem_id="search-hits")
        other_hits = view("table", elem_id="search-others")
    show_on_map = gr.Button("Show on map", size="sm", visible=False, elem_id="search-to-map")
    panel = Panel(
        page,
        query=query,
        mode=mode,
        k=k,
        **options,
        selected_rows=selected_rows,
        selected_rows_note=selected_rows_note,
        hits=hits,
        other_hits=other_hits,
        show_on_map=show_on_map,
        searched=gr.State(None),
        linked=gr.State(None),
    )
    search = partial(panel.on, task="search", latest_only=True, progress_on="hits")
    asked = search([button.click, query.submit, mode.input], handlers.search)
    asked.success(None, [query, mode], None, js=_SAVE_SEARCH)
    panel.on(page.data.change, handlers.clear_hits, quiet=True)
    panel.on(page.data.change, handlers.clear_sample_example, output="query", quiet=True)
    first_hits = search(first_sight("search-hits").select, handlers.show_first_hits)
    panel.on(first_hits.success, handlers.clear_other_example, output="query", quiet=True)
    panel.on(page.location.change, handlers.open_linked_search, output=("query", "mode", "linked"), quiet=True)
    search(panel["linked"].change, handlers.search)
    search(all_rows.click, handlers.search_all_rows)
    panel.on([hits.select, other_hits.select], handlers.select_hit, task="search", latest_only=True, quiet=True)
    panel.on(show_on_map.click, handlers.show_hits_on_map, output="rows_on_map", quiet=True)
    panel.on(page.corpus.change, handlers.follow_corpus, quiet=True)
    page.on_load.append(lambda loaded: panel.on(loaded.then, handlers.follow_corpus, quiet=True))
    panel.on(options["filter_column"].input, handlers.update_filter_values, output="filter_values", quiet=True)
    note = ("selected_rows", "selected_rows_note", "tabs")
    panel.on(page.rows_to_search.change, handlers.describe_selected_rows, output=note, quiet=True)
    refresh_model_choices(page, options["reranker"], lambda owner: [NO_RERANKER, *page.model_choices(owner, "pairs")])
    refresh_model_choices(page, options["compare_model"], lambda owner: [NO_MODEL, *page.model_choices(owner)])


def _filter_controls() -> dict[str, gr.components.Component]:
    with gr.Row(visible=False, elem_id="search-filters") as filters:
        column = gr.Dropdown([NO_FILTER], value="", label="Filter", elem_id="search-column-filter", elem_classes=["sb-data"], min_width=160)
        values = gr.Dropdown(
            [],
            value=[],
            multiselect=True,
            label="Values",
            visible=False,
            elem_id="search-values",
            elem_classes=["sb-data"],
            min_width=220,
            scale=2,
        )
    return {"filters": filters, "filter_column": column, "filter_values": values}


def _model_controls() -> dict[str, gr.Dropdown]:
    with gr.Row():
        reranker = reranker_chooser("search-reranker", min_width=240)
        compare_model = gr.Dropdown(
            [NO_MODEL],
            value="",
            label="Compare with",
            info="Search with a second model and compare the hits.",
            elem_id="search-beside",
            elem_classes=["sb-data"],
            min_width=200,
        )
    return {"reranker": reranker, "compare_model": compare_model}


def _prompt_controls() -> dict[str, gr.components.Component]:
    def prompt(label: str, info: str, elem_id: str) -> gr.Textbox:
        return gr.Textbox(
            label=label, info=info, elem_id=elem_id, placeholder="The model's own", elem_classes=["sb-data"], min_width=160, lines=1
        )

    with gr.Row():
        return {
            "query_prompt": prompt("Query prompt", "Prepended to the query; none for no prompt.", "search-query-prompt"),
            "document_prompt": prompt("Document prompt", "Prepended to each text; none for no prompt.", "search-document-prompt"),
            "truncate_dim": gr.Number(
                0,
                label="Vector length",
                info="Number of components to compare (truncate_dim); 0 for the model's own.",
                elem_id="search-truncate-dim",
                minimum=0,
                precision=0,
                min_width=160,
            ),
        }


def _build_duplicates(page: Page) -> None:
    result_key, decisions = gr.State(None), gr.State(None)
    with gr.Column(elem_classes=["sb-panel"]):
        with gr.Row(elem_classes=["sb-query"]):
            keep = gr.Radio(_KEEP, value="first", label="Keep in each group", elem_id="alike-keep", min_width=240)
            category = gr.Dropdown(
                [duplicates.NO_CATEGORY],
                value="",
                label="Mark groups that differ in",
                visible=False,
                elem_id="alike-column",
                elem_classes=["sb-data"],
                min_width=200,
            )
            button = gr.Button("Find near-duplicates", variant="primary", elem_id=duplicates.BUTTON, scale=0, min_width=200)
        cancel_button("alike")
    # Above the groups, because there may be hundreds.
    with gr.Row(elem_classes=["sb-downloads"], visible=False) as downloads:
        write = partial(duplicates.write_texts, page)
        for label, elem_id, removed, suffix in (
            ("Clean file (CSV)", "alike-clean", False, ".csv"),
            ("Clean file (XLSX)", "alike-clean-xlsx", False, ".xlsx"),
            ("Removed texts (CSV)", "alike-gone", True, ".csv"),
            ("Removed texts (XLSX)", "alike-gone-xlsx", True, ".xlsx"),
        ):
            download_button(label, partial(write, removed=removed, suffix=suffix), [result_key, decisions], elem_id=elem_id)
        use = gr.Button("Use remaining texts", elem_id="alike-use")
    groups = view("alike", placeholder(duplicates.NO_GROUPS), elem_id="alike-view")
    panel = Panel(
        page,
        keep=keep,
        category=category,
        result_key=result_key,
        decisions=decisions,
        downloads=downloads,
        groups=groups,
        linked=gr.State(None),
    )
    event = panel.on(button.click, duplicates.find_duplicates, task="alike", progress_on="groups")
    event.success(None, js=_SAVE_DUPLICATES)  # the view saves another threshold
    panel.on(first_sight("alike-view").select, duplicates.find_first_duplicates, task="alike", progress_on="groups")
    panel.on(page.location.change, duplicates.open_linked_duplicates, output="linked", quiet=True)
    panel.on(panel["linked"].change, duplicates.find_linked_duplicates, task="alike", progress_on="groups")
    # Clicks may arrive faster than responses; each one counts, in order.
    in_order = partial(panel.on, each=True, quiet=True, concurrency_limit=1, concurrency_id="alike-choices")
    in_order(groups.select, duplicates.click_group)
    in_order([keep.input, category.input], duplicates.change_rules)
    panel.on(use.click, duplicates.use_remaining_texts, output="corpus")
    cleared = ("groups", "downloads", "result_key", "decisions")
    panel.on(page.corpus.change, duplicates.clear_groups, output=cleared, quiet=True)


def _build_shards(page: Page) -> None:
    with gr.Column(elem_classes=["sb-panel"]):
        folder = gr.Textbox(
            label="Large corpus (folder of Parquet shards)",
            info="Written by sbert-studio encode, on one machine or several; its rows stay on disk. The results appear below.",
            elem_id="shards-folder",
            elem_classes=["sb-data"],
        )
        query = gr.Textbox(label="What are you looking for?", elem_id="shards-query", lines=1)
        k = gr.Slider(1, 100, DEFAULT_RESULTS, step=1, label="Results", elem_id="shards-k")
        button = gr.Button("Search", variant="primary", elem_id="shards-go")
        cancel_button("shards")
    hits = view("table", elem_id="shards-hits")
    panel = Panel(page, folder=folder, query=query, k=k, hits=hits)
    panel.on([button.click, query.submit], handlers.search_shards, output="hits", task="shards", latest_only=True, progress_on="hits")
