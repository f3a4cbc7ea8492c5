"""Word vectors made by clicking, and used at once."""

from __future__ import annotations

from collections.abc import Callable

from .conftest import Visitor
from .test_page import corpus_csv


def test_word_vectors_are_made_of_a_file_and_used_in_search(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    visitor.tab("Models")
    page.locator("#fit-open > button").click()
    visitor.upload("fit-file", "messages.csv", corpus_csv(2))
    page.wait_for_function("document.querySelector('#fit-chosen')?.innerText.includes('messages.csv')")
    page.locator("#fit-settings > button").click()
    visitor.fill("#fit-glove-width", "16")
    visitor.fill("#fit-name", "Words of messages")
    page.click("#fit-go")
    visitor.see("#fit-job .sb-finished")
    assert "words as 16-d vectors from 48 texts" in visitor.text("#fit-job")
    page.wait_for_function("document.querySelector('#models-cards')?.innerText.includes('Words of messages')")
    visitor.reload()
    visitor.tab("Models")
    page.locator("#fit-open > button").click()
    visitor.see("#fit-job .sb-finished")
    page.click("#fit-use")
    page.wait_for_function("document.querySelector('#model input')?.value === 'Words of messages'")
    visitor.tab("Search")
    visitor.upload("search-file", "messages.csv", corpus_csv(2))
    visitor.see("#search-summary dl")
    visitor.fill("#search-query", "the bread flour gibberishword")
    page.click("#search-go")
    page.wait_for_function(
        "document.querySelector('#search-hits tbody tr') && document.querySelector('#search-hits').innerText.includes('bread')"
    )
    assert "1 of 4 words of your query is not in the model's table" in visitor.text("#search-hits")
