"""The Search tab, with its sub-tab of near-duplicates."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from .tab import Tab


class SearchTab(Tab):
    title = "Search"

    def upload(self, name: str, text: str) -> None:
        """Upload a corpus and wait for the hits that come with it."""
        self.app.upload("search-file", name, text)
        expect(self.app.corpus_name).to_have_value(name)
        self.app.settle()

    def search(self, query: str) -> None:
        """Ask and wait until the answer is drawn, which is when the address names the query."""
        self.app.fill("#search-query", query)
        self.at("#search-go").click()
        self.app.expect_address(q=query)
        self.app.settle()

    @property
    def summary(self) -> Locator:
        """What the corpus is: number of texts, column, model."""
        return self.at("#search-summary")

    @property
    def hits(self) -> Locator:
        """The table of hits with its caption."""
        return self.at("#search-hits")

    @property
    def rows(self) -> Locator:
        return self.at("#search-hits tbody tr")

    @property
    def caption(self) -> Locator:
        return self.at("#search-hits .sb-caption")

    @property
    def made_with(self) -> Locator:
        """The line that says with which model and corpus the hits were made."""
        return self.at("#search-hits .sb-made")

    def expect_hits_made_again(self) -> None:
        expect(self.made_with).not_to_have_class(re.compile("sb-made-stale"))
