from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import numpy as np
import pandas as pd
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore.map_edits import EditHistory
from sbert_studio.ui import corpora
from sbert_studio.ui.map_value import CLUSTERS
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.sessions import map_edits
from sbert_studio.ui.state import show_on_map
from sbert_studio.ui.tabs.map import handlers, view_model
from sbert_studio.ui.tabs.map.handlers import corpus_on_map, draw
from sbert_studio.ui.tabs.map.view_model import MapInputs, MapSettings, drawn_map_value, heading, notes_value, remaining_rows, to_map_rows
from sbert_studio.ui.tabs.search.handlers import SearchInputs, search
from sbert_studio.ui.views import UNCHANGED, server_function

from .conftest import edit, rows_of


def act(page: Page, map_key: str, action: str, item: object) -> Any:
    return handlers.act_on_map(page, map_key, None, None, Selection(action, item))


def test_labels_and_removals_change_the_corpus_and_are_undone(page: Page, corpus_key: str, map_key: str) -> None:
    value, key = edit(page, map_key, corpus_key, {"do": "label", "rows": [0, 2, 99], "name": " urgent "})
    labelled = page.corpora.get(key)
    assert labelled.corpus.fields["label"][:4] == ("urgent", "", "urgent", "") and labelled.id == page.corpora.get(corpus_key).id
    assert value["by"] == CLUSTERS and [(label["label"], rows_of(label)) for label in value["labels"]] == [("urgent", [0, 2])]
    assert value["layout_key"] == drawn_map_value(page, map_key)["layout_key"] and value["key"] == map_key
    value, key = edit(page, map_key, key, {"do": "undo"})
    assert "label" not in page.corpora.get(key).corpus.fields and value["by"] == CLUSTERS and value["edits"] == []
    with pytest.raises(StudioError, match="nothing to undo"):
        edit(page, map_key, key, {"do": "undo"})
    whole = page.corpora.get(corpus_key)
    value, key = edit(page, map_key, corpus_key, {"do": "remove", "rows": [0, 1]})
    less = page.corpora.get(key)
    assert less.corpus.texts == whole.corpus.texts[2:] and less.id == whole.id and less.corpus.account.skipped == 2
    assert value["made"]["corpus"] == less.corpus.digest, "the map shows what stays, and is not stale"
    _, key = edit(page, map_key, key, {"do": "undo"})
    assert page.corpora.get(key).corpus == whole.corpus and page.corpora.get(key).id == whole.id


def test_a_map_follows_its_data_and_does_not_select_it(page: Page, map_key: str, corpus_key: str) -> None:
    settings = MapSettings(neighbors=5)
    first = handlers.draw_first_map(page, MapInputs(None, None, None, None), settings)
    assert first is not None and first.corpus is UNCHANGED and first.map_key in page.maps
    assert handlers.draw_map(page, MapInputs(None, None, None, None), settings).corpus in page.corpora
    assert handlers.clear_map(page, map_key, corpus_key) is None
    other = handlers.clear_map(page, map_key, page.corpora.put(page.corpora.sample()))
    assert other is not None and other.notes is None
    assert handlers.clear_map(page, None, corpus_key) is None
    other = page.corpora.put(page.corpora.sample())
    value, key = edit(page, map_key, other, {"do": "label", "rows": [0], "name": "x"})
    assert key is None and value["labels"][0]["label"] == "x"


def test_labels_stay_when_the_map_is_drawn_again(page: Page, corpus_key: str, map_key: str) -> None:
    _, key = edit(page, map_key, corpus_key, {"do": "label", "rows": [0], "name": "x"})
    _, again = draw(page, key, None, None, MapSettings("2-D", 9, 0.2))
    _, key = edit(page, again, key, {"do": "label", "rows": [1], "name": "y"})
    assert [name for name in page.corpora.get(key).corpus.fields if name.startswith("label")] == ["label"]
    assert page.corpora.get(key).corpus.fields["label"][:3] == ("x", "y", "")


