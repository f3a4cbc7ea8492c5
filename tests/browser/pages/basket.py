"""The basket of labelled pairs: its button in the header, its drawer, and the thumbs beside texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import Locator, Page, expect

if TYPE_CHECKING:
    from .app import App


class Basket:
    """The pairs of the visitor. All visitors of one machine share them, so that a flow may find those of an earlier one."""

    def __init__(self, app: App) -> None:
        self.app = app

    @property
    def page(self) -> Page:
        return self.app.page

    @property
    def drawer(self) -> Locator:
        return self.page.locator("#basket")

    @property
    def list(self) -> Locator:
        return self.page.locator("#basket-list")

    @property
    def pairs(self) -> Locator:
        """The pairs in the drawer, the newest first."""
        return self.page.locator("#basket-list .sb-pair")

    @property
    def badge(self) -> Locator:
        """The number of pairs, in the header."""
        return self.page.locator("#basket-open .sb-badge")

    def expect_count(self, count: int) -> None:
        expect(self.badge).to_have_text(str(count))

    def open(self) -> None:
        self.page.click("#basket-open button")
        expect(self.drawer).to_be_visible()

    def close(self) -> None:
        self.page.keyboard.press("Escape")
        expect(self.drawer).to_be_hidden()

    def clear(self) -> None:
        self.list.get_by_role("button", name="Empty it").click()
        self.expect_count(0)

    def undo(self) -> None:
        self.list.get_by_role("button", name="Undo").click()

    def thumb(self, beside: Locator, *, together: bool) -> Locator:
        """The button that says of a pair of texts whether they belong together; it is pressed while the basket holds that."""
        return beside.get_by_role("button", name="Belong together" if together else "Do not belong together", exact=True)

    def mark(self, beside: Locator, *, together: bool) -> None:
        """Press a thumb and wait until it shows that the basket holds the pair."""
        thumb = self.thumb(beside, together=together)
        thumb.click()
        expect(thumb).to_have_attribute("aria-pressed", "true")
