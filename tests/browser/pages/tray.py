"""The tray in the header: what is under way, wherever it was begun."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from .tab import Part, Tab


class Tray(Tab):
    """The button in the header and the list that it opens."""

    button = Part("#tray .sb-tray-button")
    list = Part("#tray-list")

    def entry(self, title: str) -> Locator:
        """The entry of a piece of work by its title."""
        return self.list.locator("li").filter(has=self.page.get_by_role("button", name=title, exact=True))

    def stop_button(self, title: str) -> Locator:
        return self.entry(title).locator(".sb-small-button")

    def open(self) -> None:
        self.button.click()
        expect(self.list).to_be_visible()

    def expect_live(self) -> None:
        """Wait until the button says that something is under way."""
        expect(self.page.locator("#tray .sb-tray-button.sb-live")).to_be_visible()

    def expect_within(self, width: int) -> None:
        """Wait until the whole list lies between the edges of a page of that width."""
        box = "document.querySelector('#tray-list').getBoundingClientRect()"
        self.page.wait_for_function(f"(width) => {box}.left >= 0 && {box}.right <= width", arg=width)