def test_a_files_own_label_column_is_left_alone(page: Page, tmp_path: Path, map_key: str) -> None:
    drawn = page.maps.get(map_key)
    fields = {**drawn.corpus.fields, "label": ("theirs",) * 40}
    chosen = replace(drawn.chosen, corpus=replace(drawn.corpus, fields=fields))
    page.maps.put(replace(drawn, corpus=chosen.corpus, chosen=chosen), map_key)
    _, key = edit(page, map_key, page.corpora.put(chosen), {"do": "label", "rows": [3], "name": "ours"})
    made = page.corpora.get(key).corpus.fields
    assert made["label"] == fields["label"] and made["label 2"][3] == "ours"


def test_clusters_are_renamed_merged_and_split(page: Page, corpus_key: str, map_key: str) -> None:
    value, _ = edit(page, map_key, corpus_key, {"do": "rename", "cluster": 0, "name": "two by two"})
    assert value["cluster_names"][0]["label"] == "two by two" and value["show"]["cluster"] == 0
    value, _ = edit(page, map_key, corpus_key, {"do": "split", "cluster": 0})
    assert [name["size"] for name in value["cluster_names"]] and sum(name["size"] for name in value["cluster_names"]) == 40
    assert len(value["cluster_names"]) == 3
    value, _ = edit(page, map_key, corpus_key, {"do": "merge", "clusters": [1, 0]})
    assert len(value["cluster_names"]) == 2


INVALID_EDITS: list[Any] = [
    None, [], {"do": "format the disk"}, {"do": "label", "rows": [], "name": "x"}, {"do": "label", "rows": [0], "name": ""},
    {"do": "label", "rows": [0], "name": None}, {"do": "remove", "rows": [99]}, {"do": "rename", "cluster": "0", "name": "x"},
    {"do": "merge", "clusters": [0, True]}, {"do": "merge", "clusters": 3}, {"do": "split", "cluster": [0]},
]  # fmt: skip


def test_invalid_edits_are_refused(page: Page, corpus_key: str, map_key: str) -> None:
    for request in INVALID_EDITS:
        with pytest.raises(StudioError):
            edit(page, map_key, corpus_key, request)
    assert page.maps.get(map_key).edits.steps == ()


def test_the_maps_csv_has_every_row_that_is_left_with_its_cluster_and_label(page: Page, corpus_key: str, map_key: str) -> None:
    edit(page, map_key, corpus_key, {"do": "label", "rows": [2], "name": "=cmd()"})
    edit(page, map_key, corpus_key, {"do": "remove", "rows": [0]})
    with handlers.write_table(page, map_key).open(encoding="utf-8-sig", newline="") as source:
        rows = list(csv.DictReader(source))
    assert len(rows) == 39
    assert {"row", "text", "topic", "label", "cluster", "cluster_label", "x", "y"} <= set(rows[0])
    assert [row["cluster_label"] for row in rows[:3]] == ["odd", "even", "odd"] and rows[1]["label"] == "'=cmd()"


def test_hits_are_found_on_the_map_and_back_leads_to_it(page: Page, corpus_key: str, map_key: str) -> None:
    rows = show_on_map(page, corpus_key, [4, 4, 2, -1, 99, True, "3"], "Found")
    assert rows.rows == (4, 2) and to_map_rows(page.maps.get(map_key), rows.rows) == [4, 2]
    assert rows != show_on_map(page, corpus_key, [4, 2], "Found"), "the same ones can be gone to twice"
    for nothing in (None, [], [99]):
        with pytest.raises(StudioError):
            show_on_map(page, corpus_key, nothing, "Found")
    model = page.studio.settings.default_model
    edit(page, map_key, corpus_key, {"do": "label", "rows": [0], "name": "x"})
    there = corpus_on_map(page, map_key, corpus_key, model)
    assert there is not None and page.corpora.get(there).corpus.fields["label"][0] == "x"
    assert corpus_on_map(page, None, corpus_key, model) is None
    assert corpus_on_map(page, map_key, page.corpora.put(page.corpora.sample()), model) is None
    assert corpus_on_map(page, map_key, corpus_key, "another model") is None


