from __future__ import annotations

import csv

import gradio as gr
import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui.handover import show_on_map
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.mapping import handover
from sbert_studio.ui.panels.mapping.editing import edit
from sbert_studio.ui.panels.mapping.panel import act
from sbert_studio.ui.tabs import search


def test_labels_are_taught_as_a_table_of_texts_and_labels(page: Page, corpus_key: str, map_key: str) -> None:
    with pytest.raises(StudioError, match="no text has a label"):
        handover.teach(page, page.maps.get(map_key))
    edit(page, map_key, corpus_key, {"do": "label", "rows": [0, 2], "name": "x"})
    with pytest.raises(StudioError, match="one label"):
        handover.teach(page, page.maps.get(map_key))
    edit(page, map_key, corpus_key, {"do": "label", "rows": [1], "name": "=y"})
    lesson = act(page, map_key, corpus_key, None, "teach", 0)[2]
    assert lesson.name == "corpus labelled.csv"
    with lesson.path.open(encoding="utf-8", newline="") as source:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(source)]
    texts = page.maps.get(map_key).corpus.texts
    assert sorted(rows) == sorted([(texts[0], "x"), (texts[2], "x"), (texts[1], "=y")])


def test_chosen_texts_go_into_the_basket_as_pairs_that_belong_together(
    page: Page, corpus_key: str, map_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gr, "Info", lambda *_, **__: None)
    assert act(page, map_key, corpus_key, None, "examples", [0, 1, 2, 99])[3] > 0
    texts = page.maps.get(map_key).corpus.texts
    pairs = page.baskets.of(page.visitor(None)).pairs
    assert {(pair.a, pair.b, pair.together) for pair in pairs} == {(texts[0], texts[1], True), (texts[1], texts[2], True)}
    with pytest.raises(StudioError):
        handover.examples(page, None, page.maps.get(map_key), [3])


def test_a_search_stays_among_what_was_chosen_also_where_texts_were_removed(page: Page, corpus_key: str, map_key: str) -> None:
    _, key = edit(page, map_key, corpus_key, {"do": "remove", "rows": [0, 5]})
    drawn = page.maps.get(map_key)
    chosen = handover.search_here(drawn, [0, 7, 9, 12, "x"])
    corpus = page.corpora.get(key).corpus
    assert [corpus.texts[row] for row in chosen.rows] == [drawn.corpus.texts[row] for row in (7, 9, 12)]
    assert handover.on_map(drawn, chosen.rows) == [7, 9, 12]
    _, value, _ = search.find(page, key, "cat", 10, "semantic", None, chosen_there=chosen)
    assert sorted(value["ids"]) == sorted(chosen.rows) and "of 3 texts" in value["caption"]
    other = page.corpora.put(page.corpora.sample())
    _, value, _ = search.find(page, other, "refund", 5, "lexical", None, chosen_there=chosen)
    assert "of 3 texts" not in value["caption"], "another corpus is searched whole"
    with pytest.raises(StudioError):
        handover.search_here(drawn, [0])


def test_hits_are_found_on_the_map(page: Page, corpus_key: str, map_key: str) -> None:
    rows = show_on_map(page, corpus_key, [4, 4, 2, -1, 99, True, "3"], "Found")
    assert rows.rows == (4, 2) and handover.on_map(page.maps.get(map_key), rows.rows) == [4, 2]
    assert rows != show_on_map(page, corpus_key, [4, 2], "Found"), "the same ones can be gone to twice"
    for nothing in (None, [], [99]):
        with pytest.raises(StudioError):
            show_on_map(page, corpus_key, nothing, "Found")


def test_a_thumb_beside_a_neighbour_puts_it_into_the_basket_with_the_text_that_was_clicked(
    page: Page, corpus_key: str, map_key: str
) -> None:
    texts = page.maps.get(map_key).corpus.texts
    assert act(page, map_key, corpus_key, None, "together", [3, 5])[3] > 0
    act(page, map_key, corpus_key, None, "apart", [3, 7])
    known = {(pair.a, pair.b): (pair.together, pair.source) for pair in page.baskets.of(page.visitor(None)).pairs}
    assert known[texts[3], texts[5]] == (True, "Map") and known[texts[3], texts[7]] == (False, "Map")
    act(page, map_key, corpus_key, None, "apart", [3, 7])  # once more: taken back
    assert (texts[3], texts[7]) not in {(pair.a, pair.b) for pair in page.baskets.of(page.visitor(None)).pairs}
    for sent in ([3], [3, 3], [3, 99999], "x", None):
        with pytest.raises(StudioError, match="no two texts"):
            act(page, map_key, corpus_key, None, "together", sent)
