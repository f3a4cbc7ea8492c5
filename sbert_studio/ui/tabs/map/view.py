"""Layout of the Map tab and its events."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ....errors import StudioError
from ....serialization import to_plain
from ...components import cancel_button, download_button, first_sight
from ...panel import EventOptions, Panel
from ...views import placeholder, server_function, view
from . import handlers, topic_names
from .view_model import MapSettings

if TYPE_CHECKING:
    from ....services import Studio
    from ...page import Page

TITLE = handlers.TITLE
ORDER = 3
_ABOUT = "Texts with similar meanings are close together. Lasso a region, or click a point."
_METHODS = [
    ("Automatic", "auto"),
    ("By density (HDBSCAN)", "hdbscan"),
    ("Fixed number (k-means)", "kmeans"),
    ("Similarity threshold (agglomerative)", "agglomerative"),
]
_LAYOUTS = [("Studio", "studio"), ("umap-learn", "umap-learn")]


def build(studio: Studio, page: Page) -> None:
    view("intro", {"title": "See the whole corpus at once", "text": _ABOUT}, classes=["sb-map-intro"])
    map_key = gr.State(None)
    with gr.Row(elem_classes=["sb-map-go"]):
        button = gr.Button("Draw the map", variant="primary", elem_id="map-draw")
        cancel_button("map")
        with gr.Accordion("Settings", open=False, elem_id="map-settings"):
            with gr.Row():
                settings = _draw_settings()
                discard = gr.Button("Discard labels and edits", size="sm", visible=False, elem_id="map-afresh", scale=0, min_width=190)
            naming = topic_names.draw_controls(studio)
        settings["topic_count"] = gr.Slider(
            2, 60, 10, step=1, label="Fewer / more topics", buttons=[], visible=False, elem_id="map-topics", min_width=200
        )
    server = [server_function(page, name, answer) for name, answer in handlers.SERVER_FUNCTIONS.items()]
    map_view = view("map", to_plain(placeholder(handlers.EMPTY)), elem_id="map-view", server=server)
    notes = view("note", elem_id="map-notes")
    with gr.Row(elem_classes=["sb-downloads"], visible=False) as downloads:
        _download_buttons(page, map_key)
    linked = gr.State(None)
    panel = Panel(page, map_key=map_key, map=map_view, notes=notes, downloads=downloads, discard=discard, linked=linked, **settings)
    drawing: EventOptions = {"progress_on": "map", "concurrency_limit": 2, "concurrency_id": "map"}
    redrawing: EventOptions = {**drawing, "trigger_mode": "always_last"}
    panel.on(button.click, handlers.draw_map, task="map", **drawing)
    panel.on(page.data.change, handlers.clear_map, quiet=True)
    panel.on(first_sight("map-view").select, handlers.draw_first_map, task="map", **drawing)
    panel.on(discard.click, handlers.discard_edits, task="map", **drawing)
    panel.on(page.corpus.change, handlers.show_discard_button, output="discard", quiet=True)
    topic_names.connect(panel, naming)
    # Redraw when a slider is released; of several changes while drawing, only the last one counts.
    changed = [getattr(control, "release" if isinstance(control, gr.Slider) else "input") for control in settings.values()]
    panel.on(changed, handlers.redraw_map, task="map", **redrawing)
    panel.on(settings["method"].change, handlers.show_cluster_controls, output=("cluster_count", "threshold"), quiet=True, queue=False)
    panel.on(page.location.change, handlers.find_linked_map, output="linked", quiet=True)
    panel.on(linked.change, handlers.open_linked_map, task="map", **drawing)
    handed_over = panel.on(page.rows_on_map.change, handlers.open_tab, output="tabs", quiet=True)
    panel.on(handed_over.then, handlers.show_rows, task="map", **drawing)
    # Clicks may arrive faster than responses; each one counts, in order.
    panel.on(map_view.select, handlers.act_on_map, each=True, quiet=True, concurrency_limit=1, concurrency_id="map-edits")


def routes(page: Page) -> list[Route]:
    """Return the route by which the page fetches the arrays of a large map. Only the page that received the map may fetch them."""

    def answer(request: Request) -> Response:
        key, content = request.path_params["key"], None
        if page.maps.is_of_session(key, request.headers.get("x-session", "")):
            with suppress(StudioError):
                content = handlers.get_array(page, key, request.path_params["name"], request.url.query)
        if content is None:
            return Response(status_code=404)
        headers = {"cache-control": "private,max-age=3600", "vary": "x-session"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    return [Route("/map/{key}/{name}", answer)]


def _download_buttons(page: Page, map_key: gr.State) -> None:
    """Draw the buttons of the exports; what the filters hide is in none of them."""
    filtered = gr.Textbox(visible=False)  # filled by JavaScript when a button is pressed
    exports: list[tuple[str, str, Callable[..., Path]]] = [
        ("CSV", "map-csv", partial(handlers.write_table, page, suffix=".csv")),
        ("XLSX", "map-xlsx", partial(handlers.write_table, page, suffix=".xlsx")),
        ("Map as one HTML file", "map-html", partial(handlers.write_html, page)),
        ("Topic report (XLSX)", "map-report-xlsx", partial(handlers.write_report, page, suffix=".xlsx")),
        ("Topic report (HTML)", "map-report-html", partial(handlers.write_report, page, suffix=".html")),
    ]
    for label, elem_id, write in exports:
        download_button(label, write, [map_key, filtered], elem_id=elem_id, js='(key) => [key, SB.map?.filter() ?? "null"]')
    gr.Button("Picture (PNG)", elem_id="map-png").click(None, js="() => SB.map?.picture()")


def _draw_settings() -> dict[str, gr.components.Component]:
    default = MapSettings()
    fine, tight, slow = (
        "Small values show fine detail, large values the overall structure.",
        "UMAP's min_dist; small values give tight clusters.",
        "umap-learn is the original implementation, and slower.",
    )
    with gr.Column(min_width=220):
        drawn: dict[str, gr.components.Component] = {
            "dimensions": gr.Radio(["2-D", "3-D"], value=default.dimensions, label="Dimensions", elem_id="map-dimensions"),
            "neighbors": gr.Slider(2, 100, default.neighbors, step=1, label="Neighbors", info=fine, elem_id="map-neighbours"),
            "min_distance": gr.Slider(
                0.0, 0.99, default.min_distance, step=0.01, label="Minimum distance", info=tight, elem_id="map-distance"
            ),
            "layout": gr.Radio(_LAYOUTS, value=default.layout, label="Layout", info=slow, elem_id="map-layout"),
        }
    with gr.Column(min_width=220):
        return drawn | {
            "method": gr.Dropdown(_METHODS, value=default.method, label="Topics", elem_id="map-method"),
            "cluster_count": gr.Slider(2, 60, default.cluster_count, step=1, label="Number of topics", visible=False, elem_id="map-count"),
            "threshold": gr.Slider(
                0.1, 0.95, default.threshold, step=0.05, label="Similarity threshold", visible=False, elem_id="map-threshold"
            ),
        }
