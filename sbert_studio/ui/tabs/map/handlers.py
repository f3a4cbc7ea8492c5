"""Handlers of the Map tab (see :mod:`..panel`). Data from the browser is never trusted."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr
import numpy as np

from ....data.cells import write_spreadsheet
from ....data.row_report import SkippedRows
from ....errors import StudioError
from ....explore.map_edits import MAX_EDITS, AssignEdit, EditHistory, LabelEdit, MapEdit, MergeEdit, RemoveEdit, RenameEdit, SplitEdit
from ....i18n import _
from ...basket import VERDICTS, LabelledPair, add_pairs, chain_pairs, toggle_pair
from ...handlers import progress_callback
from ...map_value import column_value, columns_note, exported_columns, map_arrays, write_map
from ...sessions.language import current_language, notify_info
from ...sessions.map_edits import apply_edits, label_column, replay_edits, sample_for_map, without_labels
from ...state import DrawnMap, RowSelection, TrainingTable, make_training_table
from ...views import UNCHANGED, Unchanged, Update, Value, placeholder, props
from . import view_model
from .view_model import MapAction, MapInputs, MapPanel, MapSettings, columns, drawn_map_value, map_panel, remaining_rows

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....progress import Progress
    from ....services.map import MapPhase
    from ....services.results import MapView
    from ...page import Page
    from ...panel import Selection
    from ...routing import Location

TITLE = "Map"
EMPTY = "Press Draw the map: a few hundred texts take a few seconds."
_MAX_FIRST_TEXTS = 5_000  # texts that are drawn without being asked
_NEIGHBORS, _MATCHES = 12, 30
_MAX_ITEM_LENGTH = 1200
_MAX_ITEMS = 500
_ADDED_COLUMNS = ("row", "cluster", "cluster_label", "x", "y", "z")  # of a saved map, beside those of the data
_PHASES = {"encode": "1 of 3 · Encoding the texts", "layout": "2 of 3 · Laying out the map", "groups": "3 of 3 · Finding topics"}


def draw(
    page: Page,
    corpus: str | None,
    owner: object,
    model: str | None,
    settings: MapSettings,
    *,
    color: str = "",
    extend: str | None = None,
    shown: str | None = None,
    progress: gr.Progress | None = None,
) -> tuple[str, str]:
    """Draw the visitor's corpus, by default the first sample, with its earlier edits; return the keys of the corpus and of the map.

    Args:
        color: column that colors the points; empty for clusters.
        extend: key of a map; if the corpus contains that of the map and new texts, the new texts are placed on the existing map.
        shown: key of the map whose number of topics the slider shows; ``None`` chooses the number automatically.
    """
    key, selected = page.corpora.current(corpus, owner)
    start, labels = without_labels(selected.earlier.start if selected.earlier else selected)
    texts, rows = sample_for_map(start.corpus)
    begin, projection = _phase_callback(progress), settings.projection()
    earlier = page.maps.get(extend) if extend is not None and extend in page.maps else None
    view = None
    if earlier is not None and earlier.model == model:
        view = page.studio.map.extend(texts, earlier.corpus, earlier.view, projection, model, begin)
    before = page.maps.get(shown) if shown is not None and shown in page.maps else None
    number = settings.chosen_topics(before)
    automatic = 0 if before is None else before.automatic
    found = page.studio.map.draw(texts, projection, settings.clustering(number), model, begin_phase=begin) if view is None else view
    if settings.method == "auto" and view is None and not number:
        automatic = len(found.names.keys() - {-1})
    view, topics = found, len(found.names.keys() - {-1}) if settings.method == "auto" else 0
    drawn_labels = labels if rows is None or not labels else tuple(labels[row] for row in rows)
    history = EditHistory.create(view.ids, view.names, drawn_labels)
    edits, notes = replay_edits(history, selected.earlier)
    provenance = page.provenance(model, selected, "map-draw")
    return key, page.maps.put(
        DrawnMap(texts, view, model, edits, replace(start, earlier=None), rows, color, provenance, notes, topics, automatic)
    )


def _phase_callback(progress: gr.Progress | None) -> Callable[[MapPhase], Progress] | None:
    if progress is None:
        return None

    def begin(phase: MapPhase) -> Progress:
        report: Progress = progress_callback(progress, _PHASES[phase])
        report(0, 0)  # immediately replaces the description of the previous phase
        return report

    return begin


def draw_map(page: Page, inputs: MapInputs, settings: MapSettings, progress: gr.Progress | None = None) -> MapPanel:
    """Draw the visitor's corpus; new texts of a corpus that is already on the map are placed on the existing map."""
    corpus, key = commit_removals(page, inputs.corpus, inputs.map_key), inputs.map_key
    is_same = key is not None and key in page.maps and corpus_on_map(page, key, page.corpora.current(corpus, inputs.owner)[0], inputs.model)
    shown = key if is_same else None
    return map_panel(page, *draw(page, corpus, inputs.owner, inputs.model, settings, extend=key, shown=shown, progress=progress))


