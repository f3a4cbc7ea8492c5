"""Filters on columns, marked words and two models side by side, without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.errors import StudioError
from sbert_studio.ui import corpus_picker
from sbert_studio.ui.page import Page
from sbert_studio.ui.panels.searching import filters
from sbert_studio.ui.tabs import search


def test_only_rows_that_say_what_was_chosen_are_found_and_as_many_as_are_asked_for(page: Page, corpus_file: Path) -> None:
    key = corpus_picker.open_file(page, str(corpus_file))
    corpus = page.corpora.get(key).corpus
    assert filters.columns(corpus) == ["topic"]
    assert filters.values(corpus, "topic") == [("a · 20", "a"), ("b · 20", "b")]
    for mode in ("semantic", "lexical", "hybrid"):
        _, value, _ = search.find(page, key, corpus.texts[7], 12, mode, None, only=("topic", ["a"]))
        assert {corpus.fields["topic"][row] for row in value["ids"]} == {"a"}
        assert mode == "lexical" or len(value["ids"]) == 12
        assert "of 20 texts · where topic is a" in value["caption"]


def test_a_choice_that_is_none_leaves_all_rows(page: Page, corpus_file: Path) -> None:
    corpus = page.corpora.get(corpus_picker.open_file(page, str(corpus_file))).corpus
    for only in (("", ["a"]), ("topic", []), ("no such column", ["a"]), (None, None)):
        assert filters.rows(corpus, *only) is None  # type: ignore[arg-type]
    assert filters.rows(corpus, "topic", ["nothing says that"]) == []
    with pytest.raises(StudioError, match="not in the corpus"):
        page.studio.explore.search(corpus, "cat", among=[40])


def test_words_are_marked_where_words_are_searched(page: Page, corpus_file: Path) -> None:
    key = corpus_picker.open_file(page, str(corpus_file))
    _, value, _ = search.find(page, key, "moon", 3, "lexical", None)
    assert [column["kind"] for column in value["columns"]][1] == "marked"
    assert all("moon" in row[1][1::2] for row in value["rows"])
    assert isinstance(search.find(page, key, "moon", 3, "semantic", None)[1]["rows"][0][1], str)


def test_two_models_stand_side_by_side_with_each_others_places(page: Page, corpus_file: Path) -> None:
    key = corpus_picker.open_file(page, str(corpus_file))
    _, left, right = search.find(page, key, "cat dog moon", 8, "semantic", None, beside="all-MiniLM-L6-v2")
    assert right is not None and right["made"]["words"].startswith("all-MiniLM-L6-v2 · ")
    both = set(left["ids"]) & set(right["ids"])
    assert f"{len(both)} of 8 found by both" in left["caption"]
    for one, other in ((left, right), (right, left)):
        for row, place in zip(one["ids"], one["rows"], strict=True):
            assert place[3] == (other["ids"].index(row) + 1 if row in other["ids"] else None)
    assert search.find(page, key, "cat", 3, "semantic", "all-MiniLM-L6-v2", beside="all-MiniLM-L6-v2")[2] is None
