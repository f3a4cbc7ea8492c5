"""Topics of the Map tab: the slider for their number, assigned outliers, and the topic report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_server import Reply, serve_model
from openpyxl import load_workbook

from sbert_studio.errors import StudioError
from sbert_studio.explore.clusters import ClusterParams
from sbert_studio.explore.map_edits import EditHistory
from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.ui import corpora
from sbert_studio.ui.map_value import map_value
from sbert_studio.ui.page import Page
from sbert_studio.ui.tabs.map import handlers, topic_names
from sbert_studio.ui.tabs.map.topic_names import NameSettings, name_map_topics
from sbert_studio.ui.tabs.map.view_model import MapInputs, MapPanel, MapSettings

from .conftest import edit

SETTINGS = MapSettings(neighbors=5)


@pytest.fixture
def counts(page: Page, map_key: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of topics with which maps are drawn; 0 gives four."""
    asked: list[int] = []

    def fake(corpus: Any, projection: Any, clusters: ClusterParams, model: Any, *, begin_phase: Any = None) -> MapView:
        n, count = len(corpus.texts), clusters.count or 4
        asked.append(clusters.count)
        topics = tuple(TopicInfo(topic, f"topic {topic}", len(range(topic, n, count))) for topic in range(count))
        return MapView(np.zeros((n, 2), np.float32), np.arange(n) % count, topics, "k")

    monkeypatch.setattr(page.studio.map, "draw", fake)
    return asked


def slider(panel: MapPanel | None) -> dict[str, Any]:
    assert panel is not None and isinstance(panel.topic_count, dict)
    return panel.topic_count


def test_the_slider_cuts_the_tree_elsewhere_and_leads_back(page: Page, corpus_key: str, counts: list[int]) -> None:
    def inputs(panel: MapPanel | None) -> MapInputs:
        return MapInputs(None if panel is None else str(panel.map_key), None, corpus_key, None)

    first = handlers.draw_map(page, inputs(None), replace(SETTINGS, topic_count=9))
    assert counts == [0], "before there is a map, the slider says nothing"
    assert (slider(first)["value"], slider(first)["visible"]) == (4, True) and "automatic: 4" in slider(first)["label"]
    more = handlers.redraw_map(page, inputs(first), replace(SETTINGS, topic_count=7))
    assert counts == [0, 7] and slider(more)["value"] == 7 and "automatic: 4" in slider(more)["label"]
    kept = handlers.draw_map(page, inputs(more), replace(SETTINGS, topic_count=7))
    assert counts == [0, 7, 7] and slider(kept)["value"] == 7, "the button keeps the number of the same texts"
    back = handlers.redraw_map(page, inputs(kept), replace(SETTINGS, topic_count=4))
    assert counts[3:] == [0] and slider(back)["value"] == 4
    other = handlers.redraw_map(page, inputs(more), replace(SETTINGS, method="hdbscan", topic_count=7))
    assert counts[4:] == [0] and slider(other)["visible"] is False


def test_another_corpus_begins_with_the_automatic_number(page: Page, corpus_key: str, counts: list[int], tmp_path: Path) -> None:
    first = handlers.draw_map(page, MapInputs(None, None, corpus_key, None), SETTINGS)
    path = tmp_path / "other.txt"
    path.write_text("\n".join(f"other text {number}" for number in range(20)), encoding="utf-8")
    other = corpora.open_file(page, str(path))
    drawn = handlers.draw_map(page, MapInputs(str(first.map_key), None, other, None), replace(SETTINGS, topic_count=7))
    assert counts == [0, 0] and slider(drawn)["value"] == 4


@pytest.fixture
def with_outliers(page: Page, map_key: str) -> str:
    """The map of forty texts, two of them outliers: row 0 near topic 1, row 1 near topic 0; both topics are of one broad topic."""
    drawn = page.maps.get(map_key)
    ids = np.where(np.arange(40) < 2, -1, np.arange(40) % 2)
    nearest = np.where(ids < 0, 1 - np.arange(40) % 2, ids)
    topics = (TopicInfo(0, "even", 19, 2), TopicInfo(1, "odd", 19, 2), TopicInfo(2, "whole", 38))
    typicality = np.linspace(0, 1, 40).astype(np.float32)
    view = replace(drawn.view, ids=ids, nearest=nearest, topics=topics, typicality=typicality)
    return page.maps.put(replace(drawn, view=view, edits=EditHistory.create(ids, view.names)), map_key)


def test_outliers_are_assigned_to_the_cluster_that_has_their_nearest_topic(page: Page, corpus_key: str, with_outliers: str) -> None:
    value, key = edit(page, with_outliers, corpus_key, {"do": "assign"})
    assert page.maps.get(with_outliers).edits.now.ids[:2].tolist() == [1, 0]
    assert [(name["label"], name["size"]) for name in value["cluster_names"]] == [("even", 20), ("odd", 20)]
    with pytest.raises(StudioError):
        edit(page, with_outliers, key, {"do": "assign"})
    _, key = edit(page, with_outliers, key, {"do": "undo"})
    edit(page, with_outliers, key, {"do": "merge", "clusters": [1, 0]})
    edit(page, with_outliers, key, {"do": "assign"})
    assert set(page.maps.get(with_outliers).edits.now.ids.tolist()) == {1}, "the topic of row 1 is a part of another now"


