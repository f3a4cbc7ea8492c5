"""Search: a corpus asked by meaning, by words or by both; and its near-duplicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError
from ..basket.gather import SAID, mark
from ..basket.pairs import Pair
from ..clearing.panel import build as clearing
from ..controls import cancel_button, long_work
from ..handlers import PROGRESS, guarded, told
from ..page import Page, is_ours
from ..picker import corpus_picker
from ..views import Value, column, nothing, table, view

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...studio import Studio
    from ...studio.results import SearchResult
    from ..places import Place

TITLE = "Search"
ORDER = 2
_QUERY = "I still have not got my money back"
_FIELDS = 3
_MODES = [("By meaning", "semantic"), ("By words", "lexical"), ("Both", "hybrid")]
_SCORES = {"semantic": "Cosine", "lexical": "BM25", "hybrid": "Fused", "reranked": "Ranked again"}
_NOT_AGAIN = ("Not again", "")


@dataclass(frozen=True)
class Asked:
    """What the hits that are shown were asked for by: the key of their corpus, and a query or one of its texts."""

    corpus: str
    text: str


def hits_table(corpus: Corpus, result: SearchResult, mode: str, caption: str, asked: str = "") -> Value:
    """Hits as a table; choosing one asks for its neighbours. Thumbs say whether they belong to the text that was ``asked`` for."""
    names = list(corpus.fields)[:_FIELDS]
    best = max((hit.score for hit in result.hits), default=1.0)
    bar = "number" if mode == "reranked" and any(hit.score < 0 for hit in result.hits) else "bar"  # a logit has no beginning
    score = column(_SCORES[mode], bar, low=0, high=1 if mode == "semantic" else max(best, 1e-9), digits=4 if mode == "hybrid" else 3)
    rows = [[hit.line, hit.text, hit.score, *(hit.fields.get(name, "") for name in names)] for hit in result.hits]
    return table(
        [column("Row", "row"), column("Text", main=True), score, *(column(name) for name in names)],
        rows,
        ids=[hit.row for hit in result.hits],
        action="More like this",
        pairs=[(asked, hit.text) for hit in result.hits] if asked else (),
        caption=caption,
        note=" ".join(result.notes),
        empty="Nothing was found. Words must occur in the corpus to be found by words; try by meaning.",
    )


def find(
    page: Page, key: str | None, query: str, k: int, mode: str, model: str | None, reranker: str | None = None, progress: Any = None
) -> tuple[str, Value]:
    """The corpus' key (the sample's, where nothing was chosen) and the hits, ranked again by the model ``reranker``, if any."""
    key, chosen = page.corpus_of(key)
    reading = told(progress, "Encoding the corpus") if progress is not None else None
    again = reranker or False
    result = page.studio.explore.search(chosen.corpus, query, int(k), mode, rerank=again, model=model, progress=reading)  # type: ignore[arg-type]
    caption = f"{len(result.hits)} of {len(chosen.corpus.texts):,} texts of {chosen.corpus.name} · {result.milliseconds:.0f} ms"
    shown = hits_table(chosen.corpus, result, "reranked" if again else mode, caption, query)
    return key, shown | {"made": page.made(model, chosen, "search-go")}


def rerankers(page: Page, owner: Any, chosen: str | None) -> Any:
    """An update of the chooser of models that score pairs: the visitor's own; what is gone is no longer chosen."""
    choices = [_NOT_AGAIN, *page.model_choices(owner, "pairs")]
    gone = is_ours(chosen) and chosen not in {name for _, name in choices}
    return gr.update(choices=choices, value="" if gone else chosen or "")


def more_like(page: Page, key: str | None, row: Any, k: int, model: str | None) -> Value:
    """The nearest neighbours of one text of the corpus; ``row`` comes from the browser."""
    chosen = page.corpora.get(key)
    row = row if isinstance(row, int) and not isinstance(row, bool) else -1
    result = page.studio.explore.neighbours(chosen.corpus, row, int(k), model)
    shown = hits_table(chosen.corpus, result, "semantic", f"Nearest to: {_short(chosen.corpus.texts[row])}", chosen.corpus.texts[row])
    return shown | {"made": page.made(model, chosen, "search-go")}