def draw_first_map(page: Page, inputs: MapInputs, settings: MapSettings, progress: gr.Progress | None = None) -> MapPanel | None:
    """Draw the map that the tab opens with; a large corpus is only drawn when asked for."""
    if len(page.corpora.current(inputs.corpus, inputs.owner)[1].corpus) > _MAX_FIRST_TEXTS:
        return None
    panel = draw_map(page, inputs, settings, progress)
    # The visitor may have chosen other data since: what nobody asked for does not choose it back.
    return replace(panel, corpus=UNCHANGED) if inputs.corpus is None else panel


def clear_map(page: Page, map_key: str | None, corpus: str | None) -> MapPanel | None:
    """Hide the map when other data is selected; its key stays, so that new texts of the same corpus are placed on it."""
    if map_key is None or map_key not in page.maps:
        return None
    if page.maps.get(map_key).chosen.data_key == page.corpora.selected(corpus).data_key:
        return None  # a link has already drawn the map of the selected data
    return MapPanel(placeholder(EMPTY), notes=None, downloads=props(visible=False), topic_count=props(visible=False))


def redraw_map(page: Page, inputs: MapInputs, settings: MapSettings, progress: gr.Progress | None = None) -> MapPanel | None:
    if inputs.map_key is None:
        return None
    corpus, key, color = commit_removals(page, inputs.corpus, inputs.map_key), inputs.map_key, page.maps.get(inputs.map_key).colour
    return map_panel(page, *draw(page, corpus, inputs.owner, inputs.model, settings, color=color, shown=key, progress=progress))


def discard_edits(page: Page, inputs: MapInputs, settings: MapSettings, progress: gr.Progress | None = None) -> MapPanel:
    corpus = page.corpora.discard_map_edits(inputs.owner, inputs.corpus)
    return map_panel(page, *draw(page, corpus, inputs.owner, inputs.model, settings, progress=progress))


def show_discard_button(page: Page, corpus: str | None) -> Update:
    selected = page.corpora.selected(corpus)
    return props(visible=bool(selected.id and (selected.labels or selected.removed or selected.earlier)))


def show_cluster_controls(method: str) -> tuple[Update, Update]:
    """Show the control of the method; the slider for topics belongs to the map and is shown when that is drawn."""
    return props(visible=method == "kmeans"), props(visible=method == "agglomerative")


def commit_removals(page: Page, corpus: str | None, map_key: str | None) -> str | None:
    """Return the key of the corpus to draw: without removed texts if they were removed on the current map, so that they take no space."""
    if corpus is None or map_key is None or map_key not in page.maps or corpus not in page.corpora:
        return corpus
    drawn, selected = page.maps.get(map_key), page.corpora.get(corpus)
    edits = drawn.edits
    if drawn.made["corpus"] != selected.corpus.digest or not (edits.now.removed.any() or len(edits.steps) >= MAX_EDITS):
        return corpus
    return page.corpora.put(replace(selected, earlier=None))


