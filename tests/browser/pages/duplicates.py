"""The part of the Search tab that finds near-duplicates."""

from __future__ import annotations

from playwright.sync_api import expect

from .tab import Part, Tab


class DuplicatesPart(Tab):
    title = "Near-duplicates"

    def find(self) -> None:
        """Compare all texts of the corpus and wait for the groups."""
        self.app.ask(self.at("#alike-go"))
        expect(self.groups.first).to_be_visible()

    slider = Part("#alike-view input[type=range]")  # the threshold
    count = Part("#alike-view .sb-alike-count")  # the threshold and how many groups and texts there are at it
    groups = Part("#alike-view .sb-alike-group")
    kept = Part("#alike-view .sb-stays")  # the texts of groups that stay
