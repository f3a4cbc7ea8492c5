"""Search: a corpus asked by meaning, by words or by both; and its near-duplicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...models.prompts import SearchSettings
from .. import routing
from ..basket.handlers import VERDICTS
from ..components import cancel_button, refresh_model_choices, start_task
from ..corpus_picker import corpus_picker
from ..handlers import PROGRESS, handle_errors, progress_callback
from ..handover import show_on_map
from ..i18n import example_textbox
from ..page import Page, is_own_model
from ..panels.clearing.panel import NEAR
from ..panels.clearing.panel import build as clearing
from ..panels.searching import filters, within
from ..panels.searching.hits import BY_WORDS, SCORES, Asked, hits_table, judge, side_table
from ..panels.searching.shards import SHARDS
from ..panels.searching.shards import build as searching_shards
from ..sessions.tasks import TASKS
from ..views import Value, placeholder, view

if TYPE_CHECKING:
    from ...services import Studio
    from ...services.results import SearchResult
    from ..handover import RowSelection
    from ..routing import Location

TITLE = "Search"
ORDER = 2
_MODES = [("By meaning", "semantic"), ("By words", "lexical"), ("Both", "hybrid")]
_NOT_AGAIN = ("Not again", "")
_ALONE = ("None", "")


def find(
    page: Page,
    key: str | None,
    query: str,
    k: int,
    mode: str,
    model: str | None,
    reranker: str | None = None,
    progress: Any = None,
    *,
    only: tuple[str, list[str]] | None = None,
    beside: str = "",
    chosen_there: RowSelection | None = None,
    settings: SearchSettings | None = None,
) -> tuple[str, Value, Value | None]:
    """The corpus' key (the sample's, where nothing was chosen), the hits, and those of the other model, if there is one.

    Args:
        reranker: the model that ranks the best again, if any.
        only: a column and what it must say.
        beside: the other model.
        chosen_there: the texts that were chosen on the map, if only these count.
        settings: prompts and a length of vectors in the place of those of the model in the header.
    """
    key, chosen = page.corpora.current(key)
    corpus, again = chosen.corpus, reranker or False
    among = filters.rows(corpus, *only) if only else None
    among = among if chosen_there is None else chosen_there.restrict(corpus, among)

    def ask(name: str | None, own: SearchSettings | None = None) -> SearchResult:
        label = "Counting the corpus' words" if mode == "lexical" else "Encoding the corpus"
        reading = progress_callback(progress, label) if progress is not None else None
        asked: Any = {"rerank": again, "model": name, "progress": reading, "among": among, "settings": own}
        return page.studio.explore.search(corpus, query, int(k), mode, **asked)  # type: ignore[arg-type]

    result = ask(model, settings)
    of = len(corpus) if among is None else len(among)
    shown_by = "reranked" if again else mode
    where = filters.in_words(*only) if only and among is not None else ""
    caption = " · ".join(filter(None, (f"{len(result.hits)} of {of:,} texts", where, f"{result.milliseconds:.0f} ms")))
    made = {"made": page.provenance(model, chosen, "search-go")}
    if not beside or beside == (model or page.studio.settings.default_model):
        return key, hits_table(corpus, result, shown_by, caption, query, words=mode in BY_WORDS) | made, None
    other = ask(beside)
    left, right = side_table(result, other, shown_by, query), side_table(other, result, shown_by, query)
    return key, left | made, right | {"made": page.provenance(beside, chosen, "search-go") | {"model": made["made"]["model"]}}


def rerankers(page: Page, owner: Any, chosen: str | None) -> Any:
    """An update of the chooser of models that score pairs: the visitor's own; what is gone is no longer chosen."""
    choices = [_NOT_AGAIN, *page.model_choices(owner, "pairs")]
    gone = is_own_model(chosen) and chosen not in {name for _, name in choices}
    return gr.update(choices=choices, value="" if gone else chosen or "")


