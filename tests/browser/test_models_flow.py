"""Static embeddings: trained from a file in Models, found again after a reload, and used in Search."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .data import WORDS_OF_MESSAGES, corpus_csv
from .pages import App


def test_static_embeddings_are_trained_and_used_in_search(app: App) -> None:
    app.models.train_embeddings(WORDS_OF_MESSAGES, "messages.csv", corpus_csv(2), dimensions=16)
    expect(app.models.embeddings_job).to_contain_text(re.compile(r"16-d .*\b48 texts"))
    find_them_after_a_reload(app)
    search_with_them(app)


def find_them_after_a_reload(app: App) -> None:
    app.reload()
    app.models.open_embeddings()
    expect(app.models.embeddings_job.locator(".sb-finished")).to_be_visible()
    app.page.click("#fit-use")
    expect(app.model_name).to_have_value(WORDS_OF_MESSAGES)


def search_with_them(app: App) -> None:
    """Hits share words with the query, and a word without a vector is reported."""
    app.search.open()
    app.add_data("messages.csv", corpus_csv(2))
    app.search.search("the bread flour gibberishword")
    expect(app.search.rows.first).to_contain_text("bread")
    expect(app.search.hits).to_contain_text("1 of 4 words")