def find_linked_map(location: Location | None) -> Location | Unchanged:
    """Return the location if its URL contains a map, for :func:`open_linked_map`."""
    return UNCHANGED if location is None or not location.drawn or location.tab != "map" else location


def open_linked_map(
    page: Page, linked: Location | None, inputs: MapInputs, settings: MapSettings, progress: gr.Progress | None = None
) -> MapPanel | None:
    """Show the map that a URL links to: the current map if it matches, otherwise a new one."""
    if linked is None:
        return None
    corpus, _ = page.corpora.current(inputs.corpus, inputs.owner)
    edited = corpus_on_map(page, inputs.map_key, corpus, inputs.model)
    if edited is not None:
        return MapPanel(change_color(page, inputs.map_key, linked.colour), edited)
    return map_panel(page, *draw(page, corpus, inputs.owner, inputs.model, settings, color=linked.colour, progress=progress))


def corpus_on_map(page: Page, map_key: str | None, corpus: str, model: str | None) -> str | None:
    """Return the key of the corpus with the map's edits; ``None`` if the map shows another corpus or model."""
    if map_key is None or map_key not in page.maps:
        return None
    drawn = page.maps.get(map_key)
    now = page.provenance(model, page.corpora.get(corpus))
    if (drawn.made["corpus"], drawn.made["model"]) != (now["corpus"], now["model"]):
        return None
    return page.corpora.put(apply_edits(drawn)) if drawn.edits.steps else corpus


def open_tab(rows_on_map: RowSelection | None) -> gr.Tabs | Unchanged:
    return UNCHANGED if rows_on_map is None else gr.Tabs(selected=TITLE)


def show_rows(
    page: Page, rows_on_map: RowSelection | None, inputs: MapInputs, settings: MapSettings, progress: gr.Progress | None = None
) -> MapPanel | None:
    """List the rows passed by another tab; the map is drawn if it shows another corpus."""
    if rows_on_map is None:
        return None
    corpus, key = inputs.corpus, inputs.map_key
    is_drawn = key is not None and key in page.maps and page.maps.get(key).made["corpus"] == rows_on_map.corpus
    if not is_drawn:
        corpus, key = draw(page, corpus, inputs.owner, inputs.model, settings, extend=key, progress=progress)
    show = {"rows": view_model.to_map_rows(page.maps.get(key), rows_on_map.rows), "title": rows_on_map.title}
    return MapPanel(drawn_map_value(page, str(key), show)) if is_drawn else map_panel(page, str(corpus), str(key), show)


def act_on_map(page: Page, map_key: str | None, corpus: str | None, owner: object, selection: Selection) -> MapAction:
    """Handle a click on the map, in its list or legend: recolor, edit, train, add to the basket, or search."""
    if selection.action == "colour":
        change_color(page, map_key, selection.item)  # the page has colored the map itself; the color belongs to later values and links
        return MapAction()
    if selection.action == "edit":
        return edit(page, map_key, corpus, owner, selection.item)
    drawn, rows = page.maps.get(map_key), selection.item
    if isinstance(rows, dict) and "rows" in rows:
        view_model.require_shown(rows, map_key)
        rows = rows["rows"]
    if selection.action == "teach":
        return MapAction(training_table=training_table(page, drawn))
    if selection.action == "examples":
        texts = [drawn.corpus.texts[row] for row in remaining_rows(rows, drawn)]
        return MapAction(basket_version=add_pairs(page, owner, chain_pairs(texts, TITLE)))
    if selection.action == "here":
        return MapAction(rows_to_search=rows_to_search(drawn, rows))
    if selection.action in VERDICTS:
        return MapAction(basket_version=label_pair(page, owner, drawn, VERDICTS[selection.action], rows))
    raise StudioError("the map does not support this action", "reload the page")


