"""Search: a corpus asked by meaning, by words or by both; and its near-duplicates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..page import PROGRESS, Page, cancel_button, guarded, is_ours, long_work, told
from ..picker import corpus_picker
from ..views import Value, column, nothing, table, view

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...studio import Studio
    from ...studio.results import Mined, SearchResult

TITLE = "Search"
ORDER = 2
_QUERY = "I still have not got my money back"
_FIELDS = 3
_MODES = [("By meaning", "semantic"), ("By words", "lexical"), ("Both", "hybrid")]
_SCORES = {"semantic": "Cosine", "lexical": "BM25", "hybrid": "Fused", "reranked": "Ranked again"}
_NOT_AGAIN = ("Not again", "")


def hits_table(corpus: Corpus, result: SearchResult, mode: str, caption: str) -> Value:
    """Hits as a table; choosing one asks for its neighbours."""
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
    return key, hits_table(chosen.corpus, result, "reranked" if again else mode, caption)


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
    return hits_table(chosen.corpus, result, "semantic", f"Nearest to: {_short(chosen.corpus.texts[row])}")


def duplicates_table(mined: Mined) -> Value:
    """The most similar pairs as a table."""
    rows = [[pair.score, pair.line_a, pair.a, pair.line_b, pair.b] for pair in mined.pairs]
    columns = [column("Cosine", "bar"), column("Row", "row"), column("Text"), column("Row", "row"), column("Its likeness")]
    caption = f"The {len(rows)} closest pairs of the whole corpus · {mined.seconds:.2f} s"
    return table(columns, rows, caption=caption, note=" ".join(mined.notes))


def duplicates(page: Page, key: str | None, top: int, model: str | None, progress: Any = None) -> tuple[str, Value]:
    """The corpus' key and its most similar pairs."""
    key, chosen = page.corpus_of(key)
    reading = told(progress, "Encoding the corpus") if progress is not None else None
    return key, duplicates_table(page.studio.explore.mine(chosen.corpus, int(top), model, reading))


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
                _duplicates(page)
    picked.then("search", find_again[0], *find_again[1:], show_progress_on=find_again[2][1])


def _search(page: Page) -> tuple[Any, list[Any], list[Any]]:
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
    hits = view("table", nothing("Results appear here, the closest first."), elem_id="search-hits")

    def on_search(
        key: str | None, query: str, k: int, mode: str, model: str, reranker: str | None, progress: Any = PROGRESS
    ) -> tuple[str, Value]:
        return find(page, key, query, k, mode, model, reranker, progress)

    def on_row(key: str | None, k: int, model: str, event: gr.SelectData) -> Value:
        return more_like(page, key, event.index, k, model)

    inputs, outputs = [page.corpus, query, k, mode, page.model, reranker], [page.corpus, hits]
    for event in (button.click, query.submit, mode.input):
        long_work(event, "search", on_search, inputs, outputs, show_progress_on=hits)
    hits.select(guarded(on_row), [page.corpus, k, page.model], hits, api_visibility="private")
    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    for event in (page.runs_changed.change, reranker.focus):
        event(guarded(partial(rerankers, page)), [page.owner, reranker], reranker, **quiet)
    page.on_load.append(lambda loaded: loaded.then(guarded(partial(rerankers, page)), [page.owner, reranker], reranker, **quiet))
    return on_search, inputs, outputs


def _duplicates(page: Page) -> None:
    with gr.Column(elem_classes=["sb-panel"]):
        top = gr.Slider(5, 200, 20, step=5, label="Pairs", elem_id="mine-top")
        button = gr.Button("Find near-duplicates", variant="primary", elem_id="mine-go")
        cancel_button("mine")
    found = view("table", nothing("The most similar pairs of the corpus appear here."), elem_id="mine-table")

    def on_mine(key: str | None, top: int, model: str, progress: Any = PROGRESS) -> tuple[str, Value]:
        return duplicates(page, key, top, model, progress)

    long_work(button.click, "mine", on_mine, [page.corpus, top, page.model], [page.corpus, found], show_progress_on=found)
