from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.mapping import saving
from sbert_studio.ui.panels.mapping.drawing import cluster_params, draw, projection_params
from sbert_studio.ui.panels.mapping.editing import edit, recolour, shown_map
from sbert_studio.ui.panels.mapping.panel import noted, still_there


def test_labels_become_a_column_of_the_corpus_and_undo_takes_it_back(page: Page, corpus_key: str, map_key: str) -> None:
    value, key = edit(page, map_key, corpus_key, {"do": "label", "rows": [0, 2, 99], "name": " urgent "})
    labelled = page.corpora.get(key)
    assert labelled.corpus.fields["label"][:4] == ("urgent", "", "urgent", "") and labelled.id == page.corpora.get(corpus_key).id
    assert value["by"] == "label" and [(name["label"], name["size"]) for name in value["names"]] == [("urgent", 2), ("no label yet", 38)]
    assert value["layout_key"] == shown_map(page, map_key)["layout_key"] and value["key"] == map_key
    value, key = edit(page, map_key, key, {"do": "undo"})
    assert "label" not in page.corpora.get(key).corpus.fields and value["by"] == "Clusters" and value["edits"] == []
    with pytest.raises(StudioError, match="nothing to undo"):
        edit(page, map_key, key, {"do": "undo"})


def test_removed_texts_leave_the_corpus_and_come_back(page: Page, corpus_key: str, map_key: str) -> None:
    whole = page.corpora.get(corpus_key)
    value, key = edit(page, map_key, corpus_key, {"do": "remove", "rows": [0, 1]})
    less = page.corpora.get(key)
    assert less.corpus.texts == whole.corpus.texts[2:] and less.id == whole.id and less.corpus.account.skipped == 2
    assert value["made"]["corpus"] == less.corpus.digest, "the map shows what stays, and is not stale"
    _, key = edit(page, map_key, key, {"do": "undo"})
    assert page.corpora.get(key).corpus == whole.corpus and page.corpora.get(key).id == whole.id


def test_another_corpus_that_was_chosen_meanwhile_stays(page: Page, corpus_key: str, map_key: str) -> None:
    other = page.corpora.put(page.corpora.sample())
    value, key = edit(page, map_key, other, {"do": "label", "rows": [0], "name": "x"})
    assert key is None and value["labels"][0]["label"] == "x"


def test_labels_stay_when_the_map_is_drawn_again(page: Page, corpus_key: str, map_key: str) -> None:
    _, key = edit(page, map_key, corpus_key, {"do": "label", "rows": [0], "name": "x"})
    _, again = draw(page, key, None, projection_params("2-D", 9, 0.2), cluster_params("auto", 3, 0.5))
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


@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        {"do": "format the disk"},
        {"do": "label", "rows": [], "name": "x"},
        {"do": "label", "rows": [0], "name": ""},
        {"do": "label", "rows": [0], "name": None},
        {"do": "remove", "rows": [99]},
        {"do": "rename", "cluster": "0", "name": "x"},
        {"do": "merge", "clusters": [0, True]},
        {"do": "merge", "clusters": 3},
        {"do": "split", "cluster": [0]},
    ],
)
def test_what_the_browser_may_send_is_not_trusted(page: Page, corpus_key: str, map_key: str, request_: Any) -> None:
    with pytest.raises(StudioError):
        edit(page, map_key, corpus_key, request_)
    assert page.maps.get(map_key).edits.steps == ()


def test_colours_follow_a_column_and_nothing_else(page: Page, map_key: str) -> None:
    assert recolour(page, map_key, "topic")["by"] == "topic"
    assert page.maps.get(map_key).colour == "topic"
    for name in ("no such column", None, ["topic"]):
        assert recolour(page, map_key, name)["by"] == "Clusters"


def test_the_maps_csv_has_every_row_that_is_left_with_its_cluster_and_label(page: Page, corpus_key: str, map_key: str) -> None:
    edit(page, map_key, corpus_key, {"do": "label", "rows": [2], "name": "=cmd()"})
    edit(page, map_key, corpus_key, {"do": "remove", "rows": [0]})
    with saving.write_table(page, map_key).open(encoding="utf-8-sig", newline="") as source:
        rows = list(csv.DictReader(source))
    assert len(rows) == 39
    assert {"row", "text", "topic", "label", "cluster", "cluster_label", "x", "y"} <= set(rows[0])
    assert [row["cluster_label"] for row in rows[:3]] == ["odd", "even", "odd"] and rows[1]["label"] == "'=cmd()"


def test_a_map_says_what_is_to_be_known_of_it(page: Page, map_key: str) -> None:
    assert noted(page, map_key) is None
    shown = page.maps.get(map_key)
    told = replace(shown, view=replace(shown.view, notes=("2 of 9 words are passed over.", "Its texts look like Chinese.")))
    assert noted(page, page.maps.put(told)) == {"text": " ".join(told.view.notes)}


def test_back_leads_to_the_map_as_it_was_left(page: Page, corpus_key: str, map_key: str) -> None:
    model = page.studio.settings.default_model
    edit(page, map_key, corpus_key, {"do": "label", "rows": [0], "name": "x"})
    there = still_there(page, map_key, corpus_key, model)
    assert there is not None and page.corpora.get(there).corpus.fields["label"][0] == "x"
    assert still_there(page, None, corpus_key, model) is None
    assert still_there(page, map_key, page.corpora.put(page.corpora.sample()), model) is None
    assert still_there(page, map_key, corpus_key, "another model") is None
