"""Map: the corpus drawn by UMAP, with clusters; a lasso fills the table, a click finds the neighbours."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
import numpy as np

from ..controls import cancel_button, download_button, long_work
from ..handlers import PROGRESS, guarded, told
from ..page import Page
from ..picker import corpus_picker
from ..plots import CLUSTERS, map_html, map_value
from ..texts import part_of
from ..views import Value, column, nothing, plain, table, view
from ..visitors.session import Drawn

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...explore.groups.clustering import ClusterParams
    from ...explore.projection import ProjectionParams
    from ...studio import Studio
    from ..places import Place

TITLE = "Map"
ORDER = 3
_LISTED = 300
_NEIGHBOURS = 12
_MOST_POINTS = 100_000
_FIELDS = 3
_CHOOSE = "Draw a lasso around points to list them here, or click one to see what lies nearest."
_METHODS = [
    ("Found in the data", "auto"),
    ("By density (HDBSCAN)", "hdbscan"),
    ("As many as I say (k-means)", "kmeans"),
    ("Joined while alike (agglomerative)", "agglomerative"),
]


def projection_params(dimensions: str, neighbours: int, distance: float) -> ProjectionParams:
    """The settings of UMAP from the controls; the seed is fixed, so that a map looks the same tomorrow."""
    from ...explore.projection import ProjectionParams

    return ProjectionParams(n_neighbors=int(neighbours), min_dist=float(distance), dimensions=3 if dimensions == "3-D" else 2, seed=12)


def cluster_params(method: str, count: int, threshold: float) -> ClusterParams:
    """The settings of the clustering from the controls; those of other methods are left alone."""
    from ...explore.groups.clustering import ClusterParams

    if method == "kmeans":
        return ClusterParams(method=method, count=int(count))
    return ClusterParams(method=method, threshold=float(threshold)) if method == "agglomerative" else ClusterParams(method=method)


def draw(
    page: Page, key: str | None, model: str | None, projection: ProjectionParams, clusters: ClusterParams, progress: Any = None
) -> tuple[str, str]:
    """Draw the visitor's corpus (the sample, where nothing was chosen).

    Returns:
        the corpus' key and the map's key.

    Raises:
        StudioError: the corpus is too large to draw, or too small.
    """
    key, chosen = page.corpus_of(key)
    corpus = _drawable(chosen.corpus)
    reading = told(progress, "Encoding the corpus") if progress is not None else None
    return key, page.maps.put(
        Drawn(corpus, page.studio.explore.map(corpus, projection, clusters, model, reading), model, page.made(model, chosen, "map-draw"))
    )


def shown_map(page: Page, map_key: str | None, colour: str) -> tuple[Any, Any]:
    """The value of the map and the columns it can be coloured by."""
    if map_key is None:
        return gr.skip(), gr.skip()
    drawn = page.maps.get(map_key)
    colours = [CLUSTERS, *(name for name in drawn.corpus.fields if name != CLUSTERS)]
    colour = colour if colour in colours else CLUSTERS
    value = map_value(drawn.view, drawn.corpus.fields, colour=colour, key=map_key)
    return value | {"made": drawn.made}, gr.update(choices=colours, value=colour)


def noted(page: Page, map_key: str) -> Value | None:
    """What is to be known of the map, such as words that its model does not know; ``None`` where that is nothing."""
    notes = page.maps.get(map_key).view.notes
    return {"text": " ".join(notes)} if notes else None


def chosen_rows(page: Page, map_key: str | None, kind: Any, index: Any) -> Value:
    """The table beside the map, for a lasso (``index``: rows) or a click (``index``: a row); both come from the browser."""
    drawn = page.maps.get(map_key)
    if kind == "point":
        rows = _valid([index], drawn)
        if not rows:
            return nothing(_CHOOSE)
        found = page.studio.explore.neighbours(drawn.corpus, rows[0], _NEIGHBOURS, drawn.model)
        scores: dict[int, float] = {rows[0]: 1.0} | {hit.row: hit.score for hit in found.hits}
        return _table(drawn, list(scores), scores, f"Nearest to row {drawn.corpus.lines[rows[0]]}")
    rows = _valid(index if isinstance(index, list) else [], drawn)
    return _table(drawn, rows, {}, f"{len(rows):,} chosen") if rows else nothing(_CHOOSE)


def texts(page: Page, request: Any) -> list[str]:
    """A part of a map's texts, shortened, for the pointer to show; ``request`` is ``{key, start, count}`` from the browser.

    Only who was sent the map knows its key.
    """
    request = request if isinstance(request, dict) else {}
    return part_of(page.maps.get(request.get("key")).corpus, request)


def write_html(page: Page, map_key: str | None) -> Path:
    """The map as a file that opens anywhere."""
    drawn = page.maps.get(map_key)
    return map_html(
        drawn.view, drawn.corpus.texts, drawn.corpus.fields, page.downloads.path("map.html"), title=f"Map of {drawn.corpus.name}"
    )


def write_table(page: Page, map_key: str | None) -> Path:
    """Every text with its columns, cluster and coordinates, as a CSV without live formulas."""
    from ...data.values.cells import write_csv

    drawn = page.maps.get(map_key)
    labels = {info.id: info.label for info in drawn.view.clusters}
    ids = [int(number) for number in drawn.view.ids]
    made: dict[str, Any] = {
        "row": drawn.corpus.lines,
        "text": drawn.corpus.texts,
        "cluster": ids,
        "cluster_label": [labels[number] for number in ids],
    }
    made |= {axis: drawn.view.points[:, at].tolist() for at, axis in zip(range(drawn.view.points.shape[1]), "xyz", strict=False)}
    columns = made | {name if name not in made else f"{name}_": cells for name, cells in drawn.corpus.fields.items()}
    target = page.downloads.path("map.csv")
    write_csv(target, columns)
    return target


def _drawable(corpus: Corpus) -> Corpus:
    """The corpus, or an even sample of its rows where a browser could not draw them all."""
    total = len(corpus.texts)
    if total <= _MOST_POINTS:
        return corpus
    rows = np.unique(np.linspace(0, total - 1, _MOST_POINTS).astype(int)).tolist()
    return corpus.part(rows, f"{corpus.name} ({_MOST_POINTS:,} of {total:,} rows)", "more than a browser can draw")


def _valid(rows: list[Any], drawn: Drawn) -> list[int]:
    total = len(drawn.corpus.texts)
    kept = (row for row in rows if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < total)
    return list(dict.fromkeys(kept))


def _table(drawn: Drawn, rows: list[int], scores: dict[int, float], caption: str) -> Value:
    corpus, labels = drawn.corpus, {info.id: info.label for info in drawn.view.clusters}
    names = list(corpus.fields)[:_FIELDS]
    scored = [column("Cosine", "bar")] if scores else []
    columns = [column("Row", "row"), column("Text", main=True), *scored, column("Cluster"), *(column(name) for name in names)]
    cells = [
        [
            corpus.lines[row],
            corpus.texts[row],
            *([scores[row]] if scores else []),
            labels[int(drawn.view.ids[row])],
            *(corpus.fields[name][row] for name in names),
        ]
        for row in rows[:_LISTED]
    ]
    more = len(rows) - len(cells)
    note = f"{more:,} more; Download CSV holds every row." if more else ""
    return table(columns, cells, ids=rows[:_LISTED], action="What lies nearest", event="point", caption=caption, note=note)


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view(
        "intro",
        {
            "title": "See the whole corpus at once",
            "text": "Texts that mean alike lie close together. Circle a patch to read it, or click a point for its neighbours.",
        },
    )
    map_key = gr.State(None)
    with gr.Row(elem_classes=["sb-map-row"]):
        with gr.Column(elem_classes=["sb-panel"], min_width=280, scale=1):
            picked = corpus_picker(page, "map")
            colour = gr.Dropdown([CLUSTERS], value=CLUSTERS, label="Colour by", elem_id="map-colour")
            with gr.Accordion("Layout and clusters", open=False):
                dimensions = gr.Radio(["2-D", "3-D"], value="2-D", label="Dimensions", elem_id="map-dimensions")
                neighbours = gr.Slider(
                    2, 100, 15, step=1, label="Neighbours", info="Few: fine detail. Many: the broad picture.", elem_id="map-neighbours"
                )
                distance = gr.Slider(0.0, 0.99, 0.1, step=0.01, label="Least distance", info="Small: tight clumps.", elem_id="map-distance")
                method = gr.Dropdown(_METHODS, value="auto", label="Clusters", elem_id="map-method")
                count = gr.Slider(2, 60, 10, step=1, label="How many", visible=False, elem_id="map-count")
                threshold = gr.Slider(0.1, 0.95, 0.5, step=0.05, label="Least mean cosine", visible=False, elem_id="map-threshold")
            button = gr.Button("Draw the map", variant="primary", elem_id="map-draw")
            cancel_button("map")
            with gr.Row(elem_classes=["sb-buttons"]):
                saves = [
                    download_button("Download HTML", partial(write_html, page), [map_key], elem_id="map-html", visible=False),
                    download_button("Download CSV", partial(write_table, page), [map_key], elem_id="map-csv", visible=False),
                ]
        with gr.Column(min_width=320, scale=3):
            shown = _map_view(page)
            remarks = view("note", elem_id="map-notes")
            listed = view("table", nothing(_CHOOSE), elem_id="map-table")

    def on_draw(key: str | None, model: str, d: str, n: int, m: float, how: str, number: int, least: float, by: str) -> Any:
        key, drawn = draw(page, key, model, projection_params(d, n, m), cluster_params(how, number, least), PROGRESS)
        return key, drawn, *shown_map(page, drawn, by), noted(page, drawn), *[gr.update(visible=True)] * 2

    def on_setting(map_key: str | None, *controls: Any) -> Any:
        # Nothing to move before the first map.
        return gr.skip() if map_key is None else on_draw(*controls)

    def on_choice(map_key: str | None, event: gr.SelectData) -> Value:
        return chosen_rows(page, map_key, event.value, event.index)

    def on_arrive(place: Place | None, *controls: Any) -> Any:
        if place is None or not place.drawn or place.tab != "map":
            return gr.skip()
        key, model, d, n, m, how, number, least, _ = controls
        return on_draw(key, model, d, n, m, how, number, least, place.colour or CLUSTERS)

    inputs = [page.corpus, page.model, dimensions, neighbours, distance, method, count, threshold, colour]
    outputs = [page.corpus, map_key, shown, colour, remarks, *saves]
    drawing = {"outputs": outputs, "show_progress_on": shown, "concurrency_limit": 2, "concurrency_id": "map"}
    done = [long_work(button.click, "map", on_draw, inputs, **drawing), *picked.then("map", on_draw, inputs, **drawing)]
    long_work(page.arrived.change, "map", on_arrive, [page.arrived, *inputs], **drawing)
    for event in (*(one.success for one in done), colour.input):
        event(None, colour, None, js=f"(by) => SB.place({{ tab: 'map', drawn: '1', colour: by === '{CLUSTERS}' ? '' : by }})")
    for event in (dimensions.input, neighbours.release, distance.release, method.input, count.release, threshold.release):
        long_work(event, "map", on_setting, [map_key, *inputs], trigger_mode="always_last", **drawing)
    method.change(_method_controls, method, [count, threshold], api_visibility="private", show_progress="hidden", queue=False)
    colour.input(guarded(partial(shown_map, page)), [map_key, colour], [shown, colour], api_visibility="private", show_progress="hidden")
    shown.select(guarded(on_choice), map_key, listed, api_visibility="private", show_progress="hidden", trigger_mode="multiple")
    listed.select(guarded(on_choice), map_key, listed, api_visibility="private", show_progress="hidden", trigger_mode="multiple")


def _method_controls(how: str) -> tuple[Any, Any]:
    return gr.update(visible=how == "kmeans"), gr.update(visible=how == "agglomerative")


def _map_view(page: Page) -> Any:
    def map_texts(request: Any) -> list[str]:
        return texts(page, request)

    return view(
        "map",
        plain(nothing("Press Draw the map, or choose a corpus: a few hundred texts take some seconds.")),
        elem_id="map-view",
        server=[map_texts],
    )