def test_split_topics_stay_in_their_broad_topic(page: Page, corpus_key: str, with_outliers: str) -> None:
    value = handlers.drawn_map_value(page, with_outliers)
    assert value["broad"] == [{"label": "whole", "topics": [0, 1]}]
    edit(page, with_outliers, corpus_key, {"do": "split", "cluster": 0})
    drawn = page.maps.get(with_outliers)
    (group,) = map_value(drawn.view, {}, edits=drawn.edits)["broad"]
    assert sorted(group["topics"]) == [0, 1, 2]


def test_the_report_is_that_of_the_map_as_edited(page: Page, corpus_key: str, with_outliers: str) -> None:
    _, key = edit(page, with_outliers, corpus_key, {"do": "rename", "cluster": 0, "name": "by two"})
    _, key = edit(page, with_outliers, key, {"do": "label", "rows": [2, 3, 4], "name": "urgent"})
    edit(page, with_outliers, key, {"do": "remove", "rows": [0]})
    book = load_workbook(handlers.write_report(page, with_outliers, suffix=".xlsx"))
    assert book.sheetnames == ["Topics", "By topic", "Notes"]
    rows = [[cell.value for cell in row[:3]] for row in book["Topics"].iter_rows(min_row=2)]
    assert rows == [["by two", "whole", 19], ["odd", "whole", 19], ["outliers", None, 1]]
    path = handlers.write_report(page, with_outliers, suffix=".html")
    assert path.name == "corpus topics.html" and "by two" in path.read_text(encoding="utf-8")


def test_a_language_model_names_the_topics_in_one_edit(page: Page, corpus_key: str, with_outliers: str, toasts: list[str]) -> None:
    _, key = edit(page, with_outliers, corpus_key, {"do": "split", "cluster": 0})

    def answer(text: str) -> Reply:
        return Reply("All texts" if "smaller groups" in text else "Refused" if "text 1" in text else f"Topic {len(server.asked)}")

    with serve_model(answer) as server:
        names = NameSettings(server.url, "tiny", "sk-secret")
        action = name_map_topics(page, with_outliers, key, None, names)
        asked = len(server.asked)
        name_map_topics(page, with_outliers, key, None, names)
        assert len(server.asked) - asked <= 1, "what did not change comes from the cache"
    labels = {name["label"] for name in action.map["cluster_names"]}
    assert len(labels) == 4 and "outliers" in labels and not labels & {"even", "odd"}
    assert [group["label"] for group in action.map["broad"]] == ["All texts"] and "3 topics named" in action.map["edits"][-1]
    assert "sk-secret" not in repr(action) and not toasts
    rows = load_workbook(handlers.write_report(page, with_outliers))["Topics"].iter_rows(min_row=2, values_only=True)
    assert {row[1] for row in rows} == {"All texts", None}
    edit(page, with_outliers, key, {"do": "undo"})
    value, _ = edit(page, with_outliers, key, {"do": "undo"})
    assert value["broad"][0]["label"] == "whole" and "odd" in {name["label"] for name in value["cluster_names"]}


def test_topics_that_the_model_does_not_name_are_reported(page: Page, corpus_key: str, with_outliers: str, toasts: list[str]) -> None:
    with serve_model(lambda text: Reply(status=400) if "even" in text else Reply("A name")) as server:
        names = NameSettings(server.url, "tiny")
        action = name_map_topics(page, with_outliers, corpus_key, None, names)
        assert len([label for label in action.map["cluster_names"] if "A name" in label["label"]]) >= 1
        server.answer = lambda _text: Reply(status=401)
        with pytest.raises(StudioError, match="rejected the key"):
            name_map_topics(page, with_outliers, corpus_key, None, replace(names, llm_model="other"))
    assert page.maps.get(with_outliers).edits.steps[1:] == (), "a failure is no edit"


def test_visitors_of_a_shared_page_cannot_choose_the_endpoint(page: Page, corpus_key: str, with_outliers: str) -> None:
    import gradio as gr

    def visible() -> dict[str, bool]:
        with gr.Blocks() as blocks:
            topic_names.draw_controls(page.studio)
        return {str(one.elem_id): bool(getattr(one, "visible", True)) for one in blocks.blocks.values() if getattr(one, "elem_id", None)}

    assert visible()["map-names"] and visible()["map-llm-url"]
    page.studio.catalog.allow_folders = False
    assert not visible()["map-names"]
    with serve_model(lambda _text: Reply("A name")) as server:
        with pytest.raises(StudioError, match="operator"):
            name_map_topics(page, with_outliers, corpus_key, None, NameSettings(server.url, "tiny"))
        assert not server.asked, "a visitor must not reach private addresses"
        known = replace(page.studio.settings, llm_url=server.url, llm_model="tiny", llm_key="sk-host")
        page.studio.language_models.settings = known
        page.studio.settings = known
        shown = visible()
        assert (
            shown["map-names"]
            and shown["map-llm-hint"]
            and not any(shown[name] for name in ("map-llm-url", "map-llm-model", "map-llm-key"))
        )
        name_map_topics(page, with_outliers, corpus_key, None, NameSettings(llm_hint="short"))
        assert server.headers[0]["authorization"] == "Bearer sk-host"
