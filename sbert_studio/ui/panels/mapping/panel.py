"""The map's controls, the map, and what connects them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...basket.handlers import VERDICTS
from ...components import cancel_button, download_button, start_task
from ...corpus_picker import corpus_picker
from ...handlers import PROGRESS, handle_errors
from ...page import Page
from ...routing import on_location
from ...sessions.map_edits import apply_edits
from ...views import Value, placeholder, server_function, to_json, view
from . import choosing, handover, saving
from .drawing import cluster_params, draw, projection_params, settled
from .editing import edit, recolour, shown_map

if TYPE_CHECKING:
    from ...handover import RowSelection
    from ...routing import Location

_BLANK = "Press Draw the map: a few hundred texts take some seconds."
_METHODS = [
    ("Found in the data", "auto"),
    ("By density (HDBSCAN)", "hdbscan"),
    ("As many as I say (k-means)", "kmeans"),
    ("Joined while alike (agglomerative)", "agglomerative"),
]
_LAYOUTS = [("Studio", "studio"), ("umap-learn", "umap-learn")]
_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def noted(page: Page, map_key: str) -> Value | None:
    """What is to be known of the map, such as words that its model does not know; ``None`` where that is nothing."""
    drawn = page.maps.get(map_key)
    notes = (*drawn.view.notes, *drawn.notes)
    return {"text": " ".join(notes)} if notes else None


def act(page: Page, map_key: str | None, key: str | None, owner: Any, kind: Any, index: Any) -> tuple[Any, Any, Any, Any, Any]:
    """What follows from a click in the map's list or legend.

    Args:
        kind: ``colour``, ``edit``, ``teach``, ``examples``, ``here`` or what a thumb says; index: what the browser sends with it.

    Returns:
        the value of the map, the key of the corpus, and what ``page.training_table``, ``page.basket_version`` and
        ``page.rows_to_search`` hold then.
    """
    none: Any = gr.skip()
    if kind == "colour":
        return recolour(page, map_key, index), none, none, none, none
    if kind == "teach":
        return none, none, handover.teach(page, page.maps.get(map_key)), none, none
    if kind == "examples":
        return none, none, none, handover.examples(page, owner, page.maps.get(map_key), index), none
    if kind == "here":
        return none, none, none, none, handover.search_here(page.maps.get(map_key), index)
    if kind in VERDICTS:
        return none, none, none, handover.judge(page, owner, page.maps.get(map_key), kind, index), none
    value, corpus = edit(page, map_key, key, index, owner)
    return value, none if corpus is None else corpus, none, none, none


def still_there(page: Page, map_key: str | None, key: str, model: str | None) -> str | None:
    """The key of the corpus, with what was labelled, where the map that Back leads to was not drawn of anything else meanwhile."""
    if map_key is None or map_key not in page.maps:
        return None
    drawn = page.maps.get(map_key)
    now = page.provenance(model, page.corpora.get(key))
    if (drawn.made["corpus"], drawn.made["model"]) != (now["corpus"], now["model"]):
        return None
    return page.corpora.put(apply_edits(drawn)) if drawn.edits.steps else key


def is_edited(page: Page, key: str | None) -> Any:
    """Whether the button shows that leads back to the corpus as its file has it."""
    chosen = page.corpora.get(key) if key is not None and key in page.corpora else None
    return gr.update(visible=chosen is not None and bool(chosen.id) and bool(chosen.labels or chosen.removed or chosen.earlier))


def build(page: Page, tab: str) -> None:
    """Draw it; ``tab`` is the title of the tab that it stands in."""
    map_key = gr.State(None)
    with gr.Row(elem_classes=["sb-map-go"]):
        button = gr.Button("Draw the map", variant="primary", elem_id="map-draw")
        cancel_button("map")
        picked, afresh, settings, (method, count, threshold) = _settings(page)
    dimensions, neighbours, distance, by = settings
    shown = _map_view(page)
    remarks = view("note", elem_id="map-notes")
    with gr.Row(elem_classes=["sb-downloads"], visible=False) as saves:
        download_button("Download HTML", partial(saving.write_html, page), [map_key], elem_id="map-html")
        picture = gr.Button("Download PNG", elem_id="map-png")
        download_button("Download CSV", partial(saving.write_table, page), [map_key], elem_id="map-csv")
    picture.click(None, js="() => SB.map?.picture()")

    def drawn_by(
        colour: str,
        standing: str | None,
        owner: Any,
        key: str | None,
        model: str,
        d: str,
        n: int,
        m: float,
        by: str,
        how: str,
        number: int,
        least: float,
    ) -> Any:
        layout, groups = projection_params(d, n, m, by), cluster_params(how, number, least)
        key, drawn = draw(page, key, model, layout, groups, PROGRESS, colour, owner, standing)
        return key, drawn, shown_map(page, drawn), noted(page, drawn), gr.update(visible=True)

    def on_draw(map_key: str | None, owner: Any, key: str | None, *controls: Any) -> Any:
        return drawn_by("", map_key, owner, settled(page, key, map_key), *controls)

    def on_setting(map_key: str | None, owner: Any, key: str | None, *controls: Any) -> Any:
        # Nothing to move before the first map.
        return (
            gr.skip() if map_key is None else drawn_by(page.maps.get(map_key).colour, None, owner, settled(page, key, map_key), *controls)
        )

    def on_afresh(owner: Any, key: str | None, *controls: Any) -> Any:
        return drawn_by("", None, owner, page.corpora.discard_map_edits(owner, key), *controls)

    def on_arrive(place: Location | None) -> Any:
        return gr.skip() if place is None or not place.drawn or place.tab != "map" else place

    def on_arrived(place: Location | None, map_key: str | None, owner: Any, key: str | None, model: str, *controls: Any) -> Any:
        if place is None:  # a request that the page did not send
            return gr.skip()
        key, _ = page.corpora.current(key, owner)
        if (there := still_there(page, map_key, key, model)) is not None:
            return there, gr.skip(), recolour(page, map_key, place.colour), gr.skip(), gr.skip()
        return drawn_by(place.colour, None, owner, key, model, *controls)

    def on_act(map_key: str | None, key: str | None, owner: Any, event: gr.SelectData) -> Any:
        return act(page, map_key, key, owner, event.value, event.index)

    def on_show(rows: RowSelection | None, map_key: str | None, owner: Any, key: str | None, *controls: Any) -> Any:
        if rows is None:
            return gr.skip()
        notes, saves = gr.skip(), gr.skip()
        if map_key is None or map_key not in page.maps or page.maps.get(map_key).made["corpus"] != rows.corpus:
            key, map_key, _, notes, saves = drawn_by("", map_key, owner, key, *controls)
        there = handover.on_map(page.maps.get(map_key), rows.rows)
        return key, map_key, shown_map(page, str(map_key), {"rows": there, "title": rows.title}), notes, saves

    inputs = [page.owner, page.corpus, page.model, dimensions, neighbours, distance, by, method, count, threshold]
    outputs = [page.corpus, map_key, shown, remarks, saves]
    drawing = {"outputs": outputs, "show_progress_on": shown, "concurrency_limit": 2, "concurrency_id": "map"}
    start_task(button.click, "map", on_draw, [map_key, *inputs], **drawing)
    picked.then("map", on_draw, [map_key, *inputs], **drawing)
    start_task(afresh.click, "map", on_afresh, inputs, **drawing)
    page.corpus.change(handle_errors(partial(is_edited, page)), page.corpus, afresh, **_QUIET)
    start_task(on_location(page, on_arrive, [page.location]), "map", on_arrived, [page.location, map_key, *inputs], **drawing)
    for event in (dimensions.input, neighbours.release, distance.release, by.input, method.input, count.release, threshold.release):
        start_task(event, "map", on_setting, [map_key, *inputs], trigger_mode="always_last", **drawing)
    method.change(_method_controls, method, [count, threshold], queue=False, **_QUIET)
    # A hand may be quicker than the answers: each of its clicks counts, one after the other.
    each = {**_QUIET, "trigger_mode": "multiple", "concurrency_limit": 1, "concurrency_id": "map-edits"}
    done = [shown, page.corpus, page.training_table, page.basket_version, page.rows_to_search]
    shown.select(handle_errors(on_act), [map_key, page.corpus, page.owner], done, **each)
    opened = page.rows_on_map.change(
        lambda rows: gr.skip() if rows is None else gr.Tabs(selected=tab), page.rows_on_map, page.tabs, **_QUIET
    )
    start_task(opened.then, "map", on_show, [page.rows_on_map, map_key, *inputs], **drawing)


def _settings(page: Page) -> tuple[Any, Any, tuple[Any, ...], tuple[Any, ...]]:
    """The folded controls: the corpus' events, the way back to it as it was, those of the layout, and those of the clusters."""
    with gr.Accordion("Texts and settings", open=False, elem_id="map-settings"), gr.Row():
        with gr.Column(min_width=260):
            picked = corpus_picker(page, "map")
            afresh = gr.Button("Forget labels and changes", size="sm", visible=False, elem_id="map-afresh")
        with gr.Column(min_width=220):
            dimensions = gr.Radio(["2-D", "3-D"], value="2-D", label="Dimensions", elem_id="map-dimensions")
            neighbours = gr.Slider(
                2, 100, 15, step=1, label="Neighbours", info="Few: fine detail. Many: the broad picture.", elem_id="map-neighbours"
            )
            distance = gr.Slider(0.0, 0.99, 0.1, step=0.01, label="Least distance", info="Small: tight clumps.", elem_id="map-distance")
            by = gr.Radio(
                _LAYOUTS, value="studio", label="Layout by", info="umap-learn is by UMAP's authors, and slower.", elem_id="map-layout"
            )
        with gr.Column(min_width=220):
            method = gr.Dropdown(_METHODS, value="auto", label="Clusters", elem_id="map-method")
            count = gr.Slider(2, 60, 10, step=1, label="How many", visible=False, elem_id="map-count")
            threshold = gr.Slider(0.1, 0.95, 0.5, step=0.05, label="Least mean cosine", visible=False, elem_id="map-threshold")
    return picked, afresh, (dimensions, neighbours, distance, by), (method, count, threshold)


def _method_controls(how: str) -> tuple[Any, Any]:
    return gr.update(visible=how == "kmeans"), gr.update(visible=how == "agglomerative")


def _map_view(page: Page) -> Any:
    asked = {
        "texts": choosing.texts,
        "words": choosing.words,
        "rows": choosing.items,
        "near": choosing.near,
        "find": choosing.find,
        "csv": choosing.chosen_csv,
    }
    server = [server_function(page, f"map_{name}", answer) for name, answer in asked.items()]
    return view("map", to_json(placeholder(_BLANK)), elem_id="map-view", server=server)