def second_models(page: Page, owner: Any, chosen: str | None) -> Any:
    """An update of the chooser of a model to stand beside the one in the header; what is gone is no longer chosen."""
    choices = [_ALONE, *page.model_choices(owner)]
    return gr.update(choices=choices, value=chosen if chosen in {name for _, name in choices} else "")


def more_like(page: Page, key: str | None, row: Any, k: int, model: str | None) -> Value:
    """The nearest neighbours of one text of the corpus; ``row`` comes from the browser."""
    chosen = page.corpora.get(key)
    row = row if isinstance(row, int) and not isinstance(row, bool) else -1
    result = page.studio.explore.neighbours(chosen.corpus, row, int(k), model)
    shown = hits_table(chosen.corpus, result, "semantic", f"Nearest to: {_short(chosen.corpus.texts[row])}", chosen.corpus.texts[row])
    return shown | {"made": page.provenance(model, chosen, "search-go")}


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:89] + "…"


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view("intro", {"title": "Search by meaning", "text": "Ask a corpus in your own words, or let it show you what it says twice."})
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            picked = corpus_picker(page, "search")
        with gr.Column(min_width=320, scale=2), gr.Tabs(elem_classes=["sb-subtabs"]) as parts:
            with gr.Tab("Search", id="hits", elem_id="view-first-hits") as first:
                find_again = _search(page)
            with gr.Tab("Near-duplicates", id=NEAR, elem_id=f"view-{NEAR}") as second:
                clearing(page)
            views = {"hits": first, NEAR: second}
            if studio.catalog.allow_folders:
                with gr.Tab("Folder of shards", id=SHARDS, elem_id=f"view-{SHARDS}") as views[SHARDS]:
                    searching_shards(page)
    routing.link_subtabs(page, TITLE.lower(), parts, views)
    handler, inputs, outputs, remember = find_again
    for event in picked.then("search", handler, inputs, outputs, newest=True, show_progress_on=outputs[1]):
        remember(event)


def _advanced() -> list[Any]:
    """Draw the prompts and the length of vectors that a person may set in the place of the model's."""
    own = {"placeholder": "The model's own", "elem_classes": ["sb-data"], "min_width": 160, "lines": 1}
    with gr.Accordion("Advanced settings", open=False, elem_id="search-advanced"), gr.Row():
        return [
            gr.Textbox(label="Query prompt", info="Put before the query; none for no prompt.", elem_id="search-query-prompt", **own),
            gr.Textbox(label="Document prompt", info="Put before each text; none for no prompt.", elem_id="search-document-prompt", **own),
            gr.Number(
                0,
                label="Vector length",
                info="Compare so many components (truncate_dim); 0 keeps the model's.",
                elem_id="search-truncate-dim",
                minimum=0,
                precision=0,
                min_width=160,
            ),
        ]


