from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.explore.map_edits import EditHistory, RemoveEdit
from sbert_studio.ui import corpus_picker, handlers
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.mapping import choosing, drawing
from sbert_studio.ui.panels.mapping.editing import edit
from sbert_studio.ui.sessions import map_edits
from sbert_studio.ui.views import server_function


def test_a_list_holds_its_rows_once_and_leaves_out_what_is_none(page: Page, map_key: str) -> None:
    listed = choosing.items(page, {"key": map_key, "rows": [3, 3, 5, -1, 99, "7", None, True]})
    assert [item["row"] for item in listed] == [3, 5]
    corpus = page.maps.get(map_key).corpus
    assert [(item["line"], item["text"], item["value"]) for item in listed] == [(corpus.lines[r], corpus.texts[r], "odd") for r in (3, 5)]
    assert choosing.items(page, {"key": map_key, "rows": "all"}) == []


def test_the_name_of_what_is_in_no_cluster_is_the_pages_own_and_is_translated(page: Page, map_key: str) -> None:
    drawn = page.maps.get(map_key)
    now = drawn.edits.now
    start = replace(
        now, ids=np.where(np.arange(len(now.ids)) == 3, -1, now.ids), labels=tuple("mine" if row == 5 else "" for row in range(40))
    )
    page.maps.put(replace(drawn, edits=EditHistory(start)), map_key)
    listed = choosing.items(page, {"key": map_key, "rows": [3, 4, 5]})
    assert [(item["value"], item["ours"]) for item in listed] == [("no cluster", True), ("even", False), ("mine", False)]


def test_a_click_finds_the_nearest_and_passes_over_what_was_removed(page: Page, map_key: str) -> None:
    found = choosing.near(page, {"key": map_key, "row": 4})
    assert len(found["rows"]) == 12 and 4 not in found["rows"] and found["scores"] == sorted(found["scores"], reverse=True)
    gone = tuple(found["rows"][:5])
    edit(page, map_key, None, {"do": "remove", "rows": list(gone)})
    again = choosing.near(page, {"key": map_key, "row": 4})
    assert again["rows"][:7] == found["rows"][5:] and len(again["rows"]) == 12
    for row in (gone[0], 99, "4", None, True):
        assert "no longer on the map" in server_function(page, "map_near", choosing.near)({"key": map_key, "row": row})["error"]


def test_words_find_what_is_nearest_in_meaning(page: Page, map_key: str) -> None:
    text = page.maps.get(map_key).corpus.texts[9]
    found = choosing.find(page, {"key": map_key, "query": text})
    assert page.maps.get(map_key).corpus.texts[found["rows"][0]] == text and found["scores"][0] == pytest.approx(1, abs=1e-3)
    assert server_function(page, "map_find", choosing.find)({"key": map_key, "query": " "})["error"]


def test_texts_of_a_map_are_given_to_who_holds_its_key_only(page: Page, map_key: str) -> None:
    texts = page.maps.get(map_key).corpus.texts
    assert choosing.texts(page, {"key": map_key, "rows": [5, 7, "x", -1, 10**9]}) == [(5, texts[5]), (7, texts[7])]
    assert choosing.texts(page, {"key": map_key, "start": 5}) == []
    word = texts[5].split()[0]
    assert choosing.words(page, {"key": map_key, "query": word.upper()}) == [
        row for row, text in enumerate(texts) if word.lower() in text.lower()
    ]
    assert choosing.words(page, {"key": map_key, "query": ""}) == []
    for request in (None, [], {}, {"key": "guess", "start": 0, "count": 3}):
        for ask in (choosing.texts, choosing.words, choosing.items, choosing.near, choosing.find, choosing.chosen_csv):
            with pytest.raises(StudioError):
                ask(page, request)


def test_a_selection_is_downloaded_as_a_csv_without_live_formulas(page: Page, map_key: str) -> None:
    made = choosing.chosen_csv(page, {"key": map_key, "rows": [1, 0, 99]})
    lines = made["csv"].lstrip("\ufeff").splitlines()
    assert made["name"] == "corpus selection.csv"
    assert lines[0].split(",")[:4] == ["row", "text", "cluster", "cluster_label"] and len(lines) == 3
    assert lines[1].split(",")[3] == "odd"


def test_a_corpus_too_large_to_draw_keeps_the_account_of_all_its_rows(
    page: Page, corpus_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_edits, "MAX_POINTS", 10)
    corpus, rows = map_edits.sample_for_map(page.corpora.get(corpus_picker.open_file(page, str(corpus_file))).corpus)
    assert (corpus.account.read, corpus.account.used, corpus.account.skipped) == (40, 10, 30)
    assert rows is not None and rows[0] == 0 and rows[-1] == 39


def test_the_controls_of_other_methods_do_not_change_the_clusters() -> None:
    params: Any = drawing.cluster_params
    assert params("auto", 3, 0.5) == params("auto", 9, 0.7)
    assert params("kmeans", 3, 0.5) == params("kmeans", 3, 0.9)
    assert params("kmeans", 3, 0.5).count == 3


def test_each_phase_of_drawing_is_told_by_its_name(page: Page, corpus_key: str) -> None:
    told: list[str] = []
    drawing.draw(
        page,
        corpus_key,
        None,
        drawing.projection_params("2-D", 5, 0.1),
        drawing.cluster_params("auto", 3, 0.5),
        lambda *_, desc: told.append(desc),
    )
    assert list(dict.fromkeys(words[:6] for words in told)) == ["1 of 3", "2 of 3", "3 of 3"]


def test_what_was_removed_is_no_row_any_more(page: Page, map_key: str) -> None:
    drawn = page.maps.get(map_key)
    assert choosing.valid([0, 1], drawn) == [0, 1]
    edit(page, map_key, None, {"do": "remove", "rows": [0]})
    assert choosing.valid([0, 1], page.maps.get(map_key)) == [1]
    assert isinstance(page.maps.get(map_key).edits.steps[0], RemoveEdit)


def test_the_time_left_is_told_once_it_is_no_guess() -> None:
    assert (
        handlers.time_left(1, 100, 60)
        == handlers.time_left(50, 100, 1)
        == handlers.time_left(0, 0, 60)
        == handlers.time_left(100, 100, 9)
        == ""
    )
    assert handlers.time_left(50, 100, 21) == " · about 20 s left"
    assert handlers.time_left(99, 100, 9) == " · about 5 s left"
    assert handlers.time_left(10, 100, 60) == " · about 9 min left"