def test_texts_and_rows_of_a_map_are_sent_once_and_only_for_its_key(page: Page, map_key: str) -> None:
    corpus = page.maps.get(map_key).corpus
    listed = handlers.get_items(page, {"key": map_key, "rows": [3, 3, 5, -1, 99, "7", None, True]})
    assert [(item["row"], item["line"], item["text"]) for item in listed] == [(r, corpus.lines[r], corpus.texts[r]) for r in (3, 5)]
    assert handlers.get_items(page, {"key": map_key, "rows": "all"}) == []
    sent = handlers.get_texts(page, {"key": map_key, "rows": [5, 7, "x", -1, 10**9]})
    assert sent == [{"row": row, "line": corpus.lines[row], "text": corpus.texts[row], "cells": []} for row in (5, 7)]
    assert handlers.get_texts(page, {"key": map_key, "start": 5}) == []
    word = corpus.texts[5].split()[0]
    expected = [row for row, text in enumerate(corpus.texts) if word.lower() in text.lower()]
    assert handlers.find_words(page, {"key": map_key, "query": word.upper()}) == expected
    assert handlers.find_words(page, {"key": map_key, "query": ""}) == []
    for request in ({}, {"key": 3}, {"key": "guess", "start": 0, "count": 3}):
        for ask in handlers.SERVER_FUNCTIONS.values():
            with pytest.raises(StudioError):
                ask(page, request)


def test_the_name_of_what_is_in_no_cluster_is_the_pages_own_and_is_translated(page: Page, map_key: str) -> None:
    drawn = page.maps.get(map_key)
    now = drawn.edits.now
    start = replace(
        now, ids=np.where(np.arange(len(now.ids)) == 3, -1, now.ids), labels=tuple("mine" if row == 5 else "" for row in range(40))
    )
    page.maps.put(replace(drawn, edits=EditHistory(start)), map_key)
    listed = handlers.get_items(page, {"key": map_key, "rows": [3, 4, 5], "columns": [CLUSTERS, "label", "no such column", 7]})
    cells = [[CLUSTERS, "outliers", True]], [[CLUSTERS, "even", False]], [[CLUSTERS, "odd", False], ["label", "mine", False]]
    assert [item["cells"] for item in listed] == list(cells)


def test_neighbors_of_a_query_and_of_a_text_are_found(page: Page, map_key: str) -> None:
    text = page.maps.get(map_key).corpus.texts[9]
    found = handlers.find_meaning(page, {"key": map_key, "query": text})
    assert page.maps.get(map_key).corpus.texts[found["rows"][0]] == text and found["scores"][0] == pytest.approx(1, abs=1e-3)
    assert server_function(page, "map_find", handlers.find_meaning)({"key": map_key, "query": " "})["error"]  # type: ignore[index]
    some = handlers.find_meaning(page, {"key": map_key, "query": text, "rows": [1, 3]})
    assert sorted(some["rows"]) == [1, 3] and len(some["scores"]) == 2, "of the texts that pass the filters"
    assert handlers.find_meaning(page, {"key": map_key, "query": text, "rows": []}) == {"rows": [], "scores": []}
    found = handlers.find_neighbors(page, {"key": map_key, "row": 4})
    assert len(found["rows"]) == 12 and 4 not in found["rows"] and found["scores"] == sorted(found["scores"], reverse=True)
    some = handlers.find_neighbors(page, {"key": map_key, "row": 4, "rows": found["rows"][6:9]})
    assert some == {"rows": found["rows"][6:9], "scores": pytest.approx(found["scores"][6:9])}, "of the texts that pass the filters"
    assert handlers.find_neighbors(page, {"key": map_key, "row": 4, "rows": []})["rows"] == []
    gone = tuple(found["rows"][:5])
    edit(page, map_key, None, {"do": "remove", "rows": list(gone)})
    again = handlers.find_neighbors(page, {"key": map_key, "row": 4})
    assert again["rows"][:7] == found["rows"][5:] and len(again["rows"]) == 12
    for row in (gone[0], 99, "4", None, True):
        assert "no longer on the map" in server_function(page, "map_near", handlers.find_neighbors)({"key": map_key, "row": row})["error"]  # type: ignore[index]