def _search(page: Page) -> tuple[Any, list[Any], list[Any], Callable[[Any], None]]:
    """The handler of a search, its inputs and outputs, and what has an event's search stand in the address."""
    with gr.Column(elem_classes=["sb-panel"]):
        query = example_textbox(page, "query", label="What are you looking for?", elem_id="search-query", lines=1)
        with gr.Row():
            mode = gr.Radio(_MODES, value="semantic", label="Search", elem_id="search-mode", scale=3, min_width=240)
            k = gr.Slider(1, 100, 10, step=1, label="Results", elem_id="search-k", scale=2, min_width=160)
        by, values = filters.draw(page)
        with gr.Row():
            reranker = gr.Dropdown(
                [_NOT_AGAIN],
                value="",
                label="Rank the best 100 again",
                info="By a cross-encoder (slower, more exact) or poly-encoder that you tuned, or a Hugging Face id.",
                allow_custom_value=True,
                elem_id="search-reranker",
                elem_classes=["sb-data"],
                min_width=240,
            )
            beside = gr.Dropdown(
                [_ALONE],
                value="",
                label="Beside another model",
                info="What each of the two finds, and what only one of them does.",
                elem_id="search-beside",
                elem_classes=["sb-data"],
                min_width=200,
            )
        advanced = _advanced()
        everywhere = within.draw(page, TITLE)
        button = gr.Button("Search", variant="primary", elem_id="search-go")
        cancel_button("search")
    asked = gr.State(None)
    with gr.Row(elem_classes=["sb-beside"]):
        hits = view("table", placeholder("Results appear here, the closest first."), elem_id="search-hits")
        others = view("table", elem_id="search-others")
    to_map = gr.Button("Show on map", size="sm", visible=False, elem_id="search-to-map")

    def on_search(
        key: str | None,
        query: str,
        k: int,
        mode: str,
        model: str,
        reranker: str | None,
        by: str,
        values: list[str],
        beside: str,
        there: RowSelection | None,
        query_prompt: str | None,
        document_prompt: str | None,
        truncate_dim: float | None,
        progress: Any = PROGRESS,
    ) -> tuple[str, Value, Asked, Value | None]:
        TASKS.supersede_earlier()
        given: Any = {"only": (by, values), "beside": beside, "chosen_there": there}
        given["settings"] = SearchSettings(query_prompt or "", document_prompt or "", int(truncate_dim or 0))
        key, shown, other = find(page, key, query, k, mode, model, reranker, progress, **given)
        return key, shown, Asked(key, query), other

    def on_row(key: str | None, k: int, model: str, asked: Asked | None, owner: Any, event: gr.SelectData) -> Any:
        if event.value in VERDICTS:
            return gr.skip(), gr.skip(), judge(page, asked, event.index, event.value, owner), gr.skip()
        TASKS.supersede_earlier()
        shown = more_like(page, key, event.index, k, model)
        return shown, Asked(str(key), page.corpora.get(key).corpus.texts[event.index]), gr.skip(), None

    def on_other(asked: Asked | None, owner: Any, event: gr.SelectData) -> Any:
        return judge(page, asked, event.index, event.value, owner) if event.value in VERDICTS else gr.skip()

    inputs, outputs = (
        [page.corpus, query, k, mode, page.model, reranker, by, values, beside, page.rows_to_search, *advanced],
        [page.corpus, hits, asked, others],
    )

    def on_arrive(place: Location | None) -> Any:
        if place is None or not place.query:
            return gr.skip()
        return place.query, place.mode if place.mode in SCORES else "semantic", place

    def remember(event: Any) -> None:
        event.success(None, [query, mode], None, js="(q, mode) => SB.place({ tab: 'search', q, mode: mode === 'semantic' ? '' : mode })")

    for event in (button.click, query.submit, mode.input):
        searched = start_task(event, "search", on_search, inputs, outputs, newest=True, show_progress_on=hits)
        remember(searched)
        searched.success(None, js="() => SB.reveal('search-hits', 'search-query')")
    start_task(
        routing.on_location(page, on_arrive, [page.location], [query, mode]),
        "search",
        on_search,
        inputs,
        outputs,
        newest=True,
        show_progress_on=hits,
    )
    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    row_inputs, row_outputs = [page.corpus, k, page.model, asked, page.owner], [hits, asked, page.basket_version, others]
    all_again = everywhere.click(lambda: None, None, page.rows_to_search, **quiet).then
    start_task(all_again, "search", on_search, inputs, outputs, newest=True, show_progress_on=hits)

    def on_map(asked: Asked | None, shown: Any) -> RowSelection:
        rows = shown.get("ids") if isinstance(shown, dict) else None
        return show_on_map(page, asked.corpus if asked else None, rows, f"Found for “{_short(asked.text if asked else '')}”")

    to_map.click(handle_errors(on_map), [asked, hits], page.rows_on_map, **quiet)
    asked.change(lambda now: gr.update(visible=now is not None), asked, to_map, **quiet)
    hits.select(handle_errors(on_row, work="search", newest=True), row_inputs, row_outputs, trigger_mode="multiple", **quiet)
    others.select(handle_errors(on_other), [asked, page.owner], page.basket_version, trigger_mode="multiple", **quiet)
    for chooser, choices in ((reranker, rerankers), (beside, second_models)):
        refresh_model_choices(page, chooser, choices)
    return on_search, inputs, outputs, remember