def change_color(page: Page, map_key: str | None, color: object) -> Value:
    """Color the map by a column; any other name means clusters."""
    drawn = page.maps.get(map_key)
    column = color if isinstance(color, str) and color in columns(drawn) else ""
    return drawn_map_value(page, page.maps.put(replace(drawn, colour=column), map_key))


def edit(page: Page, map_key: str | None, corpus: str | None, owner: object, request: object) -> MapAction:
    """Edit the map and update the visitor's corpus.

    Args:
        request: ``{"do": label, rename, merge, split, assign, remove or undo, "key": of the map that the page shows, …}``. While the page
            fetches the points of another map, it still shows the one before, whose rows are other texts.
    """
    drawn = page.maps.get(map_key)
    fields = request if isinstance(request, dict) else {}
    view_model.require_shown(fields, map_key)
    edits, show = _apply_request(page, drawn, fields)
    return save_edits(page, map_key, corpus, owner, edits, show)


def save_edits(
    page: Page, map_key: str | None, corpus: str | None, owner: object, edits: EditHistory, show: Value | None = None
) -> MapAction:
    """Show and store the edits of a map, and update the visitor's corpus, unless another corpus was selected in the meantime."""
    drawn = page.maps.get(map_key)
    color = drawn.colour if drawn.colour != label_column(drawn.chosen) or any(edits.now.labels) else ""
    edited = replace(drawn, edits=edits, colour=color)
    edited_corpus = apply_edits(edited)
    edited = replace(edited, made=drawn.made | {"corpus": edited_corpus.corpus.digest})
    page.maps.put(edited, map_key)
    page.corpora.save_map(owner, edited)
    is_current = page.corpora.current(corpus)[1].corpus.digest == drawn.made["corpus"]
    return MapAction(drawn_map_value(page, str(map_key), show), page.corpora.put(edited_corpus) if is_current else UNCHANGED)


def _apply_request(page: Page, drawn: DrawnMap, request: Mapping[str, object]) -> tuple[EditHistory, Value | None]:
    action, edits, cluster = request.get("do"), drawn.edits, _cluster_id(request.get("cluster"))
    rows, name = tuple(remaining_rows(request.get("rows"), drawn)), str(request.get("name") or "")
    step: MapEdit
    if action == "undo":
        return edits.undo(), {}
    if action == "label":
        return edits.then(LabelEdit(rows, name)), None
    if action == "remove":
        return edits.then(RemoveEdit(rows)), {}
    if action == "assign":
        return edits.then(AssignEdit(*nearest_clusters(drawn))), {}
    if action == "rename":
        step = RenameEdit(cluster, name)
    elif action == "merge":
        sent = request.get("clusters")
        clusters = tuple(_cluster_id(one) for one in sent) if isinstance(sent, list) else ()
        step, cluster = MergeEdit(clusters), clusters[0] if clusters else -1
    elif action == "split":
        parts, names = page.studio.map.split_cluster(drawn.corpus, edits.now.rows_of(cluster).tolist(), 2, drawn.model)
        step = SplitEdit(cluster, parts, names)
    else:
        raise StudioError("the map does not support this action", "reload the page")
    return edits.then(step), {"cluster": cluster}