def test_a_corpus_too_large_to_draw_keeps_the_account_of_all_its_rows(
    page: Page, corpus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_edits, "MAX_POINTS", 10)
    corpus, rows = map_edits.sample_for_map(page.corpora.get(corpora.open_file(page, str(corpus_file))).corpus)
    assert (corpus.account.read, corpus.account.used, corpus.account.skipped) == (40, 10, 30)
    assert rows is not None and rows[0] == 0 and rows[-1] == 39


def test_controls_of_other_methods_do_not_change_the_clusters() -> None:
    def clustering(method: str, count: int, threshold: float) -> object:
        return MapSettings(method=method, cluster_count=count, threshold=threshold).clustering()

    assert clustering("auto", 3, 0.5) == clustering("auto", 9, 0.7)
    assert clustering("kmeans", 3, 0.5) == clustering("kmeans", 3, 0.9) != clustering("kmeans", 4, 0.5)
    assert clustering("agglomerative", 3, 0.5) == clustering("agglomerative", 9, 0.5) != clustering("agglomerative", 3, 0.6)


def test_progress_names_each_phase_of_drawing(page: Page, corpus_key: str) -> None:
    reported: list[str] = []
    progress: Any = lambda *_, desc: reported.append(desc)  # noqa: E731
    draw(page, corpus_key, None, None, MapSettings(neighbors=5), progress=progress)
    assert list(dict.fromkeys(words[:6] for words in reported)) == ["1 of 3", "2 of 3", "3 of 3"]


def test_labels_are_taught_as_a_table_of_texts_and_labels(page: Page, corpus_key: str, map_key: str) -> None:
    with pytest.raises(StudioError, match="no text has a label"):
        handlers.training_table(page, page.maps.get(map_key))
    edit(page, map_key, corpus_key, {"do": "label", "rows": [0, 2], "name": "x"})
    with pytest.raises(StudioError, match="only one label"):
        handlers.training_table(page, page.maps.get(map_key))
    edit(page, map_key, corpus_key, {"do": "label", "rows": [1], "name": "=y"})
    table = act(page, map_key, "teach", 0).training_table
    assert table.name == "corpus labelled.csv"
    with table.path.open(encoding="utf-8-sig", newline="") as source:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(source)]
    texts = page.maps.get(map_key).corpus.texts
    assert sorted(rows) == sorted([(texts[0], "x"), (texts[2], "x"), (texts[1], "=y")])


def test_a_search_stays_among_what_was_chosen_also_where_texts_were_removed(page: Page, corpus_key: str, map_key: str) -> None:
    _, key = edit(page, map_key, corpus_key, {"do": "remove", "rows": [0, 5]})
    drawn = page.maps.get(map_key)
    chosen = handlers.rows_to_search(drawn, [0, 7, 9, 12, "x"])
    corpus = page.corpora.get(key).corpus
    assert [corpus.texts[row] for row in chosen.rows] == [drawn.corpus.texts[row] for row in (7, 9, 12)]
    assert to_map_rows(drawn, chosen.rows) == [7, 9, 12]
    value = search(page, SearchInputs(key, "cat", rows_to_search=chosen)).hits
    assert sorted(value["ids"]) == sorted(chosen.rows) and "of 3 texts" in value["caption"]
    other = page.corpora.put(page.corpora.sample())
    value = search(page, SearchInputs(other, "refund", 5, "lexical", rows_to_search=chosen)).hits
    assert "of 3 texts" not in value["caption"], "another corpus is searched whole"
    with pytest.raises(StudioError):
        handlers.rows_to_search(drawn, [0])


