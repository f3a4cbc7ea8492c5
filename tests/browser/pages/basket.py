"""The basket of labelled pairs: its button in the header, its drawer, and the thumbs beside texts."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .tab import Part, Tab


class Basket(Tab):
    """The pairs of the visitor. All visitors of one machine share them, so that a flow may find those of an earlier one."""

    drawer = Part("#basket")
    list = Part("#basket-list")
    pairs = Part("#basket-list .sb-pair")  # the pairs in the drawer, the newest first
    badge = Part("#basket-open .sb-badge")  # the number of pairs, in the header

    def expect_count(self, count: int) -> None:
        expect(self.badge).to_have_text(str(count))

    def open(self) -> None:
        self.page.click("#basket-open button")
        expect(self.drawer).to_be_visible()

    def close(self) -> None:
        self.page.keyboard.press("Escape")
        expect(self.drawer).to_be_hidden()

    def clear(self) -> None:
        self.list.get_by_role("button", name="Clear all").click()
        self.expect_count(0)

    def undo(self) -> None:
        self.list.get_by_role("button", name="Undo").click()

    def thumb(self, beside: Locator, *, together: bool) -> Locator:
        """The button that says of a pair of texts whether they belong together; it is pressed while the basket contains that."""
        return beside.get_by_role("button", name="Similar" if together else "Dissimilar", exact=True)

    def mark(self, beside: Locator, *, together: bool) -> None:
        """Press a thumb and wait until it shows that the basket contains the pair."""
        thumb = self.thumb(beside, together=together)
        thumb.click()
        expect(thumb).to_have_attribute("aria-pressed", "true")
