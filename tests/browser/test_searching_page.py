"""Search: filters on columns, marked words, two models side by side, and the table taken away."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from sbert_studio.wordvectors.pretrained import is_installed

from .conftest import Visitor
from .test_page import corpus_csv


@pytest.mark.skipif(not is_installed("glove-6B-50d"), reason="the package of glove-6B-50d is not installed")
def test_a_search_is_narrowed_marked_compared_and_taken_away(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv().replace("cash machine ate my card", "=cash machine ate my <b>card</b>"))
    visitor.see("#search-summary dl")
    visitor.see("#search-filters:visible")
    visitor.fill("#search-query", "my card")
    page.get_by_test_id("By words-radio-label").click()
    page.wait_for_function("document.querySelectorAll('#search-hits mark').length > 5")
    seen = "document.querySelector('#search-hits tbody tr:nth-child(4)').getBoundingClientRect().bottom < innerHeight"
    page.wait_for_function(f"document.querySelector('#search-query').getBoundingClientRect().top > -9 && {seen}")  # asked and answered
    assert {words.casefold() for words in page.locator("#search-hits mark").all_inner_texts()} <= {"my", "card"}

    with page.expect_download() as download:
        page.locator("#search-hits").get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "hits.csv")
    rows = list(csv.DictReader((tmp_path / "hits.csv").open(encoding="utf-8", newline="")))
    assert download.value.suggested_filename == "search-hits.csv" and len(rows) == page.locator("#search-hits tbody tr").count()
    assert any(row["Text"].startswith("'=cash machine ate my <b>card</b>") for row in rows), "whole, and no formula"
    assert [float(row["BM25"]) for row in rows] == sorted((float(row["BM25"]) for row in rows), reverse=True)

    visitor.choose("#search-column-filter", "topic")
    visitor.choose("#search-values", "rain")
    page.get_by_test_id("By meaning-radio-label").click()
    page.wait_for_function("document.querySelector('#search-hits .sb-caption')?.innerText.includes('10 of 16 texts · where topic is rain')")
    visitor.choose("#search-beside", "glove-6B-50d")
    page.click("#search-go")
    visitor.see("#search-others tbody tr")
    assert "found by both" in visitor.text("#search-hits .sb-caption") and "glove-6B-50d" in visitor.text("#search-others")
    assert page.locator("#search-others tbody tr").count() == 10
    page.locator("#search-others tbody tr").first.get_by_role("button", name="Do not belong together").click()
    visitor.see("#search-others tbody tr:first-child [data-says=apart][aria-pressed=true]")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off on a phone"