def test_rows_of_another_map_that_the_page_still_shows_are_refused(page: Page, map_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gr, "Info", lambda *_, **__: None)
    bits = base64.b64encode(bytes([0b1110, *[0] * (-(-len(page.maps.get(map_key).corpus) // 8) - 1)])).decode()
    filters = json.dumps({"key": map_key, "rows": bits, "words": "size: 1"})
    assert "3 of" in handlers.write_table(page, map_key, filters).name
    assert act(page, map_key, "here", {"key": map_key, "rows": [1, 2]}).rows_to_search.rows == (1, 2)
    other = page.maps.put(replace(page.maps.get(map_key)))
    for action in ("here", "examples"):
        with pytest.raises(StudioError, match="another map is being loaded"):
            act(page, other, action, {"key": map_key, "rows": [1, 2]})
    for write in (handlers.write_table, handlers.write_html, handlers.write_report):
        with pytest.raises(StudioError, match="another map is being loaded"):
            write(page, other, filters)


def test_texts_go_into_the_basket_as_pairs(page: Page, corpus_key: str, map_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gr, "Info", lambda *_, **__: None)
    assert act(page, map_key, "examples", [0, 1, 2, 99]).basket_version
    texts = page.maps.get(map_key).corpus.texts
    pairs = page.baskets.of(page.visitor(None)).pairs
    assert {(pair.a, pair.b, pair.together) for pair in pairs} == {(texts[0], texts[1], True), (texts[1], texts[2], True)}
    with pytest.raises(StudioError):
        act(page, map_key, "examples", [3])
    texts = page.maps.get(map_key).corpus.texts
    assert act(page, map_key, "together", [3, 5]).basket_version is not UNCHANGED
    act(page, map_key, "apart", [3, 7])
    known = {(pair.a, pair.b): (pair.together, pair.source) for pair in page.baskets.of(page.visitor(None)).pairs}
    assert known[texts[3], texts[5]] == (True, "Map") and known[texts[3], texts[7]] == (False, "Map")
    act(page, map_key, "apart", [3, 7])  # once more: taken back
    assert (texts[3], texts[7]) not in {(pair.a, pair.b) for pair in page.baskets.of(page.visitor(None)).pairs}
    for sent in ([3], [3, 3], [3, 99999], "x", None):
        with pytest.raises(StudioError, match="not two texts"):
            act(page, map_key, "together", sent)


THREE = MapSettings(neighbors=5, method="kmeans", cluster_count=3)
TEXTS = [
    f"the {thing} is {how}" for thing in ("cat", "dog", "card", "rain", "bread") for how in ("old", "new", "red", "late", "lost", "mine")
]


@pytest.fixture
def drawn_of(page: Page, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Texts, the key of the map that is shown → the key of their map."""

    def made(texts: list[str], standing: str | None = None, settings: MapSettings = THREE) -> str:
        path = tmp_path / "texts.txt"
        path.write_text("\n".join(texts))
        return draw(page, corpora.open_file(page, str(path)), None, None, settings, extend=standing)[1]

    return made


def test_new_texts_are_placed_and_the_others_stay(page: Page, drawn_of) -> None:  # type: ignore[no-untyped-def]
    first = drawn_of(TEXTS)
    more = ["the cat is old and late", *TEXTS, TEXTS[7]]
    second = drawn_of(more, first)
    before, after = (page.maps.get(key).view for key in (first, second))
    assert np.array_equal(after.points[1:31], before.points) and np.array_equal(after.ids[1:31], before.ids)
    assert (after.points[31] == before.points).all(axis=1).any()  # on what the model cannot tell from it
    assert [topic.label for topic in after.topics] == [topic.label for topic in before.topics]
    assert sum(topic.size for topic in after.topics if topic.keywords) + after.outliers == 32
    said = notes_value(page, second)
    assert said is not None and "2 new texts were placed" in said["text"] and "Draw the map" in said["text"]
    # Drawn once more, all are laid out together; so are those of other settings, and a file that lost a text.
    for texts, standing, settings in ((more, second, THREE), (more, first, replace(THREE, neighbors=6)), (more[1:-3], first, THREE)):
        again = page.maps.get(drawn_of(texts, standing, settings)).view
        assert not any("placed" in note for note in again.notes)
    third = page.maps.get(drawn_of([*more, "one more card"], second)).view  # it grows on
    assert np.array_equal(third.points[:32], after.points) and any("1 new text was placed" in note for note in third.notes)


def test_types_and_text_columns_of_the_data_dialog_reach_the_map(page: Page, tmp_path: Path, map_key: str) -> None:
    path = tmp_path / "tickets.csv"
    rows = [f"Ticket {number},The parcel number {number} never came to my door.,{number * 1.5}" for number in range(30)]
    path.write_text("title,message,priority\n" + "\n".join(rows) + "\n", encoding="utf-8")
    for types, expected in (({}, "number"), ({"priority": "category"}, "category")):
        key = page.corpora.put(page.corpora.read(path, ("title", "message"), types=types))
        drawn_key = draw(page, key, None, None, MapSettings(neighbors=5))[1]
        assert handlers.get_column(page, {"key": drawn_key, "name": "priority"})["kind"] == expected
    assert heading(page, page.maps.get(drawn_key))["columns"] == ["title", "message"]


def bits(rows: Sequence[int], total: int) -> dict[str, str]:
    """Rows as the page sends many: a bit for each text."""
    chosen = np.zeros(total, bool)
    chosen[list(rows)] = True
    return {"bits": base64.b64encode(np.packbits(chosen, bitorder="little").tobytes()).decode()}


def test_many_rows_are_sent_as_bits(page: Page, map_key: str, corpus_key: str) -> None:
    total = len(page.maps.get(map_key).corpus)
    rows = [0, 3, 8, total - 1]
    value, _ = edit(page, map_key, corpus_key, {"do": "label", "rows": bits(rows, total), "name": "many"})
    assert rows_of(value["labels"][0]) == rows
    edit(page, map_key, corpus_key, {"do": "remove", "rows": bits([3], total)})
    assert remaining_rows(bits(rows, total), page.maps.get(map_key)) == [0, 8, total - 1]
    for sent in (bits(rows, total + 8), {"bits": "***"}, {"bits": None}, {}):
        with pytest.raises(StudioError):
            remaining_rows(sent, page.maps.get(map_key))


def test_the_arrays_of_a_large_map_are_fetched_and_only_changed_ones_again(
    page: Page, map_key: str, corpus_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = drawn_map_value(page, map_key)
    monkeypatch.setattr(view_model, "FETCHED_POINTS", 1)

    def fetched(value: Any, name: str) -> bytes | None:
        key, array, digest = re.fullmatch(r"map/([\w-]+)/(\w+)\?(\w+)", value[name]["url"]).groups()  # type: ignore[union-attr]
        return handlers.get_array(page, key, array, digest)

    first = drawn_map_value(page, map_key)
    for name in ("points", "clusters"):
        assert fetched(first, name) == base64.b64decode(small[name])
    assert first["hidden"] == small["hidden"] == ""
    second, _ = edit(page, map_key, corpus_key, {"do": "merge", "clusters": [0, 1]})
    assert second["points"] == first["points"], "the page has these points already"
    assert second["clusters"] != first["clusters"] and fetched(first, "clusters") is None
    assert set(np.frombuffer(fetched(second, "clusters") or b"", "<i2").tolist()) == {0}
    third, _ = edit(page, map_key, corpus_key, {"do": "remove", "rows": [1]})
    assert (fetched(third, "hidden") or b"")[:3] == b"\0\1\0"
    assert handlers.get_array(page, map_key, "edits", "") is None
    with pytest.raises(StudioError):
        handlers.get_array(page, "no such key", "points", "")


def test_an_exported_map_contains_the_columns_in_use(page: Page, map_key: str) -> None:
    drawn = page.maps.get(map_key)
    names = [f"column {number}" for number in range(12)]
    fields = {name: ("a",) * len(drawn.corpus) for name in names}
    page.maps.put(replace(drawn, corpus=replace(drawn.corpus, fields=fields)), map_key)
    text = handlers.write_html(page, map_key, json.dumps({"columns": [CLUSTERS, names[11], "no column", 3]})).read_text(encoding="utf-8")
    assert f'"{names[11]}"' in text and "contains 8 of 12 columns, without column 7" in text
    for sent in ("[]", "{", '{"rows": 3}'):
        with pytest.raises(StudioError):
            handlers.write_html(page, map_key, sent)


def test_an_edit_of_the_map_before_does_not_reach_the_one_that_is_being_loaded(page: Page, corpus_key: str, map_key: str) -> None:
    with pytest.raises(StudioError, match="another map"):
        edit(page, map_key, corpus_key, {"do": "label", "rows": [0], "name": "late", "key": "of the map before"})
    assert not any(page.maps.get(map_key).edits.now.labels)
    edit(page, map_key, corpus_key, {"do": "label", "rows": [0], "name": "late", "key": map_key})
    assert page.maps.get(map_key).edits.now.labels[0] == "late"


@pytest.fixture
def table_map(page: Page, tmp_path: Path, map_key: str) -> str:
    """A map of a table whose dates show only in December that the day comes first, and whose columns are called like those of the file."""
    lines = ["text,sent,stars,x,x_"]
    for row in range(40):
        day = "25/12/2023" if row % 4 == 0 else f"0{1 + row % 9}/03/2024"
        lines.append(f"text number {row} of this table,{day},{1 + row % 5},mine {row},other {row}")
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return draw(page, corpora.open_file(page, str(path)), None, None, MapSettings(neighbors=5))[1]


def test_what_a_filter_leaves_is_read_as_the_whole_column_is(page: Page, table_map: str) -> None:
    """The third of March stays in March where December is filtered out, and a few stars are still numbers."""
    kept = [row for row in range(40) if row % 4 and row % 5 > 2]
    chosen = json.dumps({"rows": bits(kept, 40)["bits"], "words": "stars: 4 to 5", "columns": ["sent", "stars"]})
    report = pd.read_excel(handlers.write_report(page, table_map, chosen), sheet_name=None, header=None)
    months = {str(value)[:7] for value in report["Over time by sent"].iloc[0, 1:]}
    assert months == {"2024-03"}
    book = pd.read_excel(handlers.write_table(page, table_map, chosen, ".xlsx"), sheet_name=None)
    texts = next(iter(book.values()))["text"].tolist()
    assert texts == [f"text number {row} of this table" for row in kept] and "stars: 4 to 5" in book["Notes"].to_string()
    data = handlers.write_html(page, table_map, chosen).read_text(encoding="utf-8")
    columns = json.loads(data.partition('id="data">')[2].partition("</script>")[0])["columns"]
    assert columns["stars"]["kind"] == "number" and columns["sent"]["kind"] == "date"
    days = np.frombuffer(base64.b64decode(columns["sent"]["numbers"]), "<f8").astype("datetime64[D]")
    assert days.tolist() == [date(2024, 3, 1 + row % 9) for row in kept]


def test_exports_have_every_column_and_the_chosen_types(page: Page, table_map: str) -> None:
    rows = list(csv.DictReader(io.StringIO(handlers.write_table(page, table_map).read_text(encoding="utf-8-sig"))))
    assert (rows[3]["x__"], rows[3]["x_"]) == ("mine 3", "other 3")
    drawn = page.maps.get(table_map)
    page.maps.put(replace(drawn, corpus=replace(drawn.corpus, types={"stars": "category", "sent": "category"})), table_map)
    data = handlers.write_html(page, table_map).read_text(encoding="utf-8")
    columns = json.loads(data.partition('id="data">')[2].partition("</script>")[0])["columns"]
    assert columns["stars"]["kind"] == "category" and columns["sent"]["kind"] == "category"
    assert "By sent" in pd.read_excel(handlers.write_report(page, table_map), sheet_name=None)


def test_many_outliers_are_assigned_to_their_nearest_topics() -> None:
    rng, rows = np.random.default_rng(0), 20_000
    ids, topics = rng.integers(0, 60, rows), rng.integers(0, 60, rows)
    ids[rng.random(rows) < 0.1] = -1
    edits = EditHistory.create(ids, {topic: str(topic) for topic in range(60)})
    drawn: Any = SimpleNamespace(edits=edits, view=SimpleNamespace(nearest=np.where(ids < 0, topics, ids)))
    found, clusters = handlers.nearest_clusters(drawn)
    assert list(found) == np.flatnonzero(ids < 0).tolist() and list(clusters) == topics[ids < 0].tolist()
