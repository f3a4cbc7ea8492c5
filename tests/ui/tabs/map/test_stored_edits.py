"""What was done on a map is there again after a reload: of the same visitor, file and column, and never of anybody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sbert_studio.services.results import MapView, TopicInfo
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.sessions.file_store import FileStore
from sbert_studio.ui.sessions.map_edits import DAMAGED_WARNING
from sbert_studio.ui.tabs.map.handlers import commit_removals, draw, show_discard_button
from sbert_studio.ui.tabs.map.view_model import MapSettings, drawn_map_value, notes_value

from .conftest import edit, rows_of

SETTINGS = MapSettings(neighbors=5)
ANNA, BEN = ({"owner": f"visitor-000000000000000{number}"} for number in (1, 2))


def reloaded(page: Page) -> Page:
    """The same studio seen by a page that knows nothing."""
    return Page(page.studio, shared=page.shared)


def drawn(page: Page, key: str | None, owner: Any = None) -> str:
    return draw(page, key, owner, None, SETTINGS)[1]


def texts(page: Page, key: str) -> list[tuple[str, str]]:
    corpus = page.corpora.get(key).corpus
    return list(zip(corpus.texts, corpus.fields.get("label", ("",) * len(corpus)), strict=True))


@pytest.fixture
def edited(page: Page, corpus_key: str, map_key: str) -> str:
    """A label, a cluster renamed, another split, three texts removed: the key of the corpus."""
    key: str | None = corpus_key
    for step in (
        {"do": "label", "rows": [0, 2], "name": "urgent"},
        {"do": "rename", "cluster": 1, "name": "the odd ones"},
        {"do": "split", "cluster": 0},
        {"do": "remove", "rows": [5, 6, 7]},
    ):
        _, key = edit(page, map_key, key, step)
    assert key is not None
    return key


def beside(page: Page) -> list[Path]:
    return sorted(page.studio.workspace.uploads.rglob("map-*.json"))


def test_a_reload_finds_the_map_as_it_was_left_and_undo_works(page: Page, edited: str, map_key: str) -> None:
    before, was = drawn_map_value(page, map_key), texts(page, edited)
    again = reloaded(page)
    key = again.corpora.open(None, page.corpora.get(edited).id)
    assert texts(again, key) == was, "every tab sees the labels, and no removed text, before the map is drawn"
    assert again.corpora.get(key).corpus.digest == page.corpora.get(edited).corpus.digest
    assert show_discard_button(again, key)["visible"] is True
    there = drawn(again, key)
    after = drawn_map_value(again, there)
    for name in ("cluster_names", "clusters", "hidden", "labels", "edits"):
        assert after[name] == before[name], name
    assert after["made"]["corpus"] == again.corpora.get(key).corpus.digest, "what is shown is not stale"
    for left in (40, 40, 40, 40):
        _, undone = edit(again, there, key, {"do": "undo"})
        key = undone or key
        assert len(texts(again, key)) == left
    assert beside(again) == [], "where everything was undone nothing is kept"
    assert show_discard_button(again, key)["visible"] is False


def test_the_same_file_chosen_once_more_has_its_labels_and_another_column_has_none(page: Page, edited: str, corpus_file: Path) -> None:
    again = reloaded(page)
    key = corpora.open_file(again, str(corpus_file))
    assert key is not None and texts(again, key) == texts(page, edited)
    other = corpora.open_column(again, key, "topic")
    assert other is not None and len(texts(again, other)) == 40 and "label" not in again.corpora.get(other).corpus.fields
    assert len(texts(again, corpora.open_column(again, other, "text") or "")) == 37


def test_changes_of_clusters_are_left_out_of_other_clusters_and_that_is_said(
    page: Page, edited: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_three(corpus: Any, *_: Any, **__: Any) -> MapView:
        n = len(corpus.texts)
        names = tuple(TopicInfo(number, f"c{number}", n // 3) for number in range(3))
        return MapView(np.zeros((n, 2), np.float32), np.arange(n) % 3, names, "k")

    again = reloaded(page)
    monkeypatch.setattr(again.studio.map, "draw", in_three)
    key = again.corpora.open(None, page.corpora.get(edited).id)
    there = drawn(again, key)
    value = drawn_map_value(again, there)
    assert {name["label"] for name in value["cluster_names"]} == {"c0", "c1", "c2"} and value["hidden"]
    assert [(label["label"], rows_of(label)) for label in value["labels"]] == [("urgent", [0, 2])]
    assert "2 changes that you made to them are not applied" in str(notes_value(again, there))
    assert "left as" not in str(notes_value(page, drawn(page, edited)))


def test_clusters_stay_as_named_when_only_the_layout_is_another(page: Page, corpus_key: str, map_key: str) -> None:
    _, key = edit(page, map_key, corpus_key, {"do": "rename", "cluster": 1, "name": "the odd ones"})
    _, there = draw(page, key, None, None, MapSettings("3-D", 9, 0.2))
    assert "the odd ones" in {name["label"] for name in drawn_map_value(page, there)["cluster_names"]} and notes_value(page, there) is None


def test_removed_texts_have_no_place_on_a_map_that_is_drawn_anew(page: Page, edited: str, map_key: str) -> None:
    key = commit_removals(page, edited, map_key)
    there = drawn(page, key)
    assert drawn_map_value(page, there)["n"] == 37 and commit_removals(page, edited, None) == edited
    _, key = edit(page, there, key, {"do": "label", "rows": [0], "name": "calm"})
    assert key is not None
    again = reloaded(page)
    back = again.corpora.open(None, page.corpora.get(edited).id)
    assert texts(again, back) == texts(page, key) and len(texts(again, back)) == 37
    assert {label["label"] for label in drawn_map_value(again, drawn(again, back))["labels"]} == {"urgent", "calm"}
    whole = again.corpora.discard_map_edits(None, back)
    assert len(texts(again, whole)) == 40 and beside(again) == [] and not show_discard_button(again, whole)["visible"]


def test_labels_on_a_sample_are_kept_and_no_other_visitor_sees_them(page: Page, map_key: str) -> None:
    page.shared = True
    key, there = draw(page, None, ANNA, None, SETTINGS)
    edit(page, there, key, {"do": "label", "rows": [1], "name": "mine"}, owner=ANNA)
    sample = page.corpora.sample().id
    again = reloaded(page)
    assert again.corpora.get(again.corpora.open(ANNA, sample)).labels == "label"
    assert again.corpora.get(draw(again, None, ANNA, None, SETTINGS)[0]).labels == "label"
    assert again.corpora.get(again.corpora.open(BEN, sample)).labels == ""
    assert [title for title, name in again.corpora.choices(ANNA) if name.startswith("file:")] == [], "a sample is no file of theirs"


def test_stored_edits_count_as_their_file_and_go_with_it(page: Page, edited: str) -> None:
    chosen, kept = page.corpora.get(edited), page.files
    file_id = chosen.id.removeprefix("file:")
    assert kept.get("local", file_id).bytes == chosen.path.stat().st_size + beside(page)[0].stat().st_size
    kept._each = chosen.path.stat().st_size + 10
    before = beside(page)[0].read_text()
    assert not kept.write_extra("local", file_id, beside(page)[0].name, {"steps": ["x" * 100]}) and beside(page)[0].read_text() == before
    with pytest.raises(ValueError, match="about"):
        kept.write_extra("local", file_id, "about.json", {})
    assert len(beside(page)) == 1
    corpora.delete_file(page, edited, None)
    assert beside(page) == []


DAMAGE: list[Any] = [
    "{", "[]", "null_", '{"removed": "x"}', {"removed": [2], "labels": {}}, {"drawn": "another"}, {"labels": ["urgent"]},
    {"steps": [{"do": "label", "rows": [99], "name": "x"}]}, {"steps": [{"do": "rename", "cluster": [0], "name": "x"}]},
    {"steps": [{"do": "split", "cluster": 0, "parts": [[0]], "names": 3}]},
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_said_and_left_out(page: Page, edited: str, toasts: list[str], damage: Any) -> None:
    (path,) = beside(page)
    path.write_text(damage if isinstance(damage, str) else json.dumps(json.loads(path.read_text()) | damage), encoding="utf-8")
    again = reloaded(page)
    key = again.corpora.open(None, page.corpora.get(edited).id)
    assert len(texts(again, key)) == 40 and toasts == [DAMAGED_WARNING]
    assert drawn_map_value(again, drawn(again, key))["edits"] == []


def test_that_there_is_no_room_for_what_is_done_is_said_once(
    page: Page, corpus_key: str, map_key: str, monkeypatch: pytest.MonkeyPatch, toasts: list[str]
) -> None:
    monkeypatch.setattr(FileStore, "write_extra", lambda *_: False)
    key: str | None = corpus_key
    for name in ("urgent", "later"):
        _, key = edit(page, map_key, key, {"do": "label", "rows": [0], "name": name})
    assert [words for words in toasts if "when the page is closed" in words] == toasts and len(toasts) == 1