def judge(page: Page, asked: Asked | None, row: Any, said: str, owner: Any) -> int:
    """Put a hit into the basket beside what was asked for, as the thumbs say; ``row`` and ``said`` come from the browser.

    Raises:
        StudioError: there is no such row.
    """
    texts = page.corpora.get(asked.corpus).corpus.texts if asked is not None else ()
    if asked is None or not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(texts):
        raise StudioError("there is no such row", "search once more")
    return mark(page, owner, Pair(asked.text, texts[row], SAID[said], TITLE))


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:89] + "…"


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view("intro", {"title": "Search by meaning", "text": "Ask a corpus in your own words, or let it show you what it says twice."})
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            picked = corpus_picker(page, "search")
        with gr.Column(min_width=320, scale=2), gr.Tabs(elem_classes=["sb-subtabs"]):
            with gr.Tab("Search"):
                find_again = _search(page)
            with gr.Tab("Near-duplicates"):
                clearing(page)
    handler, inputs, outputs, remember = find_again
    for event in picked.then("search", handler, inputs, outputs, show_progress_on=outputs[1]):
        remember(event)


def _search(page: Page) -> tuple[Any, list[Any], list[Any], Callable[[Any], None]]:
    """The handler of a search, its inputs and outputs, and what has an event's search stand in the address."""
    with gr.Column(elem_classes=["sb-panel"]):
        query = gr.Textbox(_QUERY, label="What are you looking for?", elem_id="search-query", lines=1)
        with gr.Row():
            mode = gr.Radio(_MODES, value="semantic", label="Search", elem_id="search-mode", scale=3, min_width=240)
            k = gr.Slider(1, 100, 10, step=1, label="Results", elem_id="search-k", scale=2, min_width=160)
        reranker = gr.Dropdown(
            [_NOT_AGAIN],
            value="",
            label="Rank the best 100 again",
            info="By a cross-encoder (slower, more exact) or poly-encoder that you tuned, or a Hugging Face id.",
            allow_custom_value=True,
            elem_id="search-reranker",
        )
        button = gr.Button("Search", variant="primary", elem_id="search-go")
        cancel_button("search")
    asked = gr.State(None)
    hits = view("table", nothing("Results appear here, the closest first."), elem_id="search-hits")

    def on_search(
        key: str | None, query: str, k: int, mode: str, model: str, reranker: str | None, progress: Any = PROGRESS
    ) -> tuple[str, Value, Asked]:
        key, shown = find(page, key, query, k, mode, model, reranker, progress)
        return key, shown, Asked(key, query)

    def on_row(key: str | None, k: int, model: str, asked: Asked | None, owner: Any, event: gr.SelectData) -> Any:
        if event.value in SAID:
            return gr.skip(), gr.skip(), judge(page, asked, event.index, event.value, owner)
        shown = more_like(page, key, event.index, k, model)
        return shown, Asked(str(key), page.corpora.get(key).corpus.texts[event.index]), gr.skip()

    inputs, outputs = [page.corpus, query, k, mode, page.model, reranker], [page.corpus, hits, asked]

    def on_arrive(place: Place | None) -> Any:
        if place is None or not place.query:
            return gr.skip(), gr.skip()
        return place.query, place.mode if place.mode in _SCORES else "semantic"

    def on_arrived(
        place: Place | None, key: str | None, query: str, k: int, mode: str, model: str, reranker: str | None, progress: Any = PROGRESS
    ) -> Any:
        return gr.skip() if place is None or not place.query else on_search(key, query, k, mode, model, reranker, progress)

    def remember(event: Any) -> None:
        event.success(None, [query, mode], None, js="(q, mode) => SB.place({ tab: 'search', q, mode: mode === 'semantic' ? '' : mode })")

    for event in (button.click, query.submit, mode.input):
        remember(long_work(event, "search", on_search, inputs, outputs, show_progress_on=hits))
    filled = page.arrived.change(guarded(on_arrive), page.arrived, [query, mode], api_visibility="private", show_progress="hidden")
    long_work(filled.success, "search", on_arrived, [page.arrived, *inputs], outputs, show_progress_on=hits)
    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    row_inputs, row_outputs = [page.corpus, k, page.model, asked, page.owner], [hits, asked, page.basket_changed]
    hits.select(guarded(on_row), row_inputs, row_outputs, trigger_mode="multiple", **quiet)
    for event in (page.runs_changed.change, reranker.focus):
        event(guarded(partial(rerankers, page)), [page.owner, reranker], reranker, **quiet)
    page.on_load.append(lambda loaded: loaded.then(guarded(partial(rerankers, page)), [page.owner, reranker], reranker, **quiet))
    return on_search, inputs, outputs, remember
