"""Handlers of the Search tab, without a browser."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shards.shards import encoded, write_texts
from tiny_studio import studio_at

from sbert_studio.data.samples import sample_texts
from sbert_studio.errors import StudioError
from sbert_studio.ui import corpora
from sbert_studio.ui.page import Page
from sbert_studio.ui.panel import Selection
from sbert_studio.ui.routing import Location
from sbert_studio.ui.state import RowSelection
from sbert_studio.ui.tabs.search import handlers
from sbert_studio.ui.tabs.search.handlers import HitsView, SearchedText, SearchInputs, filter_rows, search
from sbert_studio.ui.views import UNCHANGED

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def key(page: Page, corpus_file: Path) -> str:
    return str(corpora.open_file(page, str(corpus_file)))


def select(page: Page, key: str, searched: SearchedText | None, action: str, row: Any) -> HitsView:
    return handlers.select_hit(page, key, 4, None, searched, None, Selection(action, row))


def test_search_without_a_corpus_uses_the_sample(page: Page) -> None:
    found = search(page, SearchInputs(None, "refund", 3, "lexical"))
    assert len(found.hits["rows"]) == 3
    assert page.corpora.get(found.corpus).corpus.name == page.corpora.sample().corpus.name


def test_hits_have_spreadsheet_rows_and_a_click_lists_neighbours(page: Page, key: str) -> None:
    corpus = page.corpora.get(key).corpus
    hits = search(page, SearchInputs(key, corpus.texts[7], 5)).hits
    row = hits["ids"][0]
    assert hits["rows"][0][0] == corpus.lines[row] and hits["rows"][0][1] == corpus.texts[row] == corpus.texts[7]
    more = select(page, key, None, "row", row)
    assert len(more.hits["ids"]) == 4 and row not in more.hits["ids"] and more.other_hits is None
    assert more.searched == SearchedText(key, corpus.texts[7]) and more.basket_version is UNCHANGED


def test_thumb_puts_query_and_hit_into_the_basket(page: Page, key: str) -> None:
    found = search(page, SearchInputs(key, "cat dog", 3))
    row, text = found.hits["ids"][0], found.hits["rows"][0][1]
    assert found.hits["pairs"][0] == ["cat dog", text]
    assert select(page, key, found.searched, "apart", row).hits is UNCHANGED
    (pair,) = page.baskets.of("local").pairs
    assert (pair.a, pair.b, pair.together, pair.source) == ("cat dog", text, False, "Search")
    with pytest.raises(StudioError, match="no hits yet"):
        select(page, key, None, "apart", row)


@pytest.mark.parametrize("action", ["row", "together"])
@pytest.mark.parametrize("row", [-1, 40, "3", None, True, 2.5, [1]])
def test_unknown_rows_are_refused(page: Page, key: str, action: str, row: Any) -> None:
    with pytest.raises(StudioError, match="not in the corpus"):
        select(page, key, SearchedText(key, "cat"), action, row)


def test_filter_applies_before_the_search(page: Page, key: str) -> None:
    controls = handlers.follow_corpus(page, key, None)
    assert controls.filter_column["choices"] == [("None", ""), ("topic", "topic")] and controls.filters["visible"]
    assert handlers.update_filter_values(page, key, "topic")["choices"] == [("a · 20", "a"), ("b · 20", "b")]
    corpus = page.corpora.get(key).corpus
    for mode in ("semantic", "lexical", "hybrid"):
        hits = search(page, SearchInputs(key, corpus.texts[7], 12, mode, filter_column="topic", filter_values=["a"])).hits
        assert {corpus.fields["topic"][row] for row in hits["ids"]} == {"a"}
        assert mode == "lexical" or len(hits["ids"]) == 12
        assert "of 20 texts · where topic is a" in hits["caption"]
    for name, values in (("", ["a"]), ("topic", []), ("no such column", ["a"]), (None, None)):
        assert filter_rows(corpus, name, values) is None
    assert filter_rows(corpus, "topic", ["no such value"]) == []


def test_rows_selected_on_the_map_restrict_the_search_of_their_corpus(page: Page, key: str) -> None:
    corpus = page.corpora.get(key).corpus
    rows = RowSelection(corpus.digest, (3, 8, 12), "3 texts")
    inputs = SearchInputs(key, "cat", rows_to_search=rows)
    assert sorted(search(page, inputs).hits["ids"]) == [3, 8, 12]
    assert set(search(page, replace(inputs, filter_column="topic", filter_values=["a"])).hits["ids"]) == {8, 12}
    everything = handlers.search_all_rows(page, inputs)
    assert len(everything.hits["ids"]) == 10 and everything.rows_to_search is None
    row, note, _ = handlers.describe_selected_rows(rows)
    assert row["visible"] and note == {"text": "Searching only 3 texts."}
    assert not handlers.describe_selected_rows(None)[0]["visible"]
    assert handlers.follow_corpus(page, key, rows).rows_to_search is UNCHANGED
    assert handlers.follow_corpus(page, None, rows).rows_to_search is None, "the sample is another corpus"


def test_two_models_are_compared_by_rank(page: Page, key: str) -> None:
    found = search(page, SearchInputs(key, "cat dog moon", 8, compare_model=MODEL))
    left, right = found.hits, found.other_hits
    assert isinstance(right, dict) and right["made"]["words"].startswith(f"{MODEL} · ")
    both = set(left["ids"]) & set(right["ids"])
    assert f"{len(both)} of 8 found by both" in left["caption"]
    for one, other in ((left, right), (right, left)):
        for row, cells in zip(one["ids"], one["rows"], strict=True):
            assert cells[3] == (other["ids"].index(row) + 1 if row in other["ids"] else None)
    assert search(page, SearchInputs(key, "cat", 3, model=MODEL, compare_model=MODEL)).other_hits is None


def test_link_fills_in_query_and_mode() -> None:
    linked = handlers.open_linked_search(Location(query="cat", mode="reranked"))
    assert linked is not None and linked[:2] == ("cat", "semantic")
    hybrid = handlers.open_linked_search(Location(query="cat", mode="hybrid"))
    assert hybrid is not None and hybrid[1] == "hybrid"
    assert handlers.open_linked_search(None) is None and handlers.open_linked_search(Location(mode="lexical")) is None


def test_unfamiliar_language_is_noted(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "zh.txt"
    path.write_text("我的银行卡什么时候到\n今天天气很好\n", encoding="utf-8")
    key = corpora.open_file(page, str(path))
    assert "look like Chinese" in search(page, SearchInputs(key, "银行卡", 2, model=MODEL)).hits["note"]


def test_shards_are_searched_for_the_owner_of_the_machine_alone(home: Path, tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, home / "model")
    encoded(home, write_texts(tmp_path / "texts", 1, 100), tmp_path / "out")
    with studio_at(home, home / "model") as studio:
        page = Page(studio)
        hits = handlers.search_shards(page, f" {tmp_path / 'out'} ", "cat dog", 4)
        assert len(hits["rows"]) == 4 and "4 of 98 texts" in hits["caption"]
        for folder in ("", str(tmp_path / "texts")):
            with pytest.raises(StudioError, match=r"no folder|no shards"):
                handlers.search_shards(page, folder, "cat dog", 4)
        studio.catalog.allow_folders = False
        with pytest.raises(StudioError, match="cannot access folders"):
            handlers.search_shards(page, str(tmp_path / "out"), "cat dog", 4)


def test_the_tab_opens_with_the_hits_of_the_example_and_for_other_data_with_neighbors(page: Page, corpus_file: Path) -> None:
    example = sample_texts("en").query
    first = handlers.show_first_hits(page, SearchInputs(None, example, 3))
    assert first is not None and isinstance(first.hits, dict) and len(first.hits["rows"]) == 3
    assert first.searched == SearchedText(page.corpora.current(None)[0], example)
    assert first.corpus is UNCHANGED, "the visitor may have chosen other data meanwhile"
    assert handlers.clear_other_example(page, None, example) is UNCHANGED
    key = str(corpora.open_file(page, str(corpus_file)))
    other = handlers.show_first_hits(page, SearchInputs(key, example, 3))
    text = page.corpora.get(key).corpus.texts[0]
    assert other is not None and other.searched == SearchedText(key, text)
    assert handlers.clear_other_example(page, key, example) == ""
    own = handlers.show_first_hits(page, SearchInputs(key, "my own words", 3))
    assert own is not None and own.searched == SearchedText(key, "my own words")
    assert handlers.clear_other_example(page, key, "typed while the first hits were computed") is UNCHANGED
