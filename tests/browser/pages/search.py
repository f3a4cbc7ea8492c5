"""The Search tab, with its sub-tab of near-duplicates."""

from __future__ import annotations

import re
from functools import cached_property

from playwright.sync_api import Locator, expect

from .duplicates import DuplicatesPart
from .tab import Part, Tab

# The ways to search and what each is called in the address.
MODES = {"By meaning": None, "By words": "lexical", "Both": "hybrid"}


class SearchTab(Tab):
    title = "Search"

    @cached_property
    def duplicates(self) -> DuplicatesPart:
        return DuplicatesPart(self.app)

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

    cancel = Part("#search-cancel")  # the button that ends a search; visible while one takes long
    query = Part("#search-query")
    hits = Part("#search-hits")  # the table of hits with its caption
    rows = Part("#search-hits tbody tr")
    texts = Part("#search-hits tbody td.sb-main")  # the texts of the hits
    headers = Part("#search-hits thead")  # the names of the columns; one of them names the kind of score
    caption = Part("#search-hits .sb-caption")
    others = Part("#search-others")  # the table of hits of the other model
    other_rows = Part("#search-others tbody tr")
    made_with = Part("#search-hits .sb-made")  # the line that says with which model and corpus the hits were made

    def expect_hits_made_again(self) -> None:
        expect(self.made_with).not_to_have_class(re.compile("sb-made-stale"))