def nearest_clusters(drawn: DrawnMap) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the texts without a cluster, and the cluster that now has most texts of the nearest topic of each."""
    now, start, nearest = drawn.edits.now, drawn.edits.start.ids, drawn.view.nearest
    if nearest is None:
        raise StudioError("the nearest topics are not known", "draw the map again")
    rows = np.flatnonzero((now.ids < 0) & ~now.removed & (nearest >= 0))
    clusters = np.full(int(nearest.max(initial=-1)) + 1, -1)  # of each topic; one pass for each, as there may be ten thousands of rows
    for topic in np.unique(nearest[rows]).tolist():
        members = now.ids[(start == topic) & (now.ids >= 0)]
        clusters[topic] = np.bincount(members).argmax() if len(members) else -1
    found = clusters[nearest[rows]]
    return tuple(rows[found >= 0].tolist()), tuple(found[found >= 0].tolist())


def _cluster_id(sent: object) -> int:
    return sent if isinstance(sent, int) and not isinstance(sent, bool) else -1


def rows_to_search(drawn: DrawnMap, rows: object) -> RowSelection:
    found = view_model.to_corpus_rows(drawn, remaining_rows(rows, drawn))
    if not found:
        raise StudioError("no text is selected", "lasso some texts, or click a group in the legend")
    return RowSelection(drawn.made["corpus"], tuple(sorted(found)), _("{found} texts selected on the map", found=f"{len(found):,}"))


def training_table(page: Page, drawn: DrawnMap) -> TrainingTable:
    labels = drawn.edits.now.labelled()
    if len(labels) < 2:
        raise StudioError("there is only one label" if labels else "no text has a label yet", "give other texts a different label")
    cells = [(drawn.corpus.texts[row], label) for label, rows in labels for row in rows.tolist()]
    table = {"text": [text for text, _ in cells], "label": [label for _, label in cells]}
    return make_training_table(page, f"{view_model.file_stem(drawn)} labelled.csv", table)


def label_pair(page: Page, owner: object, drawn: DrawnMap, together: bool, rows: object) -> int:
    """Add a text and one of its neighbors to the basket, and return the basket's new version."""
    texts = [drawn.corpus.texts[row] for row in remaining_rows(rows, drawn)]
    if len(texts) != 2 or texts[0] == texts[1]:
        raise StudioError("these are not two texts on the map", "click the point again")
    return toggle_pair(page, owner, LabelledPair(texts[0], texts[1], together, TITLE))


# Functions called by the browser: each takes {"key", …}, and only pages that received the map know its key.


def get_texts(page: Page, request: Mapping[str, object]) -> list[Value]:
    """Return list items with shortened texts for tooltips; the request contains ``rows`` and ``columns``."""
    return _items(page, request, view_model.MAX_TOOLTIP_LENGTH)


def get_items(page: Page, request: Mapping[str, object]) -> list[Value]:
    return _items(page, request, _MAX_ITEM_LENGTH)


def _items(page: Page, request: Mapping[str, object], max_length: int) -> list[Value]:
    drawn = _requested_map(page, request)
    return view_model.list_items(drawn, remaining_rows(request.get("rows"), drawn)[:_MAX_ITEMS], max_length, request.get("columns"))


def get_column(page: Page, request: Mapping[str, object]) -> Value:
    """Return the values of a column, for colors and filters; the request contains ``name``."""
    drawn, name = _requested_map(page, request), str(request.get("name") or "")
    found = columns(drawn)
    if name not in found:
        raise StudioError(_("the map has no column {name}", name=repr(name[:80])), "choose another column")
    return column_value(name, found[name], drawn.corpus.types.get(name))


def find_words(page: Page, request: Mapping[str, object]) -> list[int]:
    drawn, query = _requested_map(page, request), str(request.get("query") or "").lower()
    removed = drawn.edits.now.removed
    return [row for row, text in enumerate(drawn.corpus.texts) if query and query in text.lower() and not removed[row]]


def find_meaning(page: Page, request: Mapping[str, object]) -> Value:
    """Return the rows of the texts nearest to ``query`` and their scores; the request contains ``rows`` if only these are searched."""
    from ....services.search import SearchOptions

    drawn = _requested_map(page, request)
    query, removed = str(request.get("query") or ""), int(drawn.edits.now.removed.sum())
    rows = remaining_rows(request["rows"], drawn) if "rows" in request else None
    if rows == []:
        return {"rows": [], "scores": []}
    options = SearchOptions(row_ids=rows)
    found = page.studio.search.search(drawn.corpus, query, _MATCHES + removed, "semantic", model=drawn.model, options=options)
    return _remaining(drawn, [(hit.row, hit.score) for hit in found.hits], _MATCHES)


