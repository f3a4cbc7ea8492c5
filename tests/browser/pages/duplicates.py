"""The part of the Search tab that finds near-duplicates."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .tab import Tab


class DuplicatesPart(Tab):
    title = "Near-duplicates"

    def find(self) -> None:
        """Compare all texts of the corpus and wait for the groups."""
        self.app.ask(self.at("#alike-go"))
        expect(self.groups.first).to_be_visible()

    @property
    def slider(self) -> Locator:
        """The threshold."""
        return self.at("#alike-view input[type=range]")

    @property
    def count(self) -> Locator:
        """The threshold and how many groups and texts there are at it."""
        return self.at("#alike-view .sb-alike-count")

    @property
    def groups(self) -> Locator:
        return self.at("#alike-view .sb-alike-group")

    @property
    def kept(self) -> Locator:
        """The texts of groups that stay."""
        return self.at("#alike-view .sb-stays")
