"""The Search tab, with its sub-tab of near-duplicates."""

from __future__ import annotations

import re
from functools import cached_property

from playwright.sync_api import Locator, expect

from .duplicates import DuplicatesPart
from .tab import Tab

# The ways to search and what each is called in the address.
MODES = {"By meaning": None, "By words": "lexical", "Both": "hybrid"}


class SearchTab(Tab):
    title = "Search"

    @cached_property
    def duplicates(self) -> DuplicatesPart:
        return DuplicatesPart(self.app)

    def upload(self, name: str, text: str) -> None:
        """Upload a corpus and wait for the hits that come with it."""
        self.app.upload("search-file", name, text)
        expect(self.app.corpus_name).to_have_value(name)
        self.app.settle()

    def search(self, query: str) -> None:
        """Ask and wait until the answer is drawn, which is when the address names the query."""
        self.begin(query)
        self.app.expect_address(q=query)
        self.app.settle()

    def begin(self, query: str) -> None:
        """Ask and do not wait."""
        self.app.fill("#search-query", query)
        self.at("#search-go").click()

    def choose_mode(self, label: str) -> None:
        """Choose one of :data:`MODES`, which asks again, and wait for the answer."""
        self.mode(label).click()
        self.app.expect_address(mode=MODES[label])
        self.app.settle()

    def mode(self, label: str) -> Locator:
        return self.at("#search-mode label").filter(has_text=label)

    @property
    def cancel(self) -> Locator:
        """The button that ends a search; visible while one takes long."""
        return self.at("#search-cancel")

    @property
    def query(self) -> Locator:
        return self.at("#search-query")

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
    def texts(self) -> Locator:
        """The texts of the hits."""
        return self.at("#search-hits tbody td.sb-main")

    @property
    def headers(self) -> Locator:
        """The names of the columns; one of them names the kind of score."""
        return self.at("#search-hits thead")

    @property
    def caption(self) -> Locator:
        return self.at("#search-hits .sb-caption")

    @property
    def others(self) -> Locator:
        """The table of hits of the other model."""
        return self.at("#search-others")

    @property
    def other_rows(self) -> Locator:
        return self.at("#search-others tbody tr")

    @property
    def made_with(self) -> Locator:
        """The line that says with which model and corpus the hits were made."""
        return self.at("#search-hits .sb-made")

    def expect_hits_made_again(self) -> None:
        expect(self.made_with).not_to_have_class(re.compile("sb-made-stale"))