def find_neighbors(page: Page, request: Mapping[str, object]) -> Value:
    """Return the rows of the texts nearest to ``row`` and their scores; the request contains ``rows`` if only these are searched."""
    drawn = _requested_map(page, request)
    (row,) = remaining_rows([request.get("row")], drawn) or (None,)
    if row is None:
        raise StudioError("this text is no longer on the map", "click another one")
    rows, k = remaining_rows(request["rows"], drawn) if "rows" in request else None, _NEIGHBORS + int(drawn.edits.now.removed.sum())
    found = page.studio.search.find_neighbors(drawn.corpus, row, k, drawn.model, row_ids=rows)
    return _remaining(drawn, [(hit.row, hit.score) for hit in found.hits], _NEIGHBORS)


def get_file(page: Page, request: Mapping[str, object]) -> dict[str, str]:
    """Return the name and the base64 content of a table of ``rows``, as XLSX if ``format`` is "xlsx" and otherwise as CSV."""
    drawn, suffix = _requested_map(page, request), ".xlsx" if request.get("format") == "xlsx" else ".csv"
    rows = sorted(remaining_rows(request.get("rows"), drawn))
    path = _write_rows(page, drawn, rows, view_model.file_stem(drawn, "selection") + suffix)
    return {"name": path.name, "data": base64.b64encode(path.read_bytes()).decode("ascii")}


def get_array(page: Page, key: str, name: str, digest: str) -> bytes | None:
    """Return the bytes of an array of a map (:func:`.map_value.map_arrays`); ``None`` if an edit has changed it since.

    Raises:
        StudioError: the map is no longer loaded.
    """
    drawn = page.maps.get(key)
    array = map_arrays(drawn.view, drawn.edits).get(name)
    return array.tobytes() if array is not None and view_model.array_digest(array) == digest else None


SERVER_FUNCTIONS = {
    "map_texts": get_texts,
    "map_rows": get_items,
    "map_column": get_column,
    "map_words": find_words,
    "map_find": find_meaning,
    "map_near": find_neighbors,
    "map_file": get_file,
}
"""Functions by the names used in the map's JavaScript."""


def _requested_map(page: Page, request: Mapping[str, object]) -> DrawnMap:
    key = request.get("key")
    return page.maps.get(key if isinstance(key, str) else None)


def _remaining(drawn: DrawnMap, hits: Sequence[tuple[int, float]], limit: int) -> Value:
    remaining = [hit for hit in hits if not drawn.edits.now.removed[hit[0]]][:limit]
    return {"rows": [row for row, _ in remaining], "scores": [round(float(score), 4) for _, score in remaining]}


def write_html(page: Page, map_key: str | None, filters: str | None = None) -> Path:
    drawn = page.maps.get(map_key)
    chosen = view_model.read_filter(filters, drawn, map_key)
    path = page.downloads.path(view_model.file_stem(drawn, "map", chosen) + ".html")
    title = _("Map of {name}", name=drawn.corpus.name)
    view, corpus = exported(drawn, chosen)
    if chosen is not None:
        title = _("{title}: {note}", title=title, note=view_model.filter_note(drawn, chosen))
    edits = EditHistory.create(view.ids, view.names, [drawn.edits.now.labels[row] for row in _exported_rows(drawn, chosen)])
    wanted = view_model.read_columns(filters)
    if note := columns_note(corpus.fields, exported_columns(corpus.fields, wanted)):
        notify_info(note)
    whole, rows = columns(drawn), _exported_rows(drawn, chosen)

    def read(name: str, _cells: Sequence[str]) -> Value:
        return column_value(name, whole[name], drawn.corpus.types.get(name), rows)

    return write_map(view, corpus.texts, corpus.fields, path, title=title, edits=edits, lines=corpus.lines, wanted=wanted, read=read)


def write_table(page: Page, map_key: str | None, filters: str | None = None, suffix: str = ".csv") -> Path:
    """Write the texts that pass the filters, with their topics and all columns, as .csv or .xlsx."""
    drawn = page.maps.get(map_key)
    chosen = view_model.read_filter(filters, drawn, map_key)
    notes = [] if chosen is None else [view_model.filter_note(drawn, chosen)]
    return _write_rows(page, drawn, _exported_rows(drawn, chosen), view_model.file_stem(drawn, "map", chosen) + suffix, notes)


def write_report(page: Page, map_key: str | None, filters: str | None = None, suffix: str = ".xlsx") -> Path:
    """Write the topic report of the map as edited and filtered, as .xlsx or .html."""
    from ....services.topic_report import find_dates, make_topic_report
    from ....services.topic_report_files import write_topic_report

    drawn = page.maps.get(map_key)
    chosen = view_model.read_filter(filters, drawn, map_key)
    view, corpus = exported(drawn, chosen)
    rows, whole = _exported_rows(drawn, chosen), find_dates(drawn.corpus)
    dates = {name: found.select(rows, corpus.fields[name]) for name, found in whole.items()}
    report = make_topic_report(view, corpus, dates)
    if chosen is not None:
        report = replace(report, notes=(view_model.filter_note(drawn, chosen), *report.notes))
    return write_topic_report(report, page.downloads.path(view_model.file_stem(drawn, "topics", chosen) + suffix), current_language())


def _exported_rows(drawn: DrawnMap, chosen: view_model.MapFilter | None) -> list[int]:
    kept = ~drawn.edits.now.removed
    return np.flatnonzero(kept if chosen is None else kept & chosen.passes).tolist()


def exported(drawn: DrawnMap, chosen: view_model.MapFilter | None = None) -> tuple[MapView, Corpus]:
    """Return the map as edited with its corpus, without texts that were removed or do not pass the filters."""
    from ....services.topic_report import apply_map_state

    view, now = drawn.view, drawn.edits.now
    corpus = replace(drawn.corpus, fields={name: tuple(cells) for name, cells in columns(drawn).items()})
    if not drawn.edits.steps and chosen is None:
        return view, corpus
    if chosen is not None:
        hidden = np.flatnonzero(~chosen.passes & ~now.removed).tolist()
        now = replace(now, removed=now.removed | ~chosen.passes)
        view, edited = apply_map_state(view, corpus, now, drawn.edits.start.ids)
        skipped = SkippedRows("hidden by the filters", tuple(corpus.lines[row] for row in hidden))
        others = SkippedRows("removed on the map", tuple(corpus.lines[row] for row in np.flatnonzero(drawn.edits.now.removed).tolist()))
        reasons = (*corpus.account.reasons, *(one for one in (others, skipped) if one.rows))
        account = replace(corpus.account, used=len(edited), reasons=reasons)
        return replace(view, account=account), replace(edited, account=account)
    return apply_map_state(view, corpus, now, drawn.edits.start.ids)


def _write_rows(page: Page, drawn: DrawnMap, rows: Sequence[int], name: str, notes: Sequence[str] = ()) -> Path:
    now, corpus, points = drawn.edits.now, drawn.corpus, drawn.view.points
    table: dict[str, Sequence[object]] = {
        "row": [corpus.lines[row] for row in rows],
        "text" if corpus.column in _ADDED_COLUMNS else corpus.column: [corpus.texts[row] for row in rows],
        "cluster": [int(now.ids[row]) for row in rows],
        "cluster_label": [now.names[int(now.ids[row])] for row in rows],
    }
    table |= {axis: points[list(rows), i].tolist() for i, axis in enumerate("xyz"[: points.shape[1]])}
    fields = columns(drawn)
    for column, cells in fields.items():
        title = column
        while title in table or (title != column and title in fields):  # a table may have both "x" and "x_"
            title += "_"
        table[title] = [cells[row] for row in rows]
    path = page.downloads.path(name)
    write_spreadsheet(path, table, notes)
    return path
